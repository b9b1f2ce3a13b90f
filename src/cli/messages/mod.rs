//! Messages beside the output: on stderr, and in the log file for users whose tool hides stderr.

mod end;
mod groups;

pub use end::Ending;

use crate::cli::AlreadyReported;
use crate::cli::input::{Unreadable, io_message};
use crate::explain::required::{self, Needed};
use crate::rbac;
use anstream::stream::RawStream;
use groups::{Shown, View};
use injector::{
    Direction, KindCounts, KubeletAccess, Options, Outcome, Presence, ProcessedText, Requirement,
    Row, SeverityPolicy, Tense,
};
use report::{
    BOLD, Colour, Diagnostic, Finding, Medium, Place, Reason, Renderer, Severity, visible,
};
use std::borrow::Cow;
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
    log: Option<File>,
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

/// The end of a run, with what it found.
#[derive(Debug)]
pub struct RunEnd<'r> {
    pub ending: Ending<'r>,
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
        let mut messages = Self {
            verbosity,
            ..Self::default()
        };
        if let Some(path) = log_file {
            let log = OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .map_err(|error| {
                    let (path, error) = (path.display(), io_message(&error));
                    anyhow::anyhow!("cannot write the log file {path}: {error}")
                })?;
            messages.log = Some(log);
        }
        Ok(messages)
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
    pub fn add(&mut self, row: Row<'static>) -> io::Result<()> {
        self.log(&row.line())?;
        self.rows.push(row);
        Ok(())
    }

    /// Adds a finding about an input or a setting as a whole.
    pub fn add_about(
        &mut self,
        name: &str,
        finding: Finding,
        policy: SeverityPolicy,
    ) -> io::Result<()> {
        self.add(policy.row(name.to_owned(), Cow::Owned(finding)))
    }

    /// Adds a note of one line.
    pub fn note_line(&mut self, line: &str) -> io::Result<()> {
        let line = visible(line).into_owned();
        self.log(&line)?;
        self.notes.push(line);
        Ok(())
    }

    /// Adds an error without a place in a text.
    pub fn error(&mut self, error: impl Display) -> io::Result<()> {
        let finding = Finding::about_input(Reason::Error, error.to_string());
        self.add_about("", finding, SeverityPolicy::default())
    }

    /// Adds the error of an input that cannot be read.
    pub fn unreadable(&mut self, name: &str, error: &Unreadable) -> io::Result<()> {
        match error {
            Unreadable::Io(_) | Unreadable::IsOutput => self.error(format!("{name}: {error}")),
            Unreadable::NotText(binary) => {
                let place = Place::of_lines(name, &binary.bytes, binary.offset..binary.offset + 1);
                let mut diagnostic = Diagnostic::error(&*binary.message).at(place);
                diagnostic.id = Some(Reason::UnreadableFile.id());
                let diagnostic = diagnostic.with_help(Some(binary.help.to_owned()));
                self.pictured(Reason::UnreadableFile, &diagnostic)
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
                self.unreadable(name, &error)?;
                Err(AlreadyReported.into())
            }
        }
    }

    /// Adds an error that a diagnostic describes.
    pub fn diagnostic(&mut self, diagnostic: &Diagnostic<'_>) -> io::Result<()> {
        self.pictured(Reason::Error, diagnostic)
    }

    fn pictured(&mut self, reason: Reason, diagnostic: &Diagnostic<'_>) -> io::Result<()> {
        let mut renderer = Renderer::new(colour());
        let place = diagnostic.place.as_ref();
        let lines = place.filter(|place| place.medium == Medium::Lines);
        let mut finding = Finding::about_input(reason, &*diagnostic.message);
        finding.help.clone_from(&diagnostic.help);
        let name = place.map_or_else(String::new, |place| place.name.clone().into_owned());
        let row = SeverityPolicy::default().row(name, Cow::Owned(finding));
        self.add(Row {
            severity: Severity::Error,
            place: lines.map(|place| renderer.position(place.text, place.range.start)),
            picture: Some(renderer.picture(diagnostic)),
            ..row
        })
    }

    /// Adds a line to the log, if there is one.
    fn log(&self, line: &str) -> io::Result<()> {
        let Some(mut log) = self.log.as_ref() else {
            return Ok(());
        };
        // One write per line: Helm may run several post-renderers at once, whose lines must not mix.
        // The error loses its kind: a broken pipe of stdout ends the run without a message, one of the log does not.
        log.write_all((line.replace('\n', " ") + "\n").as_bytes())
            .map_err(|error| io::Error::other(format!("cannot write the log file: {error}")))
    }

    /// Logs the findings of the texts and the summary. It precedes the output, so that nothing is written if the log cannot be.
    pub fn log_end(&self, end: &RunEnd<'_>) -> io::Result<()> {
        if self.log.is_none() {
            return Ok(());
        }
        let is_undone = end.ending.is_undone();
        // The findings about the run are in the log already.
        for row in self
            .rows_placed_where(Some(end), |_| true)
            .filter(|row| row.subject.is_in_text())
        {
            if !is_undone || !row.is_change() {
                self.log(&row.line())?;
            }
        }
        self.log(&self.counts(end))?;
        self.strict_line(end)
            .iter()
            .try_for_each(|line| self.log(line))?;
        self.required(end)
            .iter()
            .try_for_each(|line| self.log(&format!("required {line}")))
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
        if end.ending.is_failure() || !is_changed && self.verbosity != Verbosity::Resources {
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
        let mut lines = Vec::new();
        for line in required::lines(&missing, MAX_NAMESPACES) {
            lines.push(visible(&line).into_owned());
        }
        if outcomes()
            .filter_map(Outcome::rbac_subject)
            .any(|subject| subject.access != KubeletAccess::ReadOnlyPort)
            && !end
                .texts
                .iter()
                .any(|text| rbac::has_objects(text.text, &text.injection.related))
        {
            let line = format!("RBAC for the agents: `{}`", end.rbac);
            lines.push(visible(&line).into_owned());
        }
        lines
    }

    /// Prints the messages to stderr, what matters most last; without the counts if an error ended the run before its end was known.
    pub fn show(&self, end: Option<&RunEnd<'_>>) {
        let colour = colour();
        let view = View {
            verbosity: self.verbosity,
            is_call: self.is_call,
            direction: end.map_or(Direction::Inject, |end| end.options.direction),
            is_undone: end.is_none_or(|end| end.ending.is_undone()),
            colour,
        };
        let rows = self
            .rows_placed_where(end, move |row| view.shows(row))
            .filter(|_| !self.is_shown_by_kpt);
        let Shown {
            mut infos,
            warnings,
            errors,
        } = view.messages(rows);
        let is_quiet = self.verbosity == Verbosity::Errors;
        let (mut needs, mut last) = (Vec::new(), Vec::new());
        if !is_quiet {
            infos.extend(self.notes.iter().cloned());
            // `explain` prints its totals to stdout.
            if end.is_none() {
                infos.extend(self.about_files());
            }
        }
        if let Some(end) = end {
            let kinds = end.kinds_without_template();
            if self.verbosity == Verbosity::Resources {
                infos.extend(kinds.line());
            }
            if !is_quiet {
                if !self.is_call {
                    infos.extend(kinds.gap_lines());
                }
                needs = self.required(end);
            }
            let strict = self.strict_line(end);
            if !is_quiet || !errors.is_empty() || strict.is_some() {
                last.push(self.counts(end));
                last.extend(strict);
            }
            if !is_quiet {
                let next = self
                    .next(end)
                    .map(|next| format!("{} {}", colour.paint("next:", BOLD), visible(&next)));
                last.extend(next);
            }
        }
        if !needs.is_empty() {
            needs.iter_mut().for_each(|line| line.insert_str(0, "  "));
            needs.insert(0, colour.paint("before you deploy:", BOLD).into_owned());
        }
        let blocks: Vec<String> = [infos, warnings, errors, needs, last]
            .iter()
            .filter(|lines| !lines.is_empty())
            .map(|lines| lines.join("\n") + "\n")
            .collect();
        if !blocks.is_empty() {
            // The user may have closed stderr on purpose.
            let _ = io::stderr().lock().write_all(blocks.join("\n").as_bytes());
        }
    }
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
