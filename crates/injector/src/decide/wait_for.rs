//! `wait-for-image`, `invalid-annotation`: the init container that waits, as an annotation requests it.

use crate::agent::Component;
use crate::agent::component_kind::WAIT_FOR_CONTAINER;
use crate::agent::wait_for::{WaitForResources, asks_for_nothing, endpoints, wait_for};
use crate::decide::Evaluation;
use config::annotations::too_long;
use mackerel::annotations::Annotation;
use report::{Cause, Finding, Reason};
use std::sync::Arc;
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

    fn finding(&self, reason: Reason, message: String) -> Finding {
        Finding::new(reason, message, self.offset, &self.pointer)
    }
}

impl Evaluation<'_, '_> {
    /// Returns the request: our annotation of the template, else one of `waitFor.annotations` of the template, else of the
    /// workload. An annotation with an empty value requests nothing, and hides those after it.
    pub(super) fn wait_for_request(&self) -> Option<WaitForRequest> {
        let further = &self.config.spec.wait_for.annotations;
        let mut on_template = self.template.annotation(Annotation::WaitFor.key());
        for key in further {
            on_template = on_template.or_else(|| self.template.annotation(key));
        }
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
        match &request.value {
            Some(value) if asks_for_nothing(value) => None,
            _ => Some(request),
        }
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
        request: &WaitForRequest,
        agent: Option<&Component>,
    ) -> Result<Arc<Component>, Finding> {
        let key = &request.key;
        let Some(value) = &request.value else {
            let message = format!("the value of annotation `{key}` is not a string");
            return Err(request
                .finding(Reason::InvalidAnnotation, message)
                .with_help("put the value in quotes"));
        };
        if let Some(refusal) = too_long((key, value, request.offset)) {
            return Err(Finding {
                pointer: request.pointer.clone(),
                ..self.invalid(refusal)
            });
        }
        let endpoints = endpoints(value).map_err(|error| {
            let message = format!("annotation `{key}` {error}");
            request
                .finding(Reason::InvalidAnnotation, message)
                .with_help("for example `\"db:5432,cache:6379\"`")
        })?;
        let config = self.config;
        let Some(image) = &config.spec.wait_for.image else {
            let setting = "waitFor.image";
            let message =
                format!("annotation `{key}` requests wait-for, but `{setting}` is not set");
            let help = format!(
                "set `{setting}` to an image of mackerel-agent-injector, or remove the annotation"
            );
            return Err(request
                .finding(Reason::WaitForImage, message)
                .with_help(help));
        };
        let amounts = if self.template.pod_resources {
            WaitForResources::OfThePod
        } else {
            WaitForResources::Own
        };
        let pull_secrets = match agent {
            Some(_) => Vec::new(),
            None => self.pull_secrets(config),
        };
        let component = wait_for(config, image, endpoints, amounts, pull_secrets);
        match self.container_conflict(WAIT_FOR_CONTAINER, component.record.list.field()) {
            Some(conflict) => Err(conflict),
            None => Ok(Arc::new(component)),
        }
    }
}
