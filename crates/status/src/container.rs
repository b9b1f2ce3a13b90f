//! The container of the agent in the status of a pod, as the kubelet, the scheduler and the node lifecycle controller write it.

use crate::cause::Cause;
use manifest::{Container, ContainerList};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use yaml_json_patch::{NodeId, Tree, to_json};

/// The agent's container as the kubelet reports it.
pub(super) struct AgentStatus {
    /// None for one that is ready.
    pub(super) not_ready: Option<NotReady>,
    /// None for one that never restarted.
    pub(super) restarts: Option<Restarts>,
}

/// The restarts of the agents of one or several pods.
#[derive(Debug, Clone, Serialize)]
pub struct Restarts {
    pub count: usize,
    /// The reason of the last end, such as `OOMKilled`.
    pub reason: String,
}

/// The reason why a container is not ready.
pub(super) struct NotReady {
    pub(super) cause: Cause,
    /// True if there is a log of it.
    pub(super) has_run: bool,
}

impl NotReady {
    fn before_start(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            cause: Cause::new(reason, message),
            has_run: false,
        }
    }

    fn after_start(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            cause: Cause::new(reason, message),
            has_run: true,
        }
    }
}

/// Returns true if a container runs, on a node that reports.
pub(super) fn runs(tree: &Tree<'_>, pod: NodeId, container: &Container) -> bool {
    let (status, reported) = read(tree, pod, container);
    reported.is_some_and(|one| one.state.running.is_some()) && status.lost_node().is_none()
}

/// Returns the status of the agent's container.
pub(super) fn agent_status(tree: &Tree<'_>, pod: NodeId, container: &Container) -> AgentStatus {
    let (status, reported) = read(tree, pod, container);
    AgentStatus {
        restarts: reported.as_ref().and_then(ContainerStatus::restarts),
        not_ready: match reported {
            None => Some(status.without_report()),
            Some(container) if container.ready => status.lost_node(),
            Some(container) => Some(container.not_ready()),
        },
    }
}

/// Returns the status of a pod and of one of its containers. A native sidecar has its status among those of the init containers.
fn read(
    tree: &Tree<'_>,
    pod: NodeId,
    container: &Container,
) -> (PodStatus, Option<ContainerStatus>) {
    let mut status: PodStatus = tree
        .member(pod, "status")
        .and_then(|status| to_json(tree, status).ok())
        .and_then(|status| serde_json::from_value(status).ok())
        .unwrap_or_default();
    let statuses = match container.list {
        ContainerList::InitContainers => &mut status.init_container_statuses,
        ContainerList::Containers | ContainerList::EphemeralContainers => {
            &mut status.container_statuses
        }
    };
    let reported = std::mem::take(statuses)
        .into_iter()
        .find(|one| Some(&one.name) == container.name.as_ref());
    (status, reported)
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct PodStatus {
    phase: String,
    reason: String,
    message: String,
    conditions: Vec<Condition>,
    container_statuses: Vec<ContainerStatus>,
    init_container_statuses: Vec<ContainerStatus>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ContainerStatus {
    name: String,
    ready: bool,
    restart_count: usize,
    state: ContainerState,
    last_state: ContainerState,
}

/// One of the three; a container without any waits.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ContainerState {
    waiting: Option<Waiting>,
    running: Option<IgnoredAny>,
    terminated: Option<Terminated>,
}

#[derive(Deserialize)]
#[serde(default)]
struct Waiting {
    reason: String,
    message: String,
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            reason: "Waiting".to_owned(),
            message: String::new(),
        }
    }
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Terminated {
    reason: String,
    exit_code: i64,
}

impl Default for Terminated {
    fn default() -> Self {
        Self {
            reason: "Terminated".to_owned(),
            exit_code: 0,
        }
    }
}

impl PodStatus {
    fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions
            .iter()
            .find(|condition| condition.kind == kind)
    }

    /// Returns the reason of a container that no kubelet has reported about: the pod has no node, or is just being created.
    fn without_report(&self) -> NotReady {
        if let Some(scheduled) = self.condition("PodScheduled")
            && scheduled.status == "False"
        {
            return NotReady::before_start(&*scheduled.reason, &*scheduled.message);
        }
        let reason = match (&*self.reason, &*self.phase) {
            ("", "") => "Unknown",
            ("", phase) => phase,
            (reason, _) => reason,
        };
        NotReady::before_start(reason, &*self.message)
    }

    /// Returns the reason of a container that was ready when its node reported last. The node lifecycle controller then sets the
    /// condition `Ready` to false, without a reason; a kubelet gives one.
    fn lost_node(&self) -> Option<NotReady> {
        let is_lost = self.reason == "NodeLost"
            || self
                .condition("Ready")
                .is_some_and(|ready| match &*ready.status {
                    "Unknown" => true,
                    "False" => ready.reason.is_empty(),
                    _ => false,
                });
        is_lost.then(|| NotReady::before_start("NodeLost", "its node does not report"))
    }
}

impl ContainerStatus {
    fn restarts(&self) -> Option<Restarts> {
        let last = self.last_state.terminated.as_ref();
        (self.restart_count > 0).then(|| Restarts {
            count: self.restart_count,
            reason: last.map_or("Unknown".to_owned(), |last| last.reason.clone()),
        })
    }

    /// Returns the reason for which the container waits, else that of its last end.
    fn not_ready(self) -> NotReady {
        let ContainerState {
            mut waiting,
            running,
            terminated,
        } = self.state;
        if running.is_none() && terminated.is_none() {
            waiting.get_or_insert_default();
        }
        match (waiting, terminated.or(self.last_state.terminated)) {
            (Some(waiting), Some(Terminated { reason, exit_code })) => {
                let message = format!("ended with {reason}, exit code {exit_code}");
                NotReady::after_start(waiting.reason, message)
            }
            (Some(waiting), None) => NotReady::before_start(waiting.reason, waiting.message),
            (None, Some(ended)) => {
                let message = format!("exit code {}", ended.exit_code);
                NotReady::after_start(ended.reason, message)
            }
            (None, None) => NotReady::after_start("Running", "started, and not ready yet"),
        }
    }
}
