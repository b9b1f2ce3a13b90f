//! Messages beside the output: on stderr, and in the log file for users whose tool hides stderr.

use crate::agent::prerequisites::{Permission, Requirement};
use crate::cli::discover::plain;
use crate::cli::input::{STDIN, Unreadable};
use crate::cli::prerequisites;
use crate::diagnostic::{Colour, Diagnostic, Place, Renderer, Severity, visible};
use crate::inject::kind_counts::KindCounts;
use crate::options::Tense;
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
const MAX_SHOWN_TO_ORCHESTRATOR: usize = 3;

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

/// Decisions. They are shown when the fate of the output is known: an error undoes them.
#[derive(Debug, Default)]
struct Decisions {
    lines: Vec<DecisionLine>,
    shown: usize,
    /// Changes that are not shown because of their number.
    left_out: usize,
}

#[derive(Debug)]
struct DecisionLine {
    line: String,
    effect: Effect,
    /// On stderr; in the log it is anyway.
    is_shown: bool,
}

/// Kind of a decision line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Reports a change.
    Change,
    /// Reports a fact that holds even if nothing is written.
    NoChange,
}

/// One message in its two forms.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// For the log: one line.
    pub(crate) line: String,
    /// For stderr: an error comes with the line that it is about.
    pub(crate) picture: String,
}

/// Collects messages; [`Messages::show`] prints them after the output.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    verbosity: Verbosity,
    log: Option<File>,
    decisions: Decisions,
    errors: MessageList,
    warnings: MessageList,
    notes: Vec<String>,
    /// Objects that must exist for the pods.
    needed: Vec<String>,
    /// RBAC of the agents: generated, or left to the user.
    permission: Permission,
    counts: BTreeMap<Reason, usize>,
    without_template: usize,
    kinds_without_template: KindCounts,
}

#[derive(Debug, Default)]
struct MessageList {
    messages: Vec<Message>,
    count: usize,
    counts: BTreeMap<Option<Reason>, usize>,
    left_out: BTreeMap<Option<Reason>, usize>,
}

impl MessageList {
    fn pictures(&self, more: Option<String>) -> Vec<String> {
        self.messages.iter().map(|message| message.picture.clone()).chain(more).collect()
    }

    /// ` (17 short-termination, 5 qos-changed)`
    fn reasons_left_out(&self) -> String {
        let counts = self.left_out.iter().filter_map(|(reason, count)| Some(format!("{count} {}", (*reason)?.id())));
        let counts: Vec<String> = counts.collect();
        if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) }
    }
}

impl Messages {
    /// Opens the log for appending, so that a log that cannot be written stops the run before anything else happens.
    pub(crate) fn new(verbosity: Verbosity, log_file: Option<&Path>) -> anyhow::Result<Self> {
        let open = |path: &Path| {
            OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .map_err(|error| anyhow::anyhow!("cannot write the log file {}: {}", path.display(), plain(&error)))
        };
        Ok(Self { verbosity, log: log_file.map(open).transpose()?, ..Self::default() })
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
    pub(crate) fn decided(&mut self, reason: Reason, show_when: ShowWhen, line: impl FnOnce() -> String) {
        self.count(reason);
        let limit = match (self.verbosity, show_when) {
            (Verbosity::Resources, _) => usize::MAX,
            (Verbosity::Summary, ShowWhen::Always) => MAX_SHOWN,
            (Verbosity::Orchestrator, ShowWhen::Always) => MAX_SHOWN_TO_ORCHESTRATOR,
            (Verbosity::Errors, _) | (_, ShowWhen::OnRequest) => 0,
        };
        let is_shown = self.decisions.shown < limit;
        self.decisions.shown += usize::from(is_shown);
        self.decisions.left_out += usize::from(limit > 0 && !is_shown);
        if is_shown || self.log.is_some() {
            let effect = if reason.done().is_some() { Effect::Change } else { Effect::NoChange };
            self.decisions.lines.push(DecisionLine { line: line(), effect, is_shown });
        }
    }

    /// A change that is no decision about a pod template.
    pub(crate) fn changed(&mut self, line: String) {
        let is_shown = self.verbosity != Verbosity::Errors;
        self.decisions.lines.push(DecisionLine { line, effect: Effect::Change, is_shown });
    }

    pub(crate) fn without_template(&mut self, without_template: usize, kinds: &KindCounts) {
        self.without_template += without_template;
        self.kinds_without_template.absorb(kinds);
    }

    /// Adds a note: neither a problem nor a decision about a pod template.
    pub(crate) fn note(&mut self, line: String, show_when: ShowWhen) -> io::Result<()> {
        log(&mut self.log, &line)?;
        if show_when == ShowWhen::Always || self.verbosity == Verbosity::Resources {
            self.notes.push(line);
        }
        Ok(())
    }

    /// Adds an error or a warning, with its reason if it has one.
    pub(crate) fn add(
        &mut self,
        severity: Severity,
        reason: Option<Reason>,
        message: impl FnOnce(Severity) -> Message,
    ) -> io::Result<()> {
        let (shown, limit, alike) = match (severity, self.verbosity) {
            // These settings are gone for good.
            (Severity::Error, _) if reason == Some(Reason::AdoptLosesSettings) => {
                (&mut self.errors, usize::MAX, usize::MAX)
            }
            (_, Verbosity::Summary) if reason == Some(Reason::AdoptLosesSettings) => {
                (&mut self.warnings, usize::MAX, usize::MAX)
            }
            (Severity::Error, _) => (&mut self.errors, MAX_SHOWN, MAX_SHOWN),
            (_, Verbosity::Resources) => (&mut self.warnings, usize::MAX, usize::MAX),
            (_, Verbosity::Orchestrator) => (&mut self.warnings, MAX_SHOWN_TO_ORCHESTRATOR, MAX_SHOWN_TO_ORCHESTRATOR),
            _ => (&mut self.warnings, MAX_SHOWN, MAX_SHOWN_ALIKE),
        };
        shown.count += 1;
        let of_reason = shown.counts.entry(reason).or_default();
        *of_reason += 1;
        let wanted = shown.messages.len() < limit && *of_reason <= alike;
        if !wanted {
            *shown.left_out.entry(reason).or_default() += 1;
        }
        if !wanted && self.log.is_none() {
            return Ok(());
        }
        let message = message(severity);
        // Shown whether or not it can be logged.
        let logged = log(&mut self.log, &message.line);
        if wanted {
            shown.messages.push(message);
        }
        logged
    }

    /// Adds an error without a place in a text.
    pub(crate) fn error(&mut self, what: impl Display) -> io::Result<()> {
        // Names of files may hold anything; a terminal obeys some of it.
        let what = what.to_string();
        let line = format!("error: {}", what.split('\n').map(visible).collect::<Vec<_>>().join("\n"));
        self.add(Severity::Error, None, |_| Message { picture: line.clone(), line })
    }

    /// Adds the error of an input that cannot be read.
    pub(crate) fn unreadable(&mut self, name: &str, error: &Unreadable) -> io::Result<()> {
        match error {
            Unreadable::Io(error) => self.error(format!("{name}: {}", plain(error))),
            Unreadable::NotText(not) => {
                let place = Place::of_lines(name, &not.bytes, not.offset..not.offset + 1);
                self.diagnostic(&Diagnostic::error(&*not.message).at(place).with_help(Some(not.help.to_owned())))
            }
        }
    }

    /// Adds a diagnostic.
    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic<'_>) -> io::Result<()> {
        let mut renderer = Renderer::new(Colour::Never);
        let help = diagnostic.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        let line = renderer.line(diagnostic) + &help;
        let picture = Renderer::new(self.colour()).picture(diagnostic).trim_end().to_owned();
        self.add(diagnostic.severity, None, |_| Message { line, picture })
    }

    /// Returns the errors so far, one line each, without their place on stdin, which an orchestrator's user cannot see.
    pub(crate) fn error_lines(&self) -> impl Iterator<Item = String> {
        self.errors.messages.iter().map(|message| match message.line.split_once("error: ") {
            Some((place, what)) if place.starts_with(STDIN) => what.to_owned(),
            Some((place, what)) => format!("{place}{what}"),
            None => message.line.clone(),
        })
    }

    /// Notes that the user has to write the permissions of an agent.
    pub(crate) fn permission(&mut self, permission: Permission) {
        if permission == Permission::Manual {
            self.permission = permission;
        }
    }

    /// Ends the report with the objects that must exist for the injected pods. Nothing where none of them has changed,
    /// unless every resource is spoken of.
    pub(crate) fn needed(&mut self, requirements: &[Requirement]) -> io::Result<()> {
        let changed =
            [Reason::Injected, Reason::Updated, Reason::Adopted].iter().any(|reason| self.counts.contains_key(reason));
        if changed || self.verbosity == Verbosity::Resources {
            for line in prerequisites::lines(requirements, self.permission) {
                log(&mut self.log, &line)?;
                self.needed.push(line);
            }
        }
        Ok(())
    }

    /// Logs the decisions and the summary: before the output, because a log that cannot be written holds that back.
    pub(crate) fn log_summary(&mut self, ending: RunOutcome<'_>) -> io::Result<()> {
        let summary = self.summary(ending);
        for decided in &self.decisions.lines {
            if is_true(decided, Some(ending)) {
                log(&mut self.log, &decided.line)?;
            }
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
        let how = if self.verbosity == Verbosity::Orchestrator { "see the results" } else { "`-v` shows all" };
        let decisions = self.shown_decisions(ending, how);
        let warnings = self.warnings.pictures(more(&self.warnings, "more warning", &format!("; {how}")));
        let errors = self.errors.pictures(more(&self.errors, "more error", ""));
        let kinds = match self.verbosity {
            Verbosity::Resources => self.kinds_without_template.lines(),
            _ => Vec::new(),
        };
        let notes = [&*self.notes, &*kinds].concat();
        let summary: Vec<String> = ending.map(|ending| self.summary(ending)).into_iter().collect();
        let parts: &[&[String]] = match self.verbosity {
            Verbosity::Errors if self.has_errors() => &[&errors, &summary],
            Verbosity::Errors => &[],
            Verbosity::Orchestrator => &[&errors, &summary, &decisions, &warnings, &notes, &self.needed],
            Verbosity::Summary | Verbosity::Resources => {
                &[&decisions, &notes, &warnings, &errors, &summary, &self.needed]
            }
        };
        let lines = parts.concat();
        if !lines.is_empty() {
            // A closed stderr is the user's choice.
            let _ = io::stderr().lock().write_all((lines.join("\n") + "\n").as_bytes());
        }
    }

    fn shown_decisions(&self, ending: Option<RunOutcome<'_>>, how: &str) -> Vec<String> {
        let shown = self.decisions.lines.iter().filter(|decided| decided.is_shown && is_true(decided, ending));
        let more = match self.decisions.left_out {
            0 => None,
            _ if is_undone(ending) => None,
            rest => Some(format!("… and {}; {how}", plural(rest, "more decision"))),
        };
        shown.map(|decided| decided.line.clone()).chain(more).collect()
    }

    /// `3 injected, 1 skipped (opted-out), 12 without pod template`, or that all of it did not happen.
    fn summary(&self, ending: RunOutcome<'_>) -> String {
        let held_back = match ending {
            RunOutcome::Given => return self.counted(Tense::Past),
            RunOutcome::Shown => return format!("{}; no file was changed", self.counted(Tense::Conditional)),
            RunOutcome::Permitted(grants) => {
                // The output is comments then, which `kubectl apply` refuses.
                let nothing = grants.nothing().map(|why| format!("nothing to apply: {why}"));
                return nothing.unwrap_or_else(|| plural(grants.service_accounts(), "ServiceAccount"));
            }
            RunOutcome::Changed { files } => {
                return format!("{}; {} changed", self.counted(Tense::Past), plural(files, "file"));
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
            let way = if ending == RunOutcome::GivenBack { "`onError: skip`" } else { "`--set onError=skip`" };
            summary += &format!("; to skip what cannot be injected, use {way}");
        }
        summary
    }

    /// True where something would be done but for refusals, which the user may pass by.
    fn only_refusals_hold_others_back(&self) -> bool {
        let is_refusal = |reason: &Option<Reason>| {
            reason.is_some_and(|reason| reason.class() == Class::Refused && reason != Reason::VerifyFailed)
        };
        self.errors.counts.keys().all(is_refusal) && self.counts.keys().any(|reason| reason.done().is_some())
    }

    fn counted(&self, tense: Tense) -> String {
        let mut parts = Vec::new();
        let of = |class: Class| self.counts.iter().filter(move |(reason, _)| reason.class() == class);
        parts.extend(of(Class::Done).map(|(reason, count)| tense.decided(*count, *reason)));
        for (class, word) in [(Class::Skipped, "skipped"), (Class::Refused, "failed")] {
            let total: usize = of(class).map(|(_, count)| count).sum();
            let ids: Vec<_> = match of(class).count() {
                0 => continue,
                1 => of(class).map(|(reason, _)| reason.id().to_owned()).collect(),
                _ => of(class).map(|(reason, count)| format!("{count} {}", reason.id())).collect(),
            };
            parts.push(format!("{total} {word} ({})", ids.join(", ")));
        }
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
    /// The output was written.
    Given,
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
            | RunOutcome::Shown
            | RunOutcome::Permitted(_)
            | RunOutcome::Changed { .. }
            | RunOutcome::NothingShown,
        ) => false,
        Some(RunOutcome::NothingWritten | RunOutcome::NothingChanged | RunOutcome::GivenBack) | None => true,
    }
}

fn is_true(decided: &DecisionLine, ending: Option<RunOutcome<'_>>) -> bool {
    decided.effect == Effect::NoChange || !is_undone(ending)
}

fn log(log: &mut Option<File>, line: &str) -> io::Result<()> {
    let Some(log) = log else { return Ok(()) };
    // One write per line, so that the lines of renderers that run side by side do not mix.
    // Its own kind of error: a log that is a pipe may break, and that is no reason to end quietly.
    log.write_all((line.replace('\n', " ") + "\n").as_bytes())
        .map_err(|error| io::Error::other(format!("cannot write the log file: {error}")))
}

fn more(shown: &MessageList, what: &str, how: &str) -> Option<String> {
    match shown.count - shown.messages.len() {
        0 => None,
        rest => Some(format!("… and {}{}{how}", plural(rest, what), shown.reasons_left_out())),
    }
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
