//! The cause of a pod's state.

use report::Finding;
use serde::Serialize;

/// The cause of a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The reason of a decision, or that of the kubelet, such as `CrashLoopBackOff`. Pods of one workload with one id share a line.
    pub id: String,
    /// One sentence; empty where the id says all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Cause {
    pub(super) fn new(id: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            message: message.into(),
        }
    }

    pub(super) fn of(finding: &Finding) -> Self {
        Cause::new(finding.reason.id(), &*finding.message)
    }

    /// `CrashLoopBackOff: ended with Error, exit code 1`
    pub(super) fn text(&self) -> String {
        if self.message.is_empty() {
            self.id.clone()
        } else {
            format!("{}: {}", self.id, self.message)
        }
    }
}
