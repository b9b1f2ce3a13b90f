//! How much a finding matters to a run.

use crate::config::{Config, OnRefusal};
use crate::inject::{Options, Warnings};
use crate::report::{Class, Finding, Severity};

/// What a run puts up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerance {
    /// What a refused template does to the run.
    pub on_refusal: OnRefusal,
    /// What a warning does to it.
    pub warnings: Warnings,
}

impl Tolerance {
    /// What configuration and arguments say.
    #[must_use]
    pub fn of(config: &Config, options: Options) -> Self {
        Self { on_refusal: config.spec.on_refusal, warnings: options.warnings }
    }

    /// How much the finding matters: an error holds back the whole run. Faults are always errors and do not come here.
    #[must_use]
    pub fn severity(self, finding: &Finding) -> Severity {
        match (finding.reason.class(), self.on_refusal, self.warnings) {
            (Class::Done | Class::Skipped | Class::Note, ..) => Severity::Info,
            (Class::Warning, _, Warnings::Refuse) | (Class::Refused, OnRefusal::Fail, _) => Severity::Error,
            (Class::Warning, _, Warnings::Tell) | (Class::Refused, OnRefusal::Skip, _) => Severity::Warning,
        }
    }
}
