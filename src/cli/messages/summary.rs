//! The last line of a report: the number of decisions, or of the errors that held back the output.

use crate::cli::messages::{Messages, RunEnd};
use crate::diagnostic::Severity;
use crate::inject::Row;
use crate::inject::totals::{plural, totals};
use crate::options::{Tense, Warnings};
use crate::rbac::Grants;
use crate::report::{Class, Reason};

/// The end of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ending<'g> {
    /// The manifests of stdin went to stdout.
    StreamPrinted,
    /// The manifests of files went to stdout.
    FilesPrinted,
    /// A diff, a list or patches were printed.
    ChangesPrinted,
    /// RBAC manifests were printed.
    PermissionsPrinted(&'g Grants),
    /// Files were replaced.
    FilesChanged { files: usize },
    /// Errors held back the manifests.
    NothingPrinted,
    /// Errors held back the change of every file.
    NoFileChanged,
    /// Errors held back a diff, a list, patches or RBAC manifests.
    NoChangesPrinted,
    /// A function call was answered with errors as its results.
    CallFailed,
}

impl Ending<'_> {
    /// Returns true if errors held back the output.
    pub(crate) fn is_failure(self) -> bool {
        self.is_undone() || matches!(self, Ending::NoChangesPrinted)
    }

    /// Returns true if the reported changes did not happen. Those of a dry run stay true if they are not printed.
    pub(super) fn is_undone(self) -> bool {
        matches!(
            self,
            Ending::NothingPrinted | Ending::NoFileChanged | Ending::CallFailed
        )
    }
}

impl Messages {
    /// `3 injected, 1 skipped (opted-out), 12 without pod template; configuration: agent-injector.yaml`
    pub(super) fn summary(&self, end: &RunEnd<'_>) -> String {
        let result = end.result();
        match &self.found_configuration {
            Some(name) => format!("{result}; configuration: {name}"),
            None => result,
        }
    }
}

impl RunEnd<'_> {
    /// `3 injected, 1 skipped (opted-out), 12 without pod template`, or `1 error; no file was changed`
    fn result(&self) -> String {
        let counted = |tense| {
            let parts = totals(&self.rows, self.kinds_without_template.total(), tense);
            match parts.is_empty() {
                true => "no resources".to_owned(),
                false => parts.join(", "),
            }
        };
        match self.ending {
            Ending::FilesPrinted if self.has_changes() => {
                let counted = counted(Tense::Past);
                format!("{counted}; printed to stdout (`-i` changes the files)")
            }
            Ending::StreamPrinted | Ending::FilesPrinted => counted(Tense::Past),
            Ending::ChangesPrinted => {
                format!("{}; no file was changed", counted(Tense::Conditional))
            }
            Ending::PermissionsPrinted(grants) => match grants.nothing() {
                // The output is comments then, which `kubectl apply` refuses.
                Some(why) => format!("nothing to apply: {why}"),
                None => {
                    let accounts = plural(grants.service_accounts(), "ServiceAccount");
                    format!("permissions for {accounts}")
                }
            },
            Ending::FilesChanged { files } => {
                format!(
                    "{}; {} changed",
                    counted(Tense::Past),
                    plural(files, "file")
                )
            }
            Ending::NothingPrinted => self.failure("; no output was written", ON_ERROR_OPTION),
            Ending::NoFileChanged => self.failure("; no file was changed", ON_ERROR_OPTION),
            Ending::NoChangesPrinted => self.failure("", ON_ERROR_OPTION),
            Ending::CallFailed => self.failure("; items returned unchanged", "`onError: skip`"),
        }
    }

    /// `1 error; no file was changed; to skip what failed, use …`
    fn failure(&self, consequence: &str, on_error: &str) -> String {
        let errors = plural(self.errors().count(), "error");
        if self.can_skip_errors() {
            format!("{errors}{consequence}; to skip what failed, use {on_error}")
        } else {
            format!("{errors}{consequence}")
        }
    }

    fn errors(&self) -> impl Iterator<Item = &Row<'_>> {
        let rows = self.rows.iter();
        rows.filter(|row| row.severity == Severity::Error)
    }

    /// Returns true if all errors are refusals that `onError: skip` makes warnings, and something would be changed then.
    fn can_skip_errors(&self) -> bool {
        let can_skip = |row: &Row<'_>| {
            let reason = row.finding.reason;
            reason.class() == Class::Refused
                && !matches!(reason, Reason::VerifyFailed | Reason::Error)
        };
        self.options.warnings == Warnings::Tell && self.errors().all(can_skip) && self.has_changes()
    }

    fn has_changes(&self) -> bool {
        self.rows
            .iter()
            .any(|row| row.finding.reason.done().is_some())
    }
}

const ON_ERROR_OPTION: &str = "`--set onError=skip`";
