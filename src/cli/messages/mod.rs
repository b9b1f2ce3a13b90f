//! Messages beside the output: on stderr, and in the log file for users whose tool hides stderr.

mod list;
mod summary;

pub(crate) use list::{MessageText, Visibility};
pub(crate) use summary::Ending;

use crate::agent::prerequisites::{Presence, Requirement};
use crate::cli::input::{STDIN, Unreadable, io_message};
use crate::diagnostic::{Colour, Diagnostic, Place, Renderer, visible};
use crate::explain::required::{self, RequirementView};
use crate::explain::{InputFinding, RunError, RunFindings};
use crate::inject::kind_counts::KindCounts;
use crate::options::Warnings;
use crate::report::{Class, Reason};
use list::{Limits, MessageList};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Limits of errors, and of unexpected decisions without `-v`.
const ERROR_LIMITS: Limits = Limits { all: 20, alike: 20 };

/// Limits of warnings without `-v`.
const WARNING_LIMITS: Limits = Limits { all: 20, alike: 3 };

/// Limits of warnings and unexpected decisions of a function call.
const CALL_LIMITS: Limits = Limits { all: 3, alike: 3 };

/// Namespaces that one line about a required object names.
const MAX_NAMESPACES: usize = 5;

/// The line about permissions that the user has to grant. The command `rbac` names the ServiceAccounts.
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
    /// A function call: errors come first, since kpt shows the first four lines. The results have all messages.
    FunctionCall,
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
    /// Information that the summary counts; shown with `-v`.
    CountedNote,
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

/// The properties of a message that decide whether it is shown, and where.
#[derive(Debug)]
pub(crate) struct MessageKey {
    pub(crate) level: MessageLevel,
    pub(crate) reason: Option<Reason>,
    /// The message without severity and place. Messages of one level and reason with the same sentence are folded.
    pub(crate) sentence: String,
}

impl MessageKey {
    /// Returns the key of a message that is no finding.
    pub(crate) fn without_reason(level: MessageLevel, sentence: String) -> Self {
        Self {
            level,
            reason: None,
            sentence,
        }
    }
}

/// A decision for the log, or for `-v`. It is shown at the end of the run, since an error undoes a change.
#[derive(Debug)]
struct DecisionLine {
    line: String,
    reason: Option<Reason>,
}

/// The messages of a run. [`Messages::show`] prints them after the output.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    verbosity: Verbosity,
    log: Option<File>,
    decisions: Vec<DecisionLine>,
    /// Decisions that the user may not expect. With `-v` they are among the others.
    unexpected: MessageList,
    errors: MessageList,
    /// Findings that belong to no text, for reports.
    run_findings: RunFindings,
    warnings: MessageList,
    notes: MessageList,
    /// Numbers of notes that only `-v` shows.
    counted_notes: BTreeMap<Reason, usize>,
    /// Objects that must exist for the pods.
    requirements: Vec<String>,
    /// True if an agent needs RBAC.
    needs_rbac: bool,
    /// True if the input has objects of the command `rbac`.
    has_rbac: bool,
    /// Numbers of decisions.
    counts: BTreeMap<Reason, usize>,
    without_template: usize,
    kinds_without_template: KindCounts,
    /// With `--strict`, a refusal is an error even under `onError: skip`.
    warnings_option: Warnings,
    /// Found out for the first message.
    colour: OnceCell<Colour>,
    /// The configuration file that the run has found, for the summary.
    found_configuration: Option<String>,
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
                let (path, error) = (path.display(), io_message(&error));
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
        let colour = || match anstream::AutoStream::choice(&io::stderr()) {
            anstream::ColorChoice::Never => Colour::Never,
            _ => Colour::Always,
        };
        *self.colour.get_or_init(colour)
    }

    /// Counts a decision for the summary.
    pub(crate) fn count(&mut self, reason: Reason) {
        *self.counts.entry(reason).or_default() += 1;
    }

    /// Sets the option `--strict`, for the summary.
    pub(crate) fn set_warnings_option(&mut self, warnings: Warnings) {
        self.warnings_option = warnings;
    }

    /// Sets the configuration file that the run has found, for the summary.
    pub(crate) fn set_found_configuration(&mut self, name: &str) {
        self.found_configuration = Some(visible(name).into_owned());
    }

    /// Counts resources without a pod template for the summary.
    pub(crate) fn count_without_template(&mut self, kinds: &KindCounts) {
        self.without_template += kinds.total();
        self.kinds_without_template.absorb(kinds);
    }

    /// Adds a message. `write` is called only if the text is needed, since most texts of a long input are not.
    pub(crate) fn add(
        &mut self,
        key: MessageKey,
        write: impl FnOnce(Visibility) -> MessageText,
    ) -> io::Result<()> {
        let limits = self.limits(&key);
        let MessageKey { level, reason, .. } = key;
        if level == MessageLevel::RunError {
            self.run_findings.errors.push(RunError {
                reason,
                message: key.sentence.clone(),
            });
        }
        if let (MessageLevel::CountedNote, Some(reason)) = (level, reason) {
            *self.counted_notes.entry(reason).or_default() += 1;
        }
        let sentence = self.is_folded(&key).then_some(key.sentence);
        let list = match level {
            MessageLevel::Decision | MessageLevel::UnexpectedDecision => &mut self.unexpected,
            MessageLevel::Acknowledged | MessageLevel::CountedNote | MessageLevel::Note => {
                &mut self.notes
            }
            MessageLevel::Warning => &mut self.warnings,
            MessageLevel::Error | MessageLevel::RunError => &mut self.errors,
        };
        let visibility = match limits {
            Some(limits) => list.register(reason, sentence, limits),
            None => Visibility::Counted,
        };
        let is_listed = self.verbosity == Verbosity::Resources && level.is_decision();
        if visibility == Visibility::Counted && self.log.is_none() && !is_listed {
            return Ok(());
        }
        let text = write(visibility);
        let line = text.line.clone();
        list.add(reason, visibility, text);
        if level.is_decision() {
            self.decisions.push(DecisionLine { line, reason });
            return Ok(());
        }
        log(&mut self.log, &line)
    }

    /// Returns the limits of messages of this kind; none if they are not shown, or shown as lines of decisions.
    fn limits(&self, key: &MessageKey) -> Option<Limits> {
        // The settings of an adopted agent are lost for good, so the user has to see all of them.
        let is_of_adoption = key.reason == Some(Reason::AdoptLosesSettings);
        match key.level {
            MessageLevel::Decision => None,
            MessageLevel::UnexpectedDecision => match self.verbosity {
                Verbosity::Errors | Verbosity::Resources => None,
                Verbosity::Summary => Some(ERROR_LIMITS),
                Verbosity::FunctionCall => Some(CALL_LIMITS),
            },
            MessageLevel::Acknowledged | MessageLevel::CountedNote
                if self.verbosity != Verbosity::Resources =>
            {
                None
            }
            MessageLevel::Acknowledged | MessageLevel::CountedNote | MessageLevel::Note => {
                Some(Limits::UNLIMITED)
            }
            MessageLevel::Warning => Some(match self.verbosity {
                Verbosity::Summary if is_of_adoption => Limits::UNLIMITED,
                Verbosity::Resources => Limits::UNLIMITED,
                Verbosity::Errors | Verbosity::Summary => WARNING_LIMITS,
                Verbosity::FunctionCall => CALL_LIMITS,
            }),
            MessageLevel::Error if is_of_adoption => Some(Limits::UNLIMITED),
            MessageLevel::Error | MessageLevel::RunError => Some(ERROR_LIMITS),
        }
    }

    /// Returns true if messages with the same sentence are shown as one. The user has to act at each place of an error.
    fn is_folded(&self, key: &MessageKey) -> bool {
        let is_refusal = key
            .reason
            .is_some_and(|reason| reason.class() == Class::Refused);
        match key.level {
            MessageLevel::Decision | MessageLevel::UnexpectedDecision => true,
            MessageLevel::Error | MessageLevel::RunError => false,
            _ if self.verbosity == Verbosity::Resources => false,
            MessageLevel::Acknowledged | MessageLevel::CountedNote | MessageLevel::Note => true,
            MessageLevel::Warning => !is_refusal && key.reason != Some(Reason::AdoptLosesSettings),
        }
    }

    /// Adds a note of one line.
    pub(crate) fn note_line(&mut self, line: &str) -> io::Result<()> {
        let line = visible(line).into_owned();
        let key = MessageKey::without_reason(MessageLevel::Note, line.clone());
        self.add(key, |_| MessageText::of_line(line))
    }

    /// Returns the errors about a path, the configuration or the run as a whole, which belong to no finding. They name no place
    /// on stdin, since the user of an orchestrator does not see it.
    pub(crate) fn run_errors(&self) -> &[RunError] {
        &self.run_findings.errors
    }

    /// Returns these errors, and the warnings and notes about inputs as a whole.
    pub(crate) fn run_findings(&self) -> &RunFindings {
        &self.run_findings
    }

    /// Keeps a warning or note about an input as a whole for reports.
    pub(crate) fn keep_input_finding(&mut self, finding: InputFinding) {
        self.run_findings.inputs.push(finding);
    }

    /// Adds an error without a place in a text.
    pub(crate) fn error(&mut self, error: impl Display) -> io::Result<()> {
        let sentence = error.to_string();
        let line = format!("error: {}", visible(&sentence));
        let key = MessageKey::without_reason(MessageLevel::RunError, sentence);
        self.add(key, |_| MessageText::of_line(line))
    }

    /// Adds the error of an input that cannot be read.
    pub(crate) fn unreadable(&mut self, name: &str, error: &Unreadable) -> io::Result<()> {
        match error {
            Unreadable::Io(_) | Unreadable::IsOutput => self.error(format!("{name}: {error}")),
            Unreadable::NotText(binary) => {
                let place = Place::of_lines(name, &binary.bytes, binary.offset..binary.offset + 1);
                let diagnostic = Diagnostic::error(&*binary.message).at(place);
                self.diagnostic(&diagnostic.with_help(Some(binary.help.to_owned())))
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
        let sentence = match place {
            Some(place) => format!("{}: {text}", renderer.place(place)),
            None => text,
        };
        let key = MessageKey::without_reason(MessageLevel::RunError, sentence);
        let colour = self.colour();
        self.add(key, |_| MessageText {
            line: renderer.line_with_help(diagnostic),
            picture: Renderer::new(colour).open_picture(diagnostic),
            place: String::new(),
        })
    }

    /// Adds the line about RBAC to the requirements, unless the input has the objects of the command `rbac`.
    pub(crate) fn require_rbac(&mut self) {
        self.needs_rbac = true;
    }

    /// Sets that the input has objects of the command `rbac`.
    pub(crate) fn set_has_rbac(&mut self) {
        self.has_rbac = true;
    }

    /// Adds the objects that must exist for the injected pods, if an agent changed or with `-v`.
    pub(crate) fn add_requirements(&mut self, requirements: &[Requirement]) -> io::Result<()> {
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
            let line = format!("required {line}");
            self.requirements.push(visible(&line).into_owned());
        }
        if self.needs_rbac && !self.has_rbac {
            self.requirements.push(MANUAL_PERMISSIONS.to_owned());
        }
        for line in &self.requirements {
            log(&mut self.log, line)?;
        }
        Ok(())
    }

    /// Logs the decisions and the summary. It precedes the output, so that nothing is written if the log cannot be.
    pub(crate) fn log_summary(&mut self, ending: Ending<'_>) -> io::Result<()> {
        let summary = self.summary(ending);
        for line in self.decision_lines(Some(ending)) {
            log(&mut self.log, &line)?;
        }
        log(&mut self.log, &summary)
    }

    /// Selects the messages of a function call, unless `-q` or `-v` was given.
    pub(crate) fn select_for_call(&mut self) {
        if self.verbosity == Verbosity::Summary {
            self.verbosity = Verbosity::FunctionCall;
        }
    }

    /// Prints the messages to stderr. The summary is left out if an error ended the run before its ending was known.
    pub(crate) fn show(&self, ending: Option<Ending<'_>>) {
        let hint = Some(match self.verbosity {
            Verbosity::FunctionCall => "see the results",
            _ => "`-v` shows all",
        });
        let is_undone = ending.is_none_or(Ending::is_undone);
        let mut decisions = Vec::new();
        if self.verbosity == Verbosity::Resources {
            decisions = self.decision_lines(ending);
        } else if !is_undone {
            decisions = self.unexpected.pictures("decision", hint);
        }
        let warnings = self.warnings.pictures("warning", hint);
        let errors = self.errors.pictures("error", None);
        let mut notes = self.notes.pictures("note", hint);
        if self.verbosity == Verbosity::Resources {
            notes.extend(self.kinds_without_template.line());
        }
        if self.verbosity != Verbosity::FunctionCall {
            notes.extend(self.kinds_without_template.gap_lines());
        }
        let summary = match (ending, &self.found_configuration) {
            (Some(ending), _) => vec![self.summary(ending)],
            // `explain` prints its totals to stdout.
            (None, Some(name)) => vec![format!("configuration: {name}")],
            (None, None) => Vec::new(),
        };
        let required = self.requirements.clone();
        let parts = match self.verbosity {
            Verbosity::Errors if self.has_errors() => vec![errors, summary],
            Verbosity::Errors => Vec::new(),
            Verbosity::FunctionCall => vec![errors, summary, decisions, warnings, notes, required],
            Verbosity::Summary | Verbosity::Resources => {
                vec![decisions, notes, warnings, errors, summary, required]
            }
        };
        let lines = parts.concat();
        if !lines.is_empty() {
            let text = lines.join("\n") + "\n";
            // The user may have closed stderr on purpose.
            let _ = io::stderr().lock().write_all(text.as_bytes());
        }
    }

    /// Returns the lines of all decisions; without those about changes if the changes did not happen.
    fn decision_lines(&self, ending: Option<Ending<'_>>) -> Vec<String> {
        let is_undone = ending.is_none_or(Ending::is_undone);
        let mut lines = Vec::new();
        for decision in &self.decisions {
            let is_change = decision.reason.and_then(Reason::done).is_some();
            if !is_change || !is_undone {
                lines.push(decision.line.clone());
            }
        }
        lines
    }
}

/// Adds a line to the log, if there is one.
fn log(log: &mut Option<File>, line: &str) -> io::Result<()> {
    let Some(log) = log else { return Ok(()) };
    // One write per line: Helm may run several post-renderers at once, whose lines must not mix.
    // The error loses its kind: a broken pipe of stdout ends the run without a message, one of the log does not.
    log.write_all((line.replace('\n', " ") + "\n").as_bytes())
        .map_err(|error| io::Error::other(format!("cannot write the log file: {error}")))
}
