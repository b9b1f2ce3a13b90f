//! The init container that waits: who asks for it, and whether it can be had.

use crate::agent::Agent;
use crate::agent::wait_for::{CONTAINER, WaitFor, WaitForResources, WaitForShape, asks_for_nothing, endpoints};
use crate::decide::Evaluation;
use crate::mackerel::annotations::Annotation;
use crate::manifest::resource::text;
use crate::report::{Cause, Finding, Reason};
use std::rc::Rc;
use yaml_json_patch::pointer::escape;

/// An annotation that names hosts.
pub(super) struct WaitForRequest {
    key: String,
    /// None where it is not a string.
    value: Option<String>,
    offset: usize,
    pointer: String,
}

impl WaitForRequest {
    /// That it asks is what decides.
    pub(super) fn cause(&self) -> Cause {
        Cause::Manifest { offset: self.offset, pointer: self.pointer.clone() }
    }
}

impl Evaluation<'_, '_> {
    /// What asks: our annotation on the template, else one of the further names there, else on the workload. An empty
    /// value asks for nothing, and keeps what comes after it from being looked at.
    pub(super) fn wait_for_request(&self) -> Option<WaitForRequest> {
        let further = &self.config.spec.wait_for.annotations;
        let ours = std::iter::once(Annotation::WaitFor.key());
        let on_template = ours.chain(further.iter().map(String::as_str)).find_map(|key| self.template.annotation(key));
        let asked = match on_template {
            Some(annotation) => WaitForRequest {
                key: annotation.key.clone(),
                value: annotation.value.clone(),
                offset: annotation.value_offset,
                pointer: self.annotation_pointer(&annotation.key),
            },
            None => further.iter().find_map(|key| self.asked_on_workload(key))?,
        };
        let requested = asked.value.as_ref().is_none_or(|value| !asks_for_nothing(value));
        requested.then_some(asked)
    }

    fn asked_on_workload(&self, key: &str) -> Option<WaitForRequest> {
        let metadata = self.tree.member(self.resource.node, "metadata")?;
        let annotations = self.tree.member(metadata, "annotations")?;
        let node = self.tree.member(annotations, key)?;
        Some(WaitForRequest {
            key: key.to_owned(),
            value: Some(text(self.tree, annotations, key)?),
            offset: self.tree.span(node).start,
            pointer: format!("/metadata/annotations/{}", escape(key)),
        })
    }

    /// The container that was asked for. `agent`: what goes in beside it.
    // Few templates ask for it: apart from what all of them run.
    #[inline(never)]
    pub(super) fn wait_for(&mut self, asked: WaitForRequest, agent: Option<&Agent>) -> Result<Rc<WaitFor>, Finding> {
        let WaitForRequest { key, value, offset, pointer } = asked;
        let finding = |reason: Reason, message: String| Finding::new(reason, message, offset, &pointer);
        let Some(value) = value else {
            let message = format!("the value of the annotation `{key}` is not a string");
            return Err(finding(Reason::InvalidAnnotation, message).with_help("put it in quotes"));
        };
        let endpoints = endpoints(&value).map_err(|wrong| {
            let message = format!("the annotation `{key}` {wrong}");
            finding(Reason::InvalidAnnotation, message).with_help("write for example `\"db:5432,cache:6379\"`")
        })?;
        let Some(image) = self.config.spec.wait_for.image.clone() else {
            let message =
                format!("the annotation `{key}` asks for wait-for, and `waitFor.image` names no image for it");
            let help = "set `waitFor.image` to an image of this program, or take the annotation away";
            return Err(finding(Reason::WaitForImage, message).with_help(help));
        };
        let amounts = if self.template.pod_resources { WaitForResources::OfThePod } else { WaitForResources::Own };
        let pull_secrets = match agent {
            Some(_) => Vec::new(),
            None => {
                let config = self.config;
                self.pull_secrets(config)
            }
        };
        let wait_for = WaitFor::new(self.config, WaitForShape { image, endpoints, amounts, pull_secrets });
        match self.container_conflict(CONTAINER, WaitFor::FIELD) {
            Some(refusal) => Err(refusal),
            None => Ok(Rc::new(wait_for)),
        }
    }
}
