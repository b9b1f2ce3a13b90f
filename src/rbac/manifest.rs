//! The permissions as YAML with comments: a ClusterRole and a ClusterRoleBinding for each namespace and access.
//!
//! Every namespace has its own pair, so that its permissions come and go with its deployment, and two deployments never
//! write the same object. A RoleBinding is not enough: nodes belong to no namespace.

use crate::rbac::Grants;
use config::{Config, KubernetesVersion};
use injector::{KubeletAccess, PERMITS};
use manifest::{Location, RelatedKind, document};
use memchr::memmem::Finder;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The prefix of the names of all objects.
const NAME_PREFIX: &str = "mackerel-agent-injector:";

const HEAD: &str = "\
# RBAC for the Mackerel container agent: it reads from the kubelet of its node with the ServiceAccount of its pod.
# Nodes are cluster-scoped, so the agent needs ClusterRoles and ClusterRoleBindings. Each namespace has its own objects, so
# that each namespace can be deployed and deleted separately.
";

const SUBJECTS: &str = "the ServiceAccounts of the pods with an agent; any other container in these pods can use the same token";

/// Returns the output of the command `rbac`: every object of the grants, with comments.
pub fn manifest(grants: &Grants, config: &Config) -> String {
    let version = config.spec.kubernetes_version;
    let mut text = format!("{HEAD}# For Kubernetes {version} and later (`kubernetesVersion`).\n");
    if let Some(why) = grants.nothing() {
        text += &format!("#\n# Nothing to apply: {why}.\n");
    } else if let Some(without) = grants.without() {
        text += &format!("# {without}.\n");
    }
    for ((namespace, access), accounts) in &grants.needed {
        let [role, binding] = objects(namespace, *access, accounts, config);
        text += &format!(
            "---\n# namespace {namespace}: {}\n{role}---\n# namespace {namespace}: {SUBJECTS}\n{binding}",
            requests(*access, version)
        );
    }
    text
}

/// Returns the requests that a ClusterRole permits; if it permits more than them, the reason too.
fn requests(access: KubeletAccess, version: KubernetesVersion) -> String {
    let risk = format!("nodes/proxy: {PERMITS};");
    match access {
        KubeletAccess::ApiServer => format!(
            "GET /pods and GET /stats/summary, through the API server (nodes/proxy)\n\
             # {risk}\n\
             # on EKS Fargate it is required"
        ),
        _ if access.needs_proxy(version) => format!(
            "GET /pods (nodes/proxy) and GET /stats/summary (nodes/stats) of the kubelet\n\
             # {risk}\n\
             # kubelets before Kubernetes 1.33 require it; newer kubelets require nodes/pods only"
        ),
        _ => "GET /pods (nodes/pods) and GET /stats/summary (nodes/stats) of the kubelet, Kubernetes 1.33 or later"
            .to_owned(),
    }
}

/// Returns the two objects for the ServiceAccounts of a namespace, in the order in which they are applied.
fn objects(
    namespace: &str,
    access: KubeletAccess,
    accounts: &BTreeSet<String>,
    config: &Config,
) -> [String; 2] {
    // No part of the name can hold a colon, so that names are unique.
    let name = format!(
        "{NAME_PREFIX}{}:{namespace}:{}",
        config.name,
        access.suffix()
    );
    let subject =
        |account| json!({"kind": "ServiceAccount", "name": account, "namespace": namespace});
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [{
            "apiGroups": [""],
            "resources": access.resources(config.spec.kubernetes_version),
            "verbs": ["get"],
        }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": accounts.iter().map(subject).collect::<Value>(),
    });
    [role, binding].map(|object| document(&object))
}

/// Returns true if a text has a ClusterRole or binding with a name of this program, which kustomize's `namePrefix` may have changed.
pub fn has_objects(text: &str, related: &[Location]) -> bool {
    let finder = Finder::new(NAME_PREFIX);
    let mut last = None;
    related
        .iter()
        .filter(|location| location.kind == RelatedKind::Permission)
        .map(|location| &location.piece)
        // A list that is read as a whole is one piece, with all its permissions.
        .filter(|piece| last.replace(*piece) != Some(*piece))
        .any(|piece| finder.find(&text.as_bytes()[piece.clone()]).is_some())
}
