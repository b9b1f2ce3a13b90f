//! The rows of a run with the rules behind the decisions, as [`text`], [`json`], [`sarif`], [`markdown`], or for [`github`] or
//! [`gitlab`].

pub mod github;
pub mod gitlab;
pub mod json;
pub mod markdown;
mod permissions;
pub mod required;
pub mod sarif;
mod settings;
pub mod text;

pub use permissions::PermissionView;
pub use required::Needed;

use crate::rbac;
use config::{Config, Origin, annotations, value_at};
use injector::{KeyRef, Outcome, Presence, ProcessedText, Requirement, Row, Subject};
use mackerel::annotations::{Annotation, PREFIX};
use manifest::{Identity, field_path};
use report::{Cause, LineCounter, Position};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashSet;

/// Explanation of a run.
#[derive(Debug, Clone)]
pub struct Explanation<'i> {
    /// Every finding.
    pub rows: Vec<Row<'i>>,
    /// Objects that must exist before the pods start.
    pub needed: Vec<Needed<'i>>,
    /// Permissions that the agents need.
    pub permissions: Vec<PermissionView>,
    /// True if the input has objects with them.
    has_permissions: bool,
    /// Number of resources without a pod template.
    pub without_pod_template: usize,
    shows_containers: bool,
    config: &'i Config,
    /// The values of its settings.
    values: Value,
}

/// The inputs of a run.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a, 'i> {
    pub texts: &'a [ProcessedText<'i>],
    pub requirements: &'i [Requirement],
    pub config: &'i Config,
}

/// A place in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct PlaceView<'i> {
    /// The input's name as the user gave it, `<stdin>` for stdin.
    file: &'i str,
    /// From 1.
    line: usize,
    /// In characters, from 1.
    column: usize,
}

impl<'i> PlaceView<'i> {
    fn new(file: &'i str, at: Position) -> Self {
        let Position { line, column, .. } = at;
        Self { file, line, column }
    }
}

impl std::fmt::Display for PlaceView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Explains the rows of a run: all of them, or those of one resource, with the settings of its agent. The resource is `name`,
/// `Kind/name` or `Kind/namespace/name`. The settings are shown only if the injections have kept them, see
/// [`Explanations`](injector::Explanations).
pub fn explain<'i>(
    inputs: Inputs<'_, 'i>,
    rows: impl Iterator<Item = Row<'i>>,
    resource: Option<&str>,
) -> Explanation<'i> {
    let Inputs { texts, config, .. } = inputs;
    let is_shown =
        |identity: &Identity| resource.is_none_or(|resource| is_named(identity, resource, config));
    let shown: Vec<&Outcome> = texts
        .iter()
        .flat_map(|text| &text.injection.outcomes)
        .filter(|outcome| is_shown(&outcome.identity))
        .collect();
    let rows = rows.filter(|row| match row.subject {
        Subject::Run => true,
        Subject::Text => resource.is_none(),
        Subject::PodTemplate(outcome) => is_shown(&outcome.identity),
        Subject::Resource(remark) => {
            is_shown(&remark.identity) || remark.workloads.iter().any(is_shown)
        }
    });
    Explanation {
        rows: rows.collect(),
        needed: needed(&shown, inputs),
        permissions: permissions::permissions(&shown, inputs),
        has_permissions: texts
            .iter()
            .any(|text| rbac::has_objects(text.text, &text.injection.related)),
        without_pod_template: match resource {
            Some(_) => 0,
            None => texts
                .iter()
                .map(|text| text.injection.without_template())
                .sum(),
        },
        shows_containers: resource.is_some(),
        values: config.values(),
        config,
    }
}

/// Returns true if `name`, `Kind/name` or `Kind/namespace/name` is the name of a resource.
fn is_named(identity: &Identity, resource: &str, config: &Config) -> bool {
    let parts: Vec<&str> = resource.split('/').collect();
    let (kind, namespace, name) = match *parts.as_slice() {
        [name] => (None, None, name),
        [kind, name] => (Some(kind), None, name),
        [kind, namespace, name] => (Some(kind), Some(namespace), name),
        _ => return false,
    };
    let own_namespace = identity.namespace_or(config.spec.namespace.as_deref());
    name == identity.name
        && kind.is_none_or(|kind| kind.eq_ignore_ascii_case(&identity.kind))
        && namespace.is_none_or(|namespace| own_namespace.is_some_and(|own| own == namespace))
}

/// Returns the objects that the shown templates need.
fn needed<'i>(shown: &[&Outcome], inputs: Inputs<'_, 'i>) -> Vec<Needed<'i>> {
    let mut keys: HashSet<(Option<&String>, &KeyRef)> = HashSet::new();
    let default_namespace = inputs.config.spec.namespace.as_deref();
    for outcome in shown {
        let namespace = outcome.identity.namespace_or(default_namespace);
        if let Some(needs) = outcome.needs() {
            keys.extend(needs.objects.iter().map(|key| (namespace, key)));
        }
    }
    let mut lines: Vec<LineCounter<'_>> = inputs
        .texts
        .iter()
        .map(|text| LineCounter::new(text.text.as_bytes()))
        .collect();
    let mut needed = Vec::new();
    for requirement in inputs.requirements {
        if !keys.contains(&(requirement.namespace.as_ref(), &requirement.need)) {
            continue;
        }
        let mut place = None;
        if let Presence::Present { part, offset } = requirement.presence
            && let (Some(text), Some(lines)) = (inputs.texts.get(part), lines.get_mut(part))
        {
            place = Some(PlaceView::new(text.name, lines.position(offset)));
        }
        needed.push(Needed::new(requirement, place));
    }
    needed
}

/// The rule that made a decision.
#[derive(Debug, Clone, Serialize)]
struct Because {
    /// A setting's dotted path below `spec`, or a field of the manifest.
    rule: String,
    /// The setting's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// Origin: `default`, `--set #1`, or a place.
    origin: String,
}

impl Explanation<'_> {
    /// Returns the rule behind a decision.
    fn because(&self, row: &Row<'_>, cause: &Cause) -> Because {
        match cause {
            Cause::Setting(path) => Because {
                rule: path.clone().into_owned(),
                value: Some(value_at(
                    &self.values,
                    path.split('[').next().unwrap_or_default(),
                )),
                origin: origin(row, self.config.origin(path)),
            },
            Cause::Manifest { offset, pointer } => Because {
                rule: field_for_people(pointer),
                value: None,
                origin: place_in(row, *offset),
            },
            Cause::Kustomization { place, pointer } => Because {
                rule: field_path(pointer),
                value: None,
                origin: place.clone(),
            },
        }
    }
}

/// Returns another place in the text of a row: `web.yaml:3:1`.
fn place_in(row: &Row<'_>, offset: usize) -> String {
    PlaceView::new(&row.file, row.place_of(offset)).to_string()
}

fn origin(row: &Row<'_>, origin: &Origin) -> String {
    match origin {
        Origin::Annotation { key, offset } => {
            let name = key.strip_prefix(annotations::PREFIX).unwrap_or(key);
            format!("annotation {name} at {}", place_in(row, *offset))
        }
        other => other.to_string(),
    }
}

/// `annotation inject`, `spec.template.spec.hostNetwork`, `the resource`
fn field_for_people(pointer: &str) -> String {
    let field = field_path(pointer);
    match annotation(pointer) {
        Some(name) => format!("annotation {name}"),
        None if field.is_empty() => "the resource".to_owned(),
        None => field,
    }
}

/// Returns the name of the annotation at a pointer, if it is one of this program.
fn annotation(pointer: &str) -> Option<String> {
    let (_, key) = pointer.split_once("/metadata/annotations/")?;
    let key = key.replace("~1", "/");
    Annotation::of(&key)?;
    Some(key.strip_prefix(PREFIX)?.to_owned())
}
