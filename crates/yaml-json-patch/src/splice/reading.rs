//! Reads values of the text by JSON Pointer, for `test`, `move` and `copy`.

use super::error::{ErrorKind, SpliceError};
use super::key::{name_as_read, name_of};
use crate::json::{is_merge_key, to_json};
use crate::tree::{Kind, NodeId, Tree};
use json_patch::jsonptr::{Pointer, Token};
use serde_json::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The collections of a tree from which values are read, each gone through once.
#[derive(Default)]
pub(super) struct Reading(HashMap<NodeId, Known>);

/// A collection whose parts were looked for.
enum Known {
    Items(Vec<NodeId>),
    /// The last member of each name.
    Members(HashMap<String, NodeId>),
    /// The value of a mapping with a merge key.
    Merged(Value),
}

/// The place of a value that is moved or copied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Source {
    pub(crate) node: NodeId,
    /// Its key, if it is a member.
    pub(crate) key: Option<NodeId>,
}

/// A value of the document, and its place if it has one: merge keys make values that have none.
pub(super) struct Found {
    pub(super) value: Value,
    pub(super) source: Option<Source>,
}

impl Found {
    /// A value within one that has no place.
    pub(super) fn within(value: &Value, path: &Pointer) -> Option<Self> {
        let value = value.pointer(path.as_str())?.clone();
        Some(Self {
            value,
            source: None,
        })
    }
}

impl Reading {
    /// The value at a path below a node; none if the path leads nowhere.
    pub(super) fn find(
        &mut self,
        tree: &Tree<'_>,
        source: Source,
        path: &Pointer,
    ) -> Result<Option<Found>, SpliceError> {
        let mut source = source;
        let mut path = path;
        while let Some((token, rest)) = path.split_front() {
            let at = tree.alias_target(source.node);
            let known = match self.0.entry(at) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(vacant) => vacant.insert(Known::of(tree, at)?),
            };
            let next = match known {
                Known::Merged(value) => return Ok(Found::within(value, path)),
                Known::Members(members) => {
                    let name = token.decoded();
                    let other = || members.get(&name_in(tree, at, &name)?);
                    members.get(name.as_ref()).or_else(other).copied()
                }
                Known::Items(items) => element(&token, items.len())
                    .and_then(|at| items.get(at))
                    .copied(),
            };
            let Some(next) = next else { return Ok(None) };
            source = Source {
                node: next,
                key: tree.key_of(at, next),
            };
            path = rest;
        }
        let value = json(tree, source.node)?;
        Ok(Some(Found {
            value,
            source: Some(source),
        }))
    }
}

impl Known {
    fn of(tree: &Tree<'_>, node: NodeId) -> Result<Self, SpliceError> {
        if tree.entries(node).any(|(key, _)| is_merge_key(tree, key)) {
            return json(tree, node).map(Known::Merged);
        }
        if tree.kind(node) != Kind::Mapping {
            return Ok(Known::Items(tree.items(node).collect()));
        }
        let named = |(key, value)| Ok(name_of(tree, key)?.map(|name| (name, value)));
        tree.entries(node)
            .filter_map(|entry| named(entry).transpose())
            .collect::<Result<_, _>>()
            .map(Known::Members)
    }
}

/// The name of a key of the mapping that is written like this and read otherwise.
fn name_in(tree: &Tree<'_>, mapping: NodeId, written: &str) -> Option<String> {
    name_as_read(tree, tree.entries(mapping).map(|(key, _)| key), written)
}

/// The node as JSON.
pub(super) fn json(tree: &Tree<'_>, node: NodeId) -> Result<Value, SpliceError> {
    to_json(tree, node).map_err(|error| ErrorKind::Unreadable.at(error.offset))
}

/// The index of an item among so many.
pub(super) fn element(token: &Token<'_>, len: usize) -> Option<usize> {
    token.to_index().ok()?.for_len(len).ok()
}
