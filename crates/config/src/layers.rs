//! Layers of values become one value, each layer over the ones before, with the place of each value.

use crate::origin::Origin;
use crate::read::{ErrorKind, type_at};
use crate::spec::Spec;
use crate::values::{Given, LABELS, Node, Shape, Type, Value, join, path_of};
use crate::violation::Violation;
use crate::{kubernetes, secret};
use indexmap::IndexMap;
use manifest::dotted_path::{self, is_at_or_below};
use report::{Diagnostic, LineCounter, Place};
use serde_json::Number;
use std::collections::{BTreeMap, HashSet};
use std::ops::{Bound, Range};
use yaml_json_patch::{self as yaml, Kind, NodeId, ScalarValue, Tree};

/// Limit of reported errors.
pub(super) const MAX_SHOWN: usize = 20;

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

impl Document<'_> {
    /// Returns the span of a node in the text of the layer.
    pub(super) fn span(&self, node: NodeId) -> Range<usize> {
        self.spans.range(self.tree.place(node))
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

/// The layers so far.
#[derive(Debug, Default)]
pub(super) struct Loader<'a> {
    pub(super) layers: Vec<Layer<'a>>,
    /// The layer that is read, or that the next error is about.
    pub(super) layer: usize,
    pub(super) root: Node,
    pub(super) errors: Vec<PlacedError>,
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
        let span = document.span(node);
        let value = self.value(document, node, "");
        let settings = self.given(value, "", span.clone(), span);
        self.root.merge("", settings);
    }

    /// Merges one setting, whose type decides how its text is read.
    pub(super) fn merge_text(&mut self, setting: &TextSetting<'_>) {
        let names = dotted_path::parts(setting.path);
        let error = match type_at::<Spec>(&names) {
            Ok(of) => {
                if let Some(value) = self.typed(of, setting) {
                    self.root.merge_below("", &names, value);
                }
                return;
            }
            Err(error) => error,
        };
        let path = path_of(&error.steps);
        match (error.kind, names.get(error.steps.len())) {
            (ErrorKind::Unknown(name, fields), _) => {
                self.unknown(&path, &name, fields, setting.name.clone());
            }
            (_, Some(name)) => {
                let what = format!("is a single value and has no field `{name}`");
                let violation =
                    Violation::new(what).with_help("write a dot within a name as `\\.`");
                self.error(&path, setting.name.clone(), violation);
            }
            (_, None) => {}
        }
    }

    /// Merges the namespace; empty text is none.
    pub(super) fn merge_namespace(&mut self, text: &str) {
        let of = Type {
            is_optional: true,
            ..Type::default()
        };
        let path = "namespace".to_owned();
        let value = self.given(Value::of_text(text, of), &path, 0..0, 0..text.len());
        self.root.merge_below("", &[path], value);
    }

    /// Reads a text as its type says. Empty text unsets an optional setting, but not a field of a Kubernetes type: where a shell has no
    /// `$MEM`, `agent.resources.limits.memory=$MEM` must not remove the limit.
    fn typed(&mut self, mut of: Type, setting: &TextSetting<'_>) -> Option<Node> {
        let TextSetting {
            path,
            name,
            text,
            spans,
        } = setting;
        of.is_optional &= !kubernetes::is_within(path);
        let value = match *text {
            "null" | "~" => Value::Null,
            _ if matches!(of.shape, Shape::List | Shape::Mapping) => {
                self.collection(of.shape, setting)?
            }
            text => Value::of_text(text, of),
        };
        Some(self.given(value, path, name.clone(), spans.range(0..text.len())))
    }

    /// Reads a list or mapping as YAML, and a word as a list of one.
    fn collection(&mut self, shape: Shape, setting: &TextSetting<'_>) -> Option<Value> {
        let TextSetting {
            path, text, spans, ..
        } = setting;
        let tree = match yaml::read(text) {
            Ok(tree) => tree,
            Err(error) => {
                let span = spans.range(error.offset..error.offset);
                let what = format!("is not valid YAML: {}", error.message);
                self.error(path, span, Violation::new(what));
                return None;
            }
        };
        let Some(root) = tree.root() else {
            let violation =
                Violation::new("has no value").with_help("leave it out for the default");
            self.error(path, spans.range(0..text.len()), violation);
            return None;
        };
        if shape == Shape::List && tree.kind(root) == Kind::Scalar && !text.contains(',') {
            let item = Value::Text((*text).to_owned());
            return Some(Value::List(vec![item.into()]));
        }
        let spans = spans.clone();
        Some(self.value(&Document { tree: &tree, spans }, root, path))
    }

    /// Returns the value of a node, with the places of what is in it.
    fn value(&mut self, document: &Document<'_>, node: NodeId, path: &str) -> Value {
        let tree = document.tree;
        match tree.kind(node) {
            Kind::Alias | Kind::Scalar => scalar(tree, node, path).unwrap_or_else(|violation| {
                self.error(path, document.span(node), violation);
                Value::Null
            }),
            Kind::Sequence => {
                let mut items = Vec::new();
                for (index, item) in tree.items(node).enumerate() {
                    let path = format!("{path}[{index}]");
                    let span = document.span(item);
                    let value = self.value(document, item, &path);
                    items.push(self.given(value, &path, span.clone(), span));
                }
                Value::List(items)
            }
            Kind::Mapping => {
                let mut members = IndexMap::new();
                for Member {
                    name,
                    name_span,
                    value,
                } in self.members(document, node, path)
                {
                    let span = document.span(value);
                    let member_path = join(path, &name);
                    let value = self.value(document, value, &member_path);
                    let mut member = self.given(value, &member_path, name_span, span);
                    if let Some(given) = &mut member.given {
                        given.is_value &= !path.ends_with(LABELS);
                    }
                    members.insert(name, member);
                }
                Value::Mapping(members)
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
        let tree = document.tree;
        let mut members = Vec::new();
        let mut known = HashSet::new();
        for (key, value) in tree.entries(node) {
            let name_span = document.span(key);
            let name = tree.scalar(key).filter(|_| tree.kind(key) == Kind::Scalar);
            let what = match name {
                Some(name) if known.insert(name.clone()) => {
                    members.push(Member {
                        name: name.into_owned(),
                        name_span,
                        value,
                    });
                    continue;
                }
                Some(name) => format!("has the duplicate key `{name}`"),
                None => "has a key that is not a string".to_owned(),
            };
            self.error(path, name_span, Violation::new(what));
        }
        members
    }

    /// Returns a value that this layer gives.
    fn given(&self, value: Value, path: &str, name: Range<usize>, span: Range<usize>) -> Node {
        let is_group = matches!(value, Value::Mapping(_)) && !path.ends_with(']');
        let given = Given {
            layer: self.layer,
            name,
            value: span,
            is_value: !is_group || path.ends_with(LABELS),
        };
        Node {
            given: Some(given),
            ..value.into()
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

    /// Returns the places of all values, by dotted path.
    pub(super) fn places(&self) -> BTreeMap<String, &Given> {
        let mut places = BTreeMap::new();
        self.root.places(String::new(), &mut places);
        places
    }

    /// Returns the place where a setting, or a part of it, was given.
    pub(super) fn place_of(
        &self,
        path: &str,
        places: &BTreeMap<String, &Given>,
    ) -> Option<Place<'a>> {
        let part = || {
            places
                .range::<str, _>((Bound::Included(path), Bound::Unbounded))
                .take_while(|(set, _)| set.starts_with(path))
                .find(|(set, given)| given.is_value && is_at_or_below(set, path))
                .map(|(_, given)| given)
        };
        let is_exact =
            |given: &&&Given| given.is_value || path.contains('[') || path.contains(LABELS);
        let given = dotted_path::ends(path)
            .find_map(|end| places.get(&path[..end]))
            .filter(is_exact)
            .or_else(part)
            .or_else(|| places.get(path))?;
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
    pub(super) fn origins(&self, places: &BTreeMap<String, &Given>) -> BTreeMap<String, Origin> {
        let mut given: Vec<(&String, &Given)> = places
            .iter()
            .filter(|(_, given)| given.is_value)
            .map(|(path, given)| (path, *given))
            .collect();
        // Lines are counted forwards. A configuration is the first layer.
        given.sort_by_key(|(_, given)| (given.layer, given.value.start));
        let text = self.layers.first().map(|layer| layer.place.text);
        let mut lines = LineCounter::new(text.unwrap_or_default());
        let mut origins = BTreeMap::new();
        for (path, given) in given {
            let Some(Layer { kind, place }) = self.layers.get(given.layer) else {
                continue;
            };
            let is_item = path.ends_with(']') && *kind == LayerKind::Configuration;
            if path.matches('[').count() != usize::from(is_item) {
                continue;
            }
            let origin = match *kind {
                LayerKind::Configuration => {
                    let position = lines.position(given.value.start);
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
            origins.insert(path.clone(), origin);
        }
        origins
    }
}

/// Returns a single value; an amount keeps the text of its number.
fn scalar(tree: &Tree<'_>, node: NodeId, path: &str) -> Result<Value, Violation> {
    if tree.kind(node) == Kind::Alias {
        return Err(
            Violation::new("is an alias, which a configuration does not support")
                .with_help("replace the alias with its value"),
        );
    }
    let is_amount = kubernetes::is_amount(path);
    Ok(match yaml::scalar_value(tree, node) {
        Ok(ScalarValue::Null) => Value::Null,
        Ok(ScalarValue::Bool(value)) => Value::Bool(value),
        Ok(ScalarValue::Int(number)) if is_amount => Value::Text(number.to_string()),
        Ok(ScalarValue::Float(_)) if is_amount => Value::Text(tree.raw(node).to_owned()),
        Ok(ScalarValue::Int(number)) => {
            Value::Number(Number::from_i128(number).unwrap_or_else(|| i64::MIN.into()))
        }
        Ok(ScalarValue::Float(number)) => {
            Value::Number(Number::from_f64(number).ok_or_else(|| {
                Violation::new(format!("is `{}`, which no setting takes", tree.raw(node)))
            })?)
        }
        Ok(ScalarValue::Str(text)) => Value::Text(text.into()),
        Err(_) => return Err(Violation::new("has a value that does not match its tag")),
    })
}
