//! `opted-out`, `not-requested`: does the template's `inject` annotation, or the configuration, ask for an agent?

use crate::agent::ComponentKind;
use crate::decide::annotations::request_help;
use crate::decide::{Evaluation, NoAgent};
use config::InjectionMode;
use config::annotations::{self, InjectRequest};
use mackerel::annotations::Annotation;
use report::{Cause, Finding, Reason};

impl Evaluation<'_, '_> {
    /// Returns the cause of a request for an agent: the `inject` annotation, or the setting `injection`.
    pub(super) fn requested(&mut self) -> Result<Cause, NoAgent> {
        let key = Annotation::Inject.key();
        if let Some(refusal) = self.misspelt_request() {
            return Err(NoAgent::refuse(refusal));
        }
        let Some(annotation) = self.template.annotation(key) else {
            return self.requested_by_default();
        };
        if annotation.value.is_none() {
            return Err(NoAgent::refuse(self.not_a_string(annotation)));
        }
        let cause = self.cause_at_annotation(annotation);
        match annotations::request(&self.given()) {
            Err(invalid) => Err(NoAgent::refuse(self.invalid(invalid))),
            Ok(InjectRequest::None) => self.requested_by_default(),
            Ok(InjectRequest::Inject) => Ok(cause),
            Ok(InjectRequest::OptOut) => {
                let finding = Finding {
                    offset: Some(annotation.offset),
                    ..self.finding(Reason::OptedOut, "annotation `inject` is \"false\"")
                };
                Err(NoAgent::skip(finding).caused_by(cause))
            }
        }
    }

    fn requested_by_default(&mut self) -> Result<Cause, NoAgent> {
        let setting = "injection";
        if self.config.spec.injection == InjectionMode::Always {
            return Ok(Cause::Setting(setting.into()));
        }
        if let Some(idle) = self.idle_annotations() {
            // Advice to request an agent would not help where the agent cannot run.
            self.supported(ComponentKind::Agent.into())?;
            self.warnings.push(idle);
        }
        let finding = self
            .finding_without_details(Reason::NotRequested)
            .with_help(request_help());
        Err(NoAgent::skip(finding).caused_by_setting(setting))
    }
}
