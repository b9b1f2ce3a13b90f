//! The last lines of a report: what was counted and what happened, what `--strict` asks for, and what to do next.

use crate::cli::messages::groups::MAX_FILES;
use crate::cli::messages::{Messages, RunEnd};
use injector::{ProcessedText, Row, TEMPLATE_HELP, Tense, Warnings, plural, totals};
use report::{Class, Reason, Severity, enumeration, visible};
use std::collections::{BTreeSet, HashSet};

/// The end of a run.
#[derive(Debug, Clone)]
pub enum Ending {
    /// The output was written; what else happened.
    Done(Option<String>),
    /// RBAC manifests were printed, or there was nothing to permit; the line that says so.
    PermissionsPrinted(String),
    /// Errors, or warnings with `--strict`, held back the output, or stand beside it; what did not happen.
    Failed(&'static str),
    /// Errors held back the manifests of RBAC.
    NoPermissions,
}

pub const NO_OUTPUT: &str = "no output was written";
pub const NO_FILE_CHANGED: &str = "no file was changed";

impl RunEnd<'_> {
    pub(super) fn is_failure(&self) -> bool {
        matches!(self.ending, Ending::Failed(_) | Ending::NoPermissions)
    }

    /// Returns true if the reported changes did not happen. Those of a dry run stay true if they are not printed; `rbac` reports none.
    pub(super) fn is_undone(&self) -> bool {
        match self.ending {
            Ending::NoPermissions => true,
            _ => self.is_failure() && self.options.tense == Tense::Past,
        }
    }
}

impl Messages {
    /// `3 to add, 1 left alone, 12 other resources, 2 errors in 2 files; no file was changed; configuration: agent-injector.yaml`
    pub(super) fn counts(&self, end: &RunEnd<'_>) -> String {
        let tense = if end.is_failure() {
            Tense::Conditional
        } else {
            end.options.tense
        };
        let rows = self.rows_without_places(Some(end));
        let all = |rows| totals(rows, end.kinds_without_template().total(), tense);
        let (counts, happened) = match &end.ending {
            Ending::Done(happened) => (all(rows), happened.as_deref()),
            Ending::Failed(happened) => (all(rows), Some(*happened)),
            Ending::PermissionsPrinted(permissions) => (permissions.clone(), None),
            Ending::NoPermissions => {
                let others = rows.filter(|row| !row.is_change());
                (totals(others, 0, tense), Some(NO_OUTPUT))
            }
        };
        let mut parts = vec![counts];
        parts.extend(happened.map(str::to_owned));
        parts.extend(self.about_files());
        parts.join("; ")
    }

    /// The one remedy of the errors, or else the next command of the run.
    pub fn next(&self, end: &RunEnd<'_>) -> Option<String> {
        let errors: Vec<Row<'_>> = self
            .rows_placed_where(Some(end), |row| row.severity == Severity::Error)
            .filter(|row| row.severity == Severity::Error && !row.is_change())
            .collect();
        if errors.is_empty() {
            return self.next_command(end);
        }
        let remedy = remedy(&errors, end.has_folder);
        // `onError: skip` makes these refusals warnings.
        let can_skip = |row: &Row<'_>| {
            let reason = row.finding.reason;
            reason.class() == Class::Refused
                && !matches!(
                    reason,
                    Reason::VerifyFailed | Reason::Error | Reason::NamespaceRequired
                )
        };
        if end.options.warnings == Warnings::Refuse
            || !errors.iter().all(can_skip)
            || !self.has_changes(end)
        {
            return remedy;
        }
        let on_error = if self.is_call {
            "`onError: skip`"
        } else {
            "`--set onError=skip`"
        };
        Some(match remedy {
            Some(remedy) => format!("{remedy}, or leave what fails as it is with {on_error}"),
            None => format!("to leave what fails as it is, use {on_error}"),
        })
    }

    fn next_command(&self, end: &RunEnd<'_>) -> Option<String> {
        let next = end.next.clone()?;
        if matches!(end.ending, Ending::PermissionsPrinted(_))
            || !end.is_undone() && self.has_changes(end)
        {
            return Some(next);
        }
        // Such as an agent that has lost its record: the check fails for it, and this command does not change it.
        let is_lasting = |row: &Row<'_>| row.fails_check() && !row.is_change();
        let lasting = self
            .rows_placed_where(Some(end), is_lasting)
            .find(is_lasting)?;
        let help = lasting.finding.help.as_deref()?;
        Some(format!("{}: {help}", lasting.place_text()))
    }

    /// With `--strict`, names the setting that accepts the warnings which may last, beside those that it accepts today.
    pub fn strict_line(&self, end: &RunEnd<'_>) -> Option<String> {
        if end.options.warnings != Warnings::Refuse {
            return None;
        }
        let rows: Vec<Row<'_>> = self
            .rows_without_places(Some(end))
            .filter(|row| row.severity == Severity::Warning)
            .collect();
        let refusals = rows.iter().filter(|row| row.is_in_summary()).count();
        let counts: Vec<String> = [(refusals, "refusal"), (rows.len() - refusals, "warning")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| plural(count, noun))
            .collect();
        let fail = match rows.len() {
            0 => return None,
            1 => "fails",
            _ => "fail",
        };
        let mut line = format!("--strict: {} {fail} the run", enumeration(&counts));
        let (lasting, others): (BTreeSet<Reason>, BTreeSet<Reason>) = rows
            .iter()
            .map(|row| row.finding.reason)
            .partition(|reason| reason.may_last());
        if !lasting.is_empty() {
            let is_ignored = |text: &ProcessedText<'_>, reason: Reason| {
                text.injection.severity_policy.ignored.contains(reason)
            };
            let accepted = Reason::ALL.iter().filter(|reason| {
                lasting.contains(reason) || end.texts.iter().any(|text| is_ignored(text, **reason))
            });
            let accept = self.acceptance(&ids(accepted), end);
            line += &format!("; to accept what may stay, {accept}");
        }
        if !others.is_empty() {
            line += &format!("; correct {}", ids(&others));
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

/// Returns `host-network, qos-changed`.
fn ids<'r>(reasons: impl IntoIterator<Item = &'r Reason>) -> String {
    let ids: Vec<&str> = reasons.into_iter().map(|reason| reason.id()).collect();
    ids.join(", ")
}

/// Returns the place to correct, or the file to leave out of a folder: a template is no manifest.
fn remedy(errors: &[Row<'_>], has_folder: bool) -> Option<String> {
    // An error of the run, such as a path that does not exist, says itself what to do.
    let (templates, others): (Vec<&Row<'_>>, Vec<&Row<'_>>) = errors
        .iter()
        .filter(|row| row.finding.reason != Reason::Error && row.place.is_some())
        .partition(|row| row.finding.help.as_deref() == Some(TEMPLATE_HELP));
    if let Some(first) = others.first() {
        let correct = match files(&others) {
            Some(files) => return Some(format!("correct {files}")),
            None => format!("correct {}", first.place_text()),
        };
        if first.finding.has_general_help && has_folder {
            return Some(format!("{correct}, or {}", ignore(&first.file)));
        }
        return Some(correct);
    }
    let first = templates.first().filter(|_| has_folder)?;
    Some(match files(&templates) {
        Some(files) => format!("add {files} to the file .ignore"),
        None => ignore(&first.file),
    })
}

/// Returns `the 3 files`, unless all rows are of one.
fn files(rows: &[&Row<'_>]) -> Option<String> {
    let files: HashSet<&str> = rows.iter().map(|row| &*row.file).collect();
    match files.len() {
        0 | 1 => None,
        many if many > MAX_FILES => Some(format!("the {many} files (`-v` lists them)")),
        few => Some(format!("the {few} files")),
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
