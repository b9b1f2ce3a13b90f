//! `invalid-annotation`, `annotation-not-allowed`, `misplaced-annotation`, `unknown-annotation`, `idle-annotation`: annotations in
//! our name that are wrong or have no effect.

use crate::annotations::{self, Given, InvalidAnnotation, MAX_LOOKUPS, UnknownAnnotation};
use crate::config::{AnnotationSettings, Config};
use crate::decide::Evaluation;
use crate::mackerel::annotations::Annotation;
use crate::manifest::duplicate_keys::NextOccurrence;
use crate::manifest::field_path::field_path;
use crate::manifest::pod_template::{PodAnnotation, PodTemplate};
use crate::manifest::resource::{MisplacedKey, MisplacedKeys};
use crate::report::{Finding, Reason};
use std::borrow::Cow;
use std::collections::HashSet;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{Kind, NodeId};

/// The advice about an annotation that is not allowed.
const ALLOW: &str = "remove it, or allow it in the configuration";

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
    let mut given = Vec::new();
    for annotation in &template.annotations {
        if let Some(value) = &annotation.value {
            given.push((&*annotation.key, &**value, annotation.value_offset));
        }
    }
    given
}

impl<'a> Evaluation<'a, '_> {
    /// Returns the template's annotations whose values are strings.
    pub(super) fn given(&self) -> Vec<Given<'_>> {
        given(self.template)
    }

    /// Returns the configuration with the template's annotations applied.
    pub(super) fn annotated_config(&mut self) -> Result<Cow<'a, Config>, Finding> {
        let annotations = self.template.annotations.iter();
        let mut known = annotations.filter(|one| Annotation::of(&one.key).is_some());
        let mut keys = HashSet::new();
        let second = known.clone().find(|one| !keys.insert(&*one.key));
        if let Some(refusal) = second.and_then(|second| self.duplicated(&second.key)) {
            return Err(refusal);
        }
        if let Some(annotation) = known.find(|one| one.value.is_none()) {
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

    /// Refuses two annotations with the same key: kubectl uses the last one, and kustomize refuses the file.
    pub(super) fn duplicated(&self, key: &str) -> Option<Finding> {
        let mut same = self
            .template
            .annotations
            .iter()
            .filter(|one| one.key == key);
        let (first, second) = (same.next()?, same.next()?);
        let values = match (&first.value, &second.value) {
            (Some(first), Some(second)) => format!(", to `{first}` and to `{second}`"),
            _ => String::new(),
        };
        let places = NextOccurrence::of(self.tree.source(), first.offset, second.offset);
        let message = format!("annotation `{key}` is set twice{values}, {places}");
        let finding = self.finding_at_key(Reason::InvalidAnnotation, message, first);
        Some(finding.with_help("remove one of them"))
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
        let mut items = Vec::new();
        for item in self.tree.items(list) {
            let Some(text) = self.tree.scalar(item) else {
                return "use one string, with commas between its items".to_owned();
            };
            items.push(text);
        }
        format!("use one string: `\"{}\"`", items.join(","))
    }

    /// Returns the value of an annotation as the user wrote it, whatever its type; empty for a list or mapping.
    fn written_value(&self, annotation: &PodAnnotation) -> Cow<'_, str> {
        let value = annotation.node.and_then(|node| self.tree.scalar(node));
        value.unwrap_or_default()
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

    /// Warns about each of the keys of one mapping, and about the number of those that are too many.
    fn warn_of_each<K>(&mut self, keys: &[K], finding: impl Fn(&Self, &K) -> Finding) {
        let (first, others) = keys.split_at(keys.len().min(MAX_LOOKUPS));
        for key in first {
            let finding = finding(self, key);
            self.warnings.push(finding);
        }
        if let Some((next, others)) = others.split_first() {
            let mut finding = finding(self, next);
            finding.message += &format!(" (and {} more keys like it)", others.len());
            self.warnings.push(finding);
        }
    }

    pub(super) fn warn_of_annotations_that_are_not_allowed(&mut self) {
        let mut found = Vec::new();
        for annotation in &self.written.annotations {
            if let Some(message) = self.not_allowed(&annotation.key) {
                found.push((message, annotation));
            }
        }
        self.warn_of_each(&found, |this, (message, annotation)| {
            let reason = Reason::AnnotationNotAllowed;
            let finding = this.finding_at_key(reason, message.clone(), annotation);
            finding.with_help(ALLOW)
        });
    }

    /// Returns the message about an annotation that the configuration does not allow.
    fn not_allowed(&self, key: &str) -> Option<String> {
        let name = self.config.not_allowed(key)?.allowed_name();
        Some(format!(
            "`{key}` has no effect: `{}` in the configuration does not list `{name}`",
            AnnotationSettings::allow()
        ))
    }

    /// Warns about annotations of the workload, or of anything between it and the template, and about labels, fields of
    /// `metadata` and `annotations` outside `metadata` with their names: users of all injectors make these mistakes. What stands
    /// above several templates is reported with the first of them that has no such annotation.
    pub(super) fn warn_of_misplaced_annotations(&mut self) {
        let resource = self.resource;
        let mut at = String::new();
        for (token, holder) in self.at.split('/').skip(1).zip(&self.template.ancestors) {
            let mut known = resource.shared.misplaced.borrow_mut();
            let keys = known.entry(*holder).or_insert_with(|| MisplacedKeys {
                open: self.keys_above_template(*holder),
                ..MisplacedKeys::default()
            });
            // One template may be decided about more than once.
            if keys.by == self.at {
                keys.open.append(&mut keys.reported);
            }
            let reported = self.warn_of_keys(&mut keys.open, &at);
            if !reported.is_empty() {
                (keys.reported, keys.by) = (reported, self.at.to_owned());
            }
            at.push('/');
            at.push_str(token);
        }
        let mut keys = self.keys_of_template();
        self.warn_of_keys(&mut keys, self.at);
    }

    /// Returns the keys of the injector in a mapping above the template.
    fn keys_above_template(&self, holder: NodeId) -> Vec<MisplacedKey> {
        let mut keys = Vec::new();
        if let Some(metadata) = self.tree.member(holder, "metadata") {
            let annotations = self.tree.member(metadata, "annotations");
            let labels = self.tree.member(metadata, "labels");
            self.add_own_keys(&mut keys, "/metadata/annotations", annotations);
            self.add_own_keys(&mut keys, "/metadata/labels", labels);
            self.add_own_keys(&mut keys, "/metadata", Some(metadata));
        }
        let annotations = self.tree.member(holder, "annotations");
        self.add_own_keys(&mut keys, "/annotations", annotations);
        keys
    }

    /// Returns the keys of the injector in the template, but for its annotations.
    fn keys_of_template(&self) -> Vec<MisplacedKey> {
        let PodTemplate {
            node,
            metadata,
            spec,
            ..
        } = *self.template;
        let mut keys = Vec::new();
        if let Some(metadata) = metadata {
            let labels = self.tree.member(metadata, "labels");
            self.add_own_keys(&mut keys, "/metadata/labels", labels);
            self.add_own_keys(&mut keys, "/metadata", Some(metadata));
        }
        let annotations = self.tree.member(node, "annotations");
        self.add_own_keys(&mut keys, "/annotations", annotations);
        let annotations = spec.and_then(|spec| self.tree.member(spec, "annotations"));
        self.add_own_keys(&mut keys, "/spec/annotations", annotations);
        keys
    }

    /// Adds the keys of the injector in the mapping at the place `within` a holder.
    fn add_own_keys(
        &self,
        keys: &mut Vec<MisplacedKey>,
        within: &'static str,
        mapping: Option<NodeId>,
    ) {
        let Some(mapping) = mapping else { return };
        for (key, value) in self.tree.entries(self.tree.alias_target(mapping)) {
            let name = self.scalar(key);
            if name.starts_with(annotations::PREFIX)
                || annotations::unknown_among(&name, &self.lookups).is_some()
                || self.config.not_allowed(&name).is_some()
            {
                keys.push(MisplacedKey { within, key, value });
            }
        }
    }

    /// Warns about the keys that the template does not have as annotations, takes them out and returns them. Their places are below
    /// the JSON Pointer `at`.
    fn warn_of_keys(&mut self, keys: &mut Vec<MisplacedKey>, at: &str) -> Vec<MisplacedKey> {
        if keys.is_empty() {
            return Vec::new();
        }
        let annotations = self.template.annotations.iter();
        let well_placed: HashSet<&str> = annotations.map(|one| &*one.key).collect();
        let mut reported = Vec::new();
        keys.retain(|key| {
            let stays = well_placed.contains(&*self.scalar(key.key));
            if !stays {
                reported.push(*key);
            }
            stays
        });
        self.warn_of_each(&reported, |this, key| this.misplaced(*key, at));
        reported
    }

    fn misplaced(&self, misplaced: MisplacedKey, at: &str) -> Finding {
        let name = self.scalar(misplaced.key);
        let within = misplaced.within;
        let start = self.tree.place(misplaced.key).start;
        let pointer = format!("{at}{within}/{}", escape(&name));
        if let Some(message) = self.not_allowed(&name) {
            let reason = Reason::AnnotationNotAllowed;
            return Finding::new(reason, message, start, &pointer).with_help(ALLOW);
        }
        let holder = match at {
            "" => self.resource.identity.kind.clone(),
            at => field_path(at),
        };
        let message = match within {
            "/metadata/annotations" => format!("annotation `{name}` has no effect on {holder}"),
            "/metadata/labels" => {
                format!("`{name}` is a label of {holder}, but has an effect as an annotation only")
            }
            "/metadata" => {
                format!(
                    "`{name}` is a field of the metadata of {holder}, but has an effect as an annotation only"
                )
            }
            _ => {
                let mapping = field_path(&format!("{at}{within}"));
                format!("annotation `{name}` has no effect in {mapping}")
            }
        };
        let mut help = format!(
            "move it to {}",
            field_path(&format!("{}/metadata/annotations", self.at))
        );
        if let Some(unknown) = annotations::unknown_among(&name, &self.lookups)
            && let Some(suggestion) = unknown.suggestion(&name, &self.scalar(misplaced.value))
        {
            help += &format!(", as `{suggestion}`");
        }
        Finding::new(Reason::MisplacedAnnotation, message, start, &pointer).with_help(help)
    }

    /// Returns a warning about annotations with settings of an agent that is not requested: their author may take them for
    /// the request.
    pub(super) fn idle_annotations(&self) -> Option<Finding> {
        let mut first = None;
        let mut names = Vec::new();
        for annotation in &self.template.annotations {
            if Annotation::of(&annotation.key).is_some_and(|known| known.setting().is_some()) {
                first.get_or_insert(annotation);
                names.push(format!("`{}`", annotation.key));
            }
        }
        let have = if names.len() == 1 { "has" } else { "have" };
        let message = format!(
            "{} {have} no effect: the template does not request injection",
            names.join(", ")
        );
        let finding = self.finding_at_key(Reason::IdleAnnotation, message, first?);
        Some(finding.with_help(request_help()))
    }

    /// Returns the refusal of a template with a misspelled `inject`, which may be an attempt to opt out.
    pub(super) fn mistyped_request(&self) -> Option<Finding> {
        for annotation in &self.template.annotations {
            if let Some(unknown) = annotations::mistyped_request(&annotation.key) {
                return Some(self.unknown(Reason::InvalidAnnotation, annotation, unknown));
            }
        }
        None
    }

    fn unknown(
        &self,
        reason: Reason,
        annotation: &PodAnnotation,
        unknown: UnknownAnnotation,
    ) -> Finding {
        let message = format!("unknown annotation `{}`", annotation.key);
        let suggestion = unknown.suggestion(&annotation.key, &self.written_value(annotation));
        Finding {
            help: suggestion.map(|suggestion| format!("did you mean `{suggestion}`?")),
            ..self.finding_at_key(reason, message, annotation)
        }
    }

    pub(super) fn warn_of_unknown_annotations(&mut self) {
        let mut found = Vec::new();
        for annotation in &self.template.annotations {
            let key = &annotation.key;
            let unknown = annotations::unknown_among(key, &self.lookups).or_else(|| {
                annotations::unprefixed_request(key, || self.written_value(annotation))
            });
            if let Some(unknown) = unknown
                && !unknown.is_request
            {
                found.push((annotation, unknown));
            }
        }
        self.warn_of_each(&found, |this, (annotation, unknown)| {
            this.unknown(Reason::UnknownAnnotation, annotation, *unknown)
        });
        self.warn_of_nested_annotations();
    }

    /// Warns about `agent-injector: {contrib: {mackerel: {io/inject: "false"}}}`: Helm's `--set` splits a key at its dots. A chart
    /// that quotes its annotations prints the mapping as Go does: `agent-injector: "map[contrib:map[mackerel:map[io/inject:false]]]"`.
    fn warn_of_nested_annotations(&mut self) {
        let Some((path, domain)) = annotations::PREFIX.rsplit_once('.') else {
            return;
        };
        let mut found = Vec::new();
        if let Some(nested) = self.nested_annotations(path) {
            for (key, value) in self.tree.entries(self.tree.alias_target(nested)) {
                if let Some(name) = self.scalar(key).strip_prefix(domain) {
                    let start = self.tree.place(key).start;
                    found.push(self.split_annotation(name, &self.scalar(value), start));
                }
            }
        }
        let first_key = path.split('.').next().unwrap_or_default();
        for annotation in &self.template.annotations {
            if annotation.key != first_key {
                continue;
            }
            let printed = annotation.value.as_deref().unwrap_or_default();
            for item in printed.split(['[', ' ']) {
                if let Some((name, value)) = item
                    .strip_prefix(domain)
                    .and_then(|item| item.split_once(':'))
                {
                    let value = value.trim_end_matches(']');
                    found.push(self.split_annotation(name, value, annotation.offset));
                }
            }
        }
        self.warnings.extend(found);
    }

    /// Returns the warning about an annotation whose key is split at its dots.
    fn split_annotation(&self, name: &str, value: &str, start: usize) -> Finding {
        let key = format!("{}{name}", annotations::PREFIX);
        let message = format!("annotation `{key}` is split into nested keys at its dots");
        let help = format!(
            "write it as one key: `{key}: \"{value}\"`; with Helm's `--set`, write `\\.` for each dot"
        );
        let pointer = self.annotation_pointer("agent-injector");
        Finding::new(Reason::UnknownAnnotation, message, start, &pointer).with_help(help)
    }

    /// Returns the mapping below `metadata.annotations` at a path of keys, joined by dots.
    fn nested_annotations(&self, path: &str) -> Option<NodeId> {
        let annotations = self.tree.member(self.template.metadata?, "annotations")?;
        let mut keys = path.split('.');
        keys.try_fold(annotations, |node, key| self.tree.member(node, key))
    }
}
