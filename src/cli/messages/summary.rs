//! The last line of a report: the number of decisions, or of the errors that held back the output.

use crate::cli::messages::{Messages, RunEnd};
use crate::rbac::Grants;
use injector::{ProcessedText, Row, Tense, Warnings, plural, totals};
use report::{Class, Reason, Severity};

/// The end of a run.
#[derive(Debug, Clone, Copy)]
pub enum Ending<'g> {
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
    /// Errors held back the manifests, or those of RBAC.
    NothingPrinted,
    /// Errors held back the change of every file.
    NoFileChanged,
    /// Errors held back a diff or patches, or stand beside what a check reports.
    DryRunFailed,
    /// A function call was answered with errors as its results.
    CallFailed,
}

impl Ending<'_> {
    /// Returns true if errors held back the output, or stand beside it.
    pub fn is_failure(self) -> bool {
        self.is_undone() || matches!(self, Ending::DryRunFailed)
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
        let mut parts = vec![self.result(end)];
        parts.extend(self.about_files());
        parts.join("; ")
    }

    /// `3 injected, 1 skipped (opted-out), 12 without pod template`, or `1 error; no file was changed`
    fn result(&self, end: &RunEnd<'_>) -> String {
        let counted = |tense| {
            let without_template = end.kinds_without_template().total();
            let parts = totals(self.rows_without_places(Some(end)), without_template, tense);
            if parts.is_empty() {
                "no resources".to_owned()
            } else {
                parts.join(", ")
            }
        };
        match end.ending {
            Ending::FilesPrinted if self.has_changes(end) => {
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
                let (counted, files) = (counted(Tense::Past), plural(files, "file"));
                format!("{counted}; {files} changed")
            }
            Ending::NothingPrinted => self.failure(end, "; no output was written"),
            Ending::NoFileChanged => self.failure(end, "; no file was changed"),
            Ending::DryRunFailed => self.failure(end, ""),
            Ending::CallFailed => self.failure(end, "; items returned unchanged"),
        }
    }

    /// `1 error; no file was changed; to skip what failed, use …`, or with `--strict` `2 warnings; no file was changed`
    fn failure(&self, end: &RunEnd<'_>, consequence: &str) -> String {
        let of = |severity| {
            self.rows_without_places(Some(end))
                .filter(move |row| row.severity == severity)
        };
        let errors: Vec<Row<'_>> = of(Severity::Error).collect();
        if errors.is_empty() {
            return plural(of(Severity::Warning).count(), "warning") + consequence;
        }
        // `onError: skip` makes these refusals warnings.
        let can_skip = |row: &Row<'_>| {
            let reason = row.finding.reason;
            reason.class() == Class::Refused
                && !matches!(
                    reason,
                    Reason::VerifyFailed | Reason::Error | Reason::NamespaceRequired
                )
        };
        let result = plural(errors.len(), "error") + consequence;
        if end.options.warnings == Warnings::Refuse
            || !errors.iter().all(can_skip)
            || !self.has_changes(end)
        {
            return result;
        }
        let on_error = match end.ending {
            Ending::CallFailed => "`onError: skip`",
            _ => "`--set onError=skip`",
        };
        format!("{result}; to skip what failed, use {on_error}")
    }

    pub(super) fn has_strict_warnings(&self, end: &RunEnd<'_>) -> bool {
        end.options.warnings == Warnings::Refuse
            && self
                .rows_without_places(Some(end))
                .any(|row| row.severity == Severity::Warning)
    }

    /// With `--strict`, names the setting that accepts the warnings which may last, beside those that it accepts today.
    pub fn strict_line(&self, end: &RunEnd<'_>) -> Option<String> {
        if end.options.warnings != Warnings::Refuse {
            return None;
        }
        let is_warning = |row: &Row<'_>| row.severity == Severity::Warning;
        let (lasting, others): (Vec<Reason>, Vec<Reason>) = self
            .rows_without_places(Some(end))
            .filter(is_warning)
            .map(|row| row.finding.reason)
            .partition(|reason| reason.may_last());
        let is_accepted = |reason: &&Reason| {
            let is_ignored = |text: &ProcessedText<'_>| {
                text.injection.severity_policy.ignored.contains(**reason)
            };
            lasting.contains(reason) || end.texts.iter().any(is_ignored)
        };
        let ids: Vec<&str> = Reason::ALL
            .iter()
            .filter(is_accepted)
            .map(|reason| reason.id())
            .collect();
        let these = if others.is_empty() {
            "these warnings"
        } else {
            "the warnings that may last"
        };
        (!lasting.is_empty()).then(|| {
            let ids = ids.join(", ");
            format!("--strict: to accept {these}, set `warnings.ignore: [{ids}]`")
        })
    }

    fn has_changes(&self, end: &RunEnd<'_>) -> bool {
        self.rows_without_places(Some(end))
            .any(|row| row.is_change())
    }
}
