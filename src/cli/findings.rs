//! Outcomes and findings of one text as messages.

use crate::cli::messages::{Message, MessageHead, MessageLevel, Messages, Treatment};
use crate::diagnostic::{Colour, Diagnostic, Place, Renderer, Severity, visible};
use crate::inject::outcome::ResourceRef;
use crate::inject::severity::SeverityPolicy;
use crate::inject::{Injection, ReportedFinding};
use crate::manifest::field_path::field_path;
use crate::manifest::identity::Identity;
use crate::options::{Direction, Options, Tense};
use crate::report::{Class, Finding, PermissionChange, Reason};
use std::io;
use std::ops::Range;

/// One input, for messages that point into it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedText<'t> {
    /// As the user named it; `<stdin>` for stdin.
    pub(crate) name: &'t str,
    pub(crate) text: &'t str,
}

/// Writes the findings of one text as messages.
pub(crate) struct MessageWriter<'t> {
    renderer: Renderer<'t>,
    /// None for the user of an orchestrator, who knows resources and files but not our stdin.
    input: Option<NamedText<'t>>,
    /// The document of the last message, and the template that it came out of.
    document: Option<(Range<usize>, Option<&'t str>)>,
}

/// Adds the messages about one text.
pub(crate) fn report(
    messages: &mut Messages,
    mut writer: MessageWriter<'_>,
    injection: &Injection,
    options: Options,
) -> io::Result<()> {
    messages.treat_warnings(options.warnings);
    messages.without_template(
        injection.without_template(),
        &injection.kinds_without_template,
    );
    if let Some(line) = permissions(&injection.permissions, options.tense) {
        messages.changed(line);
    }
    for needs in injection
        .outcomes
        .iter()
        .filter_map(|outcome| outcome.needs())
    {
        messages.permission(needs.permission);
    }
    injection
        .diagnostics()
        .try_for_each(|reported| add(messages, &mut writer, &reported, options.direction))
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
    let is_refused_text = reported.resource.is_none() && reason.class() == Class::Refused;
    if reported.is_decision() || is_refused_text {
        messages.count(reason);
    }
    let head = MessageHead {
        level: level(reported, direction),
        reason: Some(reason),
        sentence: finding.message_with_help(),
    };
    messages.add(head, |treatment| writer.message(reported, treatment))
}

fn level(reported: &ReportedFinding<'_>, direction: Direction) -> MessageLevel {
    match reported.severity {
        Severity::Error => MessageLevel::Error,
        Severity::Warning => MessageLevel::Warning,
        Severity::Info if reported.is_decision() => match (direction, reported.finding.reason) {
            // A removal by `inject` may surprise the user, and so may what an adopted agent has no longer.
            (Direction::Inject, Reason::Removed | Reason::Adopted) => {
                MessageLevel::UnexpectedDecision
            }
            _ => MessageLevel::Decision,
        },
        Severity::Info if reported.is_acknowledged => MessageLevel::Acknowledged,
        Severity::Info => MessageLevel::Note,
    }
}

/// `info: ClusterRoles and bindings: 2 added, 1 taken out`
fn permissions(changes: &[(PermissionChange, Identity)], tense: Tense) -> Option<String> {
    let mut parts = Vec::new();
    for kind in [
        PermissionChange::Added,
        PermissionChange::Updated,
        PermissionChange::Removed,
    ] {
        let count = changes.iter().filter(|(change, _)| *change == kind).count();
        if count > 0 {
            parts.push(tense.counted(count, kind.word()));
        }
    }
    (!parts.is_empty()).then(|| format!("info: ClusterRoles and bindings: {}", parts.join(", ")))
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
        level => (level, finding.message_with_help()),
    };
    let head = MessageHead {
        level,
        reason: Some(finding.reason),
        sentence,
    };
    let mut writer = MessageWriter::source_lines(NamedText { name, text: "" }, messages.colour());
    messages.add(head, |treatment| writer.message(&reported, treatment))
}

/// Adds an error that belongs to no decision and that no setting tolerates.
pub(crate) fn error(
    messages: &mut Messages,
    input: NamedText<'_>,
    finding: &Finding,
) -> io::Result<()> {
    let mut writer = MessageWriter::source_lines(input, messages.colour());
    let head = MessageHead {
        level: MessageLevel::Error,
        reason: None,
        sentence: String::new(),
    };
    let reported = ReportedFinding::error(finding);
    messages.add(head, |treatment| writer.message(&reported, treatment))
}

impl<'t> MessageWriter<'t> {
    pub(crate) fn source_lines(input: NamedText<'t>, colour: Colour) -> Self {
        Self {
            renderer: Renderer::new(colour),
            input: Some(input),
            document: None,
        }
    }

    pub(crate) fn resource_names(colour: Colour) -> Self {
        Self {
            renderer: Renderer::new(colour),
            input: None,
            document: None,
        }
    }

    /// Returns a message. Its picture is drawn only if it is shown.
    fn message(&mut self, reported: &ReportedFinding<'_>, treatment: Treatment) -> Message {
        let Some(input) = self.input else {
            return self.message_of_call(reported);
        };
        let ReportedFinding {
            finding, resource, ..
        } = *reported;
        let offset = finding.offset.or(resource.map(|resource| resource.offset));
        let place = self.position(input, offset);
        let about = resource.map(|resource| field_of(resource, finding));
        let line = line(&place, about.as_deref(), reported);
        if treatment != Treatment::Shown {
            return Message {
                place,
                ..Message::of_line(line)
            };
        }
        let text = input.text.as_bytes();
        let mut diagnostic = Diagnostic::of(finding, reported.severity, input.name, text);
        diagnostic.place = Some(match offset {
            Some(offset) => Place::of_lines(input.name, text, offset..offset.saturating_add(1)),
            None => Place::of_whole(input.name),
        });
        diagnostic
            .notes
            .extend(about.map(|about| format!("in {about}")));
        if let Some(offset) = finding.offset
            && let Some(source) = self.source(input.text, offset)
        {
            diagnostic.notes.push(format!("rendered from {source}"));
        }
        Message {
            line,
            picture: self.renderer.open_picture(&diagnostic),
            place,
        }
    }

    /// Returns a message for the user of an orchestrator.
    fn message_of_call(&mut self, reported: &ReportedFinding<'_>) -> Message {
        let finding = reported.finding;
        let place = reported.resource.map(|resource| {
            let field = field_of(resource, finding);
            match resource.file {
                Some((path, _)) => format!("{field} ({path})"),
                None => field,
            }
        });
        let mut diagnostic = Diagnostic::of(finding, reported.severity, "", &[]);
        diagnostic.place = place.clone().map(Place::of_whole);
        Message {
            line: line("", place.as_deref(), reported),
            picture: self.renderer.open_picture(&diagnostic),
            place: place.unwrap_or_default(),
        }
    }

    /// Returns the template that Helm 3 names in a comment at the beginning of what came out of it.
    fn source(&mut self, text: &'t str, offset: usize) -> Option<&'t str> {
        if let Some((document, source)) = &self.document
            && document.contains(&offset)
        {
            return *source;
        }
        let (before, behind) = text.split_at_checked(offset)?;
        let start = before.rfind("\n---").unwrap_or_default();
        let end = behind.find("\n---").map_or(text.len(), |end| offset + end);
        let source = text
            .get(start..end)?
            .split_once("\n# Source: ")
            .and_then(|(_, source)| source.lines().next());
        self.document.insert((start..end, source)).1
    }

    /// `web.yaml:3:1`
    fn position(&mut self, input: NamedText<'t>, offset: Option<usize>) -> String {
        let Some(offset) = offset else {
            return input.name.to_owned();
        };
        let at = self.renderer.position(input.text.as_bytes(), offset);
        format!("{}:{}:{}", input.name, at.line, at.column)
    }
}

/// `web.yaml:3:1: info[injected]: apps/v1/Deployment/prod/web: the agent was added`, or
/// `error[hand-edited]: apps/v1/Deployment/prod/web spec.template (deploy.yaml): the agent was edited by hand`
fn line(place: &str, about: Option<&str>, reported: &ReportedFinding<'_>) -> String {
    let mut line = String::new();
    if !place.is_empty() {
        line += &format!("{place}: ");
    }
    let id = reported.finding.reason.id();
    line += &format!("{}[{id}]: ", reported.severity.name());
    if let Some(about) = about {
        line += &format!("{about}: ");
    }
    line += &reported.finding.message_with_help();
    visible(&line).into_owned()
}

/// `apps/v1/Deployment/prod/web spec.template.spec.hostNetwork`
fn field_of(resource: ResourceRef<'_>, finding: &Finding) -> String {
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
        let mut source = |part: &str| writer.source(text, text.find(part).unwrap());
        for _ in 0..2 {
            assert_eq!(source("a: 1"), Some("web/templates/a.yaml"));
            assert_eq!(source(": 1"), Some("web/templates/a.yaml"));
            assert_eq!(source("b: 2"), Some("web/templates/b.yaml"));
            assert_eq!(source("c: 3"), None);
        }
    }
}
