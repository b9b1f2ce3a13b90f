//! Reads values of the text by JSON Pointer, for `test`, `move` and `copy`.

use super::error::{ErrorKind, SpliceError};
use super::key::{is_key, name_as_read};
use crate::json::{is_merge_key, to_json};
use crate::tree::{Kind, NodeId, Tree};
use json_patch::jsonptr::{Pointer, Token};
use serde_json::Value;

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

/// The value at a path below a node; none if the path leads nowhere.
pub(super) fn find(
    tree: &Tree<'_>,
    source: Source,
    path: &Pointer,
) -> Result<Option<Found>, SpliceError> {
    let mut source = source;
    let mut path = path;
    while let Some((token, rest)) = path.split_front() {
        let at = tree.alias_target(source.node);
        if tree.entries(at).any(|(key, _)| is_merge_key(tree, key)) {
            return Ok(Found::within(&json(tree, at)?, path));
        }
        let node = match tree.kind(at) {
            Kind::Mapping => member_named(tree, at, &token.decoded())?,
            _ => {
                element(&token, tree.items(at).count()).and_then(|index| tree.items(at).nth(index))
            }
        };
        let Some(node) = node else { return Ok(None) };
        let key = tree.key_of(at, node);
        source = Source { node, key };
        path = rest;
    }
    let value = json(tree, source.node)?;
    let source = Some(source);
    Ok(Some(Found { value, source }))
}

/// The last member of that name: as the key is read, else as it is written.
fn member_named(
    tree: &Tree<'_>,
    mapping: NodeId,
    name: &str,
) -> Result<Option<NodeId>, SpliceError> {
    let mut found = None;
    for (key, value) in tree.entries(mapping) {
        if is_key(tree, key, name)? {
            found = Some(value);
        }
    }
    let keys = tree.entries(mapping).map(|(key, _)| key);
    match name_as_read(tree, keys, name).filter(|_| found.is_none()) {
        Some(name) => member_named(tree, mapping, &name),
        None => Ok(found),
    }
}

/// The node as JSON.
pub(super) fn json(tree: &Tree<'_>, node: NodeId) -> Result<Value, SpliceError> {
    to_json(tree, node).map_err(|error| ErrorKind::Unreadable.at(error.offset))
}

/// The index of an item among so many.
pub(super) fn element(token: &Token<'_>, len: usize) -> Option<usize> {
    token.to_index().ok()?.for_len(len).ok()
}
