//! The commands and values about the chart that the documents show, as Helm renders them without a cluster.

use super::{helms, run};
use crate::docs::commands;
use crate::docs::page::{self, CodeBlock};
use crate::program::Folder;
use serde_json::Value;
use std::path::Path;

/// Says what Helm makes of it: objects, or that this mode needs a cluster, which comes after all that can be wrong with values.
fn rendered(helm: &Path, command: &str, arguments: &[&str]) -> bool {
    let all = [
        &[
            "template",
            "injector",
            "webhook/chart",
            "--kube-version=1.30",
        ],
        arguments,
    ]
    .concat();
    match run(helm, &all) {
        Ok(_) => true,
        Err(said) => {
            assert!(said.contains("no cluster here"), "{command}: {said}");
            false
        }
    }
}

#[test]
fn the_commands_shown_have_values_that_the_chart_knows() {
    for helm in helms() {
        let mut modes = 0;
        for page in [
            "README.md",
            "docs/en/webhook.md",
            "docs/en/webhook-operate.md",
            "examples/webhook-helm/README.md",
        ] {
            let of_chart = |command: &String| {
                command.starts_with("helm ") && command.contains(" webhook/chart ")
            };
            for command in commands::of_page(page).into_iter().filter(of_chart) {
                // A command in the command: the CA that was printed.
                let plain = command
                    .split_once("\"$(")
                    .map_or(command.clone(), |(plain, _)| format!("{plain}QUJD"));
                let words: Vec<&str> = plain.split(' ').skip(4).collect();
                let of_template = |word: &&str| {
                    !["--create-namespace", "--reset-then-reuse-values"].contains(word)
                };
                let arguments: Vec<&str> = words.into_iter().filter(of_template).collect();
                let has = |word: &str| command.contains(word);
                let has_mode = has("tls.mode=") || has("--values");
                assert_eq!(
                    rendered(&helm, &command, &arguments),
                    has_mode,
                    "{page}: {command}"
                );
                modes += usize::from(has_mode);
                // No node finds the default image.
                assert!(
                    has("--reset-then-reuse-values") || has("--values") || has("image.repository="),
                    "{page}: {command}"
                );
            }
        }
        assert!(modes >= 3, "{modes}");
    }
}

#[test]
fn the_values_shown_are_values_of_the_chart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.yaml");
    for helm in helms() {
        let mut shown = 0;
        for page in page::all()
            .iter()
            .filter(|page| page.path.starts_with("docs/en/"))
        {
            for values in page.blocks().iter().filter_map(values) {
                std::fs::write(&file, values.to_string()).unwrap();
                rendered(
                    &helm,
                    &format!("{}: {values}", page.path),
                    &["--values", file.to_str().unwrap()],
                );
                shown += 1;
            }
        }
        assert_eq!(shown, 4);
    }
}

/// The values of the chart in a block: for Flux, for Argo CD, or as a file.
fn values(block: &CodeBlock) -> Option<Value> {
    let value: Value = serde_yaml::from_str(&block.text)
        .ok()
        .filter(|_| block.language == "yaml")?;
    match value["kind"].as_str() {
        Some("HelmRelease") => Some(value["spec"]["values"].clone()),
        Some("Application") => Some(value["spec"]["source"]["helm"]["valuesObject"].clone()),
        Some(_) => None,
        None => value.get("config").is_some().then_some(value),
    }
}

/// A file that manifests share may have `select.kinds`. A pod shows its workload by its owner.
#[test]
fn the_command_for_missed_pods_finds_one_of_a_selected_workload() {
    let objects = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"mackerel": "enabled"}}},
        {"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-5d8c-x2x4k", "namespace": "shop", "labels": {"pod-template-hash": "5d8c"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d8c", "uid": "1", "controller": true}]}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}]}"#;
    let kinds = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec: {select: {kinds: [Deployment]}}\n";
    let folder = Folder::with(&[("kinds.yaml", kinds)]);
    let commands = commands::of_page("docs/en/webhook-operate.md");
    let find = |command: &String| {
        Some(
            command
                .split_once("kubectl get pods,namespaces -A -o json | ")?
                .1
                .to_owned(),
        )
    };
    let command = commands.iter().find_map(find).unwrap();
    let words: Vec<&str> = command
        .split(' ')
        .skip(1)
        .chain(["--config", "kinds.yaml"])
        .collect();
    let ran = folder.run_with(&words, objects);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("Deployment/web"), "{ran:?}");
    let notes = std::fs::read_to_string(super::chart().join("templates/NOTES.txt")).unwrap();
    for part in [
        "kubectl get pods{{ if $labels }},namespaces{{ end }} -A -o json | mackerel-agent-injector status",
        "--namespace-selector {{ join",
    ] {
        assert!(notes.contains(part), "{part}");
    }
}
