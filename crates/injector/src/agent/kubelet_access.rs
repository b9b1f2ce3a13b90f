//! An agent's access to the kubelet, and the permissions that it takes.
//!
//! It sends two requests: `GET /pods` and `GET /stats/summary`. Kubelets map them to `nodes/proxy` and `nodes/stats`, and
//! from Kubernetes 1.33 on to `nodes/pods` and `nodes/stats`.

use config::{KubeletConnection, KubernetesVersion, Spec};
use yaml_json_patch::{NodeId, Tree};

/// The kinds of access that differ in permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KubeletAccess {
    /// The read-only port, which does not authenticate.
    ReadOnlyPort,
    /// The kubelet's TLS port. The kubelet has the API server authorize the pod's token.
    Kubelet,
    /// The API server, which proxies the requests if the pod's token may use `nodes/proxy`.
    ApiServer,
}

/// The resource that permits more than the agent needs.
pub const NODES_PROXY: &str = "nodes/proxy";

/// The risk of `nodes/proxy`, for messages.
pub const PERMITS: &str = "it allows running commands in any container on any node";

/// The advice that avoids `nodes/proxy` on the kubelet's TLS port.
pub const LESS: &str = "if all clusters are 1.33 or later, set `kubernetesVersion: \"1.33\"` to use `nodes/pods` instead";

impl KubeletAccess {
    /// Returns the access that the settings choose.
    pub fn of(spec: &Spec) -> Self {
        match spec.kubelet_connection() {
            KubeletConnection::ReadOnly { .. } => KubeletAccess::ReadOnlyPort,
            KubeletConnection::Tls { .. } => KubeletAccess::Kubelet,
            KubeletConnection::ApiServer => KubeletAccess::ApiServer,
        }
    }

    /// Returns the resources that the agent must be permitted to `get`.
    pub fn resources(self, version: KubernetesVersion) -> &'static [&'static str] {
        match self {
            KubeletAccess::ReadOnlyPort => &[],
            KubeletAccess::Kubelet if version >= KubernetesVersion::FINE_GRAINED_KUBELET => {
                &["nodes/pods", "nodes/stats"]
            }
            KubeletAccess::Kubelet => &[NODES_PROXY, "nodes/stats"],
            KubeletAccess::ApiServer => &[NODES_PROXY],
        }
    }

    /// True if `nodes/proxy` is among the resources.
    pub fn needs_proxy(self, version: KubernetesVersion) -> bool {
        self.resources(version).contains(&NODES_PROXY)
    }

    /// Returns the last part of the names of its RBAC objects.
    pub fn suffix(self) -> &'static str {
        match self {
            KubeletAccess::ReadOnlyPort => "read-only-port",
            KubeletAccess::Kubelet => "kubelet",
            KubeletAccess::ApiServer => "api-server",
        }
    }
}

/// The ServiceAccount that the agent of one pod template authenticates as, and the access that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RbacSubject {
    pub access: KubeletAccess,
    /// The pod's namespace; none if neither the resource nor the configuration names one.
    pub namespace: Option<String>,
    /// The byte offset of the namespace in the manifest, else of the resource.
    pub namespace_offset: usize,
    pub account: PodServiceAccount,
}

/// The ServiceAccount of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodServiceAccount {
    pub name: String,
    /// The field of the PodSpec that names it, and the byte offset of its value; none for the account `default`.
    pub field: Option<(&'static str, usize)>,
}

impl PodServiceAccount {
    /// Reads a PodSpec. `serviceAccount` is the deprecated name of the field.
    pub fn of(tree: &Tree<'_>, pod_spec: Option<NodeId>) -> Self {
        let named = |key: &'static str| {
            let name = tree
                .member_text(pod_spec?, key)
                .filter(|name| !name.is_empty())?;
            Some(Self {
                name,
                field: Some((key, tree.place(tree.member(pod_spec?, key)?).start)),
            })
        };
        named("serviceAccountName")
            .or_else(|| named("serviceAccount"))
            .unwrap_or_else(|| Self {
                name: "default".to_owned(),
                field: None,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_proxy_only_where_nothing_less_will_do() {
        let [old, new] = [32, 33].map(|minor| KubernetesVersion { minor });
        for (access, version, resources) in [
            (KubeletAccess::ReadOnlyPort, old, &[][..]),
            (KubeletAccess::Kubelet, old, &["nodes/proxy", "nodes/stats"]),
            (KubeletAccess::Kubelet, new, &["nodes/pods", "nodes/stats"]),
            (KubeletAccess::ApiServer, old, &["nodes/proxy"]),
            (KubeletAccess::ApiServer, new, &["nodes/proxy"]),
        ] {
            assert_eq!(access.resources(version), resources, "{access:?} {version}");
            assert_eq!(
                access.needs_proxy(version),
                resources.contains(&"nodes/proxy")
            );
        }
    }
}
