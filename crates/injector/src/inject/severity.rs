//! The severity of a finding in a run.

use crate::inject::row::{Row, Subject};
use crate::options::{Options, Warnings};
use config::{Config, OnError};
use report::{Class, Finding, Reason, ReasonSet, Severity};
use std::borrow::Cow;

/// The settings that decide about severities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeverityPolicy {
    /// `onError`, for refused templates.
    pub on_error: OnError,
    /// `--strict`: nothing is written beside warnings, and refusals under `onError: skip`.
    pub warnings: Warnings,
    /// `warnings.ignore`
    pub ignored: ReasonSet,
}

impl Default for SeverityPolicy {
    fn default() -> Self {
        Self {
            on_error: OnError::Fail,
            warnings: Warnings::Tell,
            ignored: ReasonSet::default(),
        }
    }
}

impl SeverityPolicy {
    /// Returns the policy of a configuration and arguments.
    pub fn of(config: &Config, options: Options) -> Self {
        Self {
            on_error: config.spec.on_error,
            warnings: options.warnings,
            ignored: config.spec.warnings.ignored(),
        }
    }

    /// Returns the row of a finding, which is about an input or a setting as a whole, or about the run.
    pub fn row<'i>(self, file: impl Into<Cow<'i, str>>, finding: Cow<'i, Finding>) -> Row<'i> {
        Row {
            severity: self.severity(&finding),
            is_acknowledged: self.is_acknowledged(&finding),
            finding,
            subject: Subject::Run,
            file: file.into(),
            text: "",
            place: None,
            resource_place: None,
            picture: None,
        }
    }

    /// Returns true for a warning that the configuration or the template has acknowledged.
    pub fn is_acknowledged(self, finding: &Finding) -> bool {
        finding.acknowledged || self.ignored.contains(finding.reason)
    }

    /// Returns the severity of a finding. An error stops the whole run; a failed verification or run is always one.
    pub fn severity(self, finding: &Finding) -> Severity {
        if matches!(finding.reason, Reason::VerifyFailed | Reason::Error) {
            return Severity::Error;
        }
        if finding.is_note || self.is_acknowledged(finding) {
            return Severity::Info;
        }
        match (finding.reason.class(), self.on_error) {
            (Class::Done | Class::Skipped | Class::Note, _) => Severity::Info,
            (Class::Refused, OnError::Fail) => Severity::Error,
            (Class::Warning, _) | (Class::Refused, OnError::Skip) => Severity::Warning,
        }
    }

    /// Returns true if nothing is written beside a finding of this severity.
    pub(crate) fn holds_back(self, severity: Severity) -> bool {
        match severity {
            Severity::Error => true,
            Severity::Warning => self.warnings == Warnings::Refuse,
            Severity::Info => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_holds_back_for_warnings_but_not_for_notes() {
        let lenient = SeverityPolicy {
            on_error: OnError::Skip,
            warnings: Warnings::Tell,
            ignored: [Reason::HostNetwork].into_iter().collect(),
        };
        let strict = SeverityPolicy {
            warnings: Warnings::Refuse,
            ..lenient
        };
        for (reason, severity, [when_lenient, when_strict]) in [
            (Reason::Injected, Severity::Info, [false, false]),
            (Reason::QosRefused, Severity::Warning, [false, true]),
            (Reason::VerifyFailed, Severity::Error, [true, true]),
            (Reason::QosChanged, Severity::Warning, [false, true]),
            (Reason::SaAutomountUnknown, Severity::Info, [false, false]),
            (Reason::HostNetwork, Severity::Info, [false, false]),
        ] {
            let finding = Finding::new(reason, "", 0, "");
            for (policy, holds_back) in [(lenient, when_lenient), (strict, when_strict)] {
                assert_eq!(policy.severity(&finding), severity, "{}", reason.id());
                assert_eq!(policy.holds_back(severity), holds_back, "{}", reason.id());
            }
        }
        let fails = SeverityPolicy::default();
        let refused = Finding::new(Reason::QosRefused, "", 0, "");
        assert_eq!(fails.severity(&refused), Severity::Error);
    }
}
