//! The next step for the pods of a workload.

use crate::owners::{PodOwner, Rollout, Workload};
use manifest::{Container, Resource};
use serde::Serialize;

/// A command, or a sentence where no command fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum NextStep {
    Command(String),
    Advice(String),
}

const DELETE: &str = "delete the pods; their controller creates new ones";

impl NextStep {
    pub fn text(&self) -> &str {
        match self {
            NextStep::Command(text) | NextStep::Advice(text) => text,
        }
    }

    /// Creates the pods of a workload anew.
    pub(super) fn restart(owner: &PodOwner) -> Self {
        let Workload {
            namespace,
            kind,
            name,
            ..
        } = &owner.workload;
        let advice = match (owner.workload.group(), &**kind) {
            ("apps", "StatefulSet" | "DaemonSet") if owner.rollout == Rollout::OnDelete => DELETE,
            ("apps", "Deployment" | "StatefulSet" | "DaemonSet") => {
                let kind = kind.to_lowercase();
                let rollout =
                    |verb: &str| format!("kubectl rollout {verb} {kind}/{name} -n {namespace}");
                let mut command = rollout("restart");
                // kubectl does not restart a paused Deployment.
                if owner.rollout == Rollout::Paused {
                    command = format!("{} && {command}", rollout("resume"));
                }
                return Self::command(command, [namespace, name]);
            }
            ("apps", "ReplicaSet") | ("", "ReplicationController") => DELETE,
            ("batch", "CronJob") => "wait for the next Job of the CronJob",
            ("batch", "Job") => "create the Job anew; a CronJob does so at its next run",
            ("", "Pod") => "create the pod anew",
            _ => "restart it by its controller",
        };
        NextStep::Advice(advice.into())
    }

    /// Shows why a container is not ready. One that has not run has no log.
    pub(super) fn inspect(pod: &Resource, container: &Container, has_run: bool) -> Self {
        let name = &pod.identity.name;
        let namespace = pod.identity.namespace.as_deref().unwrap_or_default();
        let container = container.name.as_deref().unwrap_or_default();
        let command = if has_run {
            format!("kubectl logs {name} -n {namespace} -c {container}")
        } else {
            format!("kubectl describe pod {name} -n {namespace}")
        };
        Self::command(command, [namespace, name, container])
    }

    /// Returns a command, unless a shell would take one of the names for more than a name: the text of a file may have any.
    fn command<const N: usize>(command: String, names: [&str; N]) -> Self {
        let is_name = |name: &&str| {
            name.starts_with(|first: char| first.is_ascii_alphanumeric())
                && name
                    .chars()
                    .all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '.'))
        };
        if names.iter().all(is_name) {
            NextStep::Command(command)
        } else {
            NextStep::Advice(
                "check the input: a name in it is empty, or none that Kubernetes takes".into(),
            )
        }
    }
}
