//! The layout of the surroundings, measured at the place of new text.

use super::lines::Lines;
use crate::tree::{Kind, NodeId, Style, Tree};
use std::collections::BTreeMap;

/// The layout of new block collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Columns from a key to the dashes of its sequence: 0 when they are flush.
    pub(crate) sequence_offset: usize,
    /// The number of blanks behind a dash, at least 1.
    pub(crate) dash_gap: usize,
    /// Columns from a key to the keys of its mapping.
    pub(crate) indent: usize,
}

/// A collection on the way from the root to the place of an edit, and the key it belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    pub(crate) node: NodeId,
    pub(crate) key: Option<NodeId>,
}

/// Layouts found below a collection, remembered so that many edits in it search it once.
#[derive(Debug, Default)]
pub(crate) struct Examples {
    sequences: BTreeMap<NodeId, Votes<(usize, usize)>>,
    indents: BTreeMap<NodeId, Votes<usize>>,
}

/// The layouts of examples with their numbers, in the order of their first example.
type Votes<T> = Vec<(T, usize)>;

/// A lead over the second layout at which nothing further out is asked: one slip never decides.
const SAFE_LEAD: usize = 2;

impl Examples {
    /// Measures for a place inside the last of `path`, the collections from the root down.
    ///
    /// - Sequences: the nearest examples decide, by majority: inside that collection, then the collection itself, then what is
    ///   beside it, and so on outwards. Among the members of one mapping the longest list decides.
    /// - Mappings: the same, but a single example decides only where no other contradicts it.
    ///
    /// Without any example: 2, 1 and 2.
    pub(crate) fn measure(&mut self, tree: &Tree<'_>, path: &[Level]) -> Layout {
        let lines = Lines { text: tree.text() };
        let list = |key, value| sequence(tree, &lines, key, value);
        let sequence = nearest(tree, path, 1, &mut self.sequences, &|node| longest(tree, node, &list), &list);
        let indent = nearest(tree, path, SAFE_LEAD, &mut self.indents, &|_| None, &|key, value| {
            mapping(tree, &lines, key, value)
        });
        let (sequence_offset, dash_gap) = sequence.unwrap_or((2, 1));
        Layout { sequence_offset, dash_gap, indent: indent.unwrap_or(2) }
    }
}

/// The layout that leads by `lead` examples, searched from the last of `path` outwards; else the one that leads at the root, or
/// near the place.
fn nearest<T: Copy + PartialEq>(
    tree: &Tree<'_>,
    path: &[Level],
    lead: usize,
    known: &mut BTreeMap<NodeId, Votes<T>>,
    decides: &impl Fn(NodeId) -> Option<T>,
    probe: &impl Fn(NodeId, NodeId) -> Option<T>,
) -> Option<T> {
    let mut votes = Votes::new();
    let mut near = None;
    let mut below: Option<Level> = None;
    for level in path.iter().rev() {
        if let Some(own) = below.and_then(|below| probe(below.key?, below.node)) {
            vote(&mut votes, own);
            near = near.or_else(|| leader(&votes, 1));
        }
        if let Some(found) = leader(&votes, lead).or_else(|| decides(level.node)) {
            return Some(found);
        }
        let inside = known.entry(level.node).or_insert_with(|| {
            let mut votes = Votes::new();
            search(tree, level.node, probe, &mut votes);
            votes
        });
        votes.clone_from(inside);
        if let Some(found) = leader(&votes, lead) {
            return Some(found);
        }
        near = near.or_else(|| leader(&votes, 1));
        below = Some(*level);
    }
    leader(&votes, 1).or(near).or_else(|| leader(&votes, 0))
}

fn vote<T: PartialEq>(votes: &mut Votes<T>, found: T) {
    match votes.iter_mut().find(|(known, _)| *known == found) {
        Some((_, count)) => *count += 1,
        None => votes.push((found, 1)),
    }
}

/// The layout with the most examples, the first of several, if it has `lead` more than any other.
fn leader<T: Copy + PartialEq>(votes: &[(T, usize)], lead: usize) -> Option<T> {
    let (first, most) = votes.iter().rev().max_by_key(|(_, count)| *count)?;
    let second = votes.iter().filter(|(found, _)| found != first).map(|(_, count)| *count).max().unwrap_or(0);
    (second + lead <= *most).then_some(*first)
}

/// Counts the examples below `node`.
fn search<T: PartialEq>(
    tree: &Tree<'_>,
    node: NodeId,
    probe: &impl Fn(NodeId, NodeId) -> Option<T>,
    votes: &mut Votes<T>,
) {
    if tree.style(node) != Style::Block {
        return;
    }
    for (key, value) in tree.entries(node) {
        if let Some(found) = probe(key, value) {
            vote(votes, found);
        }
        search(tree, value, probe, votes);
    }
    tree.items(node).for_each(|item| search(tree, item, probe, votes));
}

/// The layout of the longest list among the members of a mapping: in a pod spec, that of the containers.
fn longest<T>(tree: &Tree<'_>, node: NodeId, probe: &impl Fn(NodeId, NodeId) -> Option<T>) -> Option<T> {
    let lists = tree.entries(node).filter_map(|(key, value)| Some((probe(key, value)?, tree.span(value).len())));
    lists.max_by_key(|(_, length)| *length).map(|(found, _)| found)
}

fn sequence(tree: &Tree<'_>, lines: &Lines<'_>, key: NodeId, value: NodeId) -> Option<(usize, usize)> {
    if tree.kind(value) != Kind::Sequence || tree.style(value) != Style::Block {
        return None;
    }
    Some((offset(tree, lines, key, value)?, gap(tree, lines, value)))
}

fn mapping(tree: &Tree<'_>, lines: &Lines<'_>, key: NodeId, value: NodeId) -> Option<usize> {
    if tree.kind(value) != Kind::Mapping || tree.style(value) != Style::Block {
        return None;
    }
    offset(tree, lines, key, value).filter(|step| *step > 0)
}

fn offset(tree: &Tree<'_>, lines: &Lines<'_>, key: NodeId, value: NodeId) -> Option<usize> {
    let key = lines.column(tree.outer_start(key)).ok()?;
    let start = first(tree, value);
    lines.indentation(start)?;
    lines.column(start).ok()?.checked_sub(key)
}

/// The beginning of the first key (its anchor and tag included) or dash of a block collection.
pub(crate) fn first(tree: &Tree<'_>, node: NodeId) -> usize {
    tree.entries(node).next().map_or(tree.span(node).start, |(key, _)| tree.outer_start(key))
}

/// The number of blanks behind a dash, in the first item that begins on the line of its dash.
pub(crate) fn gap(tree: &Tree<'_>, lines: &Lines<'_>, sequence: NodeId) -> usize {
    let gap = |item: NodeId| {
        let span = tree.outer_start(item)..tree.span(item).end;
        let start = if tree.kind(item) == Kind::Mapping { first(tree, item).min(span.start) } else { span.start };
        let line = lines.slice(lines.start(start), start);
        let spaces = line.len() - line.trim_end_matches(' ').len();
        (!span.is_empty() && line.ends_with(' ') && line.trim_end_matches(' ').ends_with('-')).then_some(spaces)
    };
    tree.items(sequence).find_map(gap).unwrap_or(1)
}
