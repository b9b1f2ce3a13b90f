//! Outcomes and findings of one text as messages.

use super::messages::{Message, Messages};
use crate::diagnostic::{Diagnostic, Renderer, visible};
use crate::field_path::field_path;
use crate::inject::Injection;
use crate::report::{Finding, Identity, Outcome, Severity};
use crate::tolerance::Tolerance;
use std::io;

/// One input, for messages that point into it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'t> {
    /// As the user named it; `<stdin>` for stdin.
    pub(crate) name: &'t str,
    pub(crate) text: &'t str,
}

/// Hands over everything there is to say about one text.
pub(crate) fn report(
    messages: &mut Messages,
    input: Input<'_>,
    injection: &Injection,
    tolerance: Tolerance,
) -> io::Result<()> {
    let mut teller = Teller { renderer: Renderer::new(messages.colour()), input };
    messages.passed_by(injection.without_template);
    for fault in &injection.faults {
        messages.add(Severity::Error, |severity| teller.message(fault, severity, None))?;
    }
    for finding in &injection.findings {
        messages.add(tolerance.severity(finding), |severity| teller.message(finding, severity, None))?;
    }
    for outcome in &injection.outcomes {
        let decision = &outcome.decision;
        match tolerance.severity(decision) {
            Severity::Info => {
                messages.decided(decision.reason, || teller.line(decision, Severity::Info, Some(outcome)))?
            }
            severity => {
                messages.count(decision.reason);
                messages.add(severity, |severity| teller.message(decision, severity, Some(outcome)))?;
            }
        }
        for warning in &outcome.warnings {
            messages.add(tolerance.severity(warning), |severity| teller.message(warning, severity, Some(outcome)))?;
        }
    }
    Ok(())
}

/// Hands over what a function call has to say: the orchestrator's user knows resources and files, not our stdin.
pub(crate) fn report_call(messages: &mut Messages, injection: &Injection, tolerance: Tolerance) -> io::Result<()> {
    messages.passed_by(injection.without_template);
    for fault in &injection.faults {
        messages.add(Severity::Error, |severity| call_message(fault, severity, None))?;
    }
    for finding in &injection.findings {
        messages.add(tolerance.severity(finding), |severity| call_message(finding, severity, None))?;
    }
    for outcome in &injection.outcomes {
        let decision = &outcome.decision;
        match tolerance.severity(decision) {
            Severity::Info => {
                messages.decided(decision.reason, || call_message(decision, Severity::Info, Some(outcome)).line)?;
            }
            severity => {
                messages.count(decision.reason);
                messages.add(severity, |severity| call_message(decision, severity, Some(outcome)))?;
            }
        }
        for warning in &outcome.warnings {
            messages.add(tolerance.severity(warning), |severity| call_message(warning, severity, Some(outcome)))?;
        }
    }
    Ok(())
}

/// `error[hand-edited]: apps/v1/Deployment/prod/web spec.template (deploy.yaml): the agent was edited by hand`
fn call_message(finding: &Finding, severity: Severity, outcome: Option<&Outcome>) -> Message {
    let mut line = format!("{}[{}]: ", severity.name(), finding.reason.id());
    if let Some(outcome) = outcome {
        line += &subject(outcome, finding);
        if let Some((path, _)) = &outcome.file {
            line += &format!(" ({path})");
        }
        line += ": ";
    }
    line += &finding.message;
    if let Some(help) = &finding.help {
        line += &format!("; {help}");
    }
    let line = visible(&line).into_owned();
    Message { picture: line.clone(), line }
}

/// Makes messages about one text, counting its lines once.
struct Teller<'t> {
    renderer: Renderer<'t>,
    input: Input<'t>,
}

impl Teller<'_> {
    fn message(&mut self, finding: &Finding, severity: Severity, outcome: Option<&Outcome>) -> Message {
        let line = self.line(finding, severity, outcome);
        if severity != Severity::Error {
            return Message { picture: line.clone(), line };
        }
        let mut diagnostic = Diagnostic::of(finding, severity, self.input.name, self.input.text.as_bytes());
        if let Some(outcome) = outcome {
            diagnostic.notes.push(format!("in {}", subject(outcome, finding)));
        }
        Message { picture: self.renderer.picture(&diagnostic).trim_end().to_owned(), line }
    }

    /// `web.yaml:3:1: info[injected]: apps/v1/Deployment/prod/web: the agent was added`
    fn line(&mut self, finding: &Finding, severity: Severity, outcome: Option<&Outcome>) -> String {
        let Input { name, text } = self.input;
        let offset = finding.offset.or(outcome.map(|outcome| outcome.offset));
        let place = match offset.map(|offset| self.renderer.position(text.as_bytes(), offset)) {
            Some(at) => format!("{name}:{}:{}", at.line, at.column),
            None => name.to_owned(),
        };
        let subject = outcome.map(|outcome| subject(outcome, finding) + ": ").unwrap_or_default();
        let help = finding.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        let line = format!("{place}: {}[{}]: {subject}{}{help}", severity.name(), finding.reason.id(), finding.message);
        visible(&line).into_owned()
    }
}

/// `apps/v1/Deployment/prod/web spec.template.spec.hostNetwork`
fn subject(outcome: &Outcome, finding: &Finding) -> String {
    let field = field_path(&finding.pointer);
    let space = if field.is_empty() { "" } else { " " };
    resource(&outcome.identity) + space + &field
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
    fn resources_are_named_as_kpt_names_them() {
        let identity =
            Identity { api_version: "apps/v1".into(), kind: "Deployment".into(), namespace: None, name: "web".into() };
        assert_eq!(resource(&identity), "apps/v1/Deployment/web");
        assert_eq!(resource(&Identity { namespace: Some("prod".into()), ..identity }), "apps/v1/Deployment/prod/web");
    }
}
