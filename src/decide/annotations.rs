//! `invalid-annotation`, `annotation-not-allowed`, `misplaced-annotation`, `unknown-annotation`, `idle-annotation`: annotations in
//! our name that are wrong or have no effect.

use crate::annotations::{self, Given, InvalidAnnotation, InvalidAnnotations, UnknownAnnotation};
use crate::config::Config;
use crate::decide::Evaluation;
use crate::mackerel::annotations::Annotation;
use crate::manifest::duplicate_keys::NextOccurrence;
use crate::manifest::field_path::field_path;
use crate::manifest::pod_template::{self, PodTemplate};
use crate::report::{Finding, Reason};
use std::borrow::Cow;
use yaml_json_patch::{Kind, NodeId};

/// Returns the template without annotations that the configuration does not allow.
pub(super) fn allowed<'t>(template: &'t PodTemplate, config: &Config) -> Cow<'t, PodTemplate> {
    let is_allowed = |given: &pod_template::PodAnnotation| config.not_allowed(&given.key).is_none();
    let mut template = Cow::Borrowed(template);
    if !template.annotations.iter().all(is_allowed) {
        template.to_mut().annotations.retain(is_allowed);
    }
    template
}

/// Returns the annotations of a template whose values are strings.
pub(super) fn given(template: &PodTemplate) -> Vec<Given<'_>> {
    let annotations = template.annotations.iter();
    annotations.filter_map(|given| Some((&*given.key, given.value.as_deref()?, given.value_offset))).collect()
}

impl<'a> Evaluation<'a, '_> {
    /// Returns the template's annotations whose values are strings.
    pub(super) fn given(&self) -> Vec<Given<'_>> {
        given(self.template)
    }

    /// Returns the configuration with the template's annotations applied.
    pub(super) fn annotated_config(&mut self) -> Result<Cow<'a, Config>, Finding> {
        let mut known = self.template.annotations.iter().filter(|given| Annotation::of(&given.key).is_some());
        if let Some(wrong) = known.clone().find_map(|given| self.duplicated(&given.key)) {
            return Err(wrong);
        }
        if let Some(annotation) = known.find(|given| given.value.is_none()) {
            return Err(self.not_a_string(annotation));
        }
        annotations::overlay(self.config, &self.given()).map_err(|InvalidAnnotations { first, others }| {
            let others: Vec<Finding> = others.into_iter().map(|other| self.invalid(other)).collect();
            self.warnings.extend(others);
            self.invalid(first)
        })
    }

    #[cold]
    pub(super) fn invalid(&self, InvalidAnnotation { message, key, help, offset }: InvalidAnnotation) -> Finding {
        let pointer = self.annotation_pointer(&key);
        Finding { help, ..Finding::new(Reason::InvalidAnnotation, message, offset, &pointer) }
    }

    /// Refuses two annotations with the same key: kubectl uses the last one, and kustomize refuses the file.
    pub(super) fn duplicated(&self, key: &str) -> Option<Finding> {
        let mut same = self.template.annotations.iter().filter(|given| given.key == key);
        let (first, second) = (same.next()?, same.next()?);
        let values = match (&first.value, &second.value) {
            (Some(first), Some(second)) => format!(", to `{first}` and to `{second}`"),
            _ => String::new(),
        };
        let places = NextOccurrence::of(self.tree.text(), first.offset, second.offset);
        let message = format!("annotation `{key}` is set twice{values}, {places}");
        let help = Some("remove one of them".to_owned());
        Some(self.invalid(InvalidAnnotation { key: key.to_owned(), offset: first.offset, message, help }))
    }

    /// Refuses `inject: true`: a boolean, where the API server takes strings only.
    #[cold]
    pub(super) fn not_a_string(&self, annotation: &pod_template::PodAnnotation) -> Finding {
        let value = self.annotation_node(&annotation.key);
        let items = value.filter(|value| self.tree.kind(*value) == Kind::Sequence).map(|list| {
            let items = self.tree.items(list).map(|item| Some(self.tree.scalar(item)?.into_owned()));
            items.collect::<Option<Vec<_>>>()
        });
        let help = match (items, Annotation::of(&annotation.key)) {
            (Some(Some(items)), _) => format!("use one string: `\"{}\"`", items.join(",")),
            (Some(None), _) => "use one string, with commas between its items".to_owned(),
            (None, Some(Annotation::Inject | Annotation::KubeletInsecureTls)) => {
                annotations::boolean_help(&self.written_value(&annotation.key))
            }
            (None, _) => "put the value in quotes".to_owned(),
        };
        let message = format!("the value of annotation `{}` is not a string", annotation.key);
        let pointer = self.annotation_pointer(&annotation.key);
        Finding::new(Reason::InvalidAnnotation, message, annotation.value_offset, &pointer).with_help(help)
    }

    fn annotation_node(&self, key: &str) -> Option<NodeId> {
        let annotations = self.tree.member(self.template.metadata?, "annotations")?;
        Some(self.tree.alias_target(self.tree.member(annotations, key)?))
    }

    /// Returns the value of an annotation as the user wrote it, whatever its type; empty for a list or mapping.
    fn written_value(&self, key: &str) -> Cow<'_, str> {
        self.annotation_node(key).and_then(|value| self.tree.scalar(value)).unwrap_or_default()
    }

    pub(super) fn warn_of_annotations_that_are_not_allowed(&mut self) {
        for given in &self.written.annotations {
            let pointer = || self.annotation_pointer(&given.key);
            self.warnings.extend(self.not_allowed(&given.key, given.offset, pointer));
        }
    }

    fn not_allowed(&self, key: &str, offset: usize, pointer: impl FnOnce() -> String) -> Option<Finding> {
        let name = self.config.not_allowed(key)?.name();
        let message = format!("`{key}` has no effect: `annotations.allow` in the configuration does not list `{name}`");
        let finding = Finding::new(Reason::AnnotationNotAllowed, message, offset, &pointer());
        Some(finding.with_help("remove it, or allow it in the configuration"))
    }

    /// Warns about annotations of the workload, or of anything between it and the template, and about labels, fields of
    /// `metadata` and `annotations` outside `metadata` with their names: users of all injectors make these mistakes.
    pub(super) fn warn_of_misplaced_annotations(&mut self) {
        let mut at = String::new();
        for (token, holder) in self.at.split('/').skip(1).zip(&self.template.ancestors) {
            for within in ["/metadata/annotations", "/metadata/labels", "/metadata", "/annotations"] {
                self.warn_of_keys_in(*holder, &at, within);
            }
            at.push('/');
            at.push_str(token);
        }
        for within in ["/metadata/labels", "/metadata", "/annotations", "/spec/annotations"] {
            self.warn_of_keys_in(self.template.node, self.at, within);
        }
    }

    /// Warns about our keys in a mapping `within` the holder, which is `at` this place.
    fn warn_of_keys_in(&mut self, holder: NodeId, at: &str, within: &str) {
        let mapping = within.split('/').skip(1).try_fold(holder, |node, key| self.tree.member(node, key));
        let Some(mapping) = mapping else { return };
        for (key, value) in self.tree.entries(self.tree.alias_target(mapping)) {
            let Some(name) = self.tree.scalar(self.tree.alias_target(key)) else { continue };
            let pointer = || format!("{at}{within}/{}", yaml_json_patch::pointer::escape(&name));
            if let Some(finding) = self.not_allowed(&name, self.tree.span(key).start, pointer) {
                self.warnings.push(finding);
                continue;
            }
            let unknown = annotations::unknown(&name);
            let is_ours = name.starts_with(annotations::PREFIX) || unknown.is_some();
            if !is_ours || self.template.annotation(&name).is_some() {
                continue;
            }
            let place = if at.is_empty() { self.resource.identity.kind.clone() } else { field_path(at) };
            let message = match within {
                "/metadata/annotations" => format!("annotation `{name}` has no effect on {place}"),
                "/metadata/labels" => {
                    format!("`{name}` is a label of {place}, but has an effect as an annotation only")
                }
                "/metadata" => {
                    format!("`{name}` is a field of the metadata of {place}, but has an effect as an annotation only")
                }
                _ => format!("annotation `{name}` has no effect in {}", field_path(&format!("{at}{within}"))),
            };
            let place = field_path(&format!("{}/metadata/annotations", self.at));
            let value = self.tree.scalar(self.tree.alias_target(value)).unwrap_or_default();
            let help = match unknown.and_then(|unknown| unknown.suggestion(&value)) {
                Some(meant) => format!("move it to {place}, as `{meant}`"),
                None => format!("move it to {place}"),
            };
            let start = self.tree.span(key).start;
            self.warnings.push(Finding::new(Reason::MisplacedAnnotation, message, start, &pointer()).with_help(help));
        }
    }

    /// Returns a warning about annotations that set something of an agent which is not asked for: their author may take
    /// them for the request.
    pub(super) fn idle_annotations(&self) -> Option<Finding> {
        let sets = |given: &&pod_template::PodAnnotation| {
            Annotation::of(&given.key).is_some_and(|known| known.setting().is_some())
        };
        let idle: Vec<&pod_template::PodAnnotation> = self.template.annotations.iter().filter(sets).collect();
        let first = idle.first()?;
        let names: Vec<String> = idle.iter().map(|annotation| format!("`{}`", annotation.key)).collect();
        let have = if names.len() == 1 { "has" } else { "have" };
        let message = format!("{} {have} no effect: the template does not request injection", names.join(", "));
        let pointer = self.annotation_pointer(&first.key);
        let help = format!("to request injection, set annotation `{}: \"true\"`", Annotation::Inject.key());
        Some(Finding::new(Reason::IdleAnnotation, message, first.offset, &pointer).with_help(help))
    }

    /// Returns the refusal of a template with a mistyped `inject`, which may have been to opt out.
    pub(super) fn mistyped_request(&self) -> Option<Finding> {
        let mut annotations = self.template.annotations.iter();
        let (annotation, unknown) = annotations.find_map(|annotation| {
            let unknown = annotations::unknown(&annotation.key).filter(|unknown| unknown.is_request)?;
            Some((annotation, unknown))
        })?;
        Some(self.invalid(InvalidAnnotation {
            key: annotation.key.clone(),
            offset: annotation.offset,
            message: format!("unknown annotation `{}`", annotation.key),
            help: self.did_you_mean(unknown, &annotation.key),
        }))
    }

    fn did_you_mean(&self, unknown: UnknownAnnotation, key: &str) -> Option<String> {
        let suggestion = unknown.suggestion(&self.written_value(key))?;
        Some(format!("did you mean `{suggestion}`?"))
    }

    pub(super) fn warn_of_unknown_annotations(&mut self) {
        for annotation in &self.template.annotations {
            let unknown = annotations::unknown(&annotation.key)
                .or_else(|| annotations::unprefixed_request(&annotation.key, || self.written_value(&annotation.key)));
            if let Some(unknown) = unknown.filter(|unknown| !unknown.is_request) {
                let message = format!("unknown annotation `{}`", annotation.key);
                let help = self.did_you_mean(unknown, &annotation.key);
                let pointer = self.annotation_pointer(&annotation.key);
                let finding = Finding::new(Reason::UnknownAnnotation, message, annotation.offset, &pointer);
                self.warnings.push(Finding { help, ..finding });
            }
        }
        self.warn_of_nested_annotations();
    }

    /// Warns about `agent-injector: {contrib: {mackerel: {io/inject: "false"}}}`: Helm's `--set` splits a key at its dots.
    fn warn_of_nested_annotations(&mut self) {
        if self.template.annotations.iter().all(|annotation| annotation.value.is_some()) {
            return;
        }
        let mut path = annotations::PREFIX.split('.');
        let domain = path.next_back().unwrap_or_default();
        let annotations = self.template.metadata.and_then(|metadata| self.tree.member(metadata, "annotations"));
        let Some(nested) = annotations.and_then(|node| path.try_fold(node, |node, key| self.tree.member(node, key)))
        else {
            return;
        };
        for (key, value) in self.tree.entries(self.tree.alias_target(nested)) {
            let name = self.tree.scalar(self.tree.alias_target(key)).unwrap_or_default();
            let Some(name) = name.strip_prefix(domain) else { continue };
            let value = self.tree.scalar(self.tree.alias_target(value)).unwrap_or_default();
            let meant = format!("{}{name}: \"{value}\"", annotations::PREFIX);
            let message = format!("annotation `{}{name}` is split into nested keys at its dots", annotations::PREFIX);
            let help = format!("write it as one key: `{meant}`; with Helm's `--set`, write `\\.` for each dot");
            let pointer = self.annotation_pointer("agent-injector");
            let start = self.tree.span(key).start;
            self.warnings.push(Finding::new(Reason::UnknownAnnotation, message, start, &pointer).with_help(help));
        }
    }
}
