//! Messages beside the output: on stderr, and in the log file for users whose tool hides stderr.

use crate::agent::prerequisites::{Permission, Requirement};
use crate::cli::discover::plain;
use crate::cli::input::{STDIN, Unreadable};
use crate::cli::message_list::{Limits, Message, MessageList, Treatment, plural};
use crate::cli::prerequisites;
use crate::diagnostic::{Colour, Diagnostic, Place, Renderer, Severity, visible};
use crate::inject::kind_counts::KindCounts;
use crate::options::{Tense, Warnings};
use crate::rbac::Grants;
use crate::report::{Class, Reason};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Errors that are shown, and warnings without `-v`; of the rest only the number is.
const MAX_SHOWN: usize = 20;

/// Warnings of one reason that are shown without `-v`: many alike do not hide the one that matters.
const MAX_SHOWN_ALIKE: usize = 3;

/// Warnings that a function call shows.
const TO_ORCHESTRATOR: Limits = Limits { all: 3, alike: 3 };

/// Amount of messages on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Verbosity {
    /// `-q`
    Errors,
    /// Errors, warnings and the summary.
    #[default]
    Summary,
    /// `-v`: every warning, and one line per resource.
    Resources,
    /// A function call: errors come first, since kpt shows the first four lines, and the results have the rest.
    Orchestrator,
}

/// Condition for showing a decision or note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShowWhen {
    /// With `-v`.
    OnRequest,
    /// Without it too: a change that the user may not expect.
    Always,
}

/// A decision for the log, or for `-v`. Decisions are shown when the fate of the output is known: an error undoes them.
#[derive(Debug)]
struct DecisionLine {
    line: String,
    effect: Effect,
}

/// Kind of a decision line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Reports a change.
    Change,
    /// Reports a fact that holds even if nothing is written.
    NoChange,
}

/// Collects messages; [`Messages::show`] prints them after the output.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    verbosity: Verbosity,
    log: Option<File>,
    decisions: Vec<DecisionLine>,
    /// Changes that a user may not expect, without `-v`.
    surprises: MessageList,
    /// Changes that are no decisions about a pod template.
    changes: Vec<String>,
    errors: MessageList,
    /// Errors about a path or the run as a whole, each with its reason if it has one.
    run_errors: Vec<(Option<Reason>, String)>,
    warnings: MessageList,
    notes: MessageList,
    /// Objects that must exist for the pods.
    needed: Vec<String>,
    /// RBAC of the agents: generated, or left to the user.
    permission: Permission,
    counts: BTreeMap<Reason, usize>,
    without_template: usize,
    kinds_without_template: KindCounts,
    /// True under `--strict`: a refusal that is a warning is an error all the same.
    warnings_are_errors: bool,
}

impl Messages {
    /// Opens the log for appending, so that a log that cannot be written stops the run before anything else happens.
    pub(crate) fn new(verbosity: Verbosity, log_file: Option<&Path>) -> anyhow::Result<Self> {
        let open = |path: &Path| {
            OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .map_err(|error| {
                    anyhow::anyhow!(
                        "cannot write the log file {}: {}",
                        path.display(),
                        plain(&error)
                    )
                })
        };
        Ok(Self {
            verbosity,
            log: log_file.map(open).transpose()?,
            ..Self::default()
        })
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors.count > 0
    }

    pub(crate) fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// Returns the use of colours on stderr.
    pub(crate) fn colour(&self) -> Colour {
        match anstream::AutoStream::choice(&io::stderr()) {
            anstream::ColorChoice::Never => Colour::Never,
            _ => Colour::Always,
        }
    }

    /// Counts a decision for the summary.
    pub(crate) fn count(&mut self, reason: Reason) {
        *self.counts.entry(reason).or_default() += 1;
    }

    /// Counts a decision and shows it if the verbosity asks for it.
    pub(crate) fn decided(
        &mut self,
        reason: Reason,
        show_when: ShowWhen,
        sentence: impl FnOnce() -> String,
        message: impl FnOnce(Treatment) -> Message,
    ) {
        self.count(reason);
        let is_listed = self.verbosity == Verbosity::Resources || self.log.is_some();
        let limits = match (self.verbosity, show_when) {
            (Verbosity::Errors | Verbosity::Resources, _) | (_, ShowWhen::OnRequest) => None,
            (Verbosity::Summary, ShowWhen::Always) => Some(Limits {
                all: MAX_SHOWN,
                alike: MAX_SHOWN,
            }),
            (Verbosity::Orchestrator, ShowWhen::Always) => Some(TO_ORCHESTRATOR),
        };
        let admit = |limits| self.surprises.admit(Some(reason), Some(sentence()), limits);
        let treatment = limits.map_or(Treatment::Counted, admit);
        if is_listed || treatment != Treatment::Counted {
            let message = message(treatment);
            if is_listed {
                let effect = if reason.done().is_some() {
                    Effect::Change
                } else {
                    Effect::NoChange
                };
                self.decisions.push(DecisionLine {
                    line: message.line.clone(),
                    effect,
                });
            }
            self.surprises.put(treatment, Some(reason), message);
        }
    }

    pub(crate) fn treat_warnings(&mut self, warnings: Warnings) {
        self.warnings_are_errors = warnings == Warnings::Refuse;
    }

    /// Adds a change that is no decision about a pod template.
    pub(crate) fn changed(&mut self, line: String) {
        self.changes.push(line);
    }

    pub(crate) fn without_template(&mut self, without_template: usize, kinds: &KindCounts) {
        self.without_template += without_template;
        self.kinds_without_template.absorb(kinds);
    }

    /// Adds a note: neither a problem nor a decision about a pod template. Those with the same sentence are folded.
    pub(crate) fn note(
        &mut self,
        show_when: ShowWhen,
        sentence: impl FnOnce() -> String,
        message: impl FnOnce(Treatment) -> Message,
    ) -> io::Result<()> {
        let is_listed = self.verbosity == Verbosity::Resources;
        let treatment = if show_when == ShowWhen::Always || is_listed {
            self.notes
                .admit(None, (!is_listed).then(sentence), Limits::NONE)
        } else {
            Treatment::Counted
        };
        if treatment == Treatment::Counted && self.log.is_none() {
            return Ok(());
        }
        let message = message(treatment);
        log(&mut self.log, &message.line)?;
        self.notes.put(treatment, None, message);
        Ok(())
    }

    /// Adds a note of one line.
    pub(crate) fn note_line(&mut self, line: String) -> io::Result<()> {
        self.note(
            ShowWhen::Always,
            || line.clone(),
            |_| Message::of_line(line.clone()),
        )
    }

    /// Adds an error or a warning, with its reason if it has one. Warnings with the same sentence are folded.
    pub(crate) fn add(
        &mut self,
        severity: Severity,
        reason: Option<Reason>,
        sentence: impl FnOnce() -> String,
        message: impl FnOnce(Treatment) -> Message,
    ) -> io::Result<()> {
        let is_of_adoption = reason == Some(Reason::AdoptLosesSettings);
        let (list, limits) = match (severity, self.verbosity) {
            // These settings are gone for good.
            (Severity::Error, _) if is_of_adoption => (&mut self.errors, Limits::NONE),
            (_, Verbosity::Summary) if is_of_adoption => (&mut self.warnings, Limits::NONE),
            (Severity::Error, _) => (
                &mut self.errors,
                Limits {
                    all: MAX_SHOWN,
                    alike: MAX_SHOWN,
                },
            ),
            (_, Verbosity::Resources) => (&mut self.warnings, Limits::NONE),
            (_, Verbosity::Orchestrator) => (&mut self.warnings, TO_ORCHESTRATOR),
            _ => (
                &mut self.warnings,
                Limits {
                    all: MAX_SHOWN,
                    alike: MAX_SHOWN_ALIKE,
                },
            ),
        };
        // What was refused has to be mended at each place.
        let is_refusal = reason.is_some_and(|reason| reason.class() == Class::Refused);
        let folds = severity != Severity::Error
            && self.verbosity != Verbosity::Resources
            && !is_refusal
            && !is_of_adoption;
        let treatment = list.admit(reason, folds.then(sentence), limits);
        if treatment == Treatment::Counted && self.log.is_none() {
            return Ok(());
        }
        let message = message(treatment);
        // Shown whether or not it can be logged.
        let logged = log(&mut self.log, &message.line);
        list.put(treatment, reason, message);
        logged
    }

    /// Keeps an error about a path or the run as a whole for [`Messages::run_errors`].
    pub(crate) fn keep_run_error(&mut self, reason: Option<Reason>, what: String) {
        self.run_errors.push((reason, what));
    }

    /// Returns the errors about a path or the run as a whole, which no explanation of a text has.
    pub(crate) fn run_errors(&self) -> impl Iterator<Item = (Option<Reason>, &str)> {
        self.run_errors
            .iter()
            .map(|(reason, what)| (*reason, &**what))
    }

    /// Adds an error without a place in a text.
    pub(crate) fn error(&mut self, what: impl Display) -> io::Result<()> {
        // Names of files may hold anything; a terminal obeys some of it.
        let what = what.to_string();
        self.keep_run_error(None, what.clone());
        let line = format!(
            "error: {}",
            what.split('\n').map(visible).collect::<Vec<_>>().join("\n")
        );
        self.add(Severity::Error, None, String::new, |_| {
            Message::of_line(line)
        })
    }

    /// Adds the error of an input that cannot be read.
    pub(crate) fn unreadable(&mut self, name: &str, error: &Unreadable) -> io::Result<()> {
        match error {
            Unreadable::Io(error) => self.error(format!("{name}: {}", plain(error))),
            Unreadable::NotText(not) => {
                let place = Place::of_lines(name, &not.bytes, not.offset..not.offset + 1);
                self.keep_run_error(None, format!("{name}: {}; {}", not.message, not.help));
                self.diagnostic(
                    &Diagnostic::error(&*not.message)
                        .at(place)
                        .with_help(Some(not.help.to_owned())),
                )
            }
        }
    }

    /// Adds a diagnostic.
    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic<'_>) -> io::Result<()> {
        let mut renderer = Renderer::new(Colour::Never);
        let help = diagnostic
            .help
            .as_ref()
            .map(|help| format!("; {help}"))
            .unwrap_or_default();
        let line = renderer.line(diagnostic) + &help;
        let picture = Renderer::new(self.colour()).open_picture(diagnostic);
        self.add(
            diagnostic.severity,
            None,
            || diagnostic.message.clone(),
            |_| Message {
                line,
                picture,
                place: String::new(),
            },
        )
    }

    /// Returns the errors so far, one line each, without their place on stdin, which an orchestrator's user cannot see.
    pub(crate) fn error_lines(&self) -> impl Iterator<Item = String> {
        self.errors
            .lines()
            .map(|line| match line.split_once("error: ") {
                Some((place, what)) if place.starts_with(STDIN) => what.to_owned(),
                Some((place, what)) => format!("{place}{what}"),
                None => line.to_owned(),
            })
    }

    /// Notes that the user has to write the permissions of an agent.
    pub(crate) fn permission(&mut self, permission: Permission) {
        if permission == Permission::Manual {
            self.permission = permission;
        }
    }

    /// Ends the report with the objects that must exist for the injected pods. Nothing where none of them has changed,
    /// unless every resource is spoken of. `has_rbac`: the input holds the RBAC objects.
    pub(crate) fn needed(
        &mut self,
        requirements: &[Requirement],
        has_rbac: bool,
    ) -> io::Result<()> {
        let changed = [Reason::Injected, Reason::Updated, Reason::Adopted]
            .iter()
            .any(|reason| self.counts.contains_key(reason));
        if changed || self.verbosity == Verbosity::Resources {
            let permission = if has_rbac {
                Permission::Generated
            } else {
                self.permission
            };
            for line in prerequisites::lines(requirements, permission) {
                log(&mut self.log, &line)?;
                self.needed.push(line);
            }
        }
        Ok(())
    }

    /// Logs the decisions and the summary: before the output, because a log that cannot be written holds that back.
    pub(crate) fn log_summary(&mut self, ending: RunOutcome<'_>) -> io::Result<()> {
        let summary = self.summary(ending);
        for line in self
            .true_decisions(Some(ending))
            .map(str::to_owned)
            .collect::<Vec<_>>()
        {
            log(&mut self.log, &line)?;
        }
        log(&mut self.log, &summary)
    }

    /// Writes for an orchestrator from now on, unless the user has asked for more or less.
    pub(crate) fn for_orchestrator(&mut self) {
        if self.verbosity == Verbosity::Summary {
            self.verbosity = Verbosity::Orchestrator;
        }
    }

    /// Prints to stderr what there is to say, then the summary if there is one.
    pub(crate) fn show(&self, ending: Option<RunOutcome<'_>>) {
        let how = if self.verbosity == Verbosity::Orchestrator {
            "see the results"
        } else {
            "`-v` shows all"
        };
        let decisions = match self.verbosity {
            Verbosity::Resources => self.true_decisions(ending).map(str::to_owned).collect(),
            _ if is_undone(ending) => Vec::new(),
            _ => [
                self.surprises.pictures("decision", Some(how)),
                self.changes.clone(),
            ]
            .concat(),
        };
        let warnings = self.warnings.pictures("warning", Some(how));
        let errors = self.errors.pictures("error", None);
        let mut notes = self.notes.pictures("note", Some(how));
        if self.verbosity == Verbosity::Resources {
            notes.extend(self.kinds_without_template.lines());
        }
        let summary: Vec<String> = ending
            .map(|ending| self.summary(ending))
            .into_iter()
            .collect();
        let parts: &[&[String]] = match self.verbosity {
            Verbosity::Errors if self.has_errors() => &[&errors, &summary],
            Verbosity::Errors => &[],
            Verbosity::Orchestrator => &[
                &errors,
                &summary,
                &decisions,
                &warnings,
                &notes,
                &self.needed,
            ],
            Verbosity::Summary | Verbosity::Resources => &[
                &decisions,
                &notes,
                &warnings,
                &errors,
                &summary,
                &self.needed,
            ],
        };
        let lines = parts.concat();
        if !lines.is_empty() {
            // A closed stderr is the user's choice.
            let _ = io::stderr()
                .lock()
                .write_all((lines.join("\n") + "\n").as_bytes());
        }
    }

    /// Decisions that hold with this ending.
    fn true_decisions(&self, ending: Option<RunOutcome<'_>>) -> impl Iterator<Item = &str> {
        let is_undone = is_undone(ending);
        let decided = self
            .decisions
            .iter()
            .filter(move |decided| decided.effect == Effect::NoChange || !is_undone);
        let changes = self.changes.iter().filter(move |_| !is_undone);
        decided
            .map(|decided| &*decided.line)
            .chain(changes.map(|change| &**change))
    }

    /// `3 injected, 1 skipped (opted-out), 12 without pod template`, or that all of it did not happen.
    fn summary(&self, ending: RunOutcome<'_>) -> String {
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
        !self.warnings_are_errors && self.errors.counts.keys().all(is_refusal) && self.has_changes()
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

/// Returns true if the reported changes did not happen; without an ending, an error came in between. Changes of a dry run stay
/// true if they are not shown.
fn is_undone(ending: Option<RunOutcome<'_>>) -> bool {
    match ending {
        Some(
            RunOutcome::Given
            | RunOutcome::Printed
            | RunOutcome::Shown
            | RunOutcome::Permitted(_)
            | RunOutcome::Changed { .. }
            | RunOutcome::NothingShown,
        ) => false,
        Some(RunOutcome::NothingWritten | RunOutcome::NothingChanged | RunOutcome::GivenBack)
        | None => true,
    }
}

fn log(log: &mut Option<File>, line: &str) -> io::Result<()> {
    let Some(log) = log else { return Ok(()) };
    // One write per line, so that the lines of renderers that run side by side do not mix.
    // Its own kind of error: a log that is a pipe may break, and that is no reason to end quietly.
    log.write_all((line.replace('\n', " ") + "\n").as_bytes())
        .map_err(|error| io::Error::other(format!("cannot write the log file: {error}")))
}
