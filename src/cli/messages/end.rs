//! The last lines of a report: what was counted and what happened, what `--strict` asks for, and what to do next.

use crate::cli::messages::groups::MAX_FILES;
use crate::cli::messages::{Messages, RunEnd};
use crate::rbac::Grants;
use injector::{ProcessedText, Row, TEMPLATE_HELP, Tense, Warnings, plural, totals};
use report::{Class, Reason, Severity, visible};
use std::collections::{BTreeSet, HashSet};

/// The end of a run.
#[derive(Debug, Clone, Copy)]
pub enum Ending<'g> {
    /// The manifests of stdin went to stdout.
    StreamPrinted,
    /// The manifests of files went to stdout.
    FilesPrinted,
    /// A list, patches or a diff were printed; how many lines a diff changes.
    ChangesPrinted(Option<&'g str>),
    /// An explanation was printed.
    Explained,
    /// RBAC manifests were printed.
    PermissionsPrinted(&'g Grants),
    /// Files were replaced.
    FilesChanged { files: usize },
    /// Errors, or warnings with `--strict`, held back the manifests.
    NothingPrinted,
    /// Errors held back the manifests of RBAC.
    NoPermissions,
    /// Errors, or warnings with `--strict`, held back the change of every file.
    NoFileChanged,
    /// Errors, or warnings with `--strict`, held back a diff or patches, or errors stand beside what a check reports.
    DryRunFailed,
    /// A function call was answered with errors as its results.
    CallFailed,
}

impl Ending<'_> {
    /// Returns true if the output was held back, or errors stand beside it.
    pub fn is_failure(self) -> bool {
        self.is_undone() || matches!(self, Ending::DryRunFailed)
    }

    /// Returns true if the reported changes did not happen. Those of a dry run stay true if they are not printed.
    pub(super) fn is_undone(self) -> bool {
        matches!(
            self,
            Ending::NothingPrinted
                | Ending::NoPermissions
                | Ending::NoFileChanged
                | Ending::CallFailed
        )
    }
}

impl Messages {
    /// `3 to add, 1 left alone, 12 other resources, 2 errors in 2 files; no file was changed; configuration: agent-injector.yaml`
    pub(super) fn counts(&self, end: &RunEnd<'_>) -> String {
        let counts = match end.ending {
            // The output is comments then, which `kubectl apply` refuses.
            Ending::PermissionsPrinted(grants) => match grants.nothing() {
                Some(why) => format!("nothing to apply: {why}"),
                None => {
                    let accounts = plural(grants.service_accounts(), "ServiceAccount");
                    format!("permissions for {accounts}")
                }
            },
            Ending::NoPermissions => {
                let others = self.rows_without_places(Some(end));
                totals(others.filter(|row| !row.is_change()), 0, Tense::Past)
            }
            _ => {
                let without_template = end.kinds_without_template().total();
                let tense = if end.ending.is_undone() {
                    Tense::Conditional
                } else {
                    end.options.tense
                };
                totals(self.rows_without_places(Some(end)), without_template, tense)
            }
        };
        let happened = match end.ending {
            Ending::StreamPrinted | Ending::Explained | Ending::PermissionsPrinted(_) => None,
            Ending::FilesPrinted if self.has_changes(end) => {
                Some("printed to stdout (`-i` changes the files)".to_owned())
            }
            Ending::FilesPrinted => None,
            Ending::FilesChanged { files } => Some(plural(files, "file") + " changed"),
            Ending::NothingPrinted | Ending::NoPermissions => {
                Some("no output was written".to_owned())
            }
            Ending::ChangesPrinted(Some(lines)) => Some(format!("{lines}; no file was changed")),
            Ending::ChangesPrinted(None) | Ending::DryRunFailed | Ending::NoFileChanged => {
                Some("no file was changed".to_owned())
            }
            Ending::CallFailed => Some("items returned unchanged".to_owned()),
        };
        let mut parts = vec![counts];
        parts.extend(happened);
        parts.extend(self.about_files());
        parts.join("; ")
    }

    /// The one remedy of the errors, or else the next command of the run.
    pub fn next(&self, end: &RunEnd<'_>) -> Option<String> {
        let errors: Vec<Row<'_>> = self
            .rows_placed_where(Some(end), |row| row.severity == Severity::Error)
            .filter(|row| row.severity == Severity::Error && !row.is_change())
            .collect();
        let Some(first) = errors.first() else {
            let is_open = match end.ending {
                Ending::PermissionsPrinted(grants) => grants.nothing().is_none(),
                ending => !ending.is_undone() && self.has_changes(end),
            };
            let next = end.next.clone()?;
            if is_open {
                return Some(next);
            }
            // Such as an agent that has lost its record: the check fails for it, and this command does not change it.
            let is_lasting = |row: &Row<'_>| row.fails_check() && !row.is_change();
            let lasting = self
                .rows_placed_where(Some(end), is_lasting)
                .find(is_lasting)?;
            let help = lasting.finding.help.as_deref()?;
            return Some(format!("{}: {help}", lasting.place_text()));
        };
        // `onError: skip` makes these refusals warnings.
        let can_skip = |row: &Row<'_>| {
            let reason = row.finding.reason;
            reason.class() == Class::Refused
                && !matches!(
                    reason,
                    Reason::VerifyFailed | Reason::Error | Reason::NamespaceRequired
                )
        };
        let skips = end.options.warnings == Warnings::Tell
            && errors.iter().all(can_skip)
            && self.has_changes(end);
        let on_error = match end.ending {
            Ending::CallFailed => "`onError: skip`",
            _ => "`--set onError=skip`",
        };
        let is_template = |row: &&Row<'_>| row.finding.help.as_deref() == Some(TEMPLATE_HELP);
        // An error of the run, such as a path that does not exist, says itself what to do.
        let mut others = errors.iter().filter(|row| {
            !is_template(row) && row.finding.reason != Reason::Error && row.place.is_some()
        });
        let other = others.next();
        let files: HashSet<&str> = match other {
            Some(other) => others.chain([other]).map(|row| &*row.file).collect(),
            None => errors.iter().map(|row| &*row.file).collect(),
        };
        let these = match files.len() {
            many if many > MAX_FILES => format!("the {many} files (`-v` lists them)"),
            few => format!("the {few} files"),
        };
        let remedy = match other {
            Some(_) if files.len() > 1 => Some(format!("correct {these}")),
            Some(row) if row.finding.has_general_help && end.has_folder => Some(format!(
                "correct {}, or {}",
                row.place_text(),
                ignore(&row.file)
            )),
            Some(row) => Some(format!("correct {}", row.place_text())),
            None if !end.has_folder || !errors.iter().all(|row| is_template(&row)) => None,
            None if files.len() == 1 => Some(ignore(&first.file)),
            None => Some(format!("add {these} to the file .ignore")),
        };
        match (remedy, skips) {
            (Some(remedy), true) => Some(format!(
                "{remedy}, or leave what fails as it is with {on_error}"
            )),
            (None, true) => Some(format!("to leave what fails as it is, use {on_error}")),
            (remedy, false) => remedy,
        }
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
        let fail = match lasting.len() + others.len() {
            0 => return None,
            1 => "1 warning fails".to_owned(),
            many => format!("{many} warnings fail"),
        };
        let mut line = format!("--strict: {fail} the run");
        if !lasting.is_empty() {
            let accept = self.acceptance(&ids.join(", "), end);
            line += &format!("; to accept what may stay, {accept}");
        }
        if !others.is_empty() {
            let ids: BTreeSet<&str> = others.iter().map(|reason| reason.id()).collect();
            line += &format!("; correct {}", Vec::from_iter(ids).join(", "));
        }
        Some(line)
    }

    /// Returns how warnings are accepted: in the configuration that was read, or else by an option that works without one.
    fn acceptance(&self, ids: &str, end: &RunEnd<'_>) -> String {
        let found = self.found_configuration.as_deref();
        let file = end.configuration.as_deref().or(found).map(visible);
        match file {
            _ if self.is_call => {
                format!("set `spec.warnings.ignore: [{ids}]` in the configuration of the function")
            }
            Some(file) => format!("set `warnings: {{ignore: [{ids}]}}` below `spec` in {file}"),
            None => format!("use `--set 'warnings.ignore=[{ids}]'`"),
        }
    }

    fn has_changes(&self, end: &RunEnd<'_>) -> bool {
        self.rows_without_places(Some(end))
            .any(|row| row.is_change())
    }
}

/// Returns how a file of a folder is left out: `add /web.yaml to the file .ignore`. Without the slash, it would mean each file of that
/// name.
fn ignore(file: &str) -> String {
    let (folder, name) = match file.rsplit_once('/') {
        // A path of `.ignore` is below its folder.
        Some((folder, name)) if file.starts_with(['/', '.']) => (format!("{folder}/"), name),
        _ => (String::new(), file),
    };
    let pattern = name.replace('[', "\\[");
    format!("add /{pattern} to the file {folder}.ignore")
}
