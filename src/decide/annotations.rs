//! `invalid-annotation`, `annotation-not-allowed`, `misplaced-annotation`, `unknown-annotation`, `idle-annotation`: annotations in
//! our name that are wrong or have no effect.

use crate::annotations::{self, Given, InvalidAnnotation, InvalidAnnotations, UnknownAnnotation};
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
use yaml_json_patch::{Kind, NodeId};

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
    let annotations = template.annotations.iter();
    annotations
        .filter_map(|given| Some((&*given.key, given.value.as_deref()?, given.value_offset)))
        .collect()
}

impl<'a> Evaluation<'a, '_> {
    /// Returns the template's annotations whose values are strings.
    pub(super) fn given(&self) -> Vec<Given<'_>> {
        given(self.template)
    }

    /// Returns the configuration with the template's annotations applied.
    pub(super) fn annotated_config(&mut self) -> Result<Cow<'a, Config>, Finding> {
        let mut known = self
            .template
            .annotations
            .iter()
            .filter(|given| Annotation::of(&given.key).is_some());
        if let Some(wrong) = known.clone().find_map(|given| self.duplicated(&given.key)) {
            return Err(wrong);
        }
        if let Some(annotation) = known.find(|given| given.value.is_none()) {
            return Err(self.not_a_string(annotation));
        }
        annotations::overlay(self.config, &self.given()).map_err(
            |InvalidAnnotations { first, others }| {
                let others: Vec<Finding> = others
                    .into_iter()
                    .map(|other| self.invalid(other))
                    .collect();
                self.warnings.extend(others);
                self.invalid(first)
            },
        )
    }

    pub(super) fn invalid(
        &self,
        InvalidAnnotation {
            message,
            key,
            help,
            offset,
        }: InvalidAnnotation,
    ) -> Finding {
        let pointer = self.annotation_pointer(&key);
        Finding {
            help,
            ..Finding::new(Reason::InvalidAnnotation, message, offset, &pointer)
        }
    }

    /// Refuses two annotations with the same key: kubectl uses the last one, and kustomize refuses the file.
    pub(super) fn duplicated(&self, key: &str) -> Option<Finding> {
        let mut same = self
            .template
            .annotations
            .iter()
            .filter(|given| given.key == key);
        let (first, second) = (same.next()?, same.next()?);
        let values = match (&first.value, &second.value) {
            (Some(first), Some(second)) => format!(", to `{first}` and to `{second}`"),
            _ => String::new(),
        };
        let places = NextOccurrence::of(self.tree.source(), first.offset, second.offset);
        let message = format!("annotation `{key}` is set twice{values}, {places}");
        let help = Some("remove one of them".to_owned());
        Some(self.invalid(InvalidAnnotation {
            key: key.to_owned(),
            offset: first.offset,
            message,
            help,
        }))
    }

    /// Refuses `inject: true`: a boolean, where the API server takes strings only.
    pub(super) fn not_a_string(&self, annotation: &PodAnnotation) -> Finding {
        let items = annotation
            .node
            .filter(|value| self.tree.kind(*value) == Kind::Sequence)
            .map(|list| {
                let items = self
                    .tree
                    .items(list)
                    .map(|item| Some(self.tree.scalar(item)?.into_owned()));
                items.collect::<Option<Vec<_>>>()
            });
        let help = match (items, Annotation::of(&annotation.key)) {
            (Some(Some(items)), _) => format!("use one string: `\"{}\"`", items.join(",")),
            (Some(None), _) => "use one string, with commas between its items".to_owned(),
            (None, Some(Annotation::Inject | Annotation::KubeletInsecureTls)) => {
                annotations::boolean_help(&self.written_value(annotation))
            }
            (None, _) => "put the value in quotes".to_owned(),
        };
        let message = format!(
            "the value of annotation `{}` is not a string",
            annotation.key
        );
        let pointer = self.annotation_pointer(&annotation.key);
        Finding::new(
            Reason::InvalidAnnotation,
            message,
            annotation.value_offset,
            &pointer,
        )
        .with_help(help)
    }

    /// Returns the value of an annotation as the user wrote it, whatever its type; empty for a list or mapping.
    fn written_value(&self, annotation: &PodAnnotation) -> Cow<'_, str> {
        annotation
            .node
            .and_then(|value| self.tree.scalar(value))
            .unwrap_or_default()
    }

    pub(super) fn warn_of_annotations_that_are_not_allowed(&mut self) {
        let not_allowed = |given: &&PodAnnotation| self.config.not_allowed(&given.key).is_some();
        for given in self.written.annotations.iter().filter(not_allowed) {
            let pointer = self.annotation_pointer(&given.key);
            self.warnings
                .extend(self.not_allowed(&given.key, given.offset, &pointer));
        }
    }

    fn not_allowed(&self, key: &str, offset: usize, pointer: &str) -> Option<Finding> {
        let name = self.config.not_allowed(key)?.name();
        let message = format!(
            "`{key}` has no effect: `{}` in the configuration does not list `{name}`",
            AnnotationSettings::allow()
        );
        let finding = Finding::new(Reason::AnnotationNotAllowed, message, offset, pointer);
        Some(finding.with_help("remove it, or allow it in the configuration"))
    }

    /// Warns about annotations of the workload, or of anything between it and the template, and about labels, fields of
    /// `metadata` and `annotations` outside `metadata` with their names: users of all injectors make these mistakes. What stands
    /// above several templates is reported with the first of them that has no such annotation.
    pub(super) fn warn_of_misplaced_annotations(&mut self) {
        let resource = self.resource;
        let mut at = String::new();
        for (token, holder) in self.at.split('/').skip(1).zip(&self.template.ancestors) {
            let mut known = resource.shared.misplaced.borrow_mut();
            let keys = known.entry(*holder).or_insert_with(|| {
                let places = [
                    "/metadata/annotations",
                    "/metadata/labels",
                    "/metadata",
                    "/annotations",
                ];
                let open = places
                    .into_iter()
                    .flat_map(|within| self.own_keys(*holder, within))
                    .collect();
                MisplacedKeys {
                    open,
                    ..MisplacedKeys::default()
                }
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
        for within in [
            "/metadata/labels",
            "/metadata",
            "/annotations",
            "/spec/annotations",
        ] {
            let mut keys = self.own_keys(self.template.node, within);
            self.warn_of_keys(&mut keys, self.at);
        }
    }

    /// Returns the keys like ours in a mapping `within` the holder.
    fn own_keys(&self, holder: NodeId, within: &'static str) -> Vec<MisplacedKey> {
        let mapping = within
            .split('/')
            .skip(1)
            .try_fold(holder, |node, key| self.tree.member(node, key));
        let entries = mapping
            .into_iter()
            .flat_map(|mapping| self.tree.entries(self.tree.alias_target(mapping)));
        let is_ours = |(key, _): &(NodeId, NodeId)| {
            self.tree
                .scalar(self.tree.alias_target(*key))
                .is_some_and(|name| {
                    name.starts_with(annotations::PREFIX)
                        || annotations::unknown(&name).is_some()
                        || self.config.not_allowed(&name).is_some()
                })
        };
        entries
            .filter(is_ours)
            .map(|(key, value)| MisplacedKey { within, key, value })
            .collect()
    }

    /// Warns about the keys that the template does not have as annotations, takes them out and returns them. Their places are below
    /// the JSON Pointer `at`.
    fn warn_of_keys(&mut self, keys: &mut Vec<MisplacedKey>, at: &str) -> Vec<MisplacedKey> {
        if keys.is_empty() {
            return Vec::new();
        }
        let there: HashSet<&str> = self
            .template
            .annotations
            .iter()
            .map(|annotation| &*annotation.key)
            .collect();
        let name = |key: NodeId| {
            self.tree
                .scalar(self.tree.alias_target(key))
                .unwrap_or_default()
        };
        let reported: Vec<MisplacedKey> = keys
            .extract_if(.., |found| !there.contains(&*name(found.key)))
            .collect();
        let warnings: Vec<Finding> = reported
            .iter()
            .map(|found| self.misplaced(*found, at))
            .collect();
        self.warnings.extend(warnings);
        reported
    }

    fn misplaced(&self, MisplacedKey { within, key, value }: MisplacedKey, at: &str) -> Finding {
        let name = self
            .tree
            .scalar(self.tree.alias_target(key))
            .unwrap_or_default();
        let start = self.tree.place(key).start;
        let pointer = format!("{at}{within}/{}", yaml_json_patch::pointer::escape(&name));
        if let Some(finding) = self.not_allowed(&name, start, &pointer) {
            return finding;
        }
        let place = if at.is_empty() {
            self.resource.identity.kind.clone()
        } else {
            field_path(at)
        };
        let message = match within {
            "/metadata/annotations" => format!("annotation `{name}` has no effect on {place}"),
            "/metadata/labels" => {
                format!("`{name}` is a label of {place}, but has an effect as an annotation only")
            }
            "/metadata" => {
                format!(
                    "`{name}` is a field of the metadata of {place}, but has an effect as an annotation only"
                )
            }
            _ => format!(
                "annotation `{name}` has no effect in {}",
                field_path(&format!("{at}{within}"))
            ),
        };
        let place = field_path(&format!("{}/metadata/annotations", self.at));
        let value = self
            .tree
            .scalar(self.tree.alias_target(value))
            .unwrap_or_default();
        let help = match annotations::unknown(&name).and_then(|unknown| unknown.suggestion(&value))
        {
            Some(meant) => format!("move it to {place}, as `{meant}`"),
            None => format!("move it to {place}"),
        };
        Finding::new(Reason::MisplacedAnnotation, message, start, &pointer).with_help(help)
    }

    /// Returns a warning about annotations that set something of an agent which is not asked for: their author may take
    /// them for the request.
    pub(super) fn idle_annotations(&self) -> Option<Finding> {
        let sets = |given: &&PodAnnotation| {
            Annotation::of(&given.key).is_some_and(|known| known.setting().is_some())
        };
        let idle: Vec<&PodAnnotation> = self.template.annotations.iter().filter(sets).collect();
        let first = idle.first()?;
        let names: Vec<String> = idle
            .iter()
            .map(|annotation| format!("`{}`", annotation.key))
            .collect();
        let have = if names.len() == 1 { "has" } else { "have" };
        let message = format!(
            "{} {have} no effect: the template does not request injection",
            names.join(", ")
        );
        let pointer = self.annotation_pointer(&first.key);
        let help = format!(
            "to request injection, set annotation `{}: \"true\"`",
            Annotation::Inject.key()
        );
        Some(Finding::new(Reason::IdleAnnotation, message, first.offset, &pointer).with_help(help))
    }

    /// Returns the refusal of a template with a mistyped `inject`, which may have been to opt out.
    pub(super) fn mistyped_request(&self) -> Option<Finding> {
        let mut annotations = self.template.annotations.iter();
        let (annotation, unknown) = annotations.find_map(|annotation| {
            let unknown =
                annotations::unknown(&annotation.key).filter(|unknown| unknown.is_request)?;
            Some((annotation, unknown))
        })?;
        Some(self.invalid(InvalidAnnotation {
            key: annotation.key.clone(),
            offset: annotation.offset,
            message: format!("unknown annotation `{}`", annotation.key),
            help: self.did_you_mean(unknown, annotation),
        }))
    }

    fn did_you_mean(
        &self,
        unknown: UnknownAnnotation,
        annotation: &PodAnnotation,
    ) -> Option<String> {
        let suggestion = unknown.suggestion(&self.written_value(annotation))?;
        Some(format!("did you mean `{suggestion}`?"))
    }

    pub(super) fn warn_of_unknown_annotations(&mut self) {
        for annotation in &self.template.annotations {
            let unknown = annotations::unknown(&annotation.key).or_else(|| {
                annotations::unprefixed_request(&annotation.key, || self.written_value(annotation))
            });
            if let Some(unknown) = unknown.filter(|unknown| !unknown.is_request) {
                let message = format!("unknown annotation `{}`", annotation.key);
                let help = self.did_you_mean(unknown, annotation);
                let pointer = self.annotation_pointer(&annotation.key);
                let finding = Finding::new(
                    Reason::UnknownAnnotation,
                    message,
                    annotation.offset,
                    &pointer,
                );
                self.warnings.push(Finding { help, ..finding });
            }
        }
        self.warn_of_nested_annotations();
    }

    /// Warns about `agent-injector: {contrib: {mackerel: {io/inject: "false"}}}`: Helm's `--set` splits a key at its dots.
    fn warn_of_nested_annotations(&mut self) {
        if self
            .template
            .annotations
            .iter()
            .all(|annotation| annotation.value.is_some())
        {
            return;
        }
        let mut path = annotations::PREFIX.split('.');
        let domain = path.next_back().unwrap_or_default();
        let annotations = self
            .template
            .metadata
            .and_then(|metadata| self.tree.member(metadata, "annotations"));
        let Some(nested) = annotations
            .and_then(|node| path.try_fold(node, |node, key| self.tree.member(node, key)))
        else {
            return;
        };
        for (key, value) in self.tree.entries(self.tree.alias_target(nested)) {
            let name = self
                .tree
                .scalar(self.tree.alias_target(key))
                .unwrap_or_default();
            let Some(name) = name.strip_prefix(domain) else {
                continue;
            };
            let value = self
                .tree
                .scalar(self.tree.alias_target(value))
                .unwrap_or_default();
            let meant = format!("{}{name}: \"{value}\"", annotations::PREFIX);
            let message = format!(
                "annotation `{}{name}` is split into nested keys at its dots",
                annotations::PREFIX
            );
            let help = format!(
                "write it as one key: `{meant}`; with Helm's `--set`, write `\\.` for each dot"
            );
            let pointer = self.annotation_pointer("agent-injector");
            let start = self.tree.place(key).start;
            self.warnings.push(
                Finding::new(Reason::UnknownAnnotation, message, start, &pointer).with_help(help),
            );
        }
    }
}
