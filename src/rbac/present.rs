//! The documents and items of an earlier run, and how they are taken out again, byte for byte.

use super::objects::{GROUP, NAME_PREFIX};
use super::record::{Boundary, MARK, Record};
use super::spliced::{Failure, spliced};
use crate::annotations::Annotation;
use crate::edit::Edit;
use crate::find::member;
use crate::read;
use crate::read::list;
use crate::report::Identity;
use crate::resource::{Resource, file, item_types, resources, text};
use crate::splice::Refusal;
use crate::yaml::{self, NodeId, Tree, to_json};
use json_patch::jsonptr::PointerBuf;
use json_patch::{PatchOperation, RemoveOperation};
use kube_core::TypeMeta;
use memchr::memmem;
use serde_json::Value;
use std::collections::HashSet;
use std::ops::Range;

/// What a text holds of our kinds.
#[derive(Debug, Default)]
pub(super) struct Present {
    /// Those with our record, in order of the text.
    pub(super) ours: Vec<Ours>,
    /// Those of others.
    pub(super) others: Vec<Other>,
}

/// One object of ours.
#[derive(Debug)]
pub(super) struct Ours {
    pub(super) identity: Identity,
    pub(super) value: Value,
    record: Record,
    place: Place,
    /// Where a key of it stands for a second time: two manifests that no `---` parts are one to YAML, and with ours the
    /// other one would go.
    again: Option<usize>,
}

/// One object that is not ours.
#[derive(Debug)]
pub(super) struct Other {
    pub(super) identity: Identity,
    /// Where it stands.
    pub(super) offset: usize,
    /// Where a function's orchestrator read it.
    pub(super) file: Option<(String, Option<i64>)>,
}

#[derive(Debug)]
enum Place {
    /// A document of its own.
    Document(Range<usize>),
    /// The lines of an item.
    Item(Range<usize>),
    /// Somewhere in a document.
    Inside { document: Range<usize>, pointer: PointerBuf },
}

impl Present {
    /// Looks at the documents that may hold one.
    pub(super) fn of(text: &str) -> Self {
        let mut present = Self::default();
        let may_hold = |text: &str| {
            [MARK, NAME_PREFIX].iter().any(|word| memmem::find(text.as_bytes(), word.as_bytes()).is_some())
        };
        if !may_hold(text) {
            return present;
        }
        for document in read::documents(text).map(|document| document.span) {
            if may_hold(&text[document.clone()]) {
                present.look(&text[document.clone()], &document, may_hold);
            }
        }
        present
    }

    fn look(&mut self, text: &str, document: &Range<usize>, may_hold: impl Fn(&str) -> bool) {
        if let Some(pieces) = pieces(text, may_hold) {
            for (item, tree) in pieces {
                let Some(node) = list::item(&tree) else { continue };
                let place = document.start + item.start..document.start + item.end;
                for resource in resources(&tree, node, &TypeMeta::default()) {
                    self.take(&tree, place.start, &resource, Place::Item(place.clone()));
                }
            }
            return;
        }
        let Ok(tree) = yaml::read(text) else { return };
        let Some(root) = tree.root() else { return };
        for resource in resources(&tree, root, &TypeMeta::default()) {
            let place = match PointerBuf::parse(resource.pointer.clone()) {
                Ok(pointer) if !pointer.is_root() => Place::Inside { document: document.clone(), pointer },
                _ => Place::Document(document.clone()),
            };
            self.take(&tree, document.start, &resource, place);
        }
    }

    fn take(&mut self, tree: &Tree<'_>, base: usize, resource: &Resource, place: Place) {
        let is_of_us = |kind: &str| matches!(kind, "ClusterRole" | "ClusterRoleBinding");
        if !resource.gvk.as_ref().is_some_and(|gvk| gvk.group == GROUP && is_of_us(&gvk.kind)) {
            return;
        }
        let identity = resource.identity.clone();
        let annotations = || member(tree, member(tree, resource.node, "metadata")?, "annotations");
        let record = annotations().and_then(|annotations| text(tree, annotations, Annotation::Record.key()));
        match (record.as_deref().and_then(Record::parse), to_json(tree, resource.node)) {
            (Some(record), Ok(value)) => {
                let again = repeated_key(tree, resource.node).map(|key| base + key);
                self.ours.push(Ours { identity, value, record, place, again });
            }
            _ => self.others.push(Other {
                identity,
                offset: base + tree.span(resource.node).start,
                file: file(tree, resource.node),
            }),
        }
    }

    /// Takes ours out.
    ///
    /// # Errors
    /// - when more than ours stands in the place of one of them
    /// - when an item stands in a list that cannot be edited
    ///
    /// With the place in the text.
    pub(super) fn removal(&self, text: &str) -> Result<Vec<Edit>, Failure> {
        if let Some(again) = self.ours.iter().find_map(|ours| ours.again) {
            return Err(Refusal::DuplicateKey.at(again).into());
        }
        let mut edits: Vec<Edit> = Vec::new();
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        // As long as everything so far is ours.
        let mut front = start;
        let mut inside: Vec<(&Range<usize>, Vec<&PointerBuf>)> = Vec::new();
        for ours in &self.ours {
            match &ours.place {
                Place::Document(range) => {
                    let mut range = range.start.max(start)..range.end;
                    if range.start == front {
                        if ours.record.then == Boundary::Separator {
                            range.end += separator(&text[range.end..]);
                        }
                        front = range.end;
                    }
                    edits.push(Edit::delete(range));
                }
                Place::Item(range) => edits.push(Edit::delete(range.clone())),
                Place::Inside { document, pointer } => match inside.last_mut() {
                    Some((same, pointers)) if *same == document => pointers.push(pointer),
                    _ => inside.push((document, vec![pointer])),
                },
            }
        }
        for (document, pointers) in inside {
            edits.extend(without(text, document, &pointers)?);
        }
        edits.sort_by_key(|edit| edit.range.start);
        Ok(edits)
    }
}

/// The items that may hold one of ours, of a list whose items can be taken out by their lines: others stay, and no anchor
/// goes that they may use.
fn pieces(document: &str, may_hold: impl Fn(&str) -> bool) -> Option<Vec<(Range<usize>, Tree<'_>)>> {
    let cut = list::cut(document)?;
    let envelope = cut.envelope()?;
    item_types(&envelope, envelope.root()?)?;
    drop(envelope);
    let all = cut.items.len();
    let held: Vec<Range<usize>> = cut.items.into_iter().filter(|item| may_hold(&document[item.clone()])).collect();
    if held.len() == all {
        return None;
    }
    let read = |item: Range<usize>| {
        let tree = yaml::read(&document[item.clone()]).ok()?;
        (list::item(&tree).is_some() && !tree.has_anchors()).then_some((item, tree))
    };
    held.into_iter().map(read).collect()
}

/// Where the first key of a mapping stands that was there before.
fn repeated_key(tree: &Tree<'_>, mapping: NodeId) -> Option<usize> {
    let mut seen = HashSet::new();
    let mut keys = tree.entries(tree.resolve(mapping)).map(|(key, _)| key);
    let again = keys.find(|key| tree.scalar(*key).is_some_and(|name| !seen.insert(name)))?;
    Some(tree.span(again).start)
}

/// The length of the line when it is a `---` and nothing else.
fn separator(text: &str) -> usize {
    ["---\n", "---\r\n"].into_iter().find(|line| text.starts_with(line)).map_or(0, str::len)
}

fn without(text: &str, document: &Range<usize>, pointers: &[&PointerBuf]) -> Result<Vec<Edit>, Failure> {
    let Ok(tree) = yaml::read(&text[document.clone()]) else { return Ok(Vec::new()) };
    // From the last to the first, so that the earlier ones stay where they are.
    let remove = |path: &&PointerBuf| PatchOperation::Remove(RemoveOperation { path: (*path).clone() });
    spliced(&tree, document.start, pointers.iter().rev().map(remove).collect(), str::to_owned)
}
