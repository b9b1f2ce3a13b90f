//! The members of a changed mapping, so that a patch may change all of them: a member is found by an index.

use super::error::{ErrorKind, SpliceError};
use super::key::{is_key, name_as_read, name_of};
use crate::json::is_merge_key;
use crate::tree::{NodeId, Tree};
use std::cell::{Cell, OnceCell};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Lookups that go through all members. Few mappings get more, and for these an index costs more than it saves.
pub(super) const SCANS: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Key {
    Old(NodeId),
    /// A key of the text that gets another name.
    Renamed {
        old: NodeId,
        name: String,
    },
    New(String),
    /// The member was removed. It keeps its place, so that those after it keep theirs.
    Removed,
}

impl Key {
    /// The key in the text.
    pub(crate) fn old(&self) -> Option<NodeId> {
        match self {
            Key::Old(old) | Key::Renamed { old, .. } => Some(*old),
            Key::New(_) | Key::Removed => None,
        }
    }
}

/// A member of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PatchedMember<V> {
    pub(crate) key: Key,
    pub(crate) value: V,
}

/// The members of a mapping, in order; old ones keep theirs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemberList<V> {
    list: Vec<PatchedMember<V>>,
    scans: Cell<usize>,
    /// On the heap, since hardly any mapping has one.
    index: OnceCell<Box<Index>>,
    /// The last merge key, once it was looked for.
    merge: OnceCell<Option<usize>>,
}

/// Members by name.
type Index = HashMap<String, Occurrence>;

#[derive(Debug, Clone, PartialEq)]
enum Occurrence {
    Once(usize),
    Twice(SpliceError),
}

impl<V: Default> MemberList<V> {
    /// The last member that leads somewhere. None after many such searches, and where a merge key or a second key of the name, which is
    /// for [`MemberList::position`] to judge, may be there.
    pub(super) fn leading(&mut self, tree: &Tree<'_>, leads: impl Fn(&V) -> bool) -> Option<usize> {
        if self.scans.get() >= SCANS || self.merge(tree).is_some() {
            return None;
        }
        self.scans.set(self.scans.get() + 1);
        let at = self.list.iter().rposition(|member| leads(&member.value))?;
        let written = |key| tree.text.as_bytes().get(tree.span(key));
        let name = written(self.list.get(at)?.key.old()?);
        let is_clear = |(other, member): (usize, &PatchedMember<V>)| match &member.key {
            Key::Old(key) => tree.is_plain_line(*key) && (other == at || written(*key) != name),
            Key::New(new) | Key::Renamed { name: new, .. } => Some(new.as_bytes()) != name,
            Key::Removed => true,
        };
        self.list.iter().enumerate().all(is_clear).then_some(at)
    }

    pub(super) fn new(list: Vec<PatchedMember<V>>) -> Self {
        Self {
            list,
            scans: Cell::new(0),
            index: OnceCell::new(),
            merge: OnceCell::new(),
        }
    }

    /// Sets the number of lookups so far.
    #[cfg(test)]
    pub(super) fn scanned(&self, scans: usize) {
        self.scans.set(scans);
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, PatchedMember<V>> {
        self.list.iter()
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut PatchedMember<V>> {
        self.list.get_mut(at)
    }

    /// The member of that name that a new value replaces. Where only a merge key brings one, a new member that may hide it goes after
    /// the merge key.
    pub(super) fn replaced(
        &mut self,
        tree: &Tree<'_>,
        node: NodeId,
        name: &str,
        may_hide: bool,
    ) -> Result<Option<&mut PatchedMember<V>>, SpliceError> {
        let at = match self.position(tree, node, name) {
            Err(error) if error.kind == ErrorKind::MergeKey && may_hide => {
                match self.scan(tree, name)? {
                    None => None,
                    Some(_) => return Err(error),
                }
            }
            found => found?,
        };
        Ok(at.and_then(|at| self.list.get_mut(at)))
    }

    /// Inserts a member in front of another one, or after all others.
    pub(super) fn insert(&mut self, in_front: Option<usize>, name: String, value: V) {
        match in_front {
            // Those after it move, and few mappings get two.
            Some(_) => {
                (self.scans, self.index) = (Cell::new(0), OnceCell::new());
                self.merge = OnceCell::new();
            }
            None => {
                if let Some(index) = self.index.get_mut() {
                    let at = Occurrence::Once(self.list.len());
                    index.insert(name.clone(), at);
                }
            }
        }
        self.list.insert(
            in_front.unwrap_or(self.list.len()),
            PatchedMember {
                key: Key::New(name),
                value,
            },
        );
    }

    pub(super) fn remove(
        &mut self,
        tree: &Tree<'_>,
        node: NodeId,
        name: &str,
    ) -> Result<Option<PatchedMember<V>>, SpliceError> {
        let Some(at) = self.position(tree, node, name)? else {
            return Ok(None);
        };
        // A merge key may bring a member of that name, which the removed one has hidden until now.
        if self.merge(tree).is_some() && brings(tree, node, name) {
            return Err(ErrorKind::MergeKey.at(tree.span(node).start));
        }
        let Some(member) = self.list.get_mut(at) else {
            return Ok(None);
        };
        let removed = PatchedMember {
            key: Key::Removed,
            value: V::default(),
        };
        let member = std::mem::replace(member, removed);
        if let Some(index) = self.index.get_mut() {
            // `name` may be the key as it is written, and the index has it as it is read.
            match &member.key {
                Key::Old(key) => _ = index.remove(&name_of(tree, *key).unwrap_or_default()),
                _ => _ = index.remove(name),
            }
        }
        Ok(Some(member))
    }

    /// Gives a member of the text another name that no member has. Returns false if that cannot be done in its place.
    pub(super) fn rename(
        &mut self,
        tree: &Tree<'_>,
        node: NodeId,
        name: &str,
        new: &str,
    ) -> Result<bool, SpliceError> {
        let Some(at) = self.position(tree, node, name)? else {
            return Ok(false);
        };
        // A merge key may bring a member of that name, which the renamed one has hidden until now.
        let hides_another = self.merge(tree).is_some() && brings(tree, node, name);
        let is_free = self.position(tree, node, new)?.is_none() && !hides_another;
        if is_free
            && let Some(PatchedMember { key, .. }) = self.list.get_mut(at)
            && let Key::Old(old) = *key
            && !tree.is_aliased(old)
        {
            let name = new.to_owned();
            *key = Key::Renamed { old, name };
            (self.scans, self.index) = (Cell::new(0), OnceCell::new());
            return Ok(true);
        }
        Ok(false)
    }

    /// The member of that name: as the key is read, else as it is written.
    pub(super) fn position(
        &self,
        tree: &Tree<'_>,
        node: NodeId,
        name: &str,
    ) -> Result<Option<usize>, SpliceError> {
        let found = self.position_as_read(tree, node, name)?;
        if found.is_some() {
            return Ok(found);
        }
        let keys = self.list.iter().filter_map(|member| match member.key {
            Key::Old(key) => Some(key),
            Key::New(_) | Key::Renamed { .. } | Key::Removed => None,
        });
        match name_as_read(tree, keys, name) {
            Some(name) => self.position_as_read(tree, node, &name),
            None => Ok(None),
        }
    }

    /// The member whose key is read as that name. A merge key may hide one, or bring one from elsewhere.
    fn position_as_read(
        &self,
        tree: &Tree<'_>,
        node: NodeId,
        name: &str,
    ) -> Result<Option<usize>, SpliceError> {
        let found = if self.scans.get() < SCANS {
            self.scans.set(self.scans.get() + 1);
            self.scan(tree, name)?
        } else {
            match self
                .index
                .get_or_init(|| Box::new(self.index(tree)))
                .get(name)
            {
                Some(Occurrence::Twice(duplicate)) => return Err(duplicate.clone()),
                Some(Occurrence::Once(at)) => Some(*at),
                None => None,
            }
        };
        match self.merge(tree) {
            Some(at) if found.is_none_or(|found| found < at) && brings(tree, node, name) => {
                Err(ErrorKind::MergeKey.at(tree.span(node).start))
            }
            _ => Ok(found),
        }
    }

    /// The last merge key.
    fn merge(&self, tree: &Tree<'_>) -> Option<usize> {
        let is_merge = |member: &PatchedMember<V>| matches!(member.key, Key::Old(key) if is_merge_key(tree, key));
        *self
            .merge
            .get_or_init(|| self.list.iter().rposition(is_merge))
    }

    /// The member of that name.
    fn scan(&self, tree: &Tree<'_>, name: &str) -> Result<Option<usize>, SpliceError> {
        let mut found = None;
        for (at, member) in self.list.iter().enumerate() {
            let same = match &member.key {
                Key::New(key) | Key::Renamed { name: key, .. } => key == name,
                Key::Old(key) => is_key(tree, *key, name),
                Key::Removed => false,
            };
            if same {
                if let Some(duplicate) = found.and_then(|first| self.duplicate(tree, first)) {
                    return Err(duplicate);
                }
                found = Some(at);
            }
        }
        Ok(found)
    }

    fn index(&self, tree: &Tree<'_>) -> Index {
        let mut index = Index::default();
        for (at, member) in self.list.iter().enumerate() {
            let name = match &member.key {
                Key::New(name) | Key::Renamed { name, .. } => Some(name.clone()),
                Key::Old(key) => name_of(tree, *key),
                Key::Removed => None,
            };
            let Some(name) = name else { continue };
            match index.entry(name) {
                Entry::Vacant(vacant) => _ = vacant.insert(Occurrence::Once(at)),
                Entry::Occupied(mut known) => {
                    if let Occurrence::Once(first) = *known.get() {
                        let occurrence = self
                            .duplicate(tree, first)
                            .map_or(Occurrence::Once(at), Occurrence::Twice);
                        known.insert(occurrence);
                    }
                }
            }
        }
        index
    }

    /// The error of a key that is there twice.
    fn duplicate(&self, tree: &Tree<'_>, first: usize) -> Option<SpliceError> {
        let Key::Old(key) = self.list.get(first)?.key else {
            return None;
        };
        Some(ErrorKind::DuplicateKey.at(tree.span(key).start))
    }
}

/// True if a merge key of the mapping brings a member of that name.
fn brings(tree: &Tree<'_>, mapping: NodeId, name: &str) -> bool {
    let mut seen = HashSet::new();
    let mut mappings = vec![mapping];
    while let Some(at) = mappings.pop() {
        for (key, value) in tree.entries(at) {
            if !is_merge_key(tree, key) {
                // The members of the mapping itself are not merged.
                if at != mapping && is_key(tree, key, name) {
                    return true;
                }
                continue;
            }
            let value = tree.alias_target(value);
            let merged = std::iter::once(value)
                .chain(tree.items(value))
                .map(|mapping| tree.alias_target(mapping))
                .filter(|mapping| seen.insert(*mapping));
            mappings.extend(merged);
        }
    }
    false
}
