//! `webhook/base`, the chart without Helm, in an overlay that adds the certificate.

use super::{RELEASE, objects, root, run};
use crate::packages::published;
use crate::tools;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use support::expected;

/// The programs that build, each with its command.
fn builders() -> impl Iterator<Item = (PathBuf, &'static str)> {
    [
        ("kustomize", "5.6.", "build"),
        ("kustomize", "5.8.", "build"),
        ("kubectl", "", "kustomize"),
    ]
    .into_iter()
    .filter_map(|(name, version, command)| Some((tools::find(name, version)?, command)))
}

/// `UPDATE_EXPECTED=1 cargo test chart` writes it anew.
#[test]
fn it_is_what_helm_renders() {
    let Some(helm) = tools::find("helm", "4.") else {
        return;
    };
    let name = RELEASE[0];
    let tls =
        format!("tls.mode=provided,tls.provided.secretName={name}-tls,tls.provided.caBundle=QUJD");
    let rendered = [
        "template",
        name,
        "webhook/chart",
        "--namespace",
        name,
        "--kube-version=1.30",
        "--set",
        &tls,
    ];
    let rendered = run(&helm, &rendered).unwrap();
    // The image of wait-for in the configuration, which no kustomization would follow with `images`.
    let wait_for = format!("image: {}", published::image());
    let of_helm = [
        "waitFor:",
        &wait_for,
        "# Source:",
        "helm.sh/chart:",
        "app.kubernetes.io/managed-by:",
        "caBundle:",
    ];
    let lines = rendered.lines().filter(|line| {
        !line.is_empty()
            && !of_helm
                .iter()
                .any(|prefix| line.trim_start().starts_with(prefix))
    });
    let head = "# webhook/chart as Helm renders it; `UPDATE_EXPECTED=1 cargo test chart` writes this file.\n";
    let expected = head.to_owned() + &lines.map(|line| format!("{line}\n")).collect::<String>();
    let path = root().join("webhook/base/webhook.yaml");
    expected::assert_is(&path, &expected, "cargo test chart");
}

#[test]
fn every_builder_puts_the_ca_into_the_webhooks() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base");
    crate::real_tools::copy(&root().join("webhook/base"), &base);
    let name = RELEASE[0];
    let head =
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\ncomponents: [../base]\n";
    let generator = format!(
        "secretGenerator:\n  - name: {name}-tls\n    namespace: {name}\n    type: kubernetes.io/tls\n    \
         files: [tls.crt, tls.key, ca.crt]\n    options: {{disableNameSuffixHash: true}}\n"
    );
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": format!("{name}-tls"), "namespace": name},
        "data": {"tls.crt": "Y2VydA==", "tls.key": "a2V5", "ca.crt": "Y2E="},
    });
    let configuration = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": name},
        "data": {"agent-injector.yaml": "mine"},
    });
    let overlays = [
        ("generated", format!("{head}{generator}")),
        ("printed", format!("{head}resources: [secret.json]\n")),
        (
            "configured",
            format!("{head}{generator}patches: [{{path: configuration.json}}]\n"),
        ),
    ];
    for (overlay, kustomization) in overlays {
        let overlay = folder.path().join(overlay);
        fs::create_dir(&overlay).unwrap();
        for (file, text) in [
            ("kustomization.yaml", &*kustomization),
            ("secret.json", &secret.to_string()),
            ("configuration.json", &configuration.to_string()),
            ("tls.crt", "cert"),
            ("tls.key", "key"),
            ("ca.crt", "ca"),
        ] {
            fs::write(overlay.join(file), text).unwrap();
        }
        for (builder, command) in builders() {
            let built = run(&builder, &[command, overlay.to_str().unwrap()]).unwrap();
            let built = super::Rendered(objects(&built));
            for webhook in built.webhooks() {
                let client = &webhook["clientConfig"];
                assert_eq!(
                    (&client["caBundle"], &client["service"]["namespace"]),
                    (&json!("Y2E="), &json!(name))
                );
            }
            let [deployment, secret, service] =
                ["Deployment", "Secret", "Service"].map(|kind| built.of_kind(kind).unwrap());
            assert_eq!(
                secret["metadata"]["name"],
                deployment["spec"]["template"]["spec"]["volumes"][0]["secret"]["secretName"]
            );
            assert!(
                [deployment, secret, service]
                    .iter()
                    .all(|object| object["metadata"]["namespace"] == name)
            );
            let configuration = built.at("ConfigMap", "/data/agent-injector.yaml");
            assert_eq!(
                configuration.as_str() == Some("mine"),
                overlay.ends_with("configured")
            );
        }
    }
}

/// The commands of its README, and what the API server says to their output.
#[cfg(feature = "webhook")]
#[test]
fn the_example_has_one_ca_and_kubernetes_takes_it() {
    let Some(cluster) = crate::kubernetes::cluster::cluster() else {
        return;
    };
    let readme = fs::read_to_string(root().join("examples/webhook-kustomize/README.md")).unwrap();
    let (_, commands) = readme.split_once("```\n").unwrap();
    let (commands, _) = commands.split_once("```").unwrap();
    cluster.namespace(RELEASE[0], &json!({}));
    for (builder, command) in builders() {
        let user = crate::real_tools::User::new();
        user.has(
            if command == "build" {
                "kustomize"
            } else {
                "kubectl"
            },
            &builder,
        );
        let typed = if command == "build" {
            commands.to_owned()
        } else {
            commands.replace("kustomize build", "kubectl kustomize")
        };
        let text = user.runs(std::path::Path::new("bash"), &["-euc", &typed]);
        let built = super::Rendered(objects(&text));
        let ca = built.at("Secret", "/data/ca.crt");
        assert!(
            built
                .webhooks()
                .all(|webhook| webhook["clientConfig"]["caBundle"] == *ca)
        );
        assert!(built.configuration()["spec"]["agent"]["roles"].is_array());
        let image = built
            .at("Deployment", "/spec/template/spec/containers/0/image")
            .as_str()
            .unwrap();
        assert!(
            image.starts_with("registry.example.com/mackerel-agent-injector:"),
            "{image}"
        );
        let (succeeded, _, said) =
            cluster.kubectl(&["apply", "--dry-run=server", "--filename=-"], &text);
        assert!(succeeded, "{said}");
    }
}
