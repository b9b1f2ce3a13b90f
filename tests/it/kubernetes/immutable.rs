//! The pod templates of Jobs and Pods cannot be changed once they are in a cluster, and the injector's report warns of it.

use super::cluster::{Cluster, cluster};
use config::Config;
use injector::inject;
use laws::{INJECT, UNINJECT, of_spec};
use report::Reason;
use serde_json::json;
use yaml_json_patch::edit;

const CONTAINERS: &str = "containers: [{name: main, image: \"main:1\"}]";

/// A change to a manifest that is in the cluster already.
struct Change {
    what: &'static str,
    /// The manifest in the cluster.
    first: String,
    /// The manifest after the change.
    second: String,
    warnings: Vec<Reason>,
}

/// Every sort of change.
fn changes(manifest: &str) -> [Change; 3] {
    let change = |what, first: &str, config: &Config, options| {
        let injection = inject(first, config, options);
        let warnings = injection
            .outcomes
            .iter()
            .flat_map(|outcome| &outcome.warnings)
            .map(|warning| warning.reason);
        Change {
            what,
            first: first.to_owned(),
            second: edit::apply(first, &injection.edits),
            warnings: warnings.collect(),
        }
    };
    let injected = change("injected", manifest, &Config::default(), INJECT);
    let updated = change(
        "updated",
        &injected.second,
        &of_spec("agent: {roles: [shop:batch]}"),
        INJECT,
    );
    let removed = change("removed", &injected.second, &Config::default(), UNINJECT);
    [injected, updated, removed]
}

/// Runs a command of kubectl on a manifest, as a user would.
fn kubectl(
    cluster: &Cluster,
    command: &[&str],
    namespace: &str,
    manifest: &str,
) -> Result<(), String> {
    let arguments = [command, &["--namespace", namespace, "--filename", "-"]].concat();
    let (succeeded, _, said) = cluster.kubectl(&arguments, manifest);
    if succeeded { Ok(()) } else { Err(said) }
}

#[test]
fn kubernetes_refuses_to_change_the_template_of_a_job_or_a_pod() {
    let Some(cluster) = cluster() else { return };
    for (kind, manifest, says) in [
        (
            "job",
            format!(
                "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: one}}\nspec:\n  template:\n    spec:\n      \
                 restartPolicy: Never\n      {CONTAINERS}\n"
            ),
            "field is immutable",
        ),
        (
            "pod",
            format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: one}}\nspec:\n  {CONTAINERS}\n"),
            "pod updates may not",
        ),
    ] {
        for Change {
            what,
            first,
            second,
            warnings,
        } in changes(&manifest)
        {
            assert!(
                warnings.contains(&Reason::ImmutableTemplate),
                "{kind} {what}: {warnings:?}"
            );
            let namespace = format!("{kind}-{what}");
            cluster.namespace(&namespace, &json!({}));
            kubectl(cluster, &["apply"], &namespace, &first).unwrap();
            let refused = kubectl(cluster, &["apply"], &namespace, &second)
                .err()
                .unwrap_or_default();
            assert!(refused.contains(says), "{kind} {what}: {refused}");
            // The command that the help of the warning names.
            assert_eq!(
                kubectl(cluster, &["replace", "--force"], &namespace, &second),
                Ok(()),
                "{kind} {what}"
            );
        }
    }
}

/// The changes that are refused for other kinds are accepted here, so these kinds' immutability is the only reason.
#[test]
fn kubernetes_changes_the_template_of_a_deployment() {
    let Some(cluster) = cluster() else { return };
    let manifest = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: one}}\nspec:\n  selector: {{matchLabels: {{app: one}}}}\n  \
         template:\n    metadata:\n      labels: {{app: one}}\n    spec:\n      {CONTAINERS}\n"
    );
    for Change {
        what,
        first,
        second,
        warnings,
    } in changes(&manifest)
    {
        assert!(
            !warnings.contains(&Reason::ImmutableTemplate),
            "{what}: {warnings:?}"
        );
        let namespace = format!("deployment-{what}");
        cluster.namespace(&namespace, &json!({}));
        for manifest in [first, second] {
            assert_eq!(
                kubectl(cluster, &["apply"], &namespace, &manifest),
                Ok(()),
                "{what}"
            );
        }
    }
}
