//! The properties of a pod that its agent depends on.

use config::Role;
use k8s_openapi::api::core::v1::VolumeMount;
use mackerel::names::Sidecar;

/// The pod's properties that an agent depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentShape {
    pub sidecar: Sidecar,
    pub token: Token,
    pub amounts: AgentResources,
    pub pull_secrets: Vec<String>,
    /// The mounts of `agent.volumeMounts` whose volumes the pod has.
    pub volume_mounts: Vec<VolumeMount>,
    /// The roles of `agent.roles` whose labels the pod has.
    pub roles: Vec<Role>,
}

/// The source of the token that the agent shows to the kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// The ServiceAccount admission plugin, which mounts it into every container; or none is needed.
    Mounted,
    /// An injected volume, because the pod turns that off or the configuration asks for one.
    Projected,
}

/// The agent's requests and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentResources {
    /// The configured ones.
    Configured,
    /// Those of annotations alone: the pod has resources of its own for all containers, which the others may exceed.
    Annotated,
    /// Requests raised to the limits, so that the pod stays Guaranteed.
    Guaranteed,
}
