//! Messages beside the output: on stderr, and in the log file for users whose tool hides stderr.

mod end;
mod groups;

pub use end::{Ending, NO_FILE_CHANGED, NO_OUTPUT};

use crate::cli::input::{Unreadable, io_message};
use crate::cli::{AlreadyReported, is_broken_pipe};
use crate::explain::required::{self, Needed};
use crate::rbac;
use anstream::stream::RawStream;
use groups::View;
use injector::{
    Direction, KindCounts, KubeletAccess, Options, Outcome, Presence, ProcessedText, Requirement,
    Row, SeverityPolicy, Tense,
};
use report::{BOLD, Colour, Diagnostic, Finding, Medium, Place, Reason, Severity, visible};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Namespaces that one line about a required object names.
const MAX_NAMESPACES: usize = 5;

/// Amount of messages on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verbosity {
    /// `-q`
    Errors,
    /// Errors, warnings and the summary.
    #[default]
    Summary,
    /// `-v`: every warning, and one line per resource.
    Resources,
}

/// The messages of a run. [`Messages::show`] prints them after the output.
#[derive(Debug, Default)]
pub struct Messages {
    verbosity: Verbosity,
    /// None without a log file, and once a write to it has failed: the run reports that error once.
    log: RefCell<Option<Log>>,
    /// True for a function call.
    is_call: bool,
    /// True for a call whose findings kpt shows as results.
    is_shown_by_kpt: bool,
    /// Findings about paths, settings or the run as a whole.
    rows: Vec<Row<'static>>,
    notes: Vec<String>,
    /// The numbers of files that the run has left out, for the summary.
    left_out: Vec<String>,
    /// The configuration file that the run has found, for the summary.
    found_configuration: Option<String>,
}

/// The log file, and the lines that it lacks.
#[derive(Debug)]
struct Log {
    file: File,
    lines: Vec<String>,
}

/// The end of a run, with what it found.
#[derive(Debug)]
pub struct RunEnd<'r> {
    pub ending: Ending,
    pub texts: Vec<ProcessedText<'r>>,
    /// Objects that must exist for the pods.
    pub requirements: &'r [Requirement],
    pub options: Options,
    /// The command that applies the permissions.
    pub rbac: String,
    /// The command that makes the changes, if the run does not.
    pub next: Option<String>,
    /// True if a folder was searched, so that `.ignore` counts.
    pub has_folder: bool,
    /// The configuration file that the user has named.
    pub configuration: Option<String>,
}

impl RunEnd<'_> {
    pub fn kinds_without_template(&self) -> KindCounts {
        let mut kinds = KindCounts::default();
        for text in &self.texts {
            kinds.absorb(&text.injection.kinds_without_template);
        }
        kinds
    }
}

impl Messages {
    /// Opens the log for appending, so that a log that cannot be written stops the run before anything else happens.
    pub fn new(verbosity: Verbosity, log_file: Option<&Path>) -> anyhow::Result<Self> {
        let log = match log_file {
            None => None,
            Some(path) => {
                let file = OpenOptions::new().append(true).create(true).open(path);
                let lines = Vec::new();
                let file = file.map_err(|error| {
                    let (path, error) = (path.display(), io_message(&error));
                    anyhow::anyhow!("cannot write the log file {path}: {error}")
                })?;
                Some(Log { file, lines })
            }
        };
        Ok(Self {
            verbosity,
            log: RefCell::new(log),
            ..Self::default()
        })
    }

    pub fn has_errors(&self) -> bool {
        self.rows.iter().any(|row| row.severity == Severity::Error)
    }

    pub fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// Returns the findings about paths, settings or the run as a whole.
    pub fn rows(&self) -> &[Row<'static>] {
        &self.rows
    }

    /// Sets the configuration file that the run has found, for the summary.
    pub fn set_found_configuration(&mut self, name: &str) {
        self.found_configuration = Some(name.to_owned());
    }

    /// Adds a part of the summary about files that the run has left out.
    pub fn add_left_out(&mut self, part: &str) {
        self.left_out.push(visible(part).into_owned());
    }

    /// Returns the parts of the summary about files.
    fn about_files(&self) -> impl Iterator<Item = String> {
        let name = self.found_configuration.iter();
        let configuration = name.map(|name| format!("configuration: {}", visible(name)));
        self.left_out.iter().cloned().chain(configuration)
    }

    /// Selects the messages of a function call.
    pub fn set_call(&mut self, is_shown_by_kpt: bool) {
        self.is_call = true;
        self.is_shown_by_kpt = is_shown_by_kpt;
    }

    /// Adds a finding about a path, a setting or the run as a whole.
    pub fn add(&mut self, row: Row<'static>) {
        self.add_to_log(row.line());
        self.rows.push(row);
    }

    /// Adds a finding about an input or a setting as a whole.
    pub fn add_about(&mut self, name: &str, finding: Finding, policy: SeverityPolicy) {
        self.add(policy.row(name.to_owned(), Cow::Owned(finding)));
    }

    /// Adds a note of one line.
    pub fn note_line(&mut self, line: &str) {
        let line = visible(line).into_owned();
        self.add_to_log(line.clone());
        self.notes.push(line);
    }

    fn add_to_log(&mut self, line: String) {
        if let Some(log) = self.log.get_mut() {
            log.lines.push(line);
        }
    }

    /// Adds an error without a place in a text.
    pub fn error(&mut self, error: impl Display) {
        let finding = Finding::about_input(Reason::Error, error.to_string());
        self.add_about("", finding, SeverityPolicy::default());
    }

    /// Adds the error of an input that cannot be read.
    pub fn unreadable(&mut self, name: &str, error: &Unreadable) {
        match error {
            Unreadable::Io(_) | Unreadable::IsOutput => self.error(format!("{name}: {error}")),
            Unreadable::NotText(binary) => {
                let place = Place::of_lines(name, &binary.bytes, binary.offset..binary.offset + 1);
                let mut diagnostic = Diagnostic::error(&*binary.message).at(place);
                diagnostic.id = Some(Reason::UnreadableFile.id());
                let diagnostic = diagnostic.with_help(Some(binary.help.to_owned()));
                self.pictured(Reason::UnreadableFile, &diagnostic);
            }
        }
    }

    /// Returns the text of an input, or reports why it cannot be read.
    pub fn readable(
        &mut self,
        name: &str,
        text: Result<String, Unreadable>,
    ) -> anyhow::Result<String> {
        match text {
            Ok(text) => Ok(text),
            Err(error) => {
                self.unreadable(name, &error);
                Err(AlreadyReported.into())
            }
        }
    }

    /// Adds an error that a diagnostic describes.
    pub fn diagnostic(&mut self, diagnostic: &Diagnostic<'_>) {
        self.pictured(Reason::Error, diagnostic);
    }

    fn pictured(&mut self, reason: Reason, diagnostic: &Diagnostic<'_>) {
        let place = diagnostic.place.as_ref();
        let lines = place.filter(|place| place.medium == Medium::Lines);
        let mut finding = Finding::about_input(reason, &*diagnostic.message);
        finding.help.clone_from(&diagnostic.help);
        let name = place.map_or_else(String::new, |place| place.name.clone().into_owned());
        let row = SeverityPolicy::default().row(name, Cow::Owned(finding));
        self.add(Row {
            severity: Severity::Error,
            place: lines.map(Place::position),
            picture: Some(diagnostic.picture(colour())),
            ..row
        });
    }

    /// Writes the messages to the log, if there is one: those that it lacks, and at the end of a run the findings of the texts and the
    /// summary. One write for all: Helm may run several post-renderers at once, whose lines must not mix.
    pub fn write_log(&self, end: Option<&RunEnd<'_>>) -> io::Result<()> {
        let Some(Log {
            mut file,
            mut lines,
        }) = self.log.take()
        else {
            return Ok(());
        };
        if let Some(end) = end {
            let is_undone = end.is_undone();
            let rows = self.rows_placed_where(Some(end), |_| true);
            let is_logged =
                |row: &Row<'_>| row.subject.is_in_text() && !(is_undone && row.is_change());
            lines.extend(rows.filter(is_logged).map(|row| row.line()));
            lines.push(self.counts(end));
            lines.extend(self.strict_line(end));
            let required = self.required(end);
            lines.extend(required.iter().map(|line| format!("required {line}")));
        }
        let text: String = lines
            .iter()
            .map(|line| line.replace('\n', " ") + "\n")
            .collect();
        // The error loses its kind: a broken pipe of stdout ends the run without a message, one of the log does not.
        file.write_all(text.as_bytes()).map_err(|error| {
            io::Error::other(format!("cannot write the log file: {}", io_message(&error)))
        })?;
        let lines = Vec::new();
        self.log.replace(Some(Log { file, lines }));
        Ok(())
    }

    /// Ends a run: writes the log, so that nothing else is written if it cannot be, then the output, and shows the messages. After an
    /// error of these, the findings of the texts are shown: what reports the error does not know them.
    pub fn end(
        &self,
        end: &RunEnd<'_>,
        write: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let written = self
            .write_log(Some(end))
            .map_err(Into::into)
            .and_then(|()| write());
        match &written {
            Ok(()) => self.show(Some(end)),
            Err(error) if is_broken_pipe(error) => {}
            Err(_) => {
                let view = View {
                    is_undone: true,
                    ..self.view(Some(end))
                };
                let rows = self.rows_placed_where(Some(end), move |row| view.shows(row));
                print(
                    view.messages(rows.filter(|row| row.subject.is_in_text()))
                        .into_values(),
                );
            }
        }
        written
    }

    /// Returns all findings of a run without their places in the texts, which takes much less time.
    fn rows_without_places<'e>(
        &'e self,
        end: Option<&'e RunEnd<'_>>,
    ) -> impl Iterator<Item = Row<'e>> {
        self.rows_placed_where(end, |_| false)
    }

    /// Returns all findings of a run. They are not kept, since those of a long text would take much memory.
    fn rows_placed_where<'e>(
        &'e self,
        end: Option<&'e RunEnd<'_>>,
        needs_place: impl Fn(&Row<'_>) -> bool + Copy + 'e,
    ) -> impl Iterator<Item = Row<'e>> {
        let of_texts = end.into_iter().flat_map(move |end| {
            end.texts
                .iter()
                .flat_map(move |text| {
                    text.injection
                        .rows_placed_where(text.name, text.text, needs_place)
                })
                // A function call has no list of changes on stdout.
                .map(move |row| match (self.is_call, end.options.tense) {
                    (true, Tense::Conditional) => row.for_check().of_call(),
                    (true, Tense::Past) => row.of_call(),
                    _ => row,
                })
        });
        self.rows.iter().cloned().chain(of_texts)
    }

    /// Returns the objects that must exist for the injected pods, if an agent changed or with `-v`.
    fn required(&self, end: &RunEnd<'_>) -> Vec<String> {
        let outcomes = || end.texts.iter().flat_map(|text| &text.injection.outcomes);
        let gets_agent =
            |reason| matches!(reason, Reason::Injected | Reason::Updated | Reason::Adopted);
        let is_changed = outcomes().any(|outcome| gets_agent(outcome.decision.reason));
        if end.is_failure() || !is_changed && self.verbosity != Verbosity::Resources {
            return Vec::new();
        }
        let is_missing =
            |needed: &&Requirement| !matches!(needed.presence, Presence::Present { .. });
        let missing: Vec<_> = end
            .requirements
            .iter()
            .filter(is_missing)
            .map(|needed| Needed::new(needed, None))
            .collect();
        let needs_rbac = outcomes()
            .filter_map(Outcome::rbac_subject)
            .any(|subject| subject.access != KubeletAccess::ReadOnlyPort)
            && !end
                .texts
                .iter()
                .any(|text| rbac::has_objects(text.text, &text.injection.related));
        required::lines(&missing, MAX_NAMESPACES, needs_rbac.then_some(&*end.rbac))
    }

    fn view(&self, end: Option<&RunEnd<'_>>) -> View {
        View {
            verbosity: self.verbosity,
            is_call: self.is_call,
            direction: end.map_or(Direction::Inject, |end| end.options.direction),
            is_undone: end.is_none_or(RunEnd::is_undone),
            colour: colour(),
        }
    }

    /// Prints the messages to stderr, what matters most last; without the counts if an error ended the run before its end was known.
    pub fn show(&self, end: Option<&RunEnd<'_>>) {
        let view = self.view(end);
        let rows = self
            .rows_placed_where(end, move |row| view.shows(row))
            .filter(|_| !self.is_shown_by_kpt);
        let mut messages = view.messages(rows);
        let has_errors = messages.contains_key(&Severity::Error);
        let infos = messages.entry(Severity::Info).or_default();
        let is_quiet = self.verbosity == Verbosity::Errors;
        let (mut needs, mut last) = (Vec::new(), Vec::new());
        if !is_quiet {
            infos.extend(self.notes.iter().cloned());
        }
        if let Some(end) = end {
            let kinds = end.kinds_without_template();
            if self.verbosity == Verbosity::Resources {
                infos.extend(kinds.line());
            }
            if !is_quiet && !self.is_call {
                infos.extend(kinds.gap_lines());
            }
            let strict = self.strict_line(end);
            if !is_quiet || has_errors || strict.is_some() {
                last.push(self.counts(end));
                last.extend(strict);
            }
            if !is_quiet {
                needs = required::block(self.required(end), view.colour);
                let head = view.colour.paint("next:", BOLD);
                last.extend(
                    self.next(end)
                        .map(|next| format!("{head} {}", visible(&next))),
                );
            }
        } else if !is_quiet {
            // `explain` prints its totals to stdout.
            infos.extend(self.about_files());
        }
        print(messages.into_values().chain([needs, last]));
    }
}

/// Prints blocks of lines to stderr, with a blank line between two.
fn print(blocks: impl Iterator<Item = Vec<String>>) {
    let blocks: Vec<String> = blocks
        .filter(|lines| !lines.is_empty())
        .map(|lines| lines.join("\n") + "\n")
        .collect();
    // The user may have closed stderr on purpose.
    let _ = io::stderr().lock().write_all(blocks.join("\n").as_bytes());
}

/// Returns the use of colours on stderr.
fn colour() -> Colour {
    colour_of(&io::stderr())
}

/// Returns the use of colours on a stream: `NO_COLOR` and its like decide.
pub fn colour_of(stream: &impl RawStream) -> Colour {
    match anstream::AutoStream::choice(stream) {
        anstream::ColorChoice::Never => Colour::Never,
        _ => Colour::Always,
    }
}
