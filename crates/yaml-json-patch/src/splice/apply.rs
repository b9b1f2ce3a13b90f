//! Carries out operations on the patched document, in their order.

use super::error::{ErrorKind, SpliceError};
use super::members::Key;
use super::operation::Operation;
use super::overlay::{Overlay, equal, may_go};
use super::reading::{self, Found, Source, element};
use crate::tree::Tree;
use json_patch::jsonptr::{Pointer, Token};
use serde_json::Value;
use std::sync::Arc;

/// A member that only a merge key brings, where one of its name is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergedMember {
    Refused,
    /// The new member goes after the merge key, and wins.
    Overridden,
}

/// Operations of a patch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operations<'o> {
    pub(crate) list: &'o [Operation],
    /// The index of the first in its patch.
    pub(crate) first: usize,
    pub(crate) merged: MergedMember,
}

impl<'o> Operations<'o> {
    /// All operations of a patch, of which none may hide what a merge key brings.
    pub(crate) fn all(list: &'o [Operation]) -> Self {
        Self {
            list,
            first: 0,
            merged: MergedMember::Refused,
        }
    }
}

/// Applies the operations, one by one.
pub(super) fn apply(
    tree: &Tree<'_>,
    root: &mut Overlay,
    operations: Operations<'_>,
) -> Result<(), SpliceError> {
    let mut document = OperationApplier {
        tree,
        root,
        merged: operations.merged,
    };
    for (index, operation) in operations.list.iter().enumerate() {
        document.apply(operations.first + index, operation)?;
    }
    Ok(())
}

/// Carries out operations.
struct OperationApplier<'d, 't> {
    tree: &'d Tree<'t>,
    root: &'d mut Overlay,
    merged: MergedMember,
}

impl OperationApplier<'_, '_> {
    fn apply(&mut self, index: usize, operation: &Operation) -> Result<(), SpliceError> {
        if let Operation::Move { from, path } = operation {
            let renamed = self.rename(from, path);
            if renamed.map_err(|error| error.of_operation(index, "from", from))? {
                return Ok(());
            }
        }
        let carried = match operation.source_path() {
            Some(from) => {
                let source = self.read_source(operation, from);
                source.map_err(|error| error.of_operation(index, "from", from))?
            }
            None => Overlay::Nothing,
        };
        self.change(operation, carried)
            .map_err(|error| error.of_operation(index, "path", operation.path()))
    }

    /// Moves a member within its mapping: its key is written anew. Returns false if that is not all.
    fn rename(&mut self, from: &Pointer, path: &Pointer) -> Result<bool, SpliceError> {
        let tree = self.tree;
        let (Some((parent, old)), Some((other, new))) = (from.split_back(), path.split_back())
        else {
            return Ok(false);
        };
        if parent != other || old == new {
            return Ok(false);
        }
        let (parent, _) = self.node(parent)?;
        parent.open(tree)?;
        match parent {
            Overlay::Map { node, members } => {
                members.rename(tree, *node, &old.decoded(), &new.decoded())
            }
            _ => Ok(false),
        }
    }

    /// Reads the value at `from`, which a `move` also removes there.
    fn read_source(
        &mut self,
        operation: &Operation,
        from: &Pointer,
    ) -> Result<Overlay, SpliceError> {
        let carried = self.carried(from)?;
        if let Operation::Move { path, .. } = operation
            && path != from
        {
            if path.starts_with(from) {
                return Err(ErrorKind::MovedIntoItself.at(0));
            }
            self.remove(from)?;
        }
        Ok(carried)
    }

    fn change(&mut self, operation: &Operation, carried: Overlay) -> Result<(), SpliceError> {
        match operation {
            Operation::Add { path, value } => self.add(path, Overlay::New(Arc::clone(value)), None),
            #[cfg(feature = "kubernetes")]
            Operation::InsertBefore {
                path,
                value,
                before,
            } => self.add(path, Overlay::New(Arc::clone(value)), Some(before)),
            Operation::Replace { path, value } => {
                self.replace(path, Overlay::New(Arc::clone(value)))
            }
            #[cfg(feature = "kubernetes")]
            Operation::RestoreNull { path, source } => {
                self.replace(path, Overlay::Null(source.clone()))
            }
            Operation::Remove { path } => self.remove(path),
            Operation::Move { from, path } if from == path => Ok(()),
            Operation::Copy { path, .. } | Operation::Move { path, .. } => {
                self.add(path, carried, None)
            }
            Operation::Test { path, value } => {
                if equal(&self.read(path)?.value, value) {
                    Ok(())
                } else {
                    Err(ErrorKind::TestFailed.at(start(self.tree)))
                }
            }
        }
    }

    /// The node that a path leads to, to be changed. Within a value of the patch there is no text yet: a path into one ends at
    /// it, and its rest is a path in that value.
    fn node<'p>(&mut self, path: &'p Pointer) -> Result<(&mut Overlay, &'p Pointer), SpliceError> {
        let tree = self.tree;
        let mut at = &mut *self.root;
        let mut path = path;
        while let Some((token, rest)) = path.split_front() {
            at.open(tree)?;
            if matches!(at, Overlay::New(_)) {
                break;
            }
            at = at.child(tree, &token)?.ok_or_else(|| nowhere(tree))?;
            path = rest;
        }
        Ok((at, path))
    }

    /// Adds a member in front of the member `in_front`, or after all others.
    fn add(
        &mut self,
        path: &Pointer,
        new: Overlay,
        in_front: Option<&str>,
    ) -> Result<(), SpliceError> {
        let (tree, merged) = (self.tree, self.merged);
        let Some((parent, last)) = path.split_back() else {
            *self.root = new;
            return Ok(());
        };
        let (parent, rest) = self.node(parent)?;
        parent.open(tree)?;
        match parent {
            Overlay::Map { node, members } => {
                let name = last.decoded();
                let before = match in_front {
                    Some(name) => members.position(tree, *node, name)?,
                    None => None,
                };
                let found = match merged {
                    MergedMember::Refused => members.find(tree, *node, &name)?,
                    MergedMember::Overridden => members.find_own(tree, *node, &name)?,
                };
                match found {
                    Some(member) => put(tree, &mut member.value, new)?,
                    None => members.insert(before, name.into_owned(), new),
                }
            }
            Overlay::Seq { items, .. } => {
                let at = new_index(&last, items.len()).ok_or_else(|| nowhere(tree))?;
                items.insert(at, new);
            }
            Overlay::New(value) => match Arc::make_mut(value).pointer_mut(rest.as_str()) {
                Some(Value::Object(members)) => {
                    members.insert(last.decoded().into_owned(), new.into_value());
                }
                Some(Value::Array(items)) => {
                    let at = new_index(&last, items.len()).ok_or_else(|| nowhere(tree))?;
                    items.insert(at, new.into_value());
                }
                _ => return Err(nowhere(tree)),
            },
            _ => return Err(nowhere(tree)),
        }
        Ok(())
    }

    fn replace(&mut self, path: &Pointer, new: Overlay) -> Result<(), SpliceError> {
        let tree = self.tree;
        if path.is_root() {
            *self.root = new;
            return Ok(());
        }
        let (at, rest) = self.node(path)?;
        match at {
            Overlay::New(value) if !rest.is_root() => {
                let value = Arc::make_mut(value).pointer_mut(rest.as_str());
                *value.ok_or_else(|| nowhere(tree))? = new.into_value();
                Ok(())
            }
            at => put(tree, at, new),
        }
    }

    fn remove(&mut self, path: &Pointer) -> Result<(), SpliceError> {
        let tree = self.tree;
        let (parent, last) = path.split_back().ok_or_else(|| nowhere(tree))?;
        let (parent, rest) = self.node(parent)?;
        parent.open(tree)?;
        match parent {
            Overlay::Map { node, members } => {
                let removed = members.remove(tree, *node, &last.decoded())?;
                let removed = removed.ok_or_else(|| nowhere(tree))?;
                removed.value.may_go(tree)?;
                if let Key::Old(key) = removed.key {
                    may_go(tree, key)?;
                }
            }
            Overlay::Seq { items, .. } => {
                let removed = element(&last, items.len()).and_then(|at| items.remove(at));
                removed.ok_or_else(|| nowhere(tree))?.may_go(tree)?;
            }
            Overlay::New(value) => match Arc::make_mut(value).pointer_mut(rest.as_str()) {
                Some(Value::Object(members)) => {
                    let removed = members.shift_remove(last.decoded().as_ref());
                    removed.ok_or_else(|| nowhere(tree))?;
                }
                Some(Value::Array(items)) => {
                    items.remove(element(&last, items.len()).ok_or_else(|| nowhere(tree))?);
                }
                _ => return Err(nowhere(tree)),
            },
            _ => return Err(nowhere(tree)),
        }
        Ok(())
    }

    /// The value that the operation takes to another place.
    fn carried(&mut self, from: &Pointer) -> Result<Overlay, SpliceError> {
        let Found { value, source } = self.read(from)?;
        let value = Arc::new(value);
        Ok(match source {
            Some(source) => Overlay::Carried { value, source },
            None => Overlay::New(value),
        })
    }

    fn read(&mut self, path: &Pointer) -> Result<Found, SpliceError> {
        let tree = self.tree;
        let (mut at, mut key) = (&*self.root, None);
        let mut path = path;
        while let Some((token, rest)) = path.split_front() {
            let next = match at {
                Overlay::Map { node, members } => {
                    let found = members.position(tree, *node, &token.decoded())?;
                    let member = found.and_then(|found| members.get(found));
                    key = match member.map(|member| &member.key) {
                        Some(key) => key.old(),
                        None => None,
                    };
                    member.map(|member| &member.value)
                }
                Overlay::Seq { items, .. } => {
                    key = None;
                    element(&token, items.len()).and_then(|at| items.get(at))
                }
                _ => break,
            };
            at = next.ok_or_else(|| nowhere(tree))?;
            path = rest;
        }
        match at {
            Overlay::Old(node) => {
                let source = Source { node: *node, key };
                reading::find(tree, source, path)?
            }
            Overlay::New(value) => Found::within(value, path),
            Overlay::Carried { value, source } if path.is_root() => Some(Found {
                value: Value::clone(value),
                source: Some(*source),
            }),
            other => Found::within(&other.to_value(tree)?, path),
        }
        .ok_or_else(|| nowhere(tree))
    }
}

/// The beginning of the document.
fn start(tree: &Tree<'_>) -> usize {
    tree.root().map_or(0, |root| tree.span(root).start)
}

/// The error of a path that leads nowhere.
fn nowhere(tree: &Tree<'_>) -> SpliceError {
    ErrorKind::InvalidPointer.at(start(tree))
}

/// The index at which an item is added.
fn new_index(token: &Token<'_>, len: usize) -> Option<usize> {
    token.to_index().ok()?.for_len_incl(len).ok()
}

/// Sets `new` in the place of what is there.
fn put(tree: &Tree<'_>, at: &mut Overlay, new: Overlay) -> Result<(), SpliceError> {
    at.may_go(tree)?;
    *at = new;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Operations, apply};
    use crate::splice::members::{PIECE, SCANS};
    use crate::splice::overlay::{Overlay, unchanged};
    use crate::{Operation, Patch, json_patch, read, to_json};
    use json_patch::jsonptr::PointerBuf;
    use serde_json::{Value, json};
    use std::sync::Arc;

    #[test]
    fn the_index_says_what_looking_at_each_member_says() {
        for text in [
            "a: 1\nb: 2\n\"c\": 3\non: 4\n1: 5\n",
            "a: 1\nb: 2\na: 3\na: 4\n",
            "a: 1\na: 2\n~: 3\nb: 4\n",
            "a: 1\n~: 3\na: 2\nb: 4\n",
            "x: &x {c: 1}\na: 1\n<<: *x\nb: 2\n",
            "a: 1\n\"a\": 2\nyes: 3\n\"true\": 4\n",
        ] {
            let tree = read(text).unwrap();
            for name in ["a", "b", "c", "d", "on", "true", "1", "<<", "null"] {
                let mut root = unchanged(&tree);
                let add = |path: &str| {
                    let path = PointerBuf::parse(path).unwrap();
                    vec![Operation::Add {
                        path,
                        value: Arc::new(Value::Null),
                    }]
                };
                _ = apply(&tree, &mut root, Operations::all(&add("/new")));
                let Overlay::Map { node, members } = root else {
                    panic!("{text}")
                };
                members.scanned(0);
                let scanned = members.position(&tree, node, name);
                members.scanned(SCANS);
                assert_eq!(
                    members.position(&tree, node, name),
                    scanned,
                    "{text} {name}"
                );
            }
        }
    }

    /// A patch of several thousand operations, compared with what RFC 6902 says.
    #[test]
    fn many_items_and_members_come_and_go() {
        let (mut random, mut len) = (7_usize, 2 * PIECE);
        let text: String = (0..len).map(|at| format!("- a{at}: {at}\n")).collect();
        let mut operations = Vec::new();
        for step in 0..6 * PIECE {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = (random >> 33) % len;
            match step / PIECE {
                0 | 4 => {
                    operations.push(json!({"op": "add", "path": format!("/{at}"), "value": step}));
                    len += 1;
                }
                1 | 5 => {
                    operations.push(json!({"op": "remove", "path": format!("/{at}")}));
                    len -= 1;
                }
                2 => operations.push(json!({"op": "move", "from": format!("/{at}"), "path": "/0"})),
                _ => operations.push(
                    json!({"op": "copy", "from": format!("/{at}"), "path": format!("/{at}")}),
                ),
            }
            len += usize::from(step / PIECE == 3);
        }
        let keys: String = (0..PIECE).map(|at| format!("k{at}: {at}\n")).collect();
        let each = (0..PIECE).flat_map(|at| {
            let path = format!("/k{}", at * 7 % PIECE);
            let again = json!({"op": "add", "path": path, "value": "again"});
            [
                json!({"op": "test", "path": path, "value": at * 7 % PIECE}),
                json!({"op": "remove", "path": path}),
                again,
            ]
        });
        for (text, operations) in [(text, operations), (keys, each.collect())] {
            let patch: Patch = serde_json::from_value(Value::Array(operations)).unwrap();
            let value = |text: &str| to_json(&read(text).unwrap(), crate::NodeId(0)).unwrap();
            let mut expected = value(&text);
            json_patch::patch(&mut expected, &patch).unwrap();
            assert_eq!(value(&crate::apply(&text, &patch).unwrap()), expected);
        }
    }
}
