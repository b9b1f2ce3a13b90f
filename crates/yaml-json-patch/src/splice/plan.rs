//! The changes to each member or item of one collection of the text, in order.

use super::error::{ErrorKind, SpliceError};
use super::lines::Lines;
use super::members::{Key, MemberList};
use super::overlay::{MemberOverlay, Overlay};
use super::reading::Source;
use crate::tree::{Kind, NodeId, Style, Tree};
use serde_json::Value;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A member or an item of the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element {
    /// The beginning of the element: the key with its anchor and tag, the dash, or in brackets the item.
    pub(crate) start: usize,
    /// The place after the colon or the dash; none where there is neither.
    pub(crate) mark: Option<usize>,
    pub(crate) key: Option<NodeId>,
    pub(crate) value: NodeId,
    /// The end of its content.
    pub(crate) end: usize,
}

/// One thing that happens. Numbers are indices of elements.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SpliceStep<'o> {
    Keep(usize),
    /// The key gets another name; the next step is about the value.
    Rename(usize, &'o str),
    /// The element stays, and a part of it changes.
    Descend(usize, &'o Overlay),
    Remove(usize),
    /// Replaces the value of a member, or an item.
    Replace(usize, &'o Overlay),
    Insert(New<'o>),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct New<'o> {
    /// The name of a member; none for an item.
    pub(crate) name: Option<&'o str>,
    pub(crate) value: &'o Value,
    /// The same value, where it came from a patch.
    pub(crate) shared: Option<&'o Arc<Value>>,
    /// The place that the value comes from, where it came from the document.
    pub(crate) source: Option<Source>,
}

impl New<'_> {
    pub(crate) fn is_scalar(&self) -> bool {
        self.source.is_none() && !self.value.is_array() && !self.value.is_object()
    }

    /// False for a value that is on one line in every layout.
    pub(crate) fn depends_on_layout(&self) -> bool {
        !self.is_scalar() || self.value.as_str().is_some_and(|text| text.contains('\n'))
    }
}

pub(crate) struct SplicePlan<'o> {
    pub(crate) elements: Vec<Element>,
    pub(crate) steps: Vec<SpliceStep<'o>>,
    /// The first element that stays.
    pub(crate) stays: Option<usize>,
    pub(crate) last_stays: Option<usize>,
}

impl<'o> SplicePlan<'o> {
    fn new(elements: Vec<Element>, steps: Vec<SpliceStep<'o>>) -> Self {
        let stays = steps.iter().find_map(kept);
        let last_stays = steps.iter().rev().find_map(kept);
        Self {
            elements,
            steps,
            stays,
            last_stays,
        }
    }

    /// True if elements are added, removed or replaced, not only changed inside.
    pub(crate) fn changes_itself(&self) -> bool {
        self.steps
            .iter()
            .any(|step| !matches!(step, SpliceStep::Keep(_) | SpliceStep::Descend(..)))
    }

    /// The insertions that follow each other from a step on.
    pub(crate) fn insertions_from(&self, at: usize) -> Vec<New<'o>> {
        let insertion = |step: &SpliceStep<'o>| match step {
            SpliceStep::Insert(new) => Some(*new),
            _ => None,
        };
        self.steps[at..].iter().map_while(insertion).collect()
    }

    /// True if one element is replaced, and what is beside it shows how.
    pub(crate) fn replaces_one(&self) -> bool {
        let is_replacement = |step: &&SpliceStep<'_>| matches!(step, SpliceStep::Replace(..));
        self.steps.iter().filter(is_replacement).count() == 1
    }

    /// True if no element is left.
    pub(crate) fn leaves_nothing(&self) -> bool {
        self.steps
            .iter()
            .all(|step| matches!(step, SpliceStep::Remove(_)))
    }
}

/// The element that a step leaves in the text.
pub(crate) fn kept(step: &SpliceStep<'_>) -> Option<usize> {
    match *step {
        SpliceStep::Keep(at) | SpliceStep::Descend(at, _) | SpliceStep::Replace(at, _) => Some(at),
        SpliceStep::Rename(..) | SpliceStep::Remove(_) | SpliceStep::Insert(_) => None,
    }
}

pub(crate) fn mapping<'o>(
    tree: &Tree<'_>,
    lines: &Lines<'_>,
    node: NodeId,
    members: &'o MemberList<Overlay>,
) -> SplicePlan<'o> {
    let elements = members_of(tree, lines, node);
    // After the last old one that stays, new ones come after removed ones, too.
    let stays = members
        .iter()
        .rposition(|member| member.key.old().is_some())
        .unwrap_or(0);
    let is_there = |member: &&MemberOverlay| member.key != Key::Removed;
    let mut among = members.iter().take(stays).filter(is_there).peekable();
    let mut rest = members.iter().skip(stays).filter(is_there).peekable();
    let mut steps: Vec<SpliceStep<'o>> = Vec::with_capacity(elements.len());
    for (at, element) in elements.iter().enumerate() {
        while let Some(member) = among.next_if(|member| matches!(member.key, Key::New(_))) {
            steps.push(insertion(member));
        }
        let is_same =
            |member: &&MemberOverlay| element.key.is_some() && member.key.old() == element.key;
        let same = among.next_if(is_same).or_else(|| rest.next_if(is_same));
        if let Some(Key::Renamed { name, .. }) = same.map(|member| &member.key) {
            steps.push(SpliceStep::Rename(at, name));
        }
        steps.push(match same.map(|member| &member.value) {
            None => SpliceStep::Remove(at),
            Some(Overlay::Old(_)) => SpliceStep::Keep(at),
            Some(inside @ (Overlay::Map { .. } | Overlay::Seq { .. })) => {
                SpliceStep::Descend(at, inside)
            }
            Some(other) => SpliceStep::Replace(at, other),
        });
    }
    steps.extend(rest.map(insertion));
    SplicePlan::new(elements, steps)
}

fn insertion(member: &MemberOverlay) -> SpliceStep<'_> {
    let name = match &member.key {
        Key::New(name) => Some(name.as_str()),
        Key::Old(_) | Key::Renamed { .. } | Key::Removed => None,
    };
    SpliceStep::Insert(new(name, &member.value))
}

/// Turns removals followed by insertions into replacements, one by one.
pub(crate) fn sequence<'o>(
    tree: &Tree<'_>,
    lines: &Lines<'_>,
    node: NodeId,
    items: &'o VecDeque<Overlay>,
) -> Result<SplicePlan<'o>, SpliceError> {
    let elements = items_of(tree, lines, node)?;
    let mut steps = Vec::with_capacity(elements.len());
    let mut next = 0;
    let mut new: Vec<&Overlay> = Vec::new();
    for item in items {
        let Some(old) = item.node() else {
            new.push(item);
            continue;
        };
        let Some(at) = elements
            .iter()
            .skip(next)
            .position(|element| element.value == old)
            .map(|found| next + found)
        else {
            return Err(ErrorKind::Layout.at(tree.span(old).start));
        };
        steps.extend(replaced(next..at, &new));
        new.clear();
        steps.push(if matches!(item, Overlay::Old(_)) {
            SpliceStep::Keep(at)
        } else {
            SpliceStep::Descend(at, item)
        });
        next = at + 1;
    }
    steps.extend(replaced(next..elements.len(), &new));
    Ok(SplicePlan::new(elements, steps))
}

/// Replaces elements that go by new items, one by one; the rest of them is removed or inserted.
fn replaced<'o>(gone: Range<usize>, new: &[&'o Overlay]) -> Vec<SpliceStep<'o>> {
    let mut items = new.iter();
    let mut steps = Vec::with_capacity(gone.len().max(new.len()));
    for at in gone {
        steps.push(match items.next() {
            Some(item) => SpliceStep::Replace(at, item),
            None => SpliceStep::Remove(at),
        });
    }
    for item in items {
        steps.push(SpliceStep::Insert(self::new(None, item)));
    }
    steps
}

pub(crate) fn new<'o>(name: Option<&'o str>, overlay: &'o Overlay) -> New<'o> {
    let null = New {
        name,
        value: &Value::Null,
        shared: None,
        source: None,
    };
    match overlay {
        Overlay::New(value) => New {
            value,
            shared: Some(value),
            ..null
        },
        Overlay::Carried { value, source } => New {
            value,
            source: Some(*source),
            ..null
        },
        _ => null,
    }
}

pub(crate) fn member(tree: &Tree<'_>, lines: &Lines<'_>, key: NodeId, value: NodeId) -> Element {
    let key_end = tree.span(key).end;
    let colon = lines.next_content(key_end);
    let mark = lines.is_at(colon, b':').then_some(colon + 1);
    let end = tree.span(value).end.max(mark.unwrap_or(key_end));
    Element {
        start: tree.outer_start(key),
        mark,
        key: Some(key),
        value,
        end,
    }
}

/// The elements of a collection.
pub(crate) fn elements_of(
    tree: &Tree<'_>,
    lines: &Lines<'_>,
    node: NodeId,
) -> Result<Vec<Element>, SpliceError> {
    match tree.kind(node) {
        Kind::Mapping => Ok(members_of(tree, lines, node)),
        _ => items_of(tree, lines, node),
    }
}

/// The members of a mapping.
pub(crate) fn members_of(tree: &Tree<'_>, lines: &Lines<'_>, mapping: NodeId) -> Vec<Element> {
    tree.entries(mapping)
        .map(|(key, value)| member(tree, lines, key, value))
        .collect()
}

/// The items of a sequence.
fn items_of(tree: &Tree<'_>, lines: &Lines<'_>, node: NodeId) -> Result<Vec<Element>, SpliceError> {
    if tree.style(node) == Style::Flow {
        let element = |item| Element {
            start: tree.outer_start(item),
            mark: None,
            key: None,
            value: item,
            end: tree.span(item).end,
        };
        return Ok(tree.items(node).map(element).collect());
    }
    let mut elements = Vec::new();
    let mut dash = tree.span(node).start;
    for item in tree.items(node) {
        if !lines.is_at(dash, b'-') {
            return Err(ErrorKind::Layout.at(dash));
        }
        let end = tree.span(item).end.max(dash + 1);
        elements.push(Element {
            start: dash,
            mark: Some(dash + 1),
            key: None,
            value: item,
            end,
        });
        dash = lines.next_content(end);
    }
    Ok(elements)
}

/// True for anything but a block collection.
pub(crate) fn is_inline(tree: &Tree<'_>, node: NodeId) -> bool {
    tree.style(node) != Style::Block
}
