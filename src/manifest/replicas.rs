//! The number of pods that a workload asks for, and the range that an autoscaler gives it.

use crate::manifest::resource::Resource;
use yaml_json_patch::{Kind, Tree};

/// Kinds whose `spec.replicas` is 1 if it is absent.
const WITH_REPLICAS: [&str; 7] = [
    "Deployment",
    "StatefulSet",
    "ReplicaSet",
    "ReplicationController",
    "DeploymentConfig",
    "Rollout",
    "CloneSet",
];

/// Returns the number of pods; none if the manifest does not have it, as that of a DaemonSet or CronJob.
pub(crate) fn replicas(tree: &Tree<'_>, resource: &Resource) -> Option<u64> {
    let kind = &*resource.identity.kind;
    if kind == "Pod" {
        return Some(1);
    }
    let spec = tree.alias_target(tree.member(resource.node, "spec")?);
    if !WITH_REPLICAS.contains(&kind) || tree.kind(spec) != Kind::Mapping {
        return None;
    }
    tree.member_text(spec, "replicas")
        .map_or(Some(1), |number| number.parse().ok())
}

/// The range that an autoscaler gives the number of pods of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scaling {
    pub(crate) namespace: Option<String>,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) min: u64,
    /// None if the manifest does not have it.
    pub(crate) max: Option<u64>,
}
