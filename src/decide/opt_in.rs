//! `opted-out`, `not-requested`: does the template's `inject` annotation, or the configuration, ask for an agent?

use crate::agent::ComponentKind;
use crate::annotations::{self, InjectRequest};
use crate::config::{InjectionMode, Spec};
use crate::decide::{Decision, Evaluation};
use crate::mackerel::annotations::Annotation;
use crate::report::{Cause, Finding, Reason};

impl Evaluation<'_, '_> {
    /// Looks at the `inject` annotation, and without one at the setting `injection`.
    pub(super) fn requested(&mut self) -> Result<(), Decision> {
        let duplicated = || self.duplicated(Annotation::Inject.key());
        if let Some(refusal) = self.mistyped_request().or_else(duplicated) {
            return Err(Decision::Refuse(refusal));
        }
        let inject = self.template.annotation(Annotation::Inject.key());
        if let Some(annotation) = inject.filter(|annotation| annotation.value.is_none()) {
            return Err(Decision::Refuse(self.not_a_string(annotation)));
        }
        let request = annotations::request(&self.given())
            .map_err(|invalid| Decision::Refuse(self.invalid(invalid)))?;
        self.cause = match request {
            InjectRequest::Inject | InjectRequest::OptOut => {
                inject.map(|annotation| self.cause_at_annotation(annotation))
            }
            InjectRequest::None => Some(Cause::Setting(Spec::injection().path.into())),
        };
        match request {
            InjectRequest::Inject => Ok(()),
            InjectRequest::OptOut => {
                let finding = self.finding(Reason::OptedOut, "annotation `inject` is \"false\"");
                let offset = inject.map(|annotation| annotation.offset);
                Err(Decision::Skip(Finding { offset, ..finding }))
            }
            InjectRequest::None if self.config.spec.injection == InjectionMode::Always => Ok(()),
            InjectRequest::None => {
                if let Some(idle) = self.idle_annotations() {
                    // Advice to ask for an agent would not help where the agent cannot run.
                    if let Some(skip) = self.unsupported(ComponentKind::Agent.into()) {
                        self.cause = None;
                        return Err(Decision::Skip(skip));
                    }
                    self.warnings.push(idle);
                }
                let finding = self.finding(Reason::NotRequested, Reason::NotRequested.sentence());
                let help = format!(
                    "to request injection, set annotation `{}: \"true\"`",
                    Annotation::Inject.key()
                );
                Err(Decision::Skip(finding.with_help(help)))
            }
        }
    }
}
