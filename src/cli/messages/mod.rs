//! Messages beside the output: on stderr, and in the log file for users whose tool hides stderr.

mod list;
mod summary;

pub(crate) use list::{Message, Treatment, plural};
pub(crate) use summary::RunOutcome;

use crate::agent::prerequisites::{Permission, Presence, Requirement};
use crate::cli::discover::plain;
use crate::cli::input::{STDIN, Unreadable};
use crate::diagnostic::{Colour, Diagnostic, Place, Renderer, visible};
use crate::explain::RunError;
use crate::explain::required::{self, RequirementView};
use crate::inject::kind_counts::KindCounts;
use crate::options::Warnings;
use crate::report::{Class, Reason};
use list::{Limits, MessageList};
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

/// Namespaces that one line about a required object names.
const MAX_NAMESPACES: usize = 5;

/// One line for all namespaces: the command `rbac` names the accounts.
const MANUAL_PERMISSIONS: &str =
    "required: RBAC for the agents; `mackerel-agent-injector rbac PATH...` prints it";

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

/// Kinds of messages, each with its own limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageLevel {
    /// A decision that is shown with `-v`.
    Decision,
    /// A change that the user may not expect.
    UnexpectedDecision,
    /// A warning that the user has acknowledged; shown with `-v`.
    Acknowledged,
    /// Neither a problem nor a decision about a pod template.
    Note,
    Warning,
    /// An error that a finding of a text has.
    Error,
    /// An error about a path, the configuration or the run as a whole.
    RunError,
}

impl MessageLevel {
    fn is_decision(self) -> bool {
        matches!(
            self,
            MessageLevel::Decision | MessageLevel::UnexpectedDecision
        )
    }
}

/// The properties of a message that decide about its place in the report.
#[derive(Debug)]
pub(crate) struct MessageHead {
    pub(crate) level: MessageLevel,
    pub(crate) reason: Option<Reason>,
    /// The text without severity. Messages of one level with the same sentence are folded.
    pub(crate) sentence: String,
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
    run_errors: Vec<RunError>,
    warnings: MessageList,
    notes: MessageList,
    /// Objects that must exist for the pods.
    needed: Vec<String>,
    /// RBAC of the agents: generated, or left to the user.
    permission: Permission,
    counts: BTreeMap<Reason, usize>,
    without_template: usize,
    kinds_without_template: KindCounts,
    /// Under `--strict`, a refusal that is a warning is an error all the same.
    treatment_of_warnings: Warnings,
}

impl Messages {
    /// Opens the log for appending, so that a log that cannot be written stops the run before anything else happens.
    pub(crate) fn new(verbosity: Verbosity, log_file: Option<&Path>) -> anyhow::Result<Self> {
        let mut messages = Self {
            verbosity,
            ..Self::default()
        };
        if let Some(path) = log_file {
            let opened = OpenOptions::new().append(true).create(true).open(path);
            let log = opened.map_err(|error| {
                let (path, error) = (path.display(), plain(&error));
                anyhow::anyhow!("cannot write the log file {path}: {error}")
            })?;
            messages.log = Some(log);
        }
        Ok(messages)
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

    pub(crate) fn treat_warnings(&mut self, warnings: Warnings) {
        self.treatment_of_warnings = warnings;
    }

    /// Adds a change that is no decision about a pod template.
    pub(crate) fn changed(&mut self, line: String) {
        self.changes.push(line);
    }

    pub(crate) fn without_template(&mut self, without_template: usize, kinds: &KindCounts) {
        self.without_template += without_template;
        self.kinds_without_template.absorb(kinds);
    }

    /// Adds a message. `write` is called only if its text is needed, and draws the picture only if that is shown.
    pub(crate) fn add(
        &mut self,
        head: MessageHead,
        write: impl FnOnce(Treatment) -> Message,
    ) -> io::Result<()> {
        let limits = self.limits(&head);
        if head.level == MessageLevel::RunError {
            self.run_errors.push(RunError {
                reason: head.reason,
                message: head.sentence.clone(),
            });
        }
        let sentence = self.is_folded(&head).then_some(head.sentence);
        let list = match head.level {
            MessageLevel::Decision | MessageLevel::UnexpectedDecision => &mut self.surprises,
            MessageLevel::Acknowledged | MessageLevel::Note => &mut self.notes,
            MessageLevel::Warning => &mut self.warnings,
            MessageLevel::Error | MessageLevel::RunError => &mut self.errors,
        };
        let treatment = match limits {
            Some(limits) => list.admit(head.reason, sentence, limits),
            None => Treatment::Counted,
        };
        let is_listed = self.verbosity == Verbosity::Resources && head.level.is_decision();
        if treatment == Treatment::Counted && self.log.is_none() && !is_listed {
            return Ok(());
        }
        let message = write(treatment);
        let line = message.line.clone();
        list.put(treatment, head.reason, message);
        if head.level.is_decision() {
            let effect = match head.reason.and_then(Reason::done) {
                Some(_) => Effect::Change,
                None => Effect::NoChange,
            };
            self.decisions.push(DecisionLine { line, effect });
            return Ok(());
        }
        log(&mut self.log, &line)
    }

    /// The numbers of messages of this kind that are shown; none where no such message is.
    fn limits(&self, head: &MessageHead) -> Option<Limits> {
        // The settings of an adopted agent are gone for good.
        let is_of_adoption = head.reason == Some(Reason::AdoptLosesSettings);
        let limits = match (head.level, self.verbosity) {
            // With `-v`, a decision is a line.
            (MessageLevel::Decision, _) => return None,
            (MessageLevel::UnexpectedDecision, Verbosity::Errors | Verbosity::Resources) => {
                return None;
            }
            (MessageLevel::Acknowledged, Verbosity::Resources) | (MessageLevel::Note, _) => {
                Limits::NONE
            }
            (MessageLevel::Acknowledged, _) => return None,
            (MessageLevel::Error, _) if is_of_adoption => Limits::NONE,
            (MessageLevel::Warning, Verbosity::Summary) if is_of_adoption => Limits::NONE,
            (MessageLevel::Warning, Verbosity::Resources) => Limits::NONE,
            (MessageLevel::Warning | MessageLevel::UnexpectedDecision, Verbosity::Orchestrator) => {
                TO_ORCHESTRATOR
            }
            (MessageLevel::Warning, _) => Limits {
                all: MAX_SHOWN,
                alike: MAX_SHOWN_ALIKE,
            },
            (
                MessageLevel::Error | MessageLevel::RunError | MessageLevel::UnexpectedDecision,
                _,
            ) => Limits {
                all: MAX_SHOWN,
                alike: MAX_SHOWN,
            },
        };
        Some(limits)
    }

    /// Returns false for what has to be mended, or looked at, at each place.
    fn is_folded(&self, head: &MessageHead) -> bool {
        let is_refusal = head
            .reason
            .is_some_and(|reason| reason.class() == Class::Refused);
        match head.level {
            MessageLevel::Decision | MessageLevel::UnexpectedDecision => true,
            MessageLevel::Error | MessageLevel::RunError => false,
            _ if self.verbosity == Verbosity::Resources => false,
            MessageLevel::Acknowledged | MessageLevel::Note => true,
            MessageLevel::Warning => !is_refusal && head.reason != Some(Reason::AdoptLosesSettings),
        }
    }

    /// Adds a note of one line.
    pub(crate) fn note_line(&mut self, line: String) -> io::Result<()> {
        let head = MessageHead {
            level: MessageLevel::Note,
            reason: None,
            sentence: line.clone(),
        };
        self.add(head, |_| Message::of_line(line))
    }

    /// Returns the errors about a path, the configuration or the run as a whole, which no explanation of a text has. A place on
    /// stdin is none of their text, since an orchestrator's user cannot see it.
    pub(crate) fn run_errors(&self) -> &[RunError] {
        &self.run_errors
    }

    /// Adds an error without a place in a text.
    pub(crate) fn error(&mut self, what: impl Display) -> io::Result<()> {
        // Names of files may hold anything; a terminal obeys some of it.
        let what = what.to_string();
        let lines: Vec<_> = what.split('\n').map(visible).collect();
        let line = format!("error: {}", lines.join("\n"));
        let head = MessageHead {
            level: MessageLevel::RunError,
            reason: None,
            sentence: what,
        };
        self.add(head, |_| Message::of_line(line))
    }

    /// Adds the error of an input that cannot be read.
    pub(crate) fn unreadable(&mut self, name: &str, error: &Unreadable) -> io::Result<()> {
        match error {
            Unreadable::Io(error) => self.error(format!("{name}: {}", plain(error))),
            Unreadable::NotText(not) => {
                let place = Place::of_lines(name, &not.bytes, not.offset..not.offset + 1);
                let diagnostic = Diagnostic::error(&*not.message).at(place);
                self.diagnostic(&diagnostic.with_help(Some(not.help.to_owned())))
            }
        }
    }

    /// Adds an error that a diagnostic describes.
    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic<'_>) -> io::Result<()> {
        let mut renderer = Renderer::new(Colour::Never);
        let text = diagnostic.message_with_help();
        let place = diagnostic
            .place
            .as_ref()
            .filter(|place| place.name != STDIN);
        let head = MessageHead {
            level: MessageLevel::RunError,
            reason: None,
            sentence: match place {
                Some(place) => format!("{}: {text}", renderer.place(place)),
                None => text,
            },
        };
        let colour = self.colour();
        self.add(head, |_| Message {
            line: renderer.line(diagnostic),
            picture: Renderer::new(colour).open_picture(diagnostic),
            place: String::new(),
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
        if !changed && self.verbosity != Verbosity::Resources {
            return Ok(());
        }
        let mut missing = Vec::new();
        for requirement in requirements {
            if !matches!(requirement.presence, Presence::Present { .. }) {
                missing.push(RequirementView::new(requirement, None));
            }
        }
        for line in required::lines(&missing, MAX_NAMESPACES) {
            self.needed.push(format!("required {line}"));
        }
        if self.permission == Permission::Manual && !has_rbac {
            self.needed.push(MANUAL_PERMISSIONS.to_owned());
        }
        for line in &self.needed {
            log(&mut self.log, line)?;
        }
        Ok(())
    }

    /// Logs the decisions and the summary: before the output, because a log that cannot be written holds that back.
    pub(crate) fn log_summary(&mut self, ending: RunOutcome<'_>) -> io::Result<()> {
        let summary = self.summary(ending);
        for line in self.true_decisions(Some(ending)) {
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

    /// Prints the messages to stderr, then the summary if there is one. Without an ending, an error came in between.
    pub(crate) fn show(&self, ending: Option<RunOutcome<'_>>) {
        let how = if self.verbosity == Verbosity::Orchestrator {
            "see the results"
        } else {
            "`-v` shows all"
        };
        let is_undone = ending.is_none_or(RunOutcome::is_undone);
        let decisions = match self.verbosity {
            Verbosity::Resources => self.true_decisions(ending),
            _ if is_undone => Vec::new(),
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
        let needed = self.needed.clone();
        let parts = match self.verbosity {
            Verbosity::Errors if self.has_errors() => vec![errors, summary],
            Verbosity::Errors => Vec::new(),
            Verbosity::Orchestrator => vec![errors, summary, decisions, warnings, notes, needed],
            Verbosity::Summary | Verbosity::Resources => {
                vec![decisions, notes, warnings, errors, summary, needed]
            }
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
    fn true_decisions(&self, ending: Option<RunOutcome<'_>>) -> Vec<String> {
        let is_undone = ending.is_none_or(RunOutcome::is_undone);
        let mut lines = Vec::new();
        for decision in &self.decisions {
            if decision.effect == Effect::NoChange || !is_undone {
                lines.push(decision.line.clone());
            }
        }
        if !is_undone {
            lines.extend_from_slice(&self.changes);
        }
        lines
    }
}

fn log(log: &mut Option<File>, line: &str) -> io::Result<()> {
    let Some(log) = log else { return Ok(()) };
    // One write per line, so that the lines of renderers that run side by side do not mix.
    // Its own kind of error: a log that is a pipe may break, and that is no reason to end quietly.
    log.write_all((line.replace('\n', " ") + "\n").as_bytes())
        .map_err(|error| io::Error::other(format!("cannot write the log file: {error}")))
}
