//! Outcomes and findings of one text as messages.

use crate::cli::messages::{Message, Messages, ShowWhen};
use crate::diagnostic::{Colour, Diagnostic, Renderer, Severity, visible};
use crate::inject::outcome::ResourceRef;
use crate::inject::{Injection, ReportedFinding};
use crate::manifest::field_path::field_path;
use crate::manifest::identity::Identity;
use crate::options::{Direction, Options, Tense};
use crate::report::{Class, Finding, PermissionChange, Reason};
use std::io;

/// One input, for messages that point into it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedText<'t> {
    /// As the user named it; `<stdin>` for stdin.
    pub(crate) name: &'t str,
    pub(crate) text: &'t str,
}

/// Form of the messages.
pub(crate) enum MessageStyle<'t> {
    /// For users who can open the input: with its lines, errors with a picture.
    SourceLines { renderer: Renderer<'t>, input: NamedText<'t> },
    /// For the user of an orchestrator, who knows resources and files but not our stdin: one line each.
    ResourceNames,
}

/// Adds the messages about one text.
pub(crate) fn report(
    messages: &mut Messages,
    mut style: MessageStyle<'_>,
    injection: &Injection,
    options: Options,
) -> io::Result<()> {
    messages.without_template(injection.without_template, &injection.kinds_without_template);
    if let Some(line) = permissions(&injection.permissions, options.tense) {
        messages.changed(line);
    }
    for needs in injection.outcomes.iter().filter_map(|outcome| outcome.needs.as_ref()) {
        messages.permission(needs.permission);
    }
    injection.diagnostics().try_for_each(|reported| add(messages, &mut style, &reported, options.direction))
}

/// Adds one finding to the messages.
pub(crate) fn add(
    messages: &mut Messages,
    style: &mut MessageStyle<'_>,
    reported: &ReportedFinding<'_>,
    direction: Direction,
) -> io::Result<()> {
    let ReportedFinding { finding, severity, resource: subject, .. } = *reported;
    let reason = finding.reason;
    if severity == Severity::Info {
        if !reported.is_decision() {
            let show_when = if reported.is_acknowledged { ShowWhen::OnRequest } else { ShowWhen::Always };
            return messages.note(style.line(finding, severity, subject), show_when);
        }
        // A removal by `inject` may surprise the user, and so may what an adopted agent has no longer.
        let show_when = match (direction, reason) {
            (Direction::Inject, Reason::Removed | Reason::Adopted) => ShowWhen::Always,
            _ => ShowWhen::OnRequest,
        };
        messages.decided(reason, show_when, || style.line(finding, severity, subject));
        return Ok(());
    }
    if reported.is_decision() || subject.is_none() && reason.class() == Class::Refused {
        messages.count(reason);
    }
    messages.add(severity, Some(reason), |severity| style.message(finding, severity, subject))
}

/// `info: ClusterRoles and bindings: 2 added, 1 taken out`
fn permissions(changes: &[(PermissionChange, Identity)], tense: Tense) -> Option<String> {
    let of = |wanted: PermissionChange| changes.iter().filter(|(change, _)| *change == wanted).count();
    let counts = [PermissionChange::Added, PermissionChange::Updated, PermissionChange::Removed]
        .map(|change| (of(change), change.word()));
    let parts: Vec<_> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| tense.counted(*n, word)).collect();
    (!parts.is_empty()).then(|| format!("info: ClusterRoles and bindings: {}", parts.join(", ")))
}

/// Adds an error that belongs to no decision and that no setting tolerates.
pub(crate) fn error(messages: &mut Messages, input: NamedText<'_>, finding: &Finding) -> io::Result<()> {
    let mut style = MessageStyle::source_lines(input, messages.colour());
    messages.add(Severity::Error, None, |severity| style.message(finding, severity, None))
}

impl<'t> MessageStyle<'t> {
    pub(crate) fn source_lines(input: NamedText<'t>, colour: Colour) -> Self {
        MessageStyle::SourceLines { renderer: Renderer::new(colour), input }
    }

    fn message(&mut self, finding: &Finding, severity: Severity, subject: Option<ResourceRef<'_>>) -> Message {
        let line = self.line(finding, severity, subject);
        let (MessageStyle::SourceLines { renderer, input }, Severity::Error) = (self, severity) else {
            return Message { picture: line.clone(), line };
        };
        let mut diagnostic = Diagnostic::of(finding, severity, input.name, input.text.as_bytes());
        if let Some(subject) = subject {
            diagnostic.notes.push(format!("in {}", place(subject, finding)));
        }
        if let Some(source) = finding.offset.and_then(|offset| source(input.text, offset)) {
            diagnostic.notes.push(format!("rendered from {source}"));
        }
        Message { picture: renderer.picture(&diagnostic).trim_end().to_owned(), line }
    }

    /// `web.yaml:3:1: info[injected]: apps/v1/Deployment/prod/web: the agent was added`, or
    /// `error[hand-edited]: apps/v1/Deployment/prod/web spec.template (deploy.yaml): the agent was edited by hand`
    fn line(&mut self, finding: &Finding, severity: Severity, subject: Option<ResourceRef<'_>>) -> String {
        let mut line = String::new();
        let mut file = None;
        match self {
            MessageStyle::SourceLines { renderer, input } => {
                line += input.name;
                if let Some(offset) = finding.offset.or(subject.map(|subject| subject.offset)) {
                    let at = renderer.position(input.text.as_bytes(), offset);
                    line += &format!(":{}:{}", at.line, at.column);
                }
                line += ": ";
            }
            MessageStyle::ResourceNames => file = subject.and_then(|subject| subject.file),
        }
        line += &format!("{}[{}]: ", severity.name(), finding.reason.id());
        if let Some(subject) = subject {
            line += &place(subject, finding);
            if let Some((path, _)) = file {
                line += &format!(" ({path})");
            }
            line += ": ";
        }
        line += &finding.message;
        if let Some(help) = &finding.help {
            line += &format!("; {help}");
        }
        visible(&line).into_owned()
    }
}

/// The template that Helm 3 names in a comment at the beginning of what came out of it.
fn source(text: &str, offset: usize) -> Option<&str> {
    let before = text.get(..offset)?;
    let document = before.rfind("\n---").map_or(before, |start| &before[start..]);
    let (_, source) = document.rsplit_once("\n# Source: ")?;
    source.lines().next()
}

/// `apps/v1/Deployment/prod/web spec.template.spec.hostNetwork`
fn place(subject: ResourceRef<'_>, finding: &Finding) -> String {
    let field = field_path(&finding.pointer);
    let space = if field.is_empty() { "" } else { " " };
    resource(subject.identity) + space + &field
}

/// `apps/v1/Deployment/prod/web`, as kpt writes it.
pub(crate) fn resource(identity: &Identity) -> String {
    let parts =
        [&*identity.api_version, &identity.kind, identity.namespace.as_deref().unwrap_or_default(), &identity.name];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helms_comment_says_where_a_document_comes_from() {
        let text = "---\n# Source: web/templates/a.yaml\na: 1\n---\n# Source: web/templates/b.yaml\nb: 2\n---\nc: 3\n";
        let of = |what: &str| source(text, text.find(what).unwrap());
        assert_eq!(of("a: 1"), Some("web/templates/a.yaml"));
        assert_eq!(of("b: 2"), Some("web/templates/b.yaml"));
        assert_eq!(of("c: 3"), None);
    }

    #[test]
    fn resources_are_named_as_kpt_names_them() {
        let identity = Identity {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: None,
            name: "web".into(),
            is_generated: false,
        };
        assert_eq!(resource(&identity), "apps/v1/Deployment/web");
        assert_eq!(resource(&Identity { namespace: Some("prod".into()), ..identity }), "apps/v1/Deployment/prod/web");
    }
}
