//! The container of the agent in the status of a pod.

use crate::manifest::pod_template::{Container, ContainerList};
use crate::status::cause::Cause;
use yaml_json_patch::{NodeId, ScalarValue, Tree, scalar_value};

/// The reason why a container is not ready, as the kubelet or the scheduler gives it.
pub(super) struct NotReady {
    pub(super) cause: Cause,
    /// True if there is a log of it.
    pub(super) has_run: bool,
}

impl NotReady {
    fn before_start(reason: String, message: Option<String>) -> Self {
        Self {
            cause: Cause::new(reason, message.unwrap_or_default()),
            has_run: false,
        }
    }

    fn after_start(reason: String, message: impl Into<String>) -> Self {
        Self {
            cause: Cause::new(reason, message),
            has_run: true,
        }
    }
}

/// Returns the reason why a container is not ready; none for one that is. A native sidecar has its status among those of the init
/// containers.
pub(super) fn not_ready(tree: &Tree<'_>, pod: NodeId, container: &Container) -> Option<NotReady> {
    let list = match container.list {
        ContainerList::Containers => "containerStatuses",
        ContainerList::InitContainers => "initContainerStatuses",
        ContainerList::EphemeralContainers => "ephemeralContainerStatuses",
    };
    let status = tree.member(pod, "status").unwrap_or(pod);
    let mut statuses = tree.member_items(status, list);
    let Some(found) = statuses.find(|one| tree.member_text(*one, "name") == container.name) else {
        return Some(without_report(tree, status));
    };
    match is_ready(tree, found) {
        true => None,
        false => Some(by_state(tree, found)),
    }
}

fn is_ready(tree: &Tree<'_>, container_status: NodeId) -> bool {
    let ready = tree.member(container_status, "ready");
    ready.map(|node| scalar_value(tree, node)) == Some(Ok(ScalarValue::Bool(true)))
}

/// Returns the reason of a container that no kubelet has reported about: the pod has no node, or is just being created.
fn without_report(tree: &Tree<'_>, status: NodeId) -> NotReady {
    let mut conditions = tree.member_items(status, "conditions");
    let unscheduled = conditions.find(|condition| {
        tree.member_text(*condition, "type").as_deref() == Some("PodScheduled")
            && tree.member_text(*condition, "status").as_deref() == Some("False")
    });
    let holder = unscheduled.unwrap_or(status);
    let reason = tree.member_text(holder, "reason");
    let reason = reason.or_else(|| tree.member_text(status, "phase"));
    let message = tree.member_text(holder, "message");
    let reason = reason.unwrap_or_else(|| "Unknown".to_owned());
    NotReady::before_start(reason, message)
}

/// Returns the reason for which a container waits, else that of its last end.
fn by_state(tree: &Tree<'_>, container_status: NodeId) -> NotReady {
    let waiting = tree.member_at(container_status, ["state", "waiting"]);
    let waits_for = waiting.and_then(|waiting| tree.member_text(waiting, "reason"));
    let ended = tree
        .member_at(container_status, ["state", "terminated"])
        .or_else(|| tree.member_at(container_status, ["lastState", "terminated"]));
    let Some(ended) = ended else {
        return match (waits_for, waiting) {
            (Some(reason), Some(waiting)) => {
                NotReady::before_start(reason, tree.member_text(waiting, "message"))
            }
            _ => NotReady::after_start("Running".to_owned(), "started, and not ready yet"),
        };
    };
    let field = |key| tree.member_text(ended, key).unwrap_or_default();
    let (reason, code) = (field("reason"), field("exitCode"));
    match waits_for {
        Some(waits_for) => {
            NotReady::after_start(waits_for, format!("ended with {reason}, exit code {code}"))
        }
        None => NotReady::after_start(reason, format!("exit code {code}")),
    }
}
