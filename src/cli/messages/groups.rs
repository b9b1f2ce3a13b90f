//! The rows of a run for people: what is alike is said once, and what matters most is last.

use crate::cli::messages::Verbosity;
use injector::{Direction, NOT_VALID_YAML, Row};
use memchr::memmem;
use report::{Class, Colour, Diagnostic, Place, Reason, Renderer, Severity};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Places of a group that are shown without `-v`, and messages of one id.
const MAX_ALIKE: usize = 3;
/// The same of errors, each in another file.
pub(super) const MAX_FILES: usize = 10;

/// The choice of the rows that are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    pub(super) verbosity: Verbosity,
    /// True for a function call, whose results have all messages.
    pub(super) is_call: bool,
    pub(super) direction: Direction,
    /// True if an error undid the changes.
    pub(super) is_undone: bool,
    pub(super) colour: Colour,
}

/// The messages about rows, by severity.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) infos: Vec<String>,
    pub(super) warnings: Vec<String>,
    pub(super) errors: Vec<String>,
}

impl View {
    pub(super) fn messages<'r>(self, rows: impl Iterator<Item = Row<'r>>) -> Shown {
        let rows: Vec<Row<'_>> = rows.filter(|row| self.shows(row)).collect();
        let mut writer = Writer {
            view: self,
            renderer: Renderer::new(self.colour),
            document: None,
        };
        let mut messages = Shown::default();
        let (decisions, others): (Vec<&Row<'_>>, Vec<&Row<'_>>) = rows.iter().partition(|row| {
            row.is_decision()
                && row.severity == Severity::Info
                && self.verbosity == Verbosity::Resources
        });
        messages
            .infos
            .extend(decisions.iter().map(|row| row.line()));
        let max = if self.verbosity == Verbosity::Resources {
            usize::MAX
        } else {
            MAX_ALIKE
        };
        for group in grouped(others, max) {
            let messages = match group[0].severity {
                Severity::Info => &mut messages.infos,
                Severity::Warning => &mut messages.warnings,
                Severity::Error => &mut messages.errors,
            };
            messages.push(writer.group(&group).trim_end().to_owned());
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
            _ => !row.is_acknowledged,
        }
    }
}

/// Returns a message without what the reader of YAML expected: `not valid YAML` of `not valid YAML: expected a key`.
fn head(message: &str) -> &str {
    match message.split_once(NOT_VALID_YAML) {
        Some((before, _)) => &message[..before.len() + NOT_VALID_YAML.len()],
        None => message,
    }
}

/// Returns the rows together that tell of the same, in the order of the first of each; or that have one severity, reason and help,
/// where more than `max` messages do. Messages that differ in numbers alone tell of the same, unless all of them are to be shown. Never
/// an empty group.
fn grouped<'g, 'r>(rows: Vec<&'g Row<'r>>, max: usize) -> Vec<Vec<&'g Row<'r>>> {
    let kind = |row: &'g Row<'r>| (row.severity, row.finding.reason, &row.finding.help);
    let alike = |row: &Row<'_>| {
        let message = &row.finding.message;
        // Errors of the run have one id, and are about different things.
        if max == usize::MAX || row.finding.reason == Reason::Error {
            return message.clone();
        }
        head(message).replace(|c: char| c.is_ascii_digit(), "")
    };
    let mut messages: HashMap<_, HashSet<String>> = HashMap::new();
    for row in &rows {
        messages.entry(kind(row)).or_default().insert(alike(row));
    }
    let mut groups: Vec<Vec<&Row<'_>>> = Vec::new();
    let mut known = HashMap::new();
    for row in rows {
        let are_few = row.finding.reason == Reason::Error
            || messages
                .get(&kind(row))
                .is_none_or(|known| known.len() <= max);
        let message = are_few.then(|| alike(row));
        let at = *known.entry((kind(row), message)).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// Writes groups.
struct Writer<'t> {
    view: View,
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

impl<'t> Writer<'t> {
    fn group(&mut self, group: &[&Row<'t>]) -> String {
        let [first, others @ ..] = group else {
            return String::new();
        };
        if first.picture.is_some() {
            let max = match self.view.verbosity {
                Verbosity::Resources => usize::MAX,
                _ => MAX_FILES,
            };
            let pictures = group.iter().filter_map(|row| row.picture.as_deref());
            let mut text: String = pictures.take(max).collect();
            if group.len() > max {
                text += &format!("… and {} more\n", group.len() - max);
            }
            return text;
        }
        let finding = &first.finding;
        let message = [&*finding.message, head(&finding.message)]
            .into_iter()
            .find(|&text| {
                let is_said = |row: &&Row<'_>| {
                    let message = &*row.finding.message;
                    message == text || head(message) == text
                };
                others.iter().all(is_said)
            })
            .unwrap_or_else(|| finding.reason.sentence());
        let mut diagnostic = Diagnostic::error(message);
        diagnostic.severity = first.severity;
        diagnostic.id = (finding.reason != Reason::Error).then(|| finding.reason.id());
        diagnostic.help.clone_from(&finding.help);
        let places = self.places(group);
        if first.severity == Severity::Info && self.view.verbosity != Verbosity::Resources {
            // The help is the line that the configuration lacks.
            if finding.reason != Reason::UnknownTemplate {
                diagnostic.help = None;
            }
            let more = match group.len() {
                0 | 1 => String::new(),
                many => format!(" and {} more", many - 1),
            };
            let place = places.first().map(|place| format!(": {place}{more}"));
            diagnostic.message += &place.unwrap_or_default();
            return self.renderer.picture(&diagnostic);
        }
        if let (true, Some(range)) = (others.is_empty(), field_of(first)) {
            let place = Place::of_lines(first.file.clone(), first.text.as_bytes(), range);
            diagnostic.notes.extend(self.unseen(first));
            return self.renderer.picture(&diagnostic.at(place));
        }
        self.renderer.with_places(&diagnostic, &places)
    }

    /// Returns the places of a group, those of workloads that change first; of errors one for each file.
    fn places(&mut self, group: &[&Row<'t>]) -> Vec<String> {
        let is_error = group.iter().any(|row| row.severity == Severity::Error);
        let mut rows = group.to_vec();
        rows.retain(|row| !row.file.is_empty() || row.subject.resource().is_some());
        rows.sort_by_key(|row| !changes(row));
        let all = rows.len();
        let mut files = HashSet::new();
        let (max, things) = if self.view.verbosity == Verbosity::Resources {
            (usize::MAX, "")
        } else if is_error {
            // A file is named once. In stdin, a build or a function call, every resource is named.
            rows.retain(|row| {
                !row.is_in_file() || self.view.is_call || files.insert(row.file.clone())
            });
            (MAX_FILES, " files")
        } else {
            (MAX_ALIKE, "")
        };
        let hidden = all - rows.len();
        let more = rows.len().saturating_sub(max);
        rows.truncate(max);
        let mut places: Vec<String> = rows.iter().map(|row| self.place(row)).collect();
        if let (Some(last), true) = (places.last_mut(), more > 0) {
            *last += &format!(" and {more} more{things}");
        } else if let (Some(last), true) = (places.last_mut(), hidden > 0) {
            *last += &format!(" and {hidden} more in these files");
        }
        places
    }

    fn place(&mut self, row: &Row<'t>) -> String {
        let place = row.place_text();
        match self.unseen(row) {
            Some(unseen) if place.is_empty() => unseen,
            Some(unseen) => format!("{place} {unseen}"),
            None => place,
        }
    }

    /// Returns what names the place in a text that the user has not before him: the resource and field, and the template of a chart.
    fn unseen(&mut self, row: &Row<'t>) -> Option<String> {
        let source = row
            .finding
            .offset
            .filter(|_| row.place.is_some())
            .and_then(|offset| self.helm_source(row.text, offset));
        let is_seen = row.is_in_file() && !self.view.is_call;
        let name = row.resource_and_field();
        let name = if is_seen { "" } else { &*name };
        match source {
            Some(source) if name.is_empty() => Some(format!("rendered from {source}")),
            Some(source) => Some(format!("{name}, rendered from {source}")),
            None if name.is_empty() => None,
            None => Some(name.to_owned()),
        }
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

/// Returns the field that a finding is about; none for a resource or pod template as a whole: its first line shows nothing.
fn field_of(row: &Row<'_>) -> Option<Range<usize>> {
    let finding = &row.finding;
    let offset = finding.offset.filter(|_| row.place.is_some())?;
    let is_resource = row.subject.resource().map(|resource| resource.offset) == Some(offset);
    let is_about_pod =
        finding.reason.class() == Class::Warning || finding.reason == Reason::QosRefused;
    let is_template = row
        .subject
        .outcome()
        .is_some_and(|outcome| is_about_pod && outcome.template == finding.pointer);
    (!is_resource && !is_template).then(|| offset..offset.saturating_add(1))
}

fn changes(row: &Row<'_>) -> bool {
    row.subject
        .outcome()
        .is_some_and(|outcome| outcome.decision.reason.done().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Config;
    use injector::{Injection, Options, SeverityPolicy, inject};
    use report::{Finding, Position};
    use std::borrow::Cow;

    fn view(verbosity: Verbosity) -> View {
        View {
            verbosity,
            is_call: false,
            direction: Direction::Inject,
            is_undone: false,
            colour: Colour::Never,
        }
    }

    fn writer<'t>() -> Writer<'t> {
        Writer {
            view: view(Verbosity::Summary),
            renderer: Renderer::new(Colour::Never),
            document: None,
        }
    }

    /// A row at the start of a line of a file whose text is not in memory any more.
    fn row(reason: Reason, message: &str, file: &str, line: usize) -> Row<'static> {
        let finding = Finding::about_input(reason, message);
        Row {
            place: Some(Position {
                line,
                column: 1,
                line_start: 0,
            }),
            ..SeverityPolicy::default().row(file.to_owned(), Cow::Owned(finding))
        }
    }

    /// Returns the messages of each group.
    fn messages<'r>(rows: &'r [Row<'_>], max: usize) -> Vec<Vec<&'r str>> {
        grouped(rows.iter().collect(), max)
            .into_iter()
            .map(|group| group.iter().map(|row| &*row.finding.message).collect())
            .collect()
    }

    #[test]
    fn what_is_alike_is_one_group_in_the_order_of_its_first_row() {
        let mut rows = [
            row(Reason::ShortTermination, "a", "1.yaml", 1),
            row(Reason::HostNetwork, "a", "1.yaml", 2),
            row(Reason::ShortTermination, "b", "1.yaml", 3),
            row(Reason::ShortTermination, "a", "2.yaml", 1),
            row(Reason::ShortTermination, "a", "3.yaml", 1),
            row(Reason::ShortTermination, "a", "4.yaml", 1),
        ];
        assert_eq!(
            messages(&rows, MAX_ALIKE),
            [&["a", "a", "a", "a"][..], &["a"], &["b"]]
        );
        // Neither another help nor another severity is alike.
        rows[3].finding.to_mut().help = Some("help".to_owned());
        rows[4].severity = Severity::Info;
        assert_eq!(
            messages(&rows, MAX_ALIKE),
            [&["a", "a"][..], &["a"], &["b"], &["a"], &["a"]]
        );
    }

    #[test]
    fn more_than_three_messages_of_an_id_are_one_group() {
        let rows = ["a", "b", "c", "d", "a"]
            .map(|message| row(Reason::ShortTermination, message, "web.yaml", 1));
        assert_eq!(messages(&rows[..3], MAX_ALIKE), [["a"], ["b"], ["c"]]);
        assert_eq!(messages(&rows, MAX_ALIKE), [["a", "b", "c", "d", "a"]]);
        assert_eq!(messages(&rows, usize::MAX).len(), 4);
        let shown = view(Verbosity::Summary).messages(rows.into_iter()).warnings;
        let expected = format!(
            "warning[short-termination]: {}\n --> web.yaml:1:1\n --> web.yaml:1:1\n --> web.yaml:1:1 and 2 more",
            Reason::ShortTermination.sentence()
        );
        assert_eq!(shown, [expected]);
    }

    #[test]
    fn messages_that_differ_in_numbers_or_in_what_is_no_yaml_are_one_group() {
        let shown = |messages: [&str; 2]| {
            let rows = messages.map(|message| row(Reason::ShortTermination, message, "a.yaml", 1));
            view(Verbosity::Summary).messages(rows.into_iter()).warnings
        };
        let title = |message: &str| {
            format!("warning[short-termination]: {message}\n --> a.yaml:1:1\n --> a.yaml:1:1")
        };
        assert_eq!(
            shown(["not valid YAML: x", "not valid YAML: y"]),
            [title("not valid YAML")]
        );
        assert_eq!(shown(["left out: x", "left out: y"]).len(), 2);
        let sentence = Reason::ShortTermination.sentence();
        assert_eq!(shown(["after 0 s", "after 25 s"]), [title(sentence)]);
        assert_eq!(shown(["after 0 s", "after 0 m"]).len(), 2);
    }

    #[test]
    fn errors_of_the_run_are_about_different_things() {
        let rows =
            ["a", "b", "c", "d", "a"].map(|message| row(Reason::Error, message, "web.yaml", 1));
        assert_eq!(
            messages(&rows, MAX_ALIKE),
            [&["a", "a"][..], &["b"], &["c"], &["d"]]
        );
    }

    #[test]
    fn errors_have_one_place_for_each_of_ten_files() {
        let rows = |count: usize| {
            (0..count)
                .flat_map(|file| [(file, 3), (file, 7)])
                .map(|(file, line)| row(Reason::Uneditable, "m", &format!("{file}.yaml"), line))
        };
        let shown = |count, verbosity| view(verbosity).messages(rows(count)).errors.join("\n");
        let first = |files: usize| -> String {
            (0..files)
                .map(|file| format!("\n --> {file}.yaml:3:1"))
                .collect()
        };
        let title = "error[uneditable]: m";
        for (count, expected) in [
            (2, first(2) + " and 2 more in these files"),
            (10, first(10) + " and 10 more in these files"),
            (12, first(10) + " and 2 more files"),
        ] {
            assert_eq!(
                shown(count, Verbosity::Summary),
                format!("{title}{expected}")
            );
        }
        let all = shown(12, Verbosity::Resources);
        assert_eq!(all.matches(" --> ").count(), 24, "{all}");
        assert!(all.ends_with(" --> 11.yaml:7:1"), "{all}");
    }

    const TWO: &str = "\
kind: Deployment
apiVersion: apps/v1
metadata: {name: a}
spec: {template: {spec: {hostNetwork: true, containers: [{name: a, image: a}]}}}
---
kind: Deployment
apiVersion: apps/v1
metadata: {name: b}
spec: {template: {spec: {hostNetwork: true, containers: [{name: a, image: a}]}}}
";

    fn host_network(injection: &Injection, verbosity: Verbosity) -> String {
        let rows = injection
            .rows("web.yaml", TWO)
            .filter(|row| row.finding.reason == Reason::HostNetwork);
        view(verbosity).messages(rows).warnings.join("\n")
    }

    #[test]
    fn workloads_that_change_come_first() {
        let mut injection = inject(TWO, &Config::default(), Options::default());
        let places = |injection: &Injection| {
            let shown = host_network(injection, Verbosity::Summary);
            Vec::from_iter(
                shown
                    .lines()
                    .filter(|line| line.starts_with(" --> "))
                    .map(str::to_owned),
            )
        };
        let (first, second) = (" --> web.yaml:4:39", " --> web.yaml:9:39");
        assert_eq!(places(&injection), [first, second]);
        injection.outcomes[0].decision.reason = Reason::Unchanged;
        assert_eq!(places(&injection), [second, first]);
    }

    #[test]
    fn only_one_finding_at_a_field_has_an_excerpt() {
        let injection = inject(TWO, &Config::default(), Options::default());
        assert!(!host_network(&injection, Verbosity::Summary).contains('|'));
        assert!(!host_network(&injection, Verbosity::Resources).contains('|'));
        let rows = |reason, row: fn(&mut Row<'_>)| {
            let mut rows: Vec<Row<'_>> = injection
                .rows("web.yaml", TWO)
                .filter(|row| row.finding.reason == reason)
                .take(1)
                .collect();
            rows.iter_mut().for_each(row);
            let shown = view(Verbosity::Summary).messages(rows.into_iter());
            [shown.infos, shown.warnings].concat().join("\n")
        };
        let one = rows(Reason::HostNetwork, |_| ());
        assert!(
            one.contains("\n4 | spec: {template: {spec: {hostNetwork: true,"),
            "{one}"
        );
        // Neither the first line of a resource nor that of a pod template shows what is wrong.
        let resource = rows(Reason::HostNetwork, |row| {
            row.finding.to_mut().offset = Some(0);
        });
        assert!(!resource.contains('|'), "{resource}");
        let template = rows(Reason::HostNetwork, |row| {
            row.finding.to_mut().pointer = "/spec/template".to_owned();
        });
        assert!(!template.contains('|'), "{template}");
        // Information is one line without help.
        let info = rows(Reason::HostNetwork, |row| {
            row.severity = Severity::Info;
            row.finding.to_mut().help = Some("help".to_owned());
        });
        assert!(
            info.ends_with(": web.yaml:4:39") && info.lines().count() == 1,
            "{info}"
        );
    }

    #[test]
    fn helms_comment_says_where_a_document_comes_from() {
        let text = "---\n# Source: web/templates/a.yaml\na: 1\n---\n# Source: web/templates/b.yaml\nb: 2\n---\nc: 3\n";
        let mut writer = writer();
        let mut source = |part: &str| writer.helm_source(text, text.find(part).unwrap());
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
            let mut writer = writer();
            assert_eq!(writer.helm_source(text, text.find("a:").unwrap()), None);
        }
    }
}
