//! The last line of a report: what the run did, or that nothing came of it.

use crate::cli::messages::Messages;
use crate::cli::messages::list::plural;
use crate::options::{Tense, Warnings};
use crate::rbac::Grants;
use crate::report::{Class, Reason};

/// Result of a run, for the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunOutcome<'g> {
    /// A stream was answered.
    Given,
    /// Files were read, and their new text went to stdout.
    Printed,
    /// A diff, a list or patches were written.
    Shown,
    /// RBAC manifests were written.
    Permitted(&'g Grants),
    /// Files were replaced.
    Changed { files: usize },
    /// Errors held back what should have gone to stdout.
    NothingWritten,
    /// Errors held back the new text of every file.
    NothingChanged,
    /// Errors held back a diff, a list or patches.
    NothingShown,
    /// A function call was answered with errors as its results.
    GivenBack,
}

impl RunOutcome<'_> {
    /// Returns true if the reported changes did not happen. Changes of a dry run stay true if they are not shown.
    pub(super) fn is_undone(self) -> bool {
        matches!(
            self,
            RunOutcome::NothingWritten | RunOutcome::NothingChanged | RunOutcome::GivenBack
        )
    }
}

impl Messages {
    /// `3 injected, 1 skipped (opted-out), 12 without pod template`, or that all of it did not happen.
    pub(super) fn summary(&self, ending: RunOutcome<'_>) -> String {
        let held_back = match ending {
            RunOutcome::Printed if self.has_changes() => {
                return format!(
                    "{}; printed to stdout (`-i` changes the files)",
                    self.counted(Tense::Past)
                );
            }
            RunOutcome::Given | RunOutcome::Printed => return self.counted(Tense::Past),
            RunOutcome::Shown => {
                return format!("{}; no file was changed", self.counted(Tense::Conditional));
            }
            RunOutcome::Permitted(grants) => {
                // The output is comments then, which `kubectl apply` refuses.
                let nothing = grants
                    .nothing()
                    .map(|why| format!("nothing to apply: {why}"));
                let accounts = plural(grants.service_accounts(), "ServiceAccount");
                return nothing.unwrap_or_else(|| format!("permissions for {accounts}"));
            }
            RunOutcome::Changed { files } => {
                return format!(
                    "{}; {} changed",
                    self.counted(Tense::Past),
                    plural(files, "file")
                );
            }
            RunOutcome::NothingWritten => Some("no output was written"),
            RunOutcome::NothingChanged => Some("no file was changed"),
            RunOutcome::NothingShown => None,
            RunOutcome::GivenBack => Some("items returned unchanged"),
        };
        let mut summary = plural(self.errors.count, "error");
        if let Some(held_back) = held_back {
            summary += &format!("; {held_back}");
        }
        if self.only_refusals_hold_others_back() {
            let way = if ending == RunOutcome::GivenBack {
                "`onError: skip`"
            } else {
                "`--set onError=skip`"
            };
            summary += &format!("; to skip what failed, use {way}");
        }
        summary
    }

    /// True where something would be done but for refusals, which the user may pass by.
    fn only_refusals_hold_others_back(&self) -> bool {
        let is_refusal = |reason: &Option<Reason>| {
            reason.is_some_and(|reason| {
                reason.class() == Class::Refused && reason != Reason::VerifyFailed
            })
        };
        self.treatment_of_warnings == Warnings::Tell
            && self.errors.counts.keys().all(is_refusal)
            && self.has_changes()
    }

    fn has_changes(&self) -> bool {
        self.counts.keys().any(|reason| reason.done().is_some())
    }

    fn counted(&self, tense: Tense) -> String {
        let mut parts = tense.decisions(&self.counts);
        if self.without_template > 0 {
            parts.push(format!("{} without pod template", self.without_template));
        }
        if self.warnings.count > 0 {
            parts.push(plural(self.warnings.count, "warning"));
        }
        if parts.is_empty() {
            parts.push("no resources".to_owned());
        }
        parts.join(", ")
    }
}
