//! The states of a pod with regard to the agent.

use crate::cause::Cause;
use crate::container::{NotReady, Restarts};
use crate::next_step::NextStep;
use crate::owners::{Origin, PodOwner, Rollout, Workload};
use manifest::{Container, Resource};
use report::Finding;
use serde::Serialize;

/// The state of a pod; those that need a person come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The configuration gives it an agent, and it has none.
    Missed,
    /// Its agent is not ready.
    NotReady,
    /// It is not known whether the configuration gives it an agent.
    Unknown,
    /// It cannot get an agent, or not the one of today.
    Refused,
    /// Its agent is not the one that the configuration gives today.
    Outdated,
    /// Its agent is ready.
    Ready,
}

impl State {
    /// Returns the words of the table.
    pub fn words(self) -> &'static str {
        match self {
            State::Missed => "missed",
            State::NotReady => "not ready",
            State::Unknown => "unknown",
            State::Refused => "refused",
            State::Outdated => "outdated",
            State::Ready => "ready",
        }
    }
}

/// The change of a manifest with an agent that is outdated.
pub(super) enum Change {
    Inject,
    /// Only the living pod shows that it is on Fargate.
    SetPlatform,
    /// `inject` removes no agent under `injection: disabled`.
    Uninject,
}

/// The state of one pod.
pub(super) struct PodState {
    pub(super) state: State,
    /// None for a missed agent, and for one that is ready.
    pub(super) cause: Option<Cause>,
    pub(super) restarts: Option<Restarts>,
    pub(super) next: Option<NextStep>,
}

impl PodState {
    pub(super) const READY: Self = Self {
        state: State::Ready,
        cause: None,
        restarts: None,
        next: None,
    };

    pub(super) fn missed(owner: &PodOwner) -> Self {
        Self {
            state: State::Missed,
            next: Some(NextStep::restart(owner)),
            ..Self::READY
        }
    }

    pub(super) fn not_ready(pod: &Resource, agent: &Container, not_ready: NotReady) -> Self {
        Self {
            state: State::NotReady,
            next: Some(NextStep::inspect(pod, agent, not_ready.has_run)),
            cause: Some(not_ready.cause),
            ..Self::READY
        }
    }

    /// A pod without the owner that rules about kinds and names apply to.
    pub(super) fn unknown(workload: &Workload) -> Self {
        let Workload { kind, name, .. } = workload;
        let message = format!(
            "`select.kinds` and `select.exclude` need the owner of {kind} {name}, which is not in the input"
        );
        let advice = "use `kubectl get pods,deployments,replicasets,statefulsets,daemonsets,jobs -A -o json`";
        Self {
            state: State::Unknown,
            cause: Some(Cause::new("owner-unknown", message)),
            next: Some(NextStep::Advice(advice.into())),
            ..Self::READY
        }
    }

    pub(super) fn outdated(difference: Cause, change: &Change, owner: &PodOwner) -> Self {
        let restart = NextStep::restart(owner);
        let change = |manifest: &str| match change {
            Change::Inject => format!("inject {manifest} again"),
            Change::SetPlatform => {
                format!(
                    "set `platform: eks-fargate` for this pod on Fargate, then inject {manifest} again"
                )
            }
            Change::Uninject => format!("run `uninject` on {manifest}"),
        };
        let next = match owner.origin {
            Origin::Manifest => {
                let mut advice = format!("{} and apply it", change("its manifest"));
                if owner.rollout != Rollout::Automatic {
                    advice += &format!(", then {}", restart.text());
                }
                NextStep::Advice(advice)
            }
            Origin::ApiServer => restart,
            Origin::Unknown => {
                let (change, restart) = (change("it"), restart.text());
                NextStep::Advice(format!(
                    "if its manifest has the agent, {change}; else {restart}"
                ))
            }
        };
        Self {
            state: State::Outdated,
            cause: Some(difference),
            next: Some(next),
            ..Self::READY
        }
    }

    pub(super) fn refused(refusal: &Finding) -> Self {
        Self {
            state: State::Refused,
            cause: Some(Cause::of(refusal)),
            next: refusal.help.clone().map(NextStep::Advice),
            ..Self::READY
        }
    }
}
