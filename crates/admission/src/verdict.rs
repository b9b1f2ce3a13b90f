//! The verdict on an object, before it is an answer.

use crate::findings::Findings;
use json_patch::Patch;
use report::Finding;

/// The verdict on one object.
pub enum Verdict {
    /// The object is allowed. The person who sent it is warned of the findings.
    Allow {
        decision: Finding,
        /// Pointers from the object's root; empty if nothing changes.
        patch: Patch,
        findings: Findings,
    },
    /// The decision first, then what else makes the object refused.
    Refuse(Findings),
    /// A fault of this program.
    Fault(String),
}

impl Verdict {
    /// Changes nothing.
    pub fn leave(decision: Finding) -> Self {
        Verdict::warn(decision, Findings::default())
    }

    /// Changes nothing, and warns the person who sent the object.
    pub fn warn(decision: Finding, findings: Findings) -> Self {
        Verdict::Allow {
            decision,
            patch: Patch::default(),
            findings,
        }
    }

    pub fn refuse(finding: Finding) -> Self {
        Verdict::Refuse([finding].into_iter().collect())
    }
}

/// A verdict with the name of its object.
pub struct Review {
    pub name: String,
    pub verdict: Verdict,
}
