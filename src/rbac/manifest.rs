//! The permissions as YAML with comments.

use crate::agent::kubelet_access::{KubeletAccess, PERMITS};
use crate::config::{Config, KubernetesVersion};
use crate::rbac::objects::objects;
use crate::rbac::{Grant, Grants};
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::Value;

const HEAD: &str = "\
# What the Mackerel container agent needs to read from the kubelet of its node, for every ServiceAccount whose pods carry it.
# Nodes belong to no namespace, so it takes ClusterRoles and ClusterRoleBindings, not Roles and RoleBindings. Each namespace
# has its own, so that what is deployed by itself brings its permissions along, and takes them away again.
";

const SUBJECTS: &str =
    "the ServiceAccounts of the pods with an agent; whatever else in them holds the token may do the same";

/// The output of the command `rbac`: every object of the grants, with comments.
#[must_use]
pub(crate) fn manifest(grants: &Grants, config: &Config) -> String {
    let mut text = HEAD.to_owned();
    if let Some(why) = grants.nothing() {
        text.push_str(&format!("#\n# There is nothing to permit: {why}.\n"));
    } else if let Some(without) = grants.without() {
        text.push_str(&format!("# {without}.\n"));
    }
    for grant in grants.iter() {
        for (object, comments) in objects(grant, config).iter().zip(comments(grant, config.spec.kubernetes_version)) {
            text.push_str("---\n");
            text.push_str(&document(object, &comments));
        }
    }
    text
}

/// One object as a document, with its comments above.
pub(super) fn document(object: &Value, comments: &[String]) -> String {
    let mut text: String = comments.iter().map(|line| format!("# {line}\n")).collect();
    let whole = PatchOperation::Add(AddOperation { path: PointerBuf::new(), value: object.clone() });
    // JSON is YAML, too.
    text.push_str(&yaml_json_patch::apply("", &Patch(vec![whole])).unwrap_or_else(|_| format!("{object}\n")));
    text
}

/// The comments of the ClusterRole and of its binding. They depend only on the objects, so that equal objects are equal text.
pub(super) fn comments(grant: Grant<'_>, version: KubernetesVersion) -> [Vec<String>; 2] {
    let namespace = grant.namespace;
    let permits = format!("nodes/proxy: {PERMITS};");
    let role = match grant.access {
        KubeletAccess::Kubelet if grant.access.needs_proxy(version) => vec![
            format!(
                "namespace {namespace}: GET /pods (nodes/proxy) and GET /stats/summary (nodes/stats) of the kubelet"
            ),
            permits,
            "kubelets older than Kubernetes 1.33 ask for nothing less, newer ones for nodes/pods".to_owned(),
        ],
        KubeletAccess::Kubelet => vec![format!(
            "namespace {namespace}: GET /pods (nodes/pods) and GET /stats/summary (nodes/stats) of the kubelet, from Kubernetes 1.33 on"
        )],
        KubeletAccess::ApiServer => vec![
            format!(
                "namespace {namespace}: GET /pods and GET /stats/summary, passed on by the API server (nodes/proxy)"
            ),
            permits,
            "on EKS Fargate there is no other way".to_owned(),
        ],
        KubeletAccess::ReadOnlyPort => Vec::new(),
    };
    [role, vec![format!("namespace {namespace}: {SUBJECTS}")]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::inject;
    use crate::options::Options;

    fn printed(text: &str, settings: &[&str]) -> String {
        let set: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let sources = crate::config::Sources { set: &set, ..Default::default() };
        let config = crate::config::load(&sources).unwrap();
        let mut grants = Grants::default();
        grants.take(&inject(text, &config, Options::default()).outcomes);
        manifest(&grants, &config)
    }
    const ALLOWED: [&str; 2] = ["rbac.generate=true", "rbac.allowNodesProxy=true"];

    #[test]
    fn without_a_pod_nothing_is_permitted() {
        let nothing = printed("kind: ConfigMap\napiVersion: v1\n", &ALLOWED);
        assert!(
            !nothing.contains("kind:")
                && nothing.ends_with("nothing to permit: no pod template here carries the agent.\n"),
            "{nothing}"
        );
    }

    #[test]
    fn the_read_only_port_asks_for_nothing() {
        let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n";
        let printed = printed(pod, &["rbac.generate=true", "kubelet.readOnlyPort=10255"]);
        let nothing = "# There is nothing to permit: 1 pod template reads from the kubelet's read-only port, which asks for no permission.\n";
        assert!(printed.ends_with(nothing), "{printed}");
    }
}
