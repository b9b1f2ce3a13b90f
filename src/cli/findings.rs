//! The findings of one text as messages.

use crate::agent::kubelet_access::KubeletAccess;
use crate::cli::messages::{MessageKey, MessageLevel, MessageText, Messages, Visibility};
use crate::diagnostic::{Colour, Diagnostic, Place, Renderer, Severity, visible};
use crate::explain::InputFinding;
use crate::inject::outcome::{Outcome, ResourceRef};
use crate::inject::severity::SeverityPolicy;
use crate::inject::{Injection, ReportedFinding};
use crate::manifest::field_path::field_path;
use crate::options::{Direction, Options, Tense};
use crate::rbac;
use crate::report::{Finding, Reason};
use memchr::memmem;
use std::io;
use std::ops::Range;

/// An input with its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedText<'t> {
    /// The path as the user gave it, or `<stdin>`.
    pub(crate) name: &'t str,
    pub(crate) text: &'t str,
}

/// Writes the findings of one text as messages.
pub(crate) struct MessageWriter<'t> {
    renderer: Renderer<'t>,
    input: NamedText<'t>,
    naming: Naming,
    /// The document of the last message.
    document: Option<RenderedDocument<'t>>,
}

/// The names of places in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// Line and column.
    Lines,
    /// Resources, in a function call: the user has files, and does not see the text on stdin. Only a finding about no resource has a
    /// line of that text.
    Resources,
}

/// A document that Helm rendered.
struct RenderedDocument<'t> {
    span: Range<usize>,
    /// The template of the chart, if a comment names it.
    source: Option<&'t str>,
}

/// Adds the messages about one text.
pub(crate) fn report(
    messages: &mut Messages,
    mut writer: MessageWriter<'_>,
    injection: &Injection,
    options: Options,
) -> io::Result<()> {
    messages.set_warnings_option(options.warnings);
    messages.count_without_template(&injection.kinds_without_template);
    let mut agents = injection.outcomes.iter().filter_map(Outcome::rbac_subject);
    if agents.any(|subject| subject.access != KubeletAccess::ReadOnlyPort) {
        messages.require_rbac();
    }
    if rbac::has_objects(writer.input.text, &injection.related) {
        messages.set_has_rbac();
    }
    for mut reported in injection.diagnostics() {
        // A function call has no list of changes on stdout.
        if writer.naming == Naming::Resources && options.tense == Tense::Conditional {
            reported = reported.for_check();
        }
        add(messages, &mut writer, &reported, options.direction)?;
    }
    Ok(())
}

/// Adds one finding to the messages.
pub(crate) fn add(
    messages: &mut Messages,
    writer: &mut MessageWriter<'_>,
    reported: &ReportedFinding<'_>,
    direction: Direction,
) -> io::Result<()> {
    let finding = reported.finding;
    let reason = finding.reason;
    if reported.is_in_summary() {
        messages.count(reason);
    }
    let key = MessageKey {
        level: level(reported, direction),
        reason: Some(reason),
        sentence: finding.message_with_help(),
    };
    messages.add(key, |visibility| writer.message(reported, visibility))
}

/// Returns the level of the message about a finding.
fn level(reported: &ReportedFinding<'_>, direction: Direction) -> MessageLevel {
    match reported.severity {
        Severity::Error => MessageLevel::Error,
        Severity::Warning => MessageLevel::Warning,
        Severity::Info if reported.is_decision() => match (direction, reported.finding.reason) {
            // The user asked to inject, and may not know of the settings that an adopted agent loses.
            (Direction::Inject, Reason::Removed | Reason::Adopted) => {
                MessageLevel::UnexpectedDecision
            }
            _ => MessageLevel::Decision,
        },
        Severity::Info if reported.is_acknowledged => MessageLevel::Acknowledged,
        Severity::Info if reported.finding.reason.is_counted_only() => MessageLevel::CountedNote,
        Severity::Info => MessageLevel::Note,
    }
}

/// Adds a warning or note about an input as a whole.
pub(crate) fn add_about_input(
    messages: &mut Messages,
    name: &str,
    finding: &Finding,
    policy: SeverityPolicy,
) -> io::Result<()> {
    let reported = policy.reported(finding);
    let (level, sentence) = match level(&reported, Direction::Inject) {
        MessageLevel::Error => (
            MessageLevel::RunError,
            format!("{name}: {}", finding.message),
        ),
        level => {
            messages.keep_input_finding(InputFinding {
                about: name.to_owned(),
                finding: finding.clone(),
                policy,
            });
            (level, finding.message_with_help())
        }
    };
    let key = MessageKey {
        level,
        reason: Some(finding.reason),
        sentence,
    };
    let mut writer = MessageWriter::source_lines(NamedText { name, text: "" }, messages.colour());
    messages.add(key, |visibility| writer.message(&reported, visibility))
}

/// Adds an error about a text that stays an error whatever `onError` says.
pub(crate) fn error(
    messages: &mut Messages,
    input: NamedText<'_>,
    finding: &Finding,
) -> io::Result<()> {
    let mut writer = MessageWriter::source_lines(input, messages.colour());
    let key = MessageKey::without_reason(MessageLevel::Error, String::new());
    let reported = ReportedFinding::error(finding);
    messages.add(key, |visibility| writer.message(&reported, visibility))
}

impl<'t> MessageWriter<'t> {
    /// Returns a writer of messages with line, column and an excerpt of the text.
    pub(crate) fn source_lines(input: NamedText<'t>, colour: Colour) -> Self {
        Self {
            renderer: Renderer::new(colour),
            input,
            naming: Naming::Lines,
            document: None,
        }
    }

    /// Returns a writer of messages that name resources and the files that an orchestrator read them from.
    pub(crate) fn resource_names(input: NamedText<'t>, colour: Colour) -> Self {
        Self {
            renderer: Renderer::new(colour),
            input,
            naming: Naming::Resources,
            document: None,
        }
    }

    /// Returns the text of a message. Its picture is drawn only if it is shown.
    fn message(&mut self, reported: &ReportedFinding<'_>, visibility: Visibility) -> MessageText {
        let input = self.input;
        let finding = reported.finding;
        let resource = reported.subject.resource();
        if let (Naming::Resources, Some(resource)) = (self.naming, resource) {
            return self.message_of_call(reported, resource);
        }
        let offset = finding.offset.or(resource.map(|resource| resource.offset));
        let place = self.position(input, offset);
        let field = resource.map(|resource| resource_and_field(resource, finding));
        let line = line(&place, field.as_deref(), reported);
        if visibility != Visibility::Full {
            return MessageText {
                place,
                ..MessageText::of_line(line)
            };
        }
        let text = input.text.as_bytes();
        let mut diagnostic = Diagnostic::of(finding, reported.severity, input.name, text);
        diagnostic.place = Some(match offset {
            Some(offset) => Place::of_lines(input.name, text, offset..offset.saturating_add(1)),
            None => Place::of_whole(input.name),
        });
        if let Some(field) = field {
            diagnostic.notes.push(format!("in {field}"));
        }
        if let Some(offset) = finding.offset
            && let Some(source) = self.helm_source(input.text, offset)
        {
            diagnostic.notes.push(format!("rendered from {source}"));
        }
        MessageText {
            line,
            picture: self.renderer.open_picture(&diagnostic),
            place,
        }
    }

    /// Returns the text of a message of a function call about a resource.
    fn message_of_call(
        &mut self,
        reported: &ReportedFinding<'_>,
        resource: ResourceRef<'_>,
    ) -> MessageText {
        let finding = reported.finding;
        let field = resource_and_field(resource, finding);
        let place = match resource.file {
            Some((path, _)) => format!("{field} ({path})"),
            None => field,
        };
        let mut diagnostic = Diagnostic::of(finding, reported.severity, "", &[]);
        diagnostic.place = Some(Place::of_whole(place.clone()));
        MessageText {
            line: line("", Some(&place), reported),
            picture: self.renderer.open_picture(&diagnostic),
            place,
        }
    }

    /// Returns the chart's template that the document at an offset was rendered from. Helm names it in a comment right below the
    /// `---`; people begin files of their own with such a comment, to say where they copied them from.
    fn helm_source(&mut self, text: &'t str, offset: usize) -> Option<&'t str> {
        if let Some(document) = &self.document
            && document.span.contains(&offset)
        {
            return document.source;
        }
        let (before, after) = text.split_at_checked(offset)?;
        let start = memmem::rfind(before.as_bytes(), b"\n---").unwrap_or_default();
        let end = memmem::find(after.as_bytes(), b"\n---").map_or(text.len(), |end| offset + end);
        let document = text.get(start..end)?.trim_start_matches('\n');
        let below_marker = document.strip_prefix("---").unwrap_or_default();
        let is_head = |line: &&str| line.is_empty() || line.starts_with('#');
        let mut head = below_marker.lines().skip(1).take_while(is_head);
        let source = head.find_map(|line| line.strip_prefix("# Source: "));
        let span = start..end;
        self.document = Some(RenderedDocument { span, source });
        source
    }

    /// `web.yaml:3:1`
    fn position(&mut self, input: NamedText<'t>, offset: Option<usize>) -> String {
        let Some(offset) = offset else {
            return input.name.to_owned();
        };
        let position = self.renderer.position(input.text.as_bytes(), offset);
        format!("{}:{}:{}", input.name, position.line, position.column)
    }
}

/// `web.yaml:3:1: info[injected]: apps/v1/Deployment/prod/web: the agent was added`, or
/// `error[hand-edited]: apps/v1/Deployment/prod/web spec.template (deploy.yaml): the agent was modified after injection`
fn line(place: &str, field: Option<&str>, reported: &ReportedFinding<'_>) -> String {
    let mut line = String::new();
    if !place.is_empty() {
        line += &format!("{place}: ");
    }
    let id = reported.finding.reason.id();
    line += &format!("{}[{id}]: ", reported.severity.name());
    if let Some(field) = field {
        line += &format!("{field}: ");
    }
    line += &reported.finding.message_with_help();
    visible(&line).into_owned()
}

/// `apps/v1/Deployment/prod/web spec.template.spec.hostNetwork`
fn resource_and_field(resource: ResourceRef<'_>, finding: &Finding) -> String {
    let field = field_path(&finding.pointer);
    format!("{} {field}", resource.identity.full_name())
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helms_comment_says_where_a_document_comes_from() {
        let text = "---\n# Source: web/templates/a.yaml\na: 1\n---\n# Source: web/templates/b.yaml\nb: 2\n---\nc: 3\n";
        let mut writer = MessageWriter::source_lines(NamedText { name: "", text }, Colour::Never);
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
            let input = NamedText { name: "", text };
            let mut writer = MessageWriter::source_lines(input, Colour::Never);
            assert_eq!(writer.helm_source(text, text.find("a:").unwrap()), None);
        }
    }
}
