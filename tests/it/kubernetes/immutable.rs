//! The pod templates of Jobs and Pods cannot be changed once they are in a cluster.

use super::cluster::{Cluster, cluster};
use crate::laws::{INJECT, of_spec};
use mackerel_agent_injector::edit;
use mackerel_agent_injector::inject::inject;
use serde_json::json;

const CONTAINERS: &str = "containers: [{name: main, image: \"main:1\"}]";

/// The manifest, injected under the default configuration, and under another one.
fn states(manifest: &str) -> [String; 3] {
    let injected = |spec: &str| edit::apply(manifest, &inject(manifest, &of_spec(spec), INJECT).edits);
    [manifest.to_owned(), injected("{}"), injected("agent: {roles: [shop:batch]}")]
}

/// Applies one state as a user would, then the other: what the API server says to the second.
fn applied(cluster: &Cluster, namespace: &str, first: &str, second: &str) -> Result<(), String> {
    cluster.namespace(namespace, &json!({}));
    let apply = |text: &str| {
        let (succeeded, _, said) = cluster.kubectl(&["apply", "--namespace", namespace, "--filename", "-"], text);
        if succeeded { Ok(()) } else { Err(said) }
    };
    apply(first).unwrap();
    apply(second)
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
        let [plain, injected, updated] = states(&manifest);
        for (what, first, second) in
            [("injected", &plain, &injected), ("updated", &injected, &updated), ("removed", &injected, &plain)]
        {
            let refused = applied(cluster, &format!("{kind}-{what}"), first, second).err().unwrap_or_default();
            assert!(refused.contains(says), "{kind} {what}: {refused}");
        }
    }
}

/// What is refused above is refused for being immutable, and for nothing else.
#[test]
fn kubernetes_changes_the_template_of_a_deployment() {
    let Some(cluster) = cluster() else { return };
    let [plain, injected, updated] = states(&format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: one}}\nspec:\n  selector: {{matchLabels: {{app: one}}}}\n  \
         template:\n    metadata:\n      labels: {{app: one}}\n    spec:\n      {CONTAINERS}\n"
    ));
    for (what, first, second) in
        [("injected", &plain, &injected), ("updated", &injected, &updated), ("removed", &injected, &plain)]
    {
        assert_eq!(applied(cluster, &format!("deployment-{what}"), first, second), Ok(()));
    }
}
