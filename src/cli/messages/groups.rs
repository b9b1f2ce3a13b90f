//! The rows of a run for people: what is alike is said once, and what matters most is last.

use crate::cli::messages::Verbosity;
use injector::{Direction, NOT_VALID_YAML, Row};
use report::{Class, Colour, Diagnostic, Place, Reason, Severity};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// Places of a group that are shown without `-v`, and messages of one id.
const MAX_ALIKE: usize = 3;
/// The same of errors, each in another file.
pub(super) const MAX_FILES: usize = 10;

/// Bytes above a finding in which the comment of Helm is looked for.
const MAX_ABOVE: usize = 1 << 16;

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

impl View {
    /// Returns the messages about rows, by severity.
    pub(super) fn messages<'r>(
        self,
        rows: impl Iterator<Item = Row<'r>>,
    ) -> BTreeMap<Severity, Vec<String>> {
        let rows: Vec<Row<'_>> = rows.filter(|row| self.shows(row)).collect();
        let mut messages: BTreeMap<Severity, Vec<String>> = BTreeMap::new();
        let (decisions, others): (Vec<&Row<'_>>, Vec<&Row<'_>>) = rows.iter().partition(|row| {
            self.is_verbose() && row.is_decision() && row.severity == Severity::Info
        });
        if !decisions.is_empty() {
            let lines = decisions.iter().map(|row| row.line()).collect();
            messages.insert(Severity::Info, lines);
        }
        for group in grouped(&others, self.limit(MAX_ALIKE)) {
            let message = self.group(&group).trim_end().to_owned();
            messages.entry(group[0].severity).or_default().push(message);
        }
        messages
    }

    fn is_verbose(self) -> bool {
        self.verbosity == Verbosity::Resources
    }

    /// Returns the most of what is alike: without `-v`, a few.
    fn limit(self, few: usize) -> usize {
        if self.is_verbose() { usize::MAX } else { few }
    }

    pub(super) fn shows(self, row: &Row<'_>) -> bool {
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
            Verbosity::Summary if row.is_decision() => {
                self.direction == Direction::Inject
                    && matches!(row.finding.reason, Reason::Removed | Reason::Adopted)
            }
            Verbosity::Summary => !row.is_acknowledged,
        }
    }

    fn group(self, group: &[&Row<'_>]) -> String {
        let first = group[0];
        if let ([_], Some(picture)) = (group, &first.picture) {
            return picture.clone();
        }
        let finding = &first.finding;
        let messages = || group.iter().map(|row| &*row.finding.message);
        let message = common(messages())
            .or_else(|| common(messages().map(head)))
            .unwrap_or_else(|| finding.reason.sentence());
        let mut diagnostic = Diagnostic::error(message).with_help(finding.help.clone());
        diagnostic.severity = first.severity;
        diagnostic.id = (finding.reason != Reason::Error).then(|| finding.reason.id());
        if first.severity == Severity::Info && !self.is_verbose() {
            // The help is the line that the configuration lacks.
            if finding.reason != Reason::UnknownTemplate {
                diagnostic.help = None;
            }
            if let [place] = &self.places(group, 1)[..] {
                diagnostic.message += &format!(": {place}");
            }
            return diagnostic.picture(self.colour);
        }
        if let ([_], Some(range)) = (group, field_of(first)) {
            let place = Place::of_lines(first.file.clone(), first.text.as_bytes(), range);
            diagnostic.notes.extend(self.unseen(first));
            return diagnostic.at(place).picture_at(first.place, self.colour);
        }
        let max = match first.severity {
            Severity::Error => MAX_FILES,
            Severity::Warning | Severity::Info => MAX_ALIKE,
        };
        diagnostic.with_places(&self.places(group, self.limit(max)), self.colour)
    }

    /// Returns the places of a group, those of workloads that change first; of errors one for each file.
    fn places(self, group: &[&Row<'_>], max: usize) -> Vec<String> {
        let mut files = HashSet::new();
        let mut rows = group.to_vec();
        rows.retain(|row| !row.file.is_empty() || row.subject.resource().is_some());
        rows.sort_by_key(|row| !changes(row));
        let all = rows.len();
        // A file is named once. In stdin, a build or a function call, every resource is named.
        rows.retain(|row| {
            row.severity != Severity::Error
                || self.is_verbose()
                || self.is_call
                || !row.is_in_file()
                || files.insert(&*row.file)
        });
        let hidden = all - rows.len();
        let more = rows.len().saturating_sub(max);
        rows.truncate(max);
        let mut places: Vec<String> = rows.iter().map(|row| self.place(row)).collect();
        if let Some(last) = places.last_mut() {
            *last += &match (more, files.is_empty()) {
                (0, false) if hidden > 0 => format!(" and {hidden} more in these files"),
                (0, _) => String::new(),
                (more, true) => format!(" and {more} more"),
                (more, false) => format!(" and {more} more files"),
            };
        }
        places
    }

    fn place(self, row: &Row<'_>) -> String {
        [Some(row.place_text()), self.unseen(row)]
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Returns what names the place in a text that the user has not before him: the resource and field, and the template of a chart.
    fn unseen(self, row: &Row<'_>) -> Option<String> {
        let is_seen = row.is_in_file() && !self.is_call;
        let name = (!is_seen).then(|| row.resource_and_field());
        let offset = row.finding.offset.filter(|_| row.place.is_some());
        let source = offset
            .and_then(|offset| helm_source(row.text, offset))
            .map(|source| format!("rendered from {source}"));
        let parts: Vec<String> = name
            .into_iter()
            .chain(source)
            .filter(|part| !part.is_empty())
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// Returns the text that all are; none if they differ.
fn common<'m>(mut texts: impl Iterator<Item = &'m str>) -> Option<&'m str> {
    let first = texts.next()?;
    texts.all(|text| text == first).then_some(first)
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
fn grouped<'g, 'r>(rows: &[&'g Row<'r>], max: usize) -> Vec<Vec<&'g Row<'r>>> {
    let kind = |row: &'g Row<'r>| (row.severity, row.finding.reason, &row.finding.help);
    // Errors of the run have one id, and are about different things.
    let is_of_run = |row: &Row<'_>| row.finding.reason == Reason::Error;
    let alike = |row: &Row<'_>| {
        let message = &row.finding.message;
        if max == usize::MAX || is_of_run(row) {
            return message.clone();
        }
        head(message).replace(|c: char| c.is_ascii_digit(), "")
    };
    let alike: Vec<String> = rows.iter().map(|row| alike(row)).collect();
    let mut messages: HashMap<_, HashSet<&str>> = HashMap::new();
    for (row, message) in rows.iter().zip(&alike) {
        messages.entry(kind(row)).or_default().insert(message);
    }
    let mut groups: Vec<Vec<&Row<'_>>> = Vec::new();
    let mut known = HashMap::new();
    for (row, message) in rows.iter().zip(&alike) {
        let are_few = is_of_run(row) || messages[&kind(row)].len() <= max;
        let key = (kind(row), are_few.then_some(message));
        let at = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// Returns the chart's template that the document at an offset was rendered from. Helm names it in a comment right below the
/// `---`; people begin files of their own with such a comment, to say where they copied them from.
fn helm_source(text: &str, offset: usize) -> Option<&str> {
    let mut near = offset.saturating_sub(MAX_ABOVE)..=offset;
    let above = text.get(near.find(|at| text.is_char_boundary(*at))?..offset)?;
    let document = above.rfind("\n---").map_or(above, |at| &above[at + 1..]);
    let mut lines = document.strip_prefix("---")?.lines().skip(1);
    lines.next()?.strip_prefix("# Source: ")
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

    fn shown<'r>(
        verbosity: Verbosity,
        rows: impl Iterator<Item = Row<'r>>,
        severity: Severity,
    ) -> Vec<String> {
        let mut shown = view(verbosity).messages(rows);
        shown.remove(&severity).unwrap_or_default()
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
        grouped(&rows.iter().collect::<Vec<_>>(), max)
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
        let shown = shown(Verbosity::Summary, rows.into_iter(), Severity::Warning);
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
            shown(Verbosity::Summary, rows.into_iter(), Severity::Warning)
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
        let shown = |count, verbosity| shown(verbosity, rows(count), Severity::Error).join("\n");
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
        shown(verbosity, rows, Severity::Warning).join("\n")
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
            Vec::from_iter(shown.into_values().flatten()).join("\n")
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
        let source = |part: &str| helm_source(text, text.find(part).unwrap());
        assert_eq!(source("a: 1"), Some("web/templates/a.yaml"));
        assert_eq!(source(": 1"), Some("web/templates/a.yaml"));
        assert_eq!(source("b: 2"), Some("web/templates/b.yaml"));
        assert_eq!(source("c: 3"), None);
    }

    #[test]
    fn a_comment_above_every_marker_is_not_helms() {
        for text in [
            "# Source: https://kubernetes.io/docs\na: 1\n",
            "# Source: https://kubernetes.io/docs\n---\na: 1\n",
        ] {
            assert_eq!(helm_source(text, text.find("a:").unwrap()), None);
        }
    }
}
