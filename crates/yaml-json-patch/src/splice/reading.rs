//! Finds nodes and values of the text by JSON Pointer.

use super::error::{ErrorKind, SpliceError};
use super::key::{is_key, name_as_read, name_of};
use crate::json::{is_merge_key, to_json};
use crate::tree::{Kind, NodeId, Tree};
use json_patch::jsonptr::{Pointer, PointerBuf, Token};
use serde_json::Value;

/// The place of a value.
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

/// The value at a path with its place; none if the path leads nowhere.
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
        let Some(found) = child(tree, source.node, &token) else {
            return Ok(None);
        };
        (source, path) = (found, rest);
    }
    Ok(Some(Found {
        value: json(tree, source.node)?,
        source: Some(source),
    }))
}

/// The value at a path; none if the path leads nowhere.
pub(crate) fn value_at(tree: &Tree<'_>, path: &Pointer) -> Result<Option<Value>, SpliceError> {
    Ok(find(tree, path)?.map(|found| found.value))
}

/// The place that a path leads to, through aliases. A merge key brings no place.
pub(crate) fn source_at(tree: &Tree<'_>, path: &Pointer) -> Option<Source> {
    let root = Source {
        node: tree.root()?,
        key: None,
    };
    path.tokens()
        .try_fold(root, |at, token| child(tree, at.node, &token))
}

/// The node that a path leads to, through aliases and merge keys.
pub(crate) fn node_at(tree: &Tree<'_>, path: &Pointer) -> Option<NodeId> {
    path.tokens()
        .try_fold(tree.root()?, |node, token| step(tree, node, &token))
}

/// The node one token further down, through aliases and merge keys.
fn step(tree: &Tree<'_>, node: NodeId, token: &Token<'_>) -> Option<NodeId> {
    let own = child(tree, node, token).map(|child| child.node);
    own.or_else(|| tree.child(node, token.encoded()))
}

/// The path with anchored values in the place of the aliases on it; none without any.
pub(super) fn followed(tree: &Tree<'_>, path: &Pointer) -> Option<PointerBuf> {
    let (mut node, mut known, mut followed) = (tree.root(), PointerBuf::root(), false);
    for token in path.tokens() {
        node = node.and_then(|node| Some(child(tree, node, &token)?.node));
        known.push_back(token);
        if let Some(alias) = node.filter(|node| tree.kind(*node) == Kind::Alias) {
            known = path_of(tree, tree.alias_target(alias))?;
            followed = true;
        }
    }
    followed.then_some(known)
}

fn path_of(tree: &Tree<'_>, node: NodeId) -> Option<PointerBuf> {
    let (mut at, mut path) = (tree.root()?, PointerBuf::root());
    while at != node {
        let begun = |(_, value): &(usize, NodeId)| *value <= node;
        let (index, value) = tree.values(at).enumerate().take_while(begun).last()?;
        match tree.key_of(at, value) {
            Some(key) => path.push_back(name_of(tree, key)?),
            None => path.push_back(index),
        }
        at = value;
    }
    Some(path)
}

/// The place one token further down, through aliases.
fn child(tree: &Tree<'_>, node: NodeId, token: &Token<'_>) -> Option<Source> {
    let at = tree.alias_target(node);
    let node = match tree.kind(at) {
        Kind::Mapping => member_named(tree, at, &token.decoded())?,
        _ => tree
            .items(at)
            .nth(element(token, tree.items(at).count())?)?,
    };
    let key = tree.key_of(at, node);
    Some(Source { node, key })
}

/// The last member of that name: as the key is read, else as it is written.
fn member_named(tree: &Tree<'_>, mapping: NodeId, name: &str) -> Option<NodeId> {
    let named = |name: &str| {
        tree.entries(mapping)
            .filter(|(key, _)| is_key(tree, *key, name))
            .last()
    };
    let as_read = || name_as_read(tree, tree.entries(mapping).map(|(key, _)| key), name);
    let (_, value) = named(name).or_else(|| named(&as_read()?))?;
    Some(value)
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
        let Some(child) = step(tree, node, &token) else {
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
pub(super) fn json(tree: &Tree<'_>, node: NodeId) -> Result<Value, SpliceError> {
    to_json(tree, node).map_err(|error| ErrorKind::Unreadable.at(error.offset))
}

/// The index of an item among so many.
pub(super) fn element(token: &Token<'_>, len: usize) -> Option<usize> {
    token.to_index().ok()?.for_len(len).ok()
}
