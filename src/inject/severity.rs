//! The severity of a finding in a run.

use crate::config::{Config, OnError};
use crate::diagnostic::Severity;
use crate::inject::row::{Row, Subject};
use crate::options::{Options, Warnings};
use crate::report::{Class, Finding, Reason, ReasonSet};
use std::borrow::Cow;

/// The settings that decide about severities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeverityPolicy {
    /// `onError`, for refused templates.
    pub(crate) on_error: OnError,
    /// `--strict`, for warnings and for refusals under `onError: skip`.
    pub(crate) warnings: Warnings,
    /// `warnings.ignore`
    pub(crate) ignored: ReasonSet,
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
    pub(crate) fn of(config: &Config, options: Options) -> Self {
        Self {
            on_error: config.spec.on_error,
            warnings: options.warnings,
            ignored: config.spec.warnings.ignored(),
        }
    }

    /// Returns the row of a finding, which is about an input or a setting as a whole, or about the run.
    pub(crate) fn row<'i>(
        self,
        file: impl Into<Cow<'i, str>>,
        finding: Cow<'i, Finding>,
    ) -> Row<'i> {
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
    pub(crate) fn is_acknowledged(self, finding: &Finding) -> bool {
        finding.acknowledged || self.ignored.contains(finding.reason)
    }

    /// Returns the severity of a finding. An error stops the whole run; a failed verification or run is always one.
    pub(crate) fn severity(self, finding: &Finding) -> Severity {
        if matches!(finding.reason, Reason::VerifyFailed | Reason::Error) {
            return Severity::Error;
        }
        if finding.is_note || self.is_acknowledged(finding) {
            return Severity::Info;
        }
        match (finding.reason.class(), self.on_error) {
            (Class::Done | Class::Skipped | Class::Note, _) => Severity::Info,
            (Class::Refused, OnError::Fail) => Severity::Error,
            (Class::Warning, _) | (Class::Refused, OnError::Skip) => match self.warnings {
                Warnings::Tell => Severity::Warning,
                Warnings::Refuse => Severity::Error,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_refuses_warnings_but_not_notes() {
        let ignored = [Reason::HostNetwork].into_iter().collect();
        let strict = SeverityPolicy {
            on_error: OnError::Fail,
            warnings: Warnings::Refuse,
            ignored,
        };
        let lenient = SeverityPolicy {
            on_error: OnError::Skip,
            warnings: Warnings::Tell,
            ignored,
        };
        let strict_that_skips = SeverityPolicy {
            on_error: OnError::Skip,
            ..strict
        };
        for (reason, when_strict, when_lenient) in [
            (Reason::Injected, Severity::Info, Severity::Info),
            (Reason::QosRefused, Severity::Error, Severity::Warning),
            (Reason::VerifyFailed, Severity::Error, Severity::Error),
            (Reason::QosChanged, Severity::Error, Severity::Warning),
            (Reason::SaAutomountUnknown, Severity::Info, Severity::Info),
            (Reason::HostNetwork, Severity::Info, Severity::Info),
        ] {
            let finding = Finding::new(reason, "", 0, "");
            assert_eq!(strict.severity(&finding), when_strict, "{}", reason.id());
            assert_eq!(
                strict_that_skips.severity(&finding),
                when_strict,
                "{}",
                reason.id()
            );
            assert_eq!(lenient.severity(&finding), when_lenient, "{}", reason.id());
        }
    }
}
