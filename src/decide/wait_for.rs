//! `wait-for-image`, `invalid-annotation`: the init container that waits, as an annotation requests it.

use crate::agent::Component;
use crate::agent::component_kind::WAIT_FOR_CONTAINER;
use crate::agent::wait_for::{
    WaitForResources, WaitForShape, asks_for_nothing, endpoints, wait_for,
};
use crate::annotations::too_long;
use crate::config::WaitForSettings;
use crate::decide::Evaluation;
use crate::mackerel::annotations::Annotation;
use crate::report::{Cause, Finding, Reason};
use std::rc::Rc;
use yaml_json_patch::pointer::escape;

/// An annotation that names hosts to wait for.
pub(super) struct WaitForRequest {
    key: String,
    /// None if it is not a string.
    value: Option<String>,
    offset: usize,
    pointer: String,
}

impl WaitForRequest {
    pub(super) fn cause(&self) -> Cause {
        Cause::Manifest {
            offset: self.offset,
            pointer: self.pointer.clone(),
        }
    }
}

impl Evaluation<'_, '_> {
    /// Returns the request: our annotation of the template, else one of `waitFor.annotations` of the template, else of the
    /// workload. An annotation with an empty value requests nothing, and hides those after it.
    pub(super) fn wait_for_request(&self) -> Option<WaitForRequest> {
        let further = &self.config.spec.wait_for.annotations;
        let own = std::iter::once(Annotation::WaitFor.key());
        let on_template = own
            .chain(further.iter().map(String::as_str))
            .find_map(|key| self.template.annotation(key));
        let request = match on_template {
            Some(annotation) => WaitForRequest {
                key: annotation.key.clone(),
                value: annotation.value.clone(),
                offset: annotation.value_offset,
                pointer: self.annotation_pointer(&annotation.key),
            },
            None => further
                .iter()
                .find_map(|key| self.wait_for_request_of_workload(key))?,
        };
        let is_request = request
            .value
            .as_ref()
            .is_none_or(|value| !asks_for_nothing(value));
        is_request.then_some(request)
    }

    fn wait_for_request_of_workload(&self, key: &str) -> Option<WaitForRequest> {
        if !self.config.allows(Annotation::WaitFor) {
            return None;
        }
        let node = self.resource.annotation(self.tree, key)?;
        Some(WaitForRequest {
            key: key.to_owned(),
            value: Some(self.resource.annotation_text(self.tree, key)?),
            offset: self.tree.place(node).start,
            pointer: format!("/metadata/annotations/{}", escape(key)),
        })
    }

    /// Returns the requested container; `agent` is the one that is added beside it.
    pub(super) fn wait_for(
        &mut self,
        request: WaitForRequest,
        agent: Option<&Component>,
    ) -> Result<Rc<Component>, Finding> {
        let WaitForRequest {
            key,
            value,
            offset,
            pointer,
        } = request;
        if let Some(refusal) = self.duplicated(&key) {
            return Err(refusal);
        }
        if let Some(refusal) = value
            .as_deref()
            .and_then(|value| too_long((&key, value, offset)))
        {
            return Err(Finding {
                pointer,
                ..self.invalid(refusal)
            });
        }
        let finding =
            |reason: Reason, message: String| Finding::new(reason, message, offset, &pointer);
        let Some(value) = value else {
            let message = format!("the value of annotation `{key}` is not a string");
            return Err(
                finding(Reason::InvalidAnnotation, message).with_help("put the value in quotes")
            );
        };
        let endpoints = endpoints(&value).map_err(|wrong| {
            let message = format!("annotation `{key}` {wrong}");
            finding(Reason::InvalidAnnotation, message)
                .with_help("for example `\"db:5432,cache:6379\"`")
        })?;
        let Some(image) = self.config.spec.wait_for.image.clone() else {
            let setting = WaitForSettings::image();
            let message =
                format!("annotation `{key}` requests wait-for, but `{setting}` is not set");
            let help = format!(
                "set `{setting}` to an image of mackerel-agent-injector, or remove the annotation"
            );
            return Err(finding(Reason::WaitForImage, message).with_help(help));
        };
        let amounts = if self.template.pod_resources {
            WaitForResources::OfThePod
        } else {
            WaitForResources::Own
        };
        let config = self.config;
        let pull_secrets = if agent.is_some() {
            Vec::new()
        } else {
            self.pull_secrets(config)
        };
        let wait_for = wait_for(
            config,
            WaitForShape {
                image,
                endpoints,
                amounts,
                pull_secrets,
            },
        );
        match self.container_conflict(WAIT_FOR_CONTAINER, wait_for.record.list.field()) {
            Some(refusal) => Err(refusal),
            None => Ok(Rc::new(wait_for)),
        }
    }
}
