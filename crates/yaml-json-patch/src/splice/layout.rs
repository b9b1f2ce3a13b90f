//! The layout of the surroundings, measured at the place of new text.

use super::lines::Lines;
use super::quotes::Alike;
use super::style::ElementStyle;
use crate::tree::{Kind, NodeId, Style, Tree};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The layout of new block collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Layout {
    /// Columns from a key to the dashes of its sequence: 0 when they are flush.
    pub(crate) sequence_offset: usize,
    /// The number of blanks after a dash, at least 1.
    pub(crate) dash_gap: usize,
    /// Columns from a key to the keys of its mapping.
    pub(crate) indent: usize,
    /// Short lists of words are written `[in, brackets]`.
    pub(crate) bracketed_lists: bool,
}

impl Layout {
    /// Columns from a key to the dashes or keys below it.
    pub(crate) fn below_key(self, kind: Kind) -> usize {
        match kind {
            Kind::Sequence => self.sequence_offset,
            _ => self.indent,
        }
    }
}

/// Kind and columns of a block collection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockStyle {
    pub(crate) kind: Kind,
    /// The collection; none if it is new.
    pub(crate) node: Option<NodeId>,
    /// A value that goes, and whose style does not count.
    pub(crate) goes: Option<NodeId>,
    /// The column of its keys or dashes.
    pub(crate) column: usize,
    /// The number of blanks after its dashes.
    pub(crate) gap: usize,
    /// A blank line parts a new last element from the others.
    pub(crate) parted: bool,
}

/// A collection on the way from the root to the place of an edit, and the key it belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    pub(crate) node: NodeId,
    pub(crate) key: Option<NodeId>,
    /// Columns from that key to those of a mapping.
    indent: Option<usize>,
}

impl Level {
    pub(crate) fn new(tree: &Tree<'_>, node: NodeId, key: Option<NodeId>) -> Self {
        let indent = key.and_then(|key| mapping(tree, Some(key), node));
        Self { node, key, indent }
    }
}

/// A node, and whether a style is shown by it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Example {
    pub(super) node: NodeId,
    pub(super) shown: bool,
}

/// Layouts found below a collection, remembered so that many edits in it search it once.
#[derive(Debug, Default)]
pub(crate) struct Examples<'t> {
    sequences: BTreeMap<NodeId, Option<(usize, usize)>>,
    indents: BTreeMap<NodeId, Option<usize>>,
    bracketed_lists: BTreeMap<NodeId, bool>,
    pub(super) elements: BTreeMap<NodeId, ElementStyle>,
    pub(super) alike: BTreeMap<NodeId, Rc<Alike<'t>>>,
    /// The first collection that shows whether a comma is behind the last element.
    pub(super) trailing_comma: OnceCell<Option<Example>>,
    /// The first item that shows whether lists are written as `[{`.
    pub(super) cuddled_list: OnceCell<Option<Example>>,
}

impl Examples<'_> {
    /// Measures for a place inside the last of `path`, the collections from the root down.
    ///
    /// - Mappings: as most of those on the path are indented; of two that are equal in number, the inner.
    /// - Sequences, and mappings where the path shows none: as most of those beside the new text, that is the members of the
    ///   collection or of its items; else as the collection itself; else the same one further out.
    /// - Lists of words in brackets: where the item of a list that the place is in, else the document, has one.
    ///
    /// Without any example: 2, 1 and 2. In an empty document: brackets.
    pub(crate) fn measure(&mut self, tree: &Tree<'_>, path: &[Level]) -> Layout {
        let list = |key, value| sequence(tree, key, value);
        let step = |key, value| mapping(tree, key, value);
        let steps = path
            .iter()
            .enumerate()
            .filter_map(|(depth, level)| Some((depth, level.indent?)));
        let indent = most(steps).or_else(|| nearest(tree, path, &mut self.indents, &step));
        let (sequence_offset, dash_gap) =
            nearest(tree, path, &mut self.sequences, &list).unwrap_or((2, 1));
        let is_item = |pair: &&[Level]| tree.kind(pair[0].node) == Kind::Sequence;
        let scope = path
            .windows(2)
            .rfind(is_item)
            .and_then(|pair| pair.last())
            .or(path.first());
        let bracketed_lists = scope.is_none_or(|scope| {
            // Most manifests have no bracket: a search of their bytes takes less time than one of their nodes.
            let has_bracket = || memchr::memchr(b'[', tree.raw(scope.node).as_bytes()).is_some();
            let has = || has_bracket() && has_list_in_brackets(tree, scope.node);
            *self.bracketed_lists.entry(scope.node).or_insert_with(has)
        });
        Layout {
            sequence_offset,
            dash_gap,
            indent: indent.unwrap_or(2),
            bracketed_lists,
        }
    }
}

/// The value that occurs most often; of several, the one with the greatest weight.
fn most<W: Ord + Copy, T: Copy + Ord>(values: impl Iterator<Item = (W, T)>) -> Option<T> {
    let mut votes: BTreeMap<T, (usize, W)> = BTreeMap::new();
    for (weight, value) in values {
        let (count, greatest) = votes.entry(value).or_insert((0, weight));
        *count += 1;
        *greatest = weight.max(*greatest);
    }
    votes
        .into_iter()
        .max_by_key(|(_, votes)| *votes)
        .map(|(value, _)| value)
}

fn nearest<T: Copy + Ord>(
    tree: &Tree<'_>,
    path: &[Level],
    known: &mut BTreeMap<NodeId, Option<T>>,
    probe: &impl Fn(Option<NodeId>, NodeId) -> Option<T>,
) -> Option<T> {
    path.iter().enumerate().rev().find_map(|(depth, level)| {
        let beside = *known
            .entry(level.node)
            .or_insert_with(|| beside(tree, level.node, probe));
        let is_below_key = level.key.is_some() || depth == 0;
        beside.or_else(|| probe(level.key, level.node).filter(|_| is_below_key))
    })
}

/// The layout of most collections that are members of `node`, or of its items; of several, that of the list with the most items, or the first. Neither deeper
/// collections nor the length of mappings count: where new text goes deep into several items of a list, a later item must not
/// follow what the first one got.
fn beside<T: Copy + Ord>(
    tree: &Tree<'_>,
    node: NodeId,
    probe: &impl Fn(Option<NodeId>, NodeId) -> Option<T>,
) -> Option<T> {
    let members = std::iter::once(node)
        .chain(tree.items(node))
        .filter(|node| tree.style(*node) == Style::Block)
        .flat_map(|mapping| tree.entries(mapping));
    // Not by bytes: they depend on what was put into the items of a list.
    let weight = |value| match tree.kind(value) {
        Kind::Sequence => (
            tree.items(value).count(),
            usize::MAX - tree.span(value).start,
        ),
        _ => (0, 0),
    };
    most(
        members.filter_map(|(key, value)| {
            probe(Some(key), value).map(|layout| (weight(value), layout))
        }),
    )
}

fn sequence(tree: &Tree<'_>, key: Option<NodeId>, value: NodeId) -> Option<(usize, usize)> {
    Some((offset(tree, Kind::Sequence, key, value)?, gap(tree, value)))
}

fn mapping(tree: &Tree<'_>, key: Option<NodeId>, value: NodeId) -> Option<usize> {
    offset(tree, Kind::Mapping, key, value).filter(|step| *step > 0)
}

/// Columns from a key to a block collection of that kind below it.
fn offset(tree: &Tree<'_>, kind: Kind, key: Option<NodeId>, value: NodeId) -> Option<usize> {
    if tree.kind(value) != kind || tree.style(value) != Style::Block {
        return None;
    }
    let lines = Lines { text: tree.text() };
    let indentation = lines.indentation(first(tree, value))?;
    let key = key
        .map_or(Ok(0), |key| lines.column(tree.outer_start(key)))
        .ok()?;
    indentation.len().checked_sub(key)
}

/// True if a block collection holds `[a, b]`. Brackets in brackets do not count: new text that fills `[]` never looks like this.
fn has_list_in_brackets(tree: &Tree<'_>, node: NodeId) -> bool {
    tree.nodes_in(node)
        .filter(|node| tree.style(*node) == Style::Block)
        .flat_map(|node| tree.values(node))
        .filter(|value| tree.style(*value) == Style::Flow)
        .any(|list| {
            let mut items = tree.items(list).map(|item| tree.kind(item)).peekable();
            items.peek().is_some() && items.all(|kind| kind == Kind::Scalar)
        })
}

/// The beginning of the first key (its anchor and tag included) or dash of a block collection.
pub(crate) fn first(tree: &Tree<'_>, node: NodeId) -> usize {
    tree.entries(node)
        .next()
        .map_or(tree.span(node).start, |(key, _)| tree.outer_start(key))
}

/// The number of blanks after the first dash of a sequence, if the item begins on its line.
pub(crate) fn gap(tree: &Tree<'_>, sequence: NodeId) -> usize {
    let lines = Lines { text: tree.text() };
    let mark = tree.span(sequence).start + 1;
    let content = lines.skip_blanks(mark);
    let is_on_line = content < lines.line_end(mark) && !lines.is_at(content, b'#');
    if tree.kind(sequence) == Kind::Sequence && is_on_line {
        content - mark
    } else {
        1
    }
}
