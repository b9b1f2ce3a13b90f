//! How an agent reads what it reports, and what it must be permitted for that.
//!
//! It sends two requests: `GET /pods` and `GET /stats/summary`. Kubelets map them to `nodes/proxy` and `nodes/stats`, and
//! from Kubernetes 1.33 on to `nodes/pods` and `nodes/stats`.

use crate::config::{KubeletConnection, KubernetesVersion, Spec};
use crate::manifest::resource::text;
use yaml_json_patch::{NodeId, Tree};

/// The way, as far as permissions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KubeletAccess {
    /// The read-only port asks nobody who they are.
    ReadOnlyPort,
    /// The kubelet's TLS port, which has the API server judge the token of the agent's pod.
    Kubelet,
    /// The API server, which passes the requests on under its own name once the token may use `nodes/proxy`.
    ApiServer,
}

/// What reads more than the agent has to.
pub(crate) const NODES_PROXY: &str = "nodes/proxy";

/// What `nodes/proxy` permits beside what the agent does with it.
pub(crate) const PERMITS: &str =
    "it permits far more than reading: whoever has the pod's token can run commands in any container of any node";

/// How to do with less than `nodes/proxy`, of the kubelet's own port.
pub(crate) const LESS: &str = "where no cluster is older than 1.33, say so in `kubernetesVersion`, and less will do";

impl KubeletAccess {
    /// The way that the settings choose.
    #[must_use]
    pub(crate) fn of(spec: &Spec) -> Self {
        match spec.kubelet_connection() {
            KubeletConnection::ReadOnly { .. } => KubeletAccess::ReadOnlyPort,
            KubeletConnection::Tls { .. } => KubeletAccess::Kubelet,
            KubeletConnection::ApiServer => KubeletAccess::ApiServer,
        }
    }

    /// The resources that the agent must be permitted to `get`; none where nothing is asked.
    #[must_use]
    pub(crate) fn resources(self, version: KubernetesVersion) -> &'static [&'static str] {
        match self {
            KubeletAccess::ReadOnlyPort => &[],
            KubeletAccess::Kubelet if version >= KubernetesVersion::FINE_GRAINED_KUBELET => {
                &["nodes/pods", "nodes/stats"]
            }
            KubeletAccess::Kubelet => &[NODES_PROXY, "nodes/stats"],
            KubeletAccess::ApiServer => &[NODES_PROXY],
        }
    }

    /// Whether `nodes/proxy` is among them.
    #[must_use]
    pub(crate) fn needs_proxy(self, version: KubernetesVersion) -> bool {
        self.resources(version).contains(&NODES_PROXY)
    }

    /// The last part of the names of its objects.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            KubeletAccess::ReadOnlyPort => "read-only-port",
            KubeletAccess::Kubelet => "kubelet",
            KubeletAccess::ApiServer => "api-server",
        }
    }
}

/// Whose token the agent of one pod template has, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RbacSubject {
    /// The way the agent reads.
    pub(crate) access: KubeletAccess,
    /// The pod's namespace; none where neither the resource nor the configuration names one.
    pub(crate) namespace: Option<String>,
    /// The pod's ServiceAccount.
    pub(crate) service_account: String,
}

/// The ServiceAccount of a PodSpec. `serviceAccount` is its old name, which the API server still takes.
#[must_use]
pub(crate) fn service_account(tree: &Tree<'_>, pod_spec: Option<NodeId>) -> String {
    let named = |key: &str| text(tree, pod_spec?, key).filter(|name| !name.is_empty());
    named("serviceAccountName").or_else(|| named("serviceAccount")).unwrap_or_else(|| "default".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_proxy_only_where_nothing_less_will_do() {
        let [old, new] = [32, 33].map(|minor| KubernetesVersion { major: 1, minor });
        for (access, version, resources) in [
            (KubeletAccess::ReadOnlyPort, old, &[][..]),
            (KubeletAccess::Kubelet, old, &["nodes/proxy", "nodes/stats"]),
            (KubeletAccess::Kubelet, new, &["nodes/pods", "nodes/stats"]),
            (KubeletAccess::ApiServer, old, &["nodes/proxy"]),
            (KubeletAccess::ApiServer, new, &["nodes/proxy"]),
        ] {
            assert_eq!(access.resources(version), resources, "{access:?} {version}");
            assert_eq!(access.needs_proxy(version), resources.contains(&"nodes/proxy"));
        }
    }
}
