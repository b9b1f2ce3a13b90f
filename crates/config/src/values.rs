//! Values of the settings, each with the place where it was given. Later values merge into earlier ones, and serde makes the settings of
//! the result. The effect of `null`, in any layer:
//!
//! ```yaml
//! agent:
//!   proxy: null # the default of the setting
//!   resources:
//!     limits: null # nothing, though the default has limits
//!   roles: [null] # an error, as for a label: nothing has a default there
//! apiKey: null # an error: it looks as if the agent needed no Secret
//! ```
//!
//! Empty text in `--set` and ConfigMaps, and in a file for an optional value, is a null of its setting ([`Value::of_text`], [`Node::reset`]).

use crate::{agent, spec};
use indexmap::IndexMap;
use manifest::dotted_path::escape;
use serde_json::{Number, Value as Json, json};
use std::collections::BTreeMap;
use std::ops::Range;

/// The one mapping that is replaced as a whole.
pub(super) const LABELS: &str = "matchLabels";

/// A value with its place.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// None for a default.
    pub(super) given: Option<Given>,
    pub(super) value: Value,
    /// True for a value without effect, and for one that was reported and taken out.
    pub(super) is_absent: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) enum Value {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Mapping(IndexMap<String, Node>),
    /// In place of a value: serde's type is asked for its shape.
    Asked,
}

/// The place where a value was given.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    pub(super) layer: usize,
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
    /// False for a mapping, whose members were given.
    pub(super) is_value: bool,
}

/// A step down to a value.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Member(String),
    Item(usize),
}

/// The shape of a type, as far as it decides how text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Shape {
    List,
    Mapping,
    Number,
    Switch,
    #[default]
    Text,
}

/// A type that was asked for its shape.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Type {
    pub(super) shape: Shape,
    /// True for a value that may be unset.
    pub(super) is_optional: bool,
}

/// The settings of a Kubernetes type that are merged with their default field by field. Null removes what the default has.
pub(super) const MERGED: [&str; 3] = [
    "agent.resources",
    "agent.securityContext",
    "waitFor.resources",
];

impl Value {
    /// Returns the value that a text means for a type. Items of a list are separated by commas.
    pub(super) fn of_text(text: &str, of: Type) -> Self {
        let untyped = || Value::Text(text.to_owned());
        match of.shape {
            _ if of.is_optional && text.is_empty() => Value::Null,
            Shape::Number if !text.starts_with('+') => text
                .parse()
                .map_or_else(|_| untyped(), |number: i64| Value::Number(number.into())),
            Shape::Switch => text
                .to_ascii_lowercase()
                .parse()
                .map_or_else(|_| untyped(), Value::Bool),
            Shape::List => Value::List(
                text.split(',')
                    .map(str::trim)
                    .filter(|item| !item.is_empty())
                    .map(|item| Value::Text(item.to_owned()).into())
                    .collect(),
            ),
            Shape::Number | Shape::Mapping | Shape::Text => untyped(),
        }
    }
}

impl From<Json> for Value {
    fn from(json: Json) -> Self {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(value),
            Json::Number(number) => Value::Number(number),
            Json::String(text) => Value::Text(text),
            Json::Array(items) => Value::List(
                items
                    .into_iter()
                    .map(|item| Value::from(item).into())
                    .collect(),
            ),
            Json::Object(members) => Value::Mapping(
                members
                    .into_iter()
                    .map(|(name, value)| (name, Value::from(value).into()))
                    .collect(),
            ),
        }
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Node {
            value,
            ..Node::default()
        }
    }
}

impl Node {
    /// Returns the value that a later one is merged into where none was given.
    fn unset(path: &str) -> Self {
        let default = match path {
            "agent.resources" => json!(agent::default_resources()),
            "agent.securityContext" => json!(agent::default_security_context()),
            "waitFor.resources" => json!(spec::default_resources()),
            _ => return Node::default(),
        };
        Value::from(default).into()
    }

    /// Returns the members. What is no mapping becomes one without members.
    fn members(&mut self) -> Option<&mut IndexMap<String, Node>> {
        self.is_absent = false;
        if !matches!(self.value, Value::Mapping(_)) {
            self.value = Value::Mapping(IndexMap::new());
        }
        match &mut self.value {
            Value::Mapping(members) => Some(members),
            _ => None,
        }
    }

    /// Merges a later value into the one at this path: mappings member by member, all else as a whole.
    pub(super) fn merge(&mut self, path: &str, later: Node) {
        match later.value {
            Value::Mapping(members) if !path.ends_with(LABELS) => {
                self.given = later.given;
                let Some(known) = self.members() else { return };
                for (name, member) in members {
                    let path = join(path, &name);
                    known
                        .entry(name)
                        .or_insert_with(|| Node::unset(&path))
                        .merge(&path, member);
                }
            }
            // The types of Kubernetes do not take null for these two.
            Value::Null if MERGED.contains(&path) => {
                *self = Node {
                    value: Value::Mapping(IndexMap::new()),
                    ..later
                };
            }
            Value::Null if is_amount(path) => {
                *self = later;
                self.is_absent = true;
            }
            value => *self = Node { value, ..later },
        }
    }

    /// Merges a later value into the one that these names lead to.
    pub(super) fn merge_below(&mut self, path: &str, names: &[String], later: Node) {
        let Some((name, names)) = names.split_first() else {
            return self.merge(path, later);
        };
        let path = join(path, name);
        let Some(members) = self.members() else {
            return;
        };
        let member = members
            .entry(name.clone())
            .or_insert_with(|| Node::unset(&path));
        if member.given.is_none() {
            member.given = later.given.clone().map(|given| Given {
                is_value: false,
                ..given
            });
        }
        member.merge_below(&path, names, later);
    }

    fn child(&mut self, step: &Step) -> Option<&mut Node> {
        match (&mut self.value, step) {
            (Value::List(items), Step::Item(index)) => items.get_mut(*index),
            (Value::Mapping(members), Step::Member(name)) => members.get_mut(name),
            _ => None,
        }
    }

    pub(super) fn at(&mut self, steps: &[Step]) -> Option<&mut Node> {
        steps.iter().try_fold(self, |node, step| node.child(step))
    }

    /// Returns the place of the value that the steps lead to, or of the nearest one above it.
    pub(super) fn place(&mut self, steps: &[Step]) -> Option<Given> {
        let given = self.given.clone();
        steps
            .split_first()
            .and_then(|(step, steps)| self.child(step)?.place(steps))
            .or(given)
    }

    /// Makes the null that the steps lead to the default, and empty text null. So it does in the other items of the lists on the way, which
    /// serde refuses alike: one after the other, many would take long.
    pub(super) fn reset(&mut self, steps: &[Step]) {
        match (steps, &mut self.value) {
            ([], Value::Null) => {
                self.given = None;
                self.is_absent = true;
            }
            ([], Value::Text(text)) if text.is_empty() => self.value = Value::Null,
            ([Step::Item(_), steps @ ..], Value::List(items)) => {
                for item in items {
                    item.reset(steps);
                }
            }
            ([step, steps @ ..], _) => {
                if let Some(child) = self.child(step) {
                    child.reset(steps);
                }
            }
            ([], _) => {}
        }
    }

    /// Adds the places of this value and all below it, by dotted path.
    pub(super) fn places<'n>(&'n self, path: String, found: &mut BTreeMap<String, &'n Given>) {
        match &self.value {
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.places(format!("{path}[{index}]"), found);
                }
            }
            Value::Mapping(members) => {
                for (name, member) in members {
                    member.places(join(&path, name), found);
                }
            }
            _ => {}
        }
        if let Some(given) = &self.given {
            found.insert(path, given);
        }
    }

    fn setting(&mut self, path: &str) -> Option<&mut Node> {
        path.split('.').try_fold(self, |node, name| {
            node.child(&Step::Member(name.to_owned()))
        })
    }

    /// Removes the other nulls of [`MERGED`], and mappings that are empty without them. Only values that were read without an error may
    /// come here: an unknown field with null must be an error. Returns true if there were any.
    pub(super) fn remove_nulls(&mut self) -> bool {
        let mut is_changed = false;
        for path in MERGED {
            if let Some(Value::Mapping(members)) = self.setting(path).map(|node| &mut node.value) {
                for member in members.values_mut() {
                    is_changed |= !member.is_absent && member.prune();
                }
            }
        }
        is_changed
    }

    fn prune(&mut self) -> bool {
        let mut is_changed = false;
        let is_empty = match &mut self.value {
            Value::Null => true,
            Value::Mapping(members) => {
                for member in members.values_mut() {
                    is_changed |= !member.is_absent && member.prune();
                }
                members.values().all(|member| member.is_absent)
            }
            _ => false,
        };
        self.is_absent |= is_empty;
        is_changed || is_empty
    }
}

/// Returns true for an amount of requests or limits.
fn is_amount(path: &str) -> bool {
    [".resources.requests.", ".resources.limits."]
        .iter()
        .any(|list| path.contains(list))
}

/// Returns the path of a member.
pub(super) fn join(path: &str, name: &str) -> String {
    match path {
        "" => escape(name),
        path => format!("{path}.{}", escape(name)),
    }
}

/// Returns the dotted path of these steps.
pub(super) fn path_of(steps: &[Step]) -> String {
    steps.iter().fold(String::new(), |path, step| match step {
        Step::Member(name) => join(&path, name),
        Step::Item(index) => format!("{path}[{index}]"),
    })
}
