//! The last line of a report: the number of decisions, or of the errors that held back the output.

use crate::cli::messages::Messages;
use crate::cli::messages::list::plural;
use crate::options::{Tense, Warnings};
use crate::rbac::Grants;
use crate::report::{Class, Reason};

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    pub(super) fn summary(&self, ending: Ending<'_>) -> String {
        let result = self.result(ending);
        match &self.found_configuration {
            Some(name) => format!("{result}; configuration: {name}"),
            None => result,
        }
    }

    /// `3 injected, 1 skipped (opted-out), 12 without pod template`, or `1 error; no file was changed`
    fn result(&self, ending: Ending<'_>) -> String {
        match ending {
            Ending::FilesPrinted if self.has_changes() => format!(
                "{}; printed to stdout (`-i` changes the files)",
                self.counted(Tense::Past)
            ),
            Ending::StreamPrinted | Ending::FilesPrinted => self.counted(Tense::Past),
            Ending::ChangesPrinted => {
                format!("{}; no file was changed", self.counted(Tense::Conditional))
            }
            Ending::PermissionsPrinted(grants) => match grants.nothing() {
                // The output is comments then, which `kubectl apply` refuses.
                Some(why) => format!("nothing to apply: {why}"),
                None => {
                    let accounts = plural(grants.service_accounts(), "ServiceAccount");
                    format!("permissions for {accounts}")
                }
            },
            Ending::FilesChanged { files } => format!(
                "{}; {} changed",
                self.counted(Tense::Past),
                plural(files, "file")
            ),
            Ending::NothingPrinted => self.failure("; no output was written", ON_ERROR_OPTION),
            Ending::NoFileChanged => self.failure("; no file was changed", ON_ERROR_OPTION),
            Ending::NoChangesPrinted => self.failure("", ON_ERROR_OPTION),
            Ending::CallFailed => self.failure("; items returned unchanged", "`onError: skip`"),
        }
    }

    /// `1 error; no file was changed; to skip what failed, use …`
    fn failure(&self, consequence: &str, on_error: &str) -> String {
        let errors = plural(self.errors.count, "error");
        if self.can_skip_errors() {
            format!("{errors}{consequence}; to skip what failed, use {on_error}")
        } else {
            format!("{errors}{consequence}")
        }
    }

    /// Returns true if all errors are refusals that `onError: skip` makes warnings, and something would be changed then.
    fn can_skip_errors(&self) -> bool {
        let mut reasons = self.errors.counts.keys();
        let all_are_refusals = reasons.all(|reason| match reason {
            Some(reason) => reason.class() == Class::Refused && *reason != Reason::VerifyFailed,
            None => false,
        });
        self.warnings_option == Warnings::Tell && all_are_refusals && self.has_changes()
    }

    fn has_changes(&self) -> bool {
        self.counts.keys().any(|reason| reason.done().is_some())
    }

    /// `3 injected, 12 without pod template, 1 immutable-template, 2 warnings`
    fn counted(&self, tense: Tense) -> String {
        let mut parts = tense.decisions(&self.counts);
        if self.without_template > 0 {
            parts.push(format!("{} without pod template", self.without_template));
        }
        for (reason, count) in &self.counted_notes {
            parts.push(format!("{count} {}", reason.id()));
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

const ON_ERROR_OPTION: &str = "`--set onError=skip`";
