//! Reads values of the text by JSON Pointer, for `test`, `move` and `copy`.

use super::error::{ErrorKind, SpliceError};
use super::key::{is_key, name_as_read, name_of};
use crate::json::{is_merge_key, to_json};
use crate::tree::{Kind, NodeId, Tree};
use json_patch::jsonptr::{Pointer, PointerBuf, Token};
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

/// The value at a path; none if the path leads nowhere.
pub(super) fn find(tree: &Tree<'_>, path: &Pointer) -> Result<Option<Found>, SpliceError> {
    let without_place = |value| Found {
        value,
        source: None,
    };
    let Some(root) = tree.root() else {
        return Ok(path.is_root().then(|| without_place(Value::Null)));
    };
    let mut source = Source {
        node: root,
        key: None,
    };
    let mut path = path;
    while let Some((token, rest)) = path.split_front() {
        let at = tree.alias_target(source.node);
        if tree.entries(at).any(|(key, _)| is_merge_key(tree, key)) {
            return Ok(json(tree, at)?
                .pointer(path.as_str())
                .cloned()
                .map(without_place));
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
    Ok(Some(Found {
        value: json(tree, source.node)?,
        source: Some(source),
    }))
}

/// The name of the member behind the one at a path.
pub(crate) fn next_name(tree: &Tree<'_>, path: &Pointer) -> Result<Option<String>, SpliceError> {
    find(tree, path)?
        .and_then(|found| found.source)
        .and_then(|source| tree.next(source.node))
        .map_or(Ok(None), |key| name_of(tree, key))
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

/// The error of a path that leads nowhere: how far it leads, and what is there.
pub(crate) fn nowhere(tree: &Tree<'_>, path: &Pointer) -> SpliceError {
    let Some(mut node) = tree.root() else {
        return ErrorKind::InvalidPointer
            .at(0)
            .saying("the document is empty".to_owned());
    };
    let mut known = PointerBuf::root();
    let mut missing = String::new();
    for token in path.tokens() {
        let Some(child) = tree.child(node, token.encoded()) else {
            missing = token.decoded().into_owned();
            break;
        };
        node = child;
        known.push_back(token);
    }
    let at = tree.alias_target(node);
    let known = named(&known);
    let detail = match tree.kind(at) {
        _ if path.is_root() => {
            "the path is that of the document, not of a member or an item".to_owned()
        }
        Kind::Mapping => format!("{known} has no `{missing}`"),
        Kind::Sequence => {
            let items = tree.items(at).count();
            format!("{known} has {items} items, and none at `{missing}`")
        }
        _ => {
            let text = tree.text_of(at).unwrap_or_else(|| "null".to_owned());
            format!("{known} is {}, not a mapping or a list", shortened(&text))
        }
    };
    let start = tree.outer_start(node);
    ErrorKind::InvalidPointer.at(start).saying(detail)
}

/// A path in a sentence.
pub(super) fn named(path: &Pointer) -> String {
    if path.is_root() {
        "the document".to_owned()
    } else {
        format!("`{path}`")
    }
}

/// A value in a sentence.
pub(super) fn shortened(value: &str) -> String {
    let line = value.lines().next().unwrap_or_default();
    match line.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The node as JSON.
fn json(tree: &Tree<'_>, node: NodeId) -> Result<Value, SpliceError> {
    to_json(tree, node).map_err(|error| ErrorKind::Unreadable.at(error.offset))
}

/// The index of an item among so many.
pub(super) fn element(token: &Token<'_>, len: usize) -> Option<usize> {
    token.to_index().ok()?.for_len(len).ok()
}
