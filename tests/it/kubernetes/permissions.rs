//! The API server accepts the output of `rbac`, which permits the agent's requests and nothing else.

use super::cluster::{Cluster, cluster, user};
use crate::program::Folder;
use serde_json::json;
use std::collections::BTreeSet;
use support::root;

/// The subresources of nodes that kubelets ask permission for.
const PARTS: [&str; 5] = ["pods", "stats", "proxy", "log", "metrics"];

fn workload(namespace: &str, name: &str, annotation: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    \
         metadata: {{labels: {{app: {name}}}, annotations: {{{annotation}}}}}\n    spec:\n      serviceAccountName: {name}\n      \
         containers: [{{name: {name}, image: \"{name}:1\"}}]\n---\n"
    )
}

/// Applies what `rbac` prints for the workloads: first to see that all of it is taken, then in earnest.
pub(crate) fn permit(cluster: &Cluster, namespace: &str, settings: &[&str], workloads: &str) {
    cluster.namespace(namespace, &json!({}));
    let sets = settings.iter().flat_map(|setting| ["--set", setting]);
    let printed = Folder::with(&[]).run_with(
        &["rbac", "-"].into_iter().chain(sets).collect::<Vec<_>>(),
        workloads,
    );
    assert_eq!(printed.code, Some(0), "{printed:?}");
    if !printed.stdout.contains("kind:") {
        return;
    }
    for dry_run in [&["--dry-run=server"][..], &[]] {
        let apply = [&["apply", "--server-side", "--filename", "-"], dry_run].concat();
        let (applied, _, said) = cluster.kubectl(&apply, &printed.stdout);
        assert!(
            applied && !said.to_lowercase().contains("warning"),
            "{said}\n{}",
            printed.stdout
        );
    }
}

/// The subresources of nodes that a ServiceAccount may get.
pub(crate) fn permitted<'p>(
    cluster: &Cluster,
    namespace: &str,
    service_account: &str,
) -> Vec<&'p str> {
    PARTS
        .into_iter()
        .filter(|part| cluster.may_get(namespace, service_account, part))
        .collect()
}

#[test]
fn kubernetes_permits_what_the_agent_asks_for_and_nothing_else() {
    let Some(cluster) = cluster() else { return };
    let none: &[&str] = &[];
    for (namespace, settings, expected) in [
        (
            "permits-new",
            &["kubernetesVersion=1.33"][..],
            &["pods", "stats"][..],
        ),
        (
            "permits-old",
            &["kubernetesVersion=1.32"],
            &["stats", "proxy"],
        ),
        ("permits-fargate", &["platform=eks-fargate"], &["proxy"]),
        ("permits-read-only", &["kubelet.readOnlyPort=10255"], none),
    ] {
        permit(
            cluster,
            namespace,
            settings,
            &workload(namespace, "web", ""),
        );
        assert_eq!(
            permitted(cluster, namespace, "web"),
            expected,
            "{namespace}"
        );
        assert_eq!(
            permitted(cluster, namespace, "default"),
            none,
            "{namespace}: nobody's agent"
        );
    }
}

#[test]
fn kubernetes_permits_each_service_account_what_its_own_agents_ask_for() {
    let Some(cluster) = cluster() else { return };
    let namespace = "permits-each";
    let prefix = "agent-injector.contrib.mackerel.io";
    let workloads = workload(namespace, "web", "")
        + &workload(
            namespace,
            "fargate",
            &format!("{prefix}/platform: eks-fargate"),
        )
        + &workload(
            namespace,
            "autopilot",
            &format!("{prefix}/kubelet-read-only-port: \"10255\""),
        )
        + &workload(namespace, "alone", &format!("{prefix}/inject: \"false\""));
    permit(cluster, namespace, &["kubernetesVersion=1.33"], &workloads);
    for (service_account, expected) in [
        ("web", &["pods", "stats"][..]),
        ("fargate", &["proxy"]),
        ("autopilot", &[]),
        ("alone", &[]),
    ] {
        assert_eq!(
            permitted(cluster, namespace, service_account),
            expected,
            "{service_account}"
        );
    }
    assert_eq!(
        permitted(cluster, "permits-elsewhere", "web"),
        [""; 0],
        "of the same name in another namespace"
    );

    // The API server passes on what may use `nodes/proxy`, whatever the path: there is only no such node here.
    for path in ["pods", "stats/summary"] {
        let get = |service_account| {
            let raw = format!("/api/v1/nodes/none/proxy/{path}");
            let (_, _, said) = cluster.kubectl(
                &[
                    "get",
                    "--raw",
                    &raw,
                    "--as",
                    &user(namespace, service_account),
                ],
                "",
            );
            said
        };
        assert!(get("fargate").contains("not found"), "{}", get("fargate"));
        assert!(get("web").contains("forbidden"), "{}", get("web"));
    }
}

#[test]
fn the_binding_in_the_documents_permits_all_service_accounts_of_a_namespace() {
    let Some(cluster) = cluster() else { return };
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let role = read("examples/cluster/rbac.yaml");
    let (role, _) = role.split_once("---\n").unwrap();
    for book in ["en", "ja"] {
        let text = read(&format!("docs/{book}/clusters.md"));
        let (_, binding) = text.split_once("```yaml\napiVersion: rbac.").unwrap();
        let (binding, _) = binding.split_once("```").unwrap();
        let objects = format!("{role}---\napiVersion: rbac.{binding}")
            .replace("name: mackerel-", &format!("name: {book}-mackerel-"))
            .replace(":shop", &format!(":permits-{book}"));
        let apply = ["apply", "--server-side", "--filename", "-"];
        let (applied, _, said) = cluster.kubectl(&apply, &objects);
        assert!(applied, "{said}\n{objects}");
        let namespace = format!("permits-{book}");
        assert_eq!(permitted(cluster, &namespace, "any"), ["pods", "stats"]);
        assert_eq!(permitted(cluster, "permits-elsewhere", "any"), [""; 0]);
    }
}

/// Documents that show users how to ask the API server for the agent's permissions.
const DOCUMENTS: [&str; 3] = [
    "docs/en/troubleshooting.md",
    "docs/ja/troubleshooting.md",
    "examples/cluster/README.md",
];

#[test]
fn the_documents_ask_kubernetes_in_the_right_words() {
    let Some(cluster) = cluster() else { return };
    permit(
        cluster,
        "shop",
        &["kubernetesVersion=1.33"],
        &workload("shop", "web", "").replace("serviceAccountName: web", ""),
    );
    let mut questions = BTreeSet::new();
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(root().join(document)).unwrap();
        let asked = text
            .lines()
            .filter(|line| line.starts_with("kubectl auth can-i "))
            .map(str::to_owned);
        let before = questions.len();
        questions.extend(asked.clone());
        assert!(
            asked.count() >= 2 && (before == 0 || questions.len() == before),
            "{document} asks otherwise"
        );
    }
    for question in questions {
        let arguments: Vec<&str> = question.split(' ').skip(1).collect();
        let (yes, answer, _) = cluster.kubectl(&arguments, "");
        // `proxy` is what older kubelets ask for.
        assert_eq!(yes, !question.contains("proxy"), "{question}: {answer}");
    }
}
