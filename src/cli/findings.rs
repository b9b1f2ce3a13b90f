//! Outcomes and findings of one text as messages.

use crate::cli::message_list::{Message, Treatment};
use crate::cli::messages::{Messages, ShowWhen};
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
        injection.without_template,
        &injection.kinds_without_template,
    );
    if let Some(line) = permissions(&injection.permissions, options.tense) {
        messages.changed(line);
    }
    for needs in injection
        .outcomes
        .iter()
        .filter_map(|outcome| outcome.needs.as_ref())
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
    let ReportedFinding {
        finding,
        severity,
        resource: subject,
        ..
    } = *reported;
    let reason = finding.reason;
    let sentence = || {
        format!(
            "{}; {}",
            finding.message,
            finding.help.as_deref().unwrap_or_default()
        )
    };
    let message = |treatment| writer.message(finding, severity, subject, treatment);
    if severity == Severity::Info {
        if !reported.is_decision() {
            let show_when = if reported.is_acknowledged {
                ShowWhen::OnRequest
            } else {
                ShowWhen::Always
            };
            return messages.note(show_when, sentence, message);
        }
        // A removal by `inject` may surprise the user, and so may what an adopted agent has no longer.
        let show_when = match (direction, reason) {
            (Direction::Inject, Reason::Removed | Reason::Adopted) => ShowWhen::Always,
            _ => ShowWhen::OnRequest,
        };
        messages.decided(reason, show_when, sentence, message);
        return Ok(());
    }
    if reported.is_decision() || subject.is_none() && reason.class() == Class::Refused {
        messages.count(reason);
    }
    messages.add(severity, Some(reason), sentence, message)
}

/// `info: ClusterRoles and bindings: 2 added, 1 taken out`
fn permissions(changes: &[(PermissionChange, Identity)], tense: Tense) -> Option<String> {
    let of = |wanted: PermissionChange| {
        changes
            .iter()
            .filter(|(change, _)| *change == wanted)
            .count()
    };
    let counts = [
        PermissionChange::Added,
        PermissionChange::Updated,
        PermissionChange::Removed,
    ]
    .map(|change| (of(change), change.word()));
    let parts: Vec<_> = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| tense.counted(*n, word))
        .collect();
    (!parts.is_empty()).then(|| format!("info: ClusterRoles and bindings: {}", parts.join(", ")))
}

/// Adds a warning or note about an input as a whole.
pub(crate) fn add_about_input(
    messages: &mut Messages,
    name: &str,
    finding: &Finding,
    policy: SeverityPolicy,
) -> io::Result<()> {
    let (severity, is_acknowledged) = (policy.severity(finding), policy.is_acknowledged(finding));
    let reported = ReportedFinding {
        finding,
        severity,
        is_acknowledged,
        resource: None,
        outcome: None,
    };
    if severity == Severity::Error {
        messages.keep_run_error(Some(finding.reason), format!("{name}: {}", finding.message));
    }
    let mut writer = MessageWriter::source_lines(NamedText { name, text: "" }, messages.colour());
    add(messages, &mut writer, &reported, Direction::Inject)
}

/// Adds an error that belongs to no decision and that no setting tolerates.
pub(crate) fn error(
    messages: &mut Messages,
    input: NamedText<'_>,
    finding: &Finding,
) -> io::Result<()> {
    let mut writer = MessageWriter::source_lines(input, messages.colour());
    messages.add(
        Severity::Error,
        None,
        || finding.message.clone(),
        |treatment| writer.message(finding, Severity::Error, None, treatment),
    )
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
    fn message(
        &mut self,
        finding: &Finding,
        severity: Severity,
        subject: Option<ResourceRef<'_>>,
        treatment: Treatment,
    ) -> Message {
        let line = self.line(finding, severity, subject);
        let Some(input) = self.input else {
            let place = subject.map(|subject| place_of_call(subject, finding));
            let diagnostic = Diagnostic::of(finding, severity, "", &[]);
            let diagnostic = Diagnostic {
                place: place.clone().map(Place::of_whole),
                ..diagnostic
            };
            return Message {
                line,
                picture: self.renderer.open_picture(&diagnostic),
                place: place.unwrap_or_default(),
            };
        };
        let text = input.text.as_bytes();
        let offset = finding.offset.or(subject.map(|subject| subject.offset));
        let place = self.position(input, offset);
        if treatment != Treatment::Shown {
            return Message {
                place,
                ..Message::of_line(line)
            };
        }
        let mut diagnostic = Diagnostic::of(finding, severity, input.name, text);
        diagnostic.place = Some(match offset {
            Some(offset) => Place::of_lines(input.name, text, offset..offset.saturating_add(1)),
            None => Place::of_whole(input.name),
        });
        if let Some(subject) = subject {
            diagnostic
                .notes
                .push(format!("in {}", place_of(subject, finding)));
        }
        if let Some(source) = finding
            .offset
            .and_then(|offset| self.source(input.text, offset))
        {
            diagnostic.notes.push(format!("rendered from {source}"));
        }
        Message {
            line,
            picture: self.renderer.open_picture(&diagnostic),
            place,
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

    /// `web.yaml:3:1: info[injected]: apps/v1/Deployment/prod/web: the agent was added`, or
    /// `error[hand-edited]: apps/v1/Deployment/prod/web spec.template (deploy.yaml): the agent was edited by hand`
    fn line(
        &mut self,
        finding: &Finding,
        severity: Severity,
        subject: Option<ResourceRef<'_>>,
    ) -> String {
        let mut line = String::new();
        let mut about = subject.map(|subject| place_of_call(subject, finding));
        if let Some(input) = self.input {
            line += &self.position(
                input,
                finding.offset.or(subject.map(|subject| subject.offset)),
            );
            line += ": ";
            about = subject.map(|subject| place_of(subject, finding));
        }
        line += &format!("{}[{}]: ", severity.name(), finding.reason.id());
        if let Some(about) = about {
            line += &format!("{about}: ");
        }
        line += &finding.message;
        if let Some(help) = &finding.help {
            line += &format!("; {help}");
        }
        visible(&line).into_owned()
    }
}

/// `apps/v1/Deployment/prod/web spec.template.spec.hostNetwork`
fn place_of(subject: ResourceRef<'_>, finding: &Finding) -> String {
    let field = field_path(&finding.pointer);
    let space = if field.is_empty() { "" } else { " " };
    subject.identity.full_name() + space + &field
}

/// `apps/v1/Deployment/prod/web spec.template (deploy.yaml)`
fn place_of_call(subject: ResourceRef<'_>, finding: &Finding) -> String {
    let file = subject.file.as_ref().map(|(path, _)| format!(" ({path})"));
    place_of(subject, finding) + &file.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helms_comment_says_where_a_document_comes_from() {
        let text = "---\n# Source: web/templates/a.yaml\na: 1\n---\n# Source: web/templates/b.yaml\nb: 2\n---\nc: 3\n";
        let mut writer = MessageWriter::source_lines(NamedText { name: "", text }, Colour::Never);
        let mut of = |what: &str| writer.source(text, text.find(what).unwrap());
        for _ in 0..2 {
            assert_eq!(of("a: 1"), Some("web/templates/a.yaml"));
            assert_eq!(of(": 1"), Some("web/templates/a.yaml"));
            assert_eq!(of("b: 2"), Some("web/templates/b.yaml"));
            assert_eq!(of("c: 3"), None);
        }
    }
}
