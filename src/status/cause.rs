//! The cause of a pod's state.

use crate::agent::existing::ExistingInjection;
use crate::agent::plan::Plan;
use crate::reconcile::changed_settings::changed_settings;
use crate::reconcile::drift::Drift;
use crate::report::Finding;
use serde::Serialize;

/// The cause of a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Cause {
    /// The reason of a decision, or that of the kubelet, such as `CrashLoopBackOff`. Pods of one workload with one id share a line.
    pub(crate) id: String,
    /// One sentence; empty where the id says all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
}

impl Cause {
    pub(super) fn new(id: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            message: message.into(),
        }
    }

    /// `CrashLoopBackOff: last end: Error, exit code 1`
    pub(super) fn text(&self) -> String {
        match self.message.is_empty() {
            true => self.id.clone(),
            false => format!("{}: {}", self.id, self.message),
        }
    }
}

/// The cause of the state of one pod.
pub(super) enum PodCause {
    Known(Cause),
    /// The settings are looked for once for all pods of a row, since that takes long.
    SettingsChanged {
        existing: Box<ExistingInjection>,
        plan: Plan,
    },
}

impl PodCause {
    const SETTINGS_CHANGED: &str = "settings-changed";

    pub(super) fn of(finding: &Finding) -> Self {
        PodCause::Known(Cause::new(finding.reason.id(), &*finding.message))
    }

    pub(super) fn id(&self) -> &str {
        match self {
            PodCause::Known(cause) => &cause.id,
            PodCause::SettingsChanged { .. } => Self::SETTINGS_CHANGED,
        }
    }

    pub(super) fn cause(self) -> Cause {
        let settings = match self {
            PodCause::Known(cause) => return cause,
            // After a change by others, the container does not show what the record says.
            PodCause::SettingsChanged { existing, plan } => match Drift::detect(&existing) {
                None => changed_settings(&existing, &plan),
                Some(_) => None,
            },
        };
        Cause::new(Self::SETTINGS_CHANGED, settings.unwrap_or_default())
    }
}
