//! The rows of a run on the terminal: errors first, each with an excerpt of its text.

use crate::cli::messages::Verbosity;
use injector::{Direction, Row, errors_first};
use memchr::memmem;
use report::{Colour, Diagnostic, Place, Reason, Renderer, Severity};
use std::collections::BTreeMap;
use std::ops::Range;

/// Warnings and information of one reason that are shown without `-v`, information with the same sentence once: many alike do not hide
/// the one that matters.
const MAX_ALIKE: usize = 3;

/// The choice of the rows that the terminal shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    pub(super) verbosity: Verbosity,
    /// True for a function call, whose results have all messages.
    pub(super) is_call: bool,
    pub(super) direction: Direction,
    pub(super) command: &'static str,
    /// True if an error undid the changes.
    pub(super) is_undone: bool,
    pub(super) colour: Colour,
}

impl View {
    /// Returns the messages about the rows, and how many alike were left out.
    pub(super) fn messages<'r>(self, rows: impl Iterator<Item = Row<'r>>) -> Vec<String> {
        let rows: Vec<Row<'_>> = rows.filter(|row| self.shows(row)).collect();
        let mut alike: BTreeMap<Reason, Alike> = BTreeMap::new();
        let mut rows = errors_first(&rows);
        rows.retain(|row| {
            !self.limits(row) || alike.entry(row.finding.reason).or_default().add(row)
        });
        let mut painter = Painter::new(self.colour);
        let mut messages = Vec::new();
        for row in rows {
            let is_line = row.is_decision() && self.verbosity == Verbosity::Resources;
            let message = match &row.picture {
                _ if is_line && row.severity == Severity::Info => row.line(),
                Some(picture) => picture.clone(),
                None => painter.picture(row),
            };
            messages.push(message.trim_end().to_owned());
        }
        let hint = if self.is_call {
            String::new()
        } else {
            format!("; `{} -v` shows them", self.command)
        };
        for (reason, Alike { more, .. }) in alike.iter().filter(|(_, alike)| alike.more > 0) {
            messages.push(format!("… and {more} more {}{hint}", reason.id()));
        }
        messages
    }

    pub(super) fn shows(self, row: &Row<'_>) -> bool {
        let reason = row.finding.reason;
        if row.severity == Severity::Error {
            return true;
        }
        if self.is_undone && row.is_change() {
            return false;
        }
        match self.verbosity {
            Verbosity::Errors => false,
            Verbosity::Resources => true,
            Verbosity::Summary if row.severity == Severity::Warning => true,
            // The user asked to inject, and may not know of the settings that an adopted agent loses.
            _ if row.is_decision() => {
                self.direction == Direction::Inject
                    && matches!(reason, Reason::Removed | Reason::Adopted)
            }
            _ => !row.is_acknowledged && !reason.is_counted_only(),
        }
    }

    /// Returns true if few rows of this reason are enough. The settings of an adopted agent are lost for good, so the user has to
    /// see all of them.
    fn limits(self, row: &Row<'_>) -> bool {
        row.severity != Severity::Error
            && row.finding.reason != Reason::AdoptLosesSettings
            && self.verbosity != Verbosity::Resources
    }
}

/// The rows of one reason.
#[derive(Default)]
struct Alike {
    /// The sentences that are shown.
    shown: Vec<String>,
    /// The number of rows that are not.
    more: usize,
}

impl Alike {
    /// Returns true if a row is to be shown. Warnings and decisions have to be seen at each place.
    fn add(&mut self, row: &Row<'_>) -> bool {
        let sentence = if row.subject.is_in_text() {
            row.finding.message_with_help()
        } else {
            // What it says is about its path.
            row.sentence()
        };
        let is_remark = row.severity == Severity::Info && !row.is_decision();
        let is_repeated = is_remark && self.shown.contains(&sentence);
        let is_shown = self.shown.len() < MAX_ALIKE && !is_repeated;
        if is_shown {
            self.shown.push(sentence);
        } else {
            self.more += 1;
        }
        is_shown
    }
}

/// Draws rows with an excerpt of their text.
struct Painter<'t> {
    renderer: Renderer<'t>,
    /// The document of the last row.
    document: Option<RenderedDocument<'t>>,
}

/// A document that Helm rendered.
struct RenderedDocument<'t> {
    text: &'t str,
    span: Range<usize>,
    /// The template of the chart, if a comment names it.
    source: Option<&'t str>,
}

impl<'t> Painter<'t> {
    fn new(colour: Colour) -> Self {
        Self {
            renderer: Renderer::new(colour),
            document: None,
        }
    }

    fn picture(&mut self, row: &Row<'t>) -> String {
        let finding = &row.finding;
        let mut diagnostic = Diagnostic::error(&*finding.message);
        diagnostic.severity = row.severity;
        diagnostic.id = (finding.reason != Reason::Error).then(|| finding.reason.id());
        diagnostic.help.clone_from(&finding.help);
        let resource = row.subject.resource();
        let offset = finding.offset.or(resource.map(|resource| resource.offset));
        let name = row.file.clone().into_owned();
        diagnostic.place = match (row.place.or(row.resource_place), offset) {
            (Some(_), Some(offset)) => {
                let range = offset..offset.saturating_add(1);
                Some(Place::of_lines(name, row.text.as_bytes(), range))
            }
            _ if name.is_empty() => None,
            _ => Some(Place::of_whole(row.place_text())),
        };
        if resource.is_some() {
            let note = format!("in {}", row.resource_and_field());
            diagnostic.notes.push(note);
        }
        if let (Some(_), Some(offset)) = (row.place, finding.offset)
            && let Some(source) = self.helm_source(row.text, offset)
        {
            diagnostic.notes.push(format!("rendered from {source}"));
        }
        self.renderer.picture(&diagnostic)
    }

    /// Returns the chart's template that the document at an offset was rendered from. Helm names it in a comment right below the
    /// `---`; people begin files of their own with such a comment, to say where they copied them from.
    fn helm_source(&mut self, text: &'t str, offset: usize) -> Option<&'t str> {
        if let Some(document) = &self.document
            && std::ptr::eq(document.text, text)
            && document.span.contains(&offset)
        {
            return document.source;
        }
        let (before, after) = text.split_at_checked(offset)?;
        let start = memmem::rfind(before.as_bytes(), b"\n---").unwrap_or_default();
        let end = memmem::find(after.as_bytes(), b"\n---").map_or(text.len(), |end| offset + end);
        let source = text
            .get(start..end)?
            .trim_start_matches('\n')
            .strip_prefix("---")
            .unwrap_or_default()
            .lines()
            .skip(1)
            .take_while(|line| line.is_empty() || line.starts_with('#'))
            .find_map(|line| line.strip_prefix("# Source: "));
        self.document = Some(RenderedDocument {
            text,
            span: start..end,
            source,
        });
        source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helms_comment_says_where_a_document_comes_from() {
        let text = "---\n# Source: web/templates/a.yaml\na: 1\n---\n# Source: web/templates/b.yaml\nb: 2\n---\nc: 3\n";
        let mut painter = Painter::new(Colour::Never);
        let mut source = |part: &str| painter.helm_source(text, text.find(part).unwrap());
        for _ in 0..2 {
            assert_eq!(source("a: 1"), Some("web/templates/a.yaml"));
            assert_eq!(source(": 1"), Some("web/templates/a.yaml"));
            assert_eq!(source("b: 2"), Some("web/templates/b.yaml"));
            assert_eq!(source("c: 3"), None);
        }
    }

    #[test]
    fn a_comment_above_every_marker_is_not_helms() {
        for text in [
            "# Source: https://kubernetes.io/docs\na: 1\n",
            "# Source: https://kubernetes.io/docs\n---\na: 1\n",
        ] {
            let mut painter = Painter::new(Colour::Never);
            assert_eq!(painter.helm_source(text, text.find("a:").unwrap()), None);
        }
    }
}
