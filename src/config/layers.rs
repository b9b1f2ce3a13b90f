//! Layers of values become one JSON value, each layer over the ones before, with the place of each value.

use crate::config::null::MERGED;
use crate::config::origin::Origin;
use crate::config::violation::Violation;
use crate::config::{kubernetes, schema, secret};
use crate::diagnostic::{Diagnostic, LineCounter, Place};
use crate::manifest::dotted_path::{self, escape, is_at_or_below};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::{Bound, Range};
use yaml_json_patch::{self as yaml, Kind, NodeId, ScalarValue, Tree};

/// Limit of reported errors.
pub(super) const MAX_SHOWN: usize = 20;

/// The one mapping that is replaced as a whole.
const LABELS: &str = "matchLabels";

/// A source of values.
#[derive(Debug)]
pub(super) struct Layer<'a> {
    pub(super) kind: LayerKind,
    /// Its text.
    pub(super) place: Place<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayerKind {
    /// A file, functionConfig or ConfigMap.
    Configuration,
    /// A `--set` argument, by its number.
    Argument(usize),
    /// The `--namespace` argument.
    Namespace,
}

/// A document of a layer.
#[derive(Debug)]
pub(super) struct Document<'t> {
    pub(super) tree: &'t Tree<'t>,
    pub(super) spans: SpanMap,
}

/// Maps spans within a document to spans in the text of its layer.
#[derive(Debug, Clone)]
pub(super) enum SpanMap {
    /// The layer has the document verbatim from this offset on.
    From(usize),
    /// The layer has it escaped or folded: every span maps to the whole value.
    Within(Range<usize>),
}

impl SpanMap {
    pub(super) fn range(&self, range: Range<usize>) -> Range<usize> {
        match self {
            SpanMap::From(offset) => range.start + offset..range.end + offset,
            SpanMap::Within(whole) => whole.clone(),
        }
    }
}

/// A setting as text.
#[derive(Debug)]
pub(super) struct TextSetting<'t> {
    pub(super) path: &'t str,
    /// The span of the path.
    pub(super) name: Range<usize>,
    pub(super) text: &'t str,
    pub(super) spans: SpanMap,
}

/// A member of a mapping.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) name_span: Range<usize>,
    pub(super) value: NodeId,
}

/// The place where a value was given.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) layer: usize,
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
    /// False for a mapping, whose members were given.
    is_value: bool,
}

/// The layers so far.
#[derive(Debug, Default)]
pub(super) struct Loader<'a> {
    pub(super) layers: Vec<Layer<'a>>,
    /// The layer that is read, or that the next error is about.
    pub(super) layer: usize,
    pub(super) values: Json,
    /// By dotted path.
    pub(super) given: BTreeMap<String, Given>,
    pub(super) errors: Vec<PlacedError>,
    /// Indexes of items that were taken out, by the path of the list.
    pub(super) taken: BTreeMap<String, BTreeSet<usize>>,
}

/// A violation at a place of a layer.
#[derive(Debug)]
pub(super) struct PlacedError {
    layer: usize,
    span: Range<usize>,
    /// The dotted path of the setting; of one that does not exist, that of its group.
    pub(super) path: String,
    /// The setting that the message begins with; empty if the violation names it.
    subject: String,
    violation: Violation,
}

impl<'a> Loader<'a> {
    /// Begins a layer.
    pub(super) fn begin(&mut self, kind: LayerKind, place: Place<'a>) {
        self.layer = self.layers.len();
        self.layers.push(Layer { kind, place });
    }

    /// Merges the settings of a document.
    pub(super) fn merge(&mut self, document: &Document<'_>, node: NodeId) {
        let span = document.spans.range(document.tree.place(node));
        self.given
            .insert(String::new(), self.given(span.clone(), span));
        let value = self.read(document, node, "");
        merge(&mut self.values, value, "");
    }

    /// Merges one setting, whose type decides how its text is read.
    pub(super) fn merge_text(&mut self, setting: &TextSetting<'_>) {
        let parts = dotted_path::parts(setting.path);
        let Some(schema) = self.find(&parts, &setting.name) else {
            return;
        };
        let value = setting.spans.range(0..setting.text.len());
        let given = self.given(setting.name.clone(), value);
        let mut path = String::new();
        for part in &parts {
            path = join(&path, part);
            self.given
                .entry(path.clone())
                .or_insert_with(|| given.clone());
        }
        self.given.insert(path.clone(), given);
        let Some(value) = self.typed(schema, &path, setting) else {
            return;
        };
        let mut target = &mut self.values;
        let mut path = String::new();
        for part in &parts {
            path = join(&path, part);
            target = member(target, part, &path);
        }
        merge(target, value, &path);
    }

    /// Merges the namespace; empty text is none.
    pub(super) fn merge_namespace(&mut self, text: &str) {
        let given = self.given(0..0, 0..text.len());
        self.given.insert("namespace".to_owned(), given);
        self.note_value("namespace");
        let value = Some(text).filter(|text| !text.is_empty());
        merge(&mut self.values, json!({"namespace": value}), "");
    }

    /// Returns the schema of the setting at a path, or reports that there is none.
    fn find(&mut self, parts: &[String], name: &Range<usize>) -> Option<&'static Json> {
        let mut schema = &*schema::SPEC;
        let mut path = String::new();
        for part in parts {
            match schema::member(schema, part) {
                Some(member) => schema = member,
                None if schema["properties"].is_object() => {
                    self.unknown(&path, part, name.clone());
                    return None;
                }
                None => {
                    let what = format!("is a single value and has no field `{part}`");
                    let violation =
                        Violation::new(what).with_help("write a dot within a name as `\\.`");
                    self.error(&path, name.clone(), violation);
                    return None;
                }
            }
            path = join(&path, part);
        }
        Some(schema)
    }

    /// Reads a text as its type says: lists and mappings as YAML, and a word as a list of one.
    fn typed(&mut self, schema: &Json, path: &str, setting: &TextSetting<'_>) -> Option<Json> {
        let text = setting.text;
        let types = schema::types(schema);
        if !types.iter().any(|name| matches!(*name, "array" | "object")) {
            self.note_value(path);
            return Some(scalar(schema, path, text));
        }
        let tree = match yaml::read(text) {
            Ok(tree) => tree,
            Err(error) => {
                let span = setting.spans.range(error.offset..error.offset);
                let what = format!("is not valid YAML: {}", error.message);
                self.error(path, span, Violation::new(what));
                return None;
            }
        };
        let Some(root) = tree.root() else {
            let violation =
                Violation::new("has no value").with_help("leave it out for the default");
            self.error(path, setting.spans.range(0..text.len()), violation);
            return None;
        };
        if tree.kind(root) != Kind::Mapping || path.ends_with(LABELS) {
            self.note_value(path);
        }
        let is_word = tree.kind(root) == Kind::Scalar && !matches!(text, "null" | "~");
        if types == ["array"] && is_word && !text.contains(',') {
            return Some(json!([text]));
        }
        let spans = setting.spans.clone();
        Some(self.read(&Document { tree: &tree, spans }, root, path))
    }

    /// Returns a node as JSON, and notes the places of what is in it.
    fn read(&mut self, document: &Document<'_>, node: NodeId, path: &str) -> Json {
        let Document { tree, spans } = document;
        match tree.kind(node) {
            Kind::Alias => {
                let violation =
                    Violation::new("is an alias, which a configuration does not support")
                        .with_help("replace the alias with its value");
                self.error(path, spans.range(tree.place(node)), violation);
                Json::Null
            }
            Kind::Scalar => match yaml::scalar_value(tree, node) {
                Ok(ScalarValue::Null) => Json::Null,
                Ok(ScalarValue::Bool(value)) => value.into(),
                Ok(ScalarValue::Int(number)) if kubernetes::is_amount(path) => {
                    number.to_string().into()
                }
                Ok(ScalarValue::Float(_)) if kubernetes::is_amount(path) => tree.raw(node).into(),
                Ok(ScalarValue::Int(number)) => match u64::try_from(number) {
                    Ok(number) => number.into(),
                    Err(_) => i64::try_from(number).unwrap_or(i64::MIN).into(),
                },
                Ok(ScalarValue::Float(number)) if !number.is_finite() => {
                    let what = format!("is `{}`, which no setting takes", tree.raw(node));
                    self.error(path, spans.range(tree.place(node)), Violation::new(what));
                    Json::Null
                }
                Ok(ScalarValue::Float(number)) => number.into(),
                Ok(ScalarValue::Str(text)) => text.into(),
                Err(_) => {
                    let violation = Violation::new("has a value that does not match its tag");
                    self.error(path, spans.range(tree.place(node)), violation);
                    Json::Null
                }
            },
            Kind::Sequence => {
                let mut items = Vec::new();
                for (index, item) in tree.items(node).enumerate() {
                    let path = format!("{path}[{index}]");
                    let span = spans.range(tree.place(item));
                    let given = self.given(span.clone(), span);
                    self.given.insert(path.clone(), given);
                    self.note_value(&path);
                    items.push(self.read(document, item, &path));
                }
                items.into()
            }
            Kind::Mapping => {
                let mut members = Map::new();
                for Member {
                    name,
                    name_span,
                    value,
                } in self.members(document, node, path)
                {
                    let group = path;
                    let path = join(group, &name);
                    let given = self.given(name_span, spans.range(tree.place(value)));
                    self.given.insert(path.clone(), given);
                    let is_label = group.ends_with(LABELS);
                    if !is_label && (tree.kind(value) != Kind::Mapping || path.ends_with(LABELS)) {
                        self.note_value(&path);
                    }
                    members.insert(name, self.read(document, value, &path));
                }
                members.into()
            }
        }
    }

    /// Returns the members of a mapping in order; reports keys that name no member.
    pub(super) fn members(
        &mut self,
        document: &Document<'_>,
        node: NodeId,
        path: &str,
    ) -> Vec<Member> {
        let Document { tree, spans } = document;
        let mut members = Vec::new();
        let mut known = HashSet::new();
        for (key, value) in tree.entries(node) {
            let name_span = spans.range(tree.place(key));
            let Some(name) = tree.scalar(key).filter(|_| tree.kind(key) == Kind::Scalar) else {
                self.error(
                    path,
                    name_span,
                    Violation::new("has a key that is not a string"),
                );
                continue;
            };
            if !known.insert(name.clone()) {
                let what = format!("has the duplicate key `{name}`");
                self.error(path, name_span, Violation::new(what));
                continue;
            }
            let name = name.into_owned();
            members.push(Member {
                name,
                name_span,
                value,
            });
        }
        members
    }

    pub(super) fn given(&self, name: Range<usize>, value: Range<usize>) -> Given {
        Given {
            layer: self.layer,
            name,
            value,
            is_value: false,
        }
    }

    /// Notes that a path has a value, which replaces what was given below it.
    fn note_value(&mut self, path: &str) {
        let after = (Bound::Excluded(path), Bound::Unbounded);
        let below: Vec<String> = self
            .given
            .range::<str, _>(after)
            .map(|(set, _)| set)
            .take_while(|set| set.starts_with(path))
            .filter(|set| is_at_or_below(set, path))
            .cloned()
            .collect();
        for set in below {
            self.given.remove(&set);
        }
        if let Some(given) = self.given.get_mut(path) {
            given.is_value = true;
        }
    }

    /// Reports a violation by the setting at a path.
    pub(super) fn error(&mut self, path: &str, span: Range<usize>, violation: Violation) {
        let subject = match path {
            "" => "the configuration ".to_owned(),
            path => format!("`{path}` "),
        };
        self.push_error(path, &subject, span, violation);
    }

    /// Reports a violation that names its setting.
    pub(super) fn push_error(
        &mut self,
        path: &str,
        subject: &str,
        span: Range<usize>,
        violation: Violation,
    ) {
        self.errors.push(PlacedError {
            layer: self.layer,
            span,
            path: path.to_owned(),
            subject: subject.to_owned(),
            violation,
        });
    }

    /// Returns the place of a value, or of the nearest one above it.
    pub(super) fn place(&self, path: &str) -> Option<&Given> {
        self.given
            .range::<str, _>((Bound::Unbounded, Bound::Included(path)))
            .rfind(|(set, _)| is_at_or_below(path, set))
            .map(|(_, given)| given)
    }

    /// Returns what is wrong, in the order of the layers.
    pub(super) fn diagnostics(&mut self) -> Vec<Diagnostic<'a>> {
        let mut errors = std::mem::take(&mut self.errors);
        errors.sort_by_key(|error| (error.layer, error.span.start));
        let mut diagnostics = Vec::new();
        for error in errors {
            let Some(layer) = self.layers.get(error.layer) else {
                continue;
            };
            let violation = secret::hidden(&error.path, &error.subject, error.violation);
            let place = Place {
                range: error.span,
                ..layer.place.clone()
            };
            let message = format!("{}{}", error.subject, violation.what);
            diagnostics.push(
                Diagnostic::error(message)
                    .at(secret::shown(&error.path, place))
                    .with_help(violation.help),
            );
        }
        diagnostics
    }

    /// Returns the place where a setting, or a part of it, was given.
    pub(super) fn place_of(&self, path: &str) -> Option<Place<'a>> {
        let part = || {
            self.given
                .iter()
                .find(|(set, given)| given.is_value && is_at_or_below(set, path))
                .map(|(_, given)| given)
        };
        let is_exact =
            |given: &&Given| given.is_value || path.contains('[') || path.contains(LABELS);
        let given = self
            .place(path)
            .filter(is_exact)
            .or_else(part)
            .or_else(|| self.given.get(path))?;
        let Layer { kind, place } = self.layers.get(given.layer)?;
        let range = match kind {
            LayerKind::Configuration => given.value.clone(),
            LayerKind::Argument(_) | LayerKind::Namespace => 0..place.text.len(),
        };
        Some(Place {
            range,
            ..place.clone()
        })
    }

    /// Returns the origins of the settings, and of the items of lists in a configuration.
    pub(super) fn origins(&self) -> BTreeMap<String, Origin> {
        let mut origins = BTreeMap::new();
        for (path, given) in self.given.iter().filter(|(_, given)| given.is_value) {
            let Some(Layer { kind, place }) = self.layers.get(given.layer) else {
                continue;
            };
            let origin = match *kind {
                LayerKind::Configuration => {
                    let position = LineCounter::new(place.text).position(given.value.start);
                    Origin::Configuration {
                        source: place.name.clone().into_owned(),
                        range: given.value.clone(),
                        line: position.line,
                        column: position.column,
                    }
                }
                LayerKind::Argument(number) => Origin::Argument { number },
                LayerKind::Namespace => Origin::Namespace,
            };
            let is_item = path.ends_with(']') && *kind == LayerKind::Configuration;
            if path.matches('[').count() == usize::from(is_item) {
                origins.insert(path.clone(), origin);
            }
        }
        origins
    }
}

/// Reads the text of a scalar. Empty text unsets an optional setting, but not a field of a Kubernetes type: where a shell has no `$MEM`,
/// `agent.resources.limits.memory=$MEM` must not remove the limit.
fn scalar(schema: &Json, path: &str, text: &str) -> Json {
    let types = schema::types(schema);
    match text {
        "null" | "~" => Json::Null,
        "" if schema::is_optional(schema) && !kubernetes::is_within(path) => Json::Null,
        _ if types == ["integer"] && !text.starts_with('+') => {
            text.parse::<i64>().map_or(text.into(), Json::from)
        }
        _ if types == ["boolean"] => text
            .to_ascii_lowercase()
            .parse::<bool>()
            .map_or(text.into(), Json::from),
        _ => text.into(),
    }
}

/// Merges a value into another one: mappings member by member, all else as a whole.
fn merge(target: &mut Json, value: Json, path: &str) {
    match value {
        Json::Object(members) if !path.ends_with(LABELS) => {
            if !target.is_object() {
                *target = json!({});
            }
            for (name, value) in members {
                let path = join(path, &name);
                merge(member(target, &name, &path), value, &path);
            }
        }
        value => *target = value,
    }
}

/// Returns a member of a mapping. One that is merged with a default begins with it.
fn member<'j>(mapping: &'j mut Json, name: &str, path: &str) -> &'j mut Json {
    if !mapping.is_object() {
        *mapping = json!({});
    }
    if mapping.get(name).is_none() {
        let mut merged = MERGED.iter().filter(|merged| merged.path == path);
        mapping[name] = merged
            .next()
            .map_or(Json::Null, |merged| (merged.default)());
    }
    &mut mapping[name]
}

/// Returns the path of a member.
pub(super) fn join(path: &str, name: &str) -> String {
    match path {
        "" => escape(name),
        path => format!("{path}.{}", escape(name)),
    }
}
