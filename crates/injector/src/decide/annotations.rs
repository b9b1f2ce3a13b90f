//! `invalid-annotation`, `annotation-not-allowed`, `unknown-annotation`, `idle-annotation`: annotations in our name that are wrong or
//! have no effect.

use crate::decide::Evaluation;
use config::annotations::{self, Given, InvalidAnnotation};
use config::{Config, Setting};
use mackerel::annotations::Annotation;
use manifest::{PodAnnotation, PodTemplate};
use report::{Finding, Reason};
use std::borrow::Cow;
use yaml_json_patch::{Kind, NodeId};

/// Keys of one template that are warned about one by one, and whose nearest name is looked for.
const MAX_WARNINGS: usize = 16;

/// The advice about an annotation that is not allowed.
pub(super) const ALLOW: &str = "remove it, or allow it in the configuration";

/// Returns the advice to request an agent.
pub(super) fn request_help() -> String {
    let key = Annotation::Inject.key();
    format!("to request injection, set annotation `{key}: \"true\"`")
}

/// Returns the template without annotations that the configuration does not allow.
pub(super) fn allowed<'t>(template: &'t PodTemplate, config: &Config) -> Cow<'t, PodTemplate> {
    let is_allowed = |given: &PodAnnotation| config.not_allowed(&given.key).is_none();
    let mut template = Cow::Borrowed(template);
    if !template.annotations.iter().all(is_allowed) {
        template.to_mut().annotations.retain(is_allowed);
    }
    template
}

/// Returns the annotations of a template whose values are strings.
pub(super) fn given(template: &PodTemplate) -> Vec<Given<'_>> {
    template
        .annotations
        .iter()
        .filter_map(|one| Some((&*one.key, one.value.as_deref()?, one.value_offset)))
        .collect()
}

/// Returns the message about an annotation that the configuration does not allow.
pub(super) fn not_allowed(config: &Config, key: &str) -> Option<String> {
    let name = config.not_allowed(key)?.allowed_name();
    Some(format!(
        "`{key}` has no effect: `annotations.allow` in the configuration does not list `{name}`"
    ))
}

/// Returns the findings about the keys of one mapping, with the number of those that are too many.
pub(super) fn of_each<K>(keys: &[K], finding: impl Fn(&K) -> Finding) -> Vec<Finding> {
    let (first, others) = keys.split_at(keys.len().min(MAX_WARNINGS));
    let mut findings: Vec<Finding> = first.iter().map(finding).collect();
    if !others.is_empty()
        && let Some(last) = findings.last_mut()
    {
        last.message += &format!(" (and {} more keys like it)", others.len());
    }
    findings
}

impl<'a> Evaluation<'a, '_> {
    /// Returns the template's annotations whose values are strings.
    pub(super) fn given(&self) -> Vec<Given<'_>> {
        given(self.template)
    }

    /// Returns the configuration with the template's annotations applied.
    pub(super) fn annotated_config(&mut self) -> Result<Cow<'a, Config>, Finding> {
        let is_no_string =
            |one: &&PodAnnotation| one.value.is_none() && Annotation::of(&one.key).is_some();
        if let Some(annotation) = self.template.annotations.iter().find(is_no_string) {
            return Err(self.not_a_string(annotation));
        }
        annotations::overlay(self.config, &self.given()).map_err(|invalid| {
            for other in invalid.others {
                self.warnings.push(self.invalid(other));
            }
            self.invalid(invalid.first)
        })
    }

    pub(super) fn invalid(&self, invalid: InvalidAnnotation) -> Finding {
        let pointer = self.annotation_pointer(&invalid.key);
        let reason = Reason::InvalidAnnotation;
        Finding {
            help: invalid.help,
            ..Finding::new(reason, invalid.message, invalid.offset, &pointer)
        }
    }

    /// Refuses `inject: true`: a boolean, where the API server takes strings only.
    pub(super) fn not_a_string(&self, annotation: &PodAnnotation) -> Finding {
        let key = &annotation.key;
        let list = annotation
            .node
            .filter(|node| self.tree.kind(*node) == Kind::Sequence);
        let help = match (list, Annotation::of(key)) {
            (Some(list), _) => self.list_help(list),
            (None, Some(Annotation::Inject | Annotation::KubeletInsecureTls)) => {
                annotations::boolean_help(&self.written_value(annotation))
            }
            (None, _) => "put the value in quotes".to_owned(),
        };
        let message = format!("the value of annotation `{key}` is not a string");
        let (offset, pointer) = (annotation.value_offset, self.annotation_pointer(key));
        Finding::new(Reason::InvalidAnnotation, message, offset, &pointer).with_help(help)
    }

    /// Returns the advice for `roles: [a, b]`.
    fn list_help(&self, list: NodeId) -> String {
        let items = self.tree.items(list).map(|item| self.tree.scalar(item));
        match items.collect::<Option<Vec<_>>>() {
            Some(items) => format!("use one string: `\"{}\"`", items.join(",")),
            None => "use one string, with commas between its items".to_owned(),
        }
    }

    /// Returns the value of an annotation as the user wrote it, whatever its type; empty for a list or mapping.
    fn written_value(&self, annotation: &PodAnnotation) -> Cow<'_, str> {
        annotation
            .node
            .and_then(|node| self.tree.scalar(node))
            .unwrap_or_default()
    }

    /// Returns a finding about the key of an annotation.
    fn finding_at_key(
        &self,
        reason: Reason,
        message: String,
        annotation: &PodAnnotation,
    ) -> Finding {
        let pointer = self.annotation_pointer(&annotation.key);
        Finding::new(reason, message, annotation.offset, &pointer)
    }

    pub(super) fn warn_of_annotations_that_are_not_allowed(&mut self) {
        let found: Vec<(String, &PodAnnotation)> = self
            .written
            .annotations
            .iter()
            .filter_map(|annotation| Some((not_allowed(self.config, &annotation.key)?, annotation)))
            .collect();
        let findings = of_each(&found, |(message, annotation)| {
            self.finding_at_key(Reason::AnnotationNotAllowed, message.clone(), annotation)
                .with_help(ALLOW)
        });
        self.warnings.extend(findings);
    }

    /// Returns a warning about annotations with settings of an agent that is not requested: their author may take them for
    /// the request.
    pub(super) fn idle_annotations(&self) -> Option<Finding> {
        let mut first = None;
        let mut names = Vec::new();
        for annotation in &self.template.annotations {
            if Annotation::of(&annotation.key)
                .is_some_and(|known| Setting::path_of(known).is_some())
            {
                first.get_or_insert(annotation);
                names.push(format!("`{}`", annotation.key));
            }
        }
        let first = first?;
        let have = if names.len() == 1 { "has" } else { "have" };
        let message = format!(
            "{} {have} no effect: the template does not request injection",
            names.join(", ")
        );
        Some(
            self.finding_at_key(Reason::IdleAnnotation, message, first)
                .with_help(request_help()),
        )
    }

    /// Returns the refusal of a template with a misspelt `inject`, which may be an attempt to opt out.
    pub(super) fn misspelt_request(&self) -> Option<Finding> {
        let misspelt = self
            .template
            .annotations
            .iter()
            .find(|one| annotations::is_misspelt_request(&one.key))?;
        let help = format!(
            "write `{}: \"true\"` or `\"false\"`",
            Annotation::Inject.key()
        );
        Some(
            self.unknown(Reason::InvalidAnnotation, misspelt)
                .with_help(help),
        )
    }

    fn unknown(&self, reason: Reason, annotation: &PodAnnotation) -> Finding {
        let message = format!("unknown annotation `{}`", annotation.key);
        self.finding_at_key(reason, message, annotation)
    }

    pub(super) fn warn_of_unknown_annotations(&mut self) {
        let wait_for = &self.config.spec.wait_for.annotations;
        let unknown: Vec<&PodAnnotation> = self
            .template
            .annotations
            .iter()
            .filter(|PodAnnotation { key, .. }| {
                annotations::is_unknown(key)
                    && !annotations::is_misspelt_request(key)
                    && !wait_for.iter().any(|name| **name == *key)
            })
            .collect();
        let findings = of_each(&unknown, |annotation| {
            let finding = self.unknown(Reason::UnknownAnnotation, annotation);
            match annotations::meant(&annotation.key) {
                Some(meant) => finding.with_help(format!("did you mean `{meant}`?")),
                None => finding,
            }
        });
        self.warnings.extend(findings);
    }
}
