//! The members and items of a changed collection. Finding, adding and removing one costs about the same however many there
//! are, so that a patch may change all of them.

use super::error::{ErrorKind, SpliceError};
use super::overlay::{Key, Overlay, OverlayMember, is_key, name_of};
use crate::json::is_merge_key;
use crate::tree::{NodeId, Tree};
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Lookups that go through all members. Few mappings get more, and for these an index costs more than it saves.
const SCANS: usize = 16;

/// The members of a mapping, in order; old ones keep theirs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Members {
    list: Vec<OverlayMember>,
    scans: Cell<usize>,
    index: OnceCell<Box<Index>>,
}

/// Members by name.
#[derive(Debug, Clone, PartialEq, Default)]
struct Index {
    /// Up to the first key that has no name.
    places: HashMap<String, Place>,
    /// The error of that key.
    odd: Option<SpliceError>,
    /// The last merge key.
    merge: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
enum Place {
    Once(usize),
    Twice(SpliceError),
}

impl Members {
    pub(super) fn new(list: Vec<OverlayMember>) -> Self {
        Self { list, scans: Cell::new(0), index: OnceCell::new() }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, OverlayMember> {
        self.list.iter()
    }

    /// An upper bound of their number: removed ones count.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&OverlayMember> {
        self.list.get(at)
    }

    pub(super) fn find(
        &mut self,
        tree: &Tree<'_>,
        node: NodeId,
        name: &str,
    ) -> Result<Option<&mut OverlayMember>, SpliceError> {
        let at = self.position(tree, node, name)?;
        Ok(at.and_then(|at| self.list.get_mut(at)))
    }

    /// Inserts a member in front of another one, or behind all others.
    pub(super) fn insert(&mut self, in_front: Option<usize>, name: String, value: Overlay) {
        match in_front {
            // Those behind it move, and few mappings get two.
            Some(_) => (self.scans, self.index) = (Cell::new(0), OnceCell::new()),
            None => {
                let at = self.list.len();
                self.index.get_mut().map(|index| index.places.insert(name.clone(), Place::Once(at)));
            }
        }
        self.list.insert(in_front.unwrap_or(self.list.len()), OverlayMember { key: Key::New(name), value });
    }

    pub(super) fn remove(
        &mut self,
        tree: &Tree<'_>,
        node: NodeId,
        name: &str,
    ) -> Result<Option<OverlayMember>, SpliceError> {
        let removed = OverlayMember { key: Key::Removed, value: Overlay::Nothing };
        let member = self.find(tree, node, name)?.map(|member| std::mem::replace(member, removed));
        self.index.get_mut().map(|index| index.places.remove(name));
        Ok(member)
    }

    /// The member of that name. A merge key may hide one, or bring one from elsewhere.
    pub(super) fn position(&self, tree: &Tree<'_>, node: NodeId, name: &str) -> Result<Option<usize>, SpliceError> {
        let (found, merge) = if self.scans.get() < SCANS {
            self.scans.set(self.scans.get() + 1);
            self.scan(tree, name)?
        } else {
            let index = self.index.get_or_init(|| Box::new(self.index(tree)));
            let found = match (index.places.get(name), index.odd) {
                (Some(Place::Twice(duplicate)), _) => return Err(*duplicate),
                (_, Some(odd)) => return Err(odd),
                (Some(Place::Once(at)), None) => Some(*at),
                (None, None) => None,
            };
            (found, index.merge)
        };
        match merge {
            Some(at) if found.is_none_or(|found| found < at) => Err(ErrorKind::MergeKey.at(tree.span(node).start)),
            _ => Ok(found),
        }
    }

    /// The member of that name, and the last merge key.
    fn scan(&self, tree: &Tree<'_>, name: &str) -> Result<(Option<usize>, Option<usize>), SpliceError> {
        let mut found = None;
        for (at, member) in self.list.iter().enumerate() {
            let same = match &member.key {
                Key::New(key) => key == name,
                Key::Old(key) => is_key(tree, *key, name)?,
                Key::Removed => false,
            };
            if same {
                if let Some(duplicate) = found.and_then(|first| self.duplicate(tree, first, member)) {
                    return Err(duplicate);
                }
                found = Some(at);
            }
        }
        let is_merge = |member: &OverlayMember| matches!(member.key, Key::Old(key) if is_merge_key(tree, key));
        Ok((found, self.list.iter().rposition(is_merge)))
    }

    fn index(&self, tree: &Tree<'_>) -> Index {
        let mut index = Index::default();
        for (at, member) in self.list.iter().enumerate() {
            let name = match &member.key {
                Key::New(name) => Ok(Some(name.clone())),
                Key::Old(key) => name_of(tree, *key),
                Key::Removed => continue,
            };
            match name {
                Ok(Some(name)) => match index.places.entry(name) {
                    Entry::Vacant(vacant) => _ = vacant.insert(Place::Once(at)),
                    Entry::Occupied(mut known) => {
                        if let Place::Once(first) = *known.get() {
                            let duplicate = self.duplicate(tree, first, member);
                            known.insert(duplicate.map_or(Place::Once(at), Place::Twice));
                        }
                    }
                },
                Ok(None) => index.merge = Some(at),
                Err(odd) => {
                    index.odd = Some(odd);
                    break;
                }
            }
        }
        index
    }

    /// The error of a key that is there twice.
    fn duplicate(&self, tree: &Tree<'_>, first: usize, second: &OverlayMember) -> Option<SpliceError> {
        let Key::Old(key) = self.list.get(first)?.key else { return None };
        let next_occurrence = match second.key {
            Key::Old(next) => Some(tree.span(next).start),
            _ => None,
        };
        Some(SpliceError { next_occurrence, ..ErrorKind::DuplicateKey.at(tree.span(key).start) })
    }
}

/// The most items that move when one comes or goes.
const PIECE: usize = 512;

/// The items of a sequence, in pieces.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Items {
    pieces: Vec<Vec<Overlay>>,
    len: usize,
}

impl Items {
    pub(super) fn new(mut items: Vec<Overlay>) -> Self {
        let len = items.len();
        let mut pieces = Vec::with_capacity(len / PIECE + 1);
        while items.len() > PIECE {
            pieces.push(items.split_off(items.len() - PIECE));
        }
        pieces.push(items);
        pieces.reverse();
        Self { pieces, len }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Overlay> {
        self.pieces.iter().flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, at: usize) -> Option<&Overlay> {
        let (piece, at) = self.place(at);
        self.pieces.get(piece)?.get(at)
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Overlay> {
        let (piece, at) = self.place(at);
        self.pieces.get_mut(piece)?.get_mut(at)
    }

    /// Inserts an item; behind all others if `at` is their number.
    pub(super) fn insert(&mut self, at: usize, item: Overlay) {
        let (index, at) = self.place(at);
        let Some(piece) = self.pieces.get_mut(index) else { return };
        piece.insert(at, item);
        self.len += 1;
        if piece.len() > PIECE {
            let behind = piece.split_off(PIECE / 2);
            self.pieces.insert(index + 1, behind);
        }
    }

    pub(super) fn remove(&mut self, at: usize) -> Option<Overlay> {
        let (index, at) = self.place(at);
        let piece = self.pieces.get_mut(index).filter(|piece| at < piece.len())?;
        let item = piece.remove(at);
        self.len -= 1;
        if piece.is_empty() && self.pieces.len() > 1 {
            self.pieces.remove(index);
        }
        Some(item)
    }

    /// The piece that holds an item, and its place there. The end of the last piece is a place too.
    fn place(&self, at: usize) -> (usize, usize) {
        let mut at = at;
        let last = self.pieces.len() - 1;
        for (index, piece) in self.pieces.iter().enumerate() {
            if at < piece.len() || index == last {
                return (index, at);
            }
            at -= piece.len();
        }
        (last, at)
    }
}

#[cfg(test)]
mod tests {
    use super::{PIECE, SCANS};
    use crate::splice::overlay::{Overlay, apply, unchanged};
    use crate::{Operation, Patch, json_patch, read, to_json};
    use json_patch::jsonptr::PointerBuf;
    use serde_json::{Value, json};
    use std::rc::Rc;

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
                    vec![Operation::Add { path, value: Rc::new(Value::Null) }]
                };
                _ = apply(&tree, &mut root, add("/new"));
                let Overlay::Map { node, members } = root else { panic!("{text}") };
                members.scans.set(0);
                let scanned = members.position(&tree, node, name);
                members.scans.set(SCANS);
                assert_eq!(members.position(&tree, node, name), scanned, "{text} {name}");
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
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
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
                _ => operations.push(json!({"op": "copy", "from": format!("/{at}"), "path": format!("/{at}")})),
            }
            len += usize::from(step / PIECE == 3);
        }
        let keys: String = (0..PIECE).map(|at| format!("k{at}: {at}\n")).collect();
        let each = (0..PIECE).flat_map(|at| {
            let path = format!("/k{}", at * 7 % PIECE);
            let again = json!({"op": "add", "path": path, "value": "again"});
            [json!({"op": "test", "path": path, "value": at * 7 % PIECE}), json!({"op": "remove", "path": path}), again]
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
