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
    sequences: BTreeMap<NodeId, Option<(usize, usize)>>,
    indents: BTreeMap<NodeId, Option<usize>>,
}

impl Examples {
    /// Measures for a place inside the last of `path`, the collections from the root down.
    ///
    /// The nearest example decides: inside that collection, then how it itself is written, then what is beside it,
    /// and so on outwards. Without any example: 2, 1 and 2.
    pub(crate) fn measure(&mut self, tree: &Tree<'_>, path: &[Level]) -> Layout {
        let lines = Lines { text: tree.text() };
        let sequence = nearest(tree, path, &mut self.sequences, &|key, value| sequence(tree, &lines, key, value));
        let indent = nearest(tree, path, &mut self.indents, &|key, value| mapping(tree, &lines, key, value));
        let (sequence_offset, dash_gap) = sequence.unwrap_or((2, 1));
        Layout { sequence_offset, dash_gap, indent: indent.unwrap_or(2) }
    }
}

fn nearest<T: Copy>(
    tree: &Tree<'_>,
    path: &[Level],
    known: &mut BTreeMap<NodeId, Option<T>>,
    probe: &impl Fn(NodeId, NodeId) -> Option<T>,
) -> Option<T> {
    let mut below: Option<Level> = None;
    for level in path.iter().rev() {
        let own = below.and_then(|below| probe(below.key?, below.node));
        let skip = below.map(|below| below.node);
        let inside = || *known.entry(level.node).or_insert_with(|| search(tree, level.node, skip, probe));
        if let Some(found) = own.or_else(inside) {
            return Some(found);
        }
        below = Some(*level);
    }
    None
}

/// The first example below `node`, in order of the text; `skip` has been searched already.
fn search<T>(
    tree: &Tree<'_>,
    node: NodeId,
    skip: Option<NodeId>,
    probe: &impl Fn(NodeId, NodeId) -> Option<T>,
) -> Option<T> {
    if Some(node) == skip || tree.style(node) != Style::Block {
        return None;
    }
    tree.entries(node)
        .find_map(|(key, value)| probe(key, value).or_else(|| search(tree, value, skip, probe)))
        .or_else(|| tree.items(node).find_map(|item| search(tree, item, skip, probe)))
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
