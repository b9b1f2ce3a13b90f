//! The permissions as YAML with comments.

use crate::agent::kubelet_access::{KubeletAccess, PERMITS};
use crate::config::{Config, KubernetesVersion};
use crate::manifest::document::document;
use crate::rbac::objects::objects;
use crate::rbac::{Grant, Grants};

const HEAD: &str = "\
# RBAC for the Mackerel container agent: it reads from the kubelet of its node with the ServiceAccount of its pod.
# Nodes are cluster-scoped, so the agent needs ClusterRoles and ClusterRoleBindings. Each namespace has its own objects, so
# that each namespace can be deployed and deleted separately.
";

const SUBJECTS: &str = "the ServiceAccounts of the pods with an agent; any other container in these pods can use the same token";

/// Returns the output of the command `rbac`: every object of the grants, with comments.
pub fn manifest(grants: &Grants, config: &Config) -> String {
    let mut text = HEAD.to_owned();
    let version = config.spec.kubernetes_version;
    text.push_str(&format!(
        "# For Kubernetes {version} and later (`kubernetesVersion`).\n"
    ));
    if let Some(why) = grants.nothing() {
        text.push_str(&format!("#\n# Nothing to apply: {why}.\n"));
    } else if let Some(without) = grants.without() {
        text.push_str(&format!("# {without}.\n"));
    }
    for grant in grants.iter() {
        let comments = comments(grant, config.spec.kubernetes_version);
        for (object, comments) in objects(grant, config).iter().zip(comments) {
            text.push_str("---\n");
            for line in comments {
                text.push_str(&format!("# {line}\n"));
            }
            text.push_str(&document(object));
        }
    }
    text
}

/// Returns the comments of the ClusterRole and of its binding.
fn comments(grant: Grant<'_>, version: KubernetesVersion) -> [Vec<String>; 2] {
    let namespace = grant.namespace;
    let permits = format!("nodes/proxy: {PERMITS};");
    let role = match grant.access {
        KubeletAccess::Kubelet if grant.access.needs_proxy(version) => vec![
            format!(
                "namespace {namespace}: GET /pods (nodes/proxy) and GET /stats/summary (nodes/stats) of the kubelet"
            ),
            permits,
            "kubelets before Kubernetes 1.33 require it; newer kubelets require nodes/pods only"
                .to_owned(),
        ],
        KubeletAccess::Kubelet => vec![format!(
            "namespace {namespace}: GET /pods (nodes/pods) and GET /stats/summary (nodes/stats) of the kubelet, Kubernetes 1.33 or later"
        )],
        KubeletAccess::ApiServer => vec![
            format!(
                "namespace {namespace}: GET /pods and GET /stats/summary, through the API server (nodes/proxy)"
            ),
            permits,
            "on EKS Fargate it is required".to_owned(),
        ],
        KubeletAccess::ReadOnlyPort => Vec::new(),
    };
    [role, vec![format!("namespace {namespace}: {SUBJECTS}")]]
}
