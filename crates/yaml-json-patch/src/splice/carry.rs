//! The text that `move` and `copy` take along to a place in a block collection: comments, block scalars and spelling stay.
//!
//! Lines are indented anew. An anchor never comes along, and an alias only to a place after its anchor. Where the text cannot
//! stand, the value is written key by key with the spelling of its scalars, or else as JSON would have it.

use super::content::{Carrying, Content, has_plain_members, spelling};
use super::edits::ends_open;
use super::layout::{self, Layout};
use super::plan::{self, New};
use super::reading::Source;
use super::render::{BlockPlace, CarriedText};
use super::writer::Writer;
use crate::quote::Context;
use crate::tree::{Kind, NodeId, Style};

impl Writer<'_, '_> {
    /// The value to write where no text is carried along.
    pub(super) fn content<'v>(&'v self, new: &New<'v>) -> Content<'v> {
        match new.source {
            Some(source)
                if self.carrying == Carrying::Text && has_plain_members(self.tree, source.node) =>
            {
                Content::Node(self.tree, source.node)
            }
            _ => Content::Value(new.value, None),
        }
    }

    /// The text that a value takes along to a place; none where it cannot stand there.
    pub(super) fn carried(
        &self,
        source: Source,
        place: &BlockPlace<'_>,
        layout: Layout,
    ) -> Option<CarriedText> {
        let tree = self.tree;
        let node = source.node;
        // Only behind its anchor does an alias mean the same.
        let end = tree.span(node).end;
        let mut parts = tree
            .nodes()
            .skip(node.0 as usize)
            .take_while(|part| *part == node || tree.span(*part).start < end);
        let stays = |part: NodeId| {
            let is_late = || tree.span(tree.alias_target(part)).end > place.at;
            tree.anchor(part).is_some() || (tree.kind(part) == Kind::Alias && is_late())
        };
        if self.carrying != Carrying::Text || parts.any(stays) {
            return None;
        }
        // Without a line break at its end, a block scalar has another value.
        let is_last = self.lines.line_end(tree.span(node).end) == tree.text().len();
        if is_last && ends_open(tree, &self.lines) {
            return None;
        }
        let mut text = if tree.style(node) == Style::Block {
            self.carried_collection(source, place, layout)?
        } else {
            self.carried_leaf(source, place)?
        };
        // The last line ends as the lines at the new place do.
        if let Some(lines) = text.below.strip_suffix('\n') {
            let lines = lines.strip_suffix('\r').unwrap_or(lines);
            text.below = [lines, self.lines.break_before(place.at)].concat();
        }
        Some(text)
    }

    /// A collection in block style.
    fn carried_collection(
        &self,
        source: Source,
        place: &BlockPlace<'_>,
        layout: Layout,
    ) -> Option<CarriedText> {
        let (tree, lines) = (self.tree, &self.lines);
        let node = source.node;
        let start = layout::first(tree, node).min(tree.span(node).start);
        let from = lines.column(start).ok()?;
        let further = match place.name {
            None => 1 + place.gap,
            Some(_) => layout.below_key(tree.kind(node)),
        };
        let to = place.column + further;
        let body = reindented(&self.whole_lines(start, tree.span(node).end)?, from, to)?;
        let indentation = " ".repeat(to);
        // Comments, and a tag, between the key or dash and the first line of the collection.
        let is_around = |list: &NodeId| tree.items(*list).any(|item| item == node);
        let head = match source.key {
            Some(key) => {
                let colon = lines.next_content(tree.span(key).end);
                lines.slice(colon + 1, start)
            }
            None => match tree.nodes().find(is_around) {
                Some(list) => {
                    let items = plan::elements_of(tree, lines, list).ok()?;
                    let item = items.iter().find(|item| item.value == node)?;
                    lines.slice(item.mark?, start)
                }
                None => "",
            },
        };
        let (first, between) = head.split_once('\n').unwrap_or((head, ""));
        if head.trim().is_empty() && place.name.is_none() {
            let (first, below) = body.split_once('\n')?;
            return Some(CarriedText {
                first: first.trim_end_matches('\r').to_owned(),
                below: below.to_owned(),
            });
        }
        // Behind a line break, since a first line is not moved.
        let between = reindented(&format!("\n{}", between.trim_end_matches(' ')), from, to)?;
        Some(CarriedText {
            first: first.trim().to_owned(),
            below: [&between[1..], &indentation, &body].concat(),
        })
    }

    /// A scalar, an alias, or a collection in brackets.
    fn carried_leaf(&self, source: Source, place: &BlockPlace<'_>) -> Option<CarriedText> {
        let (tree, lines) = (self.tree, &self.lines);
        let span = tree.outer_start(source.node)..tree.span(source.node).end;
        let raw = lines.slice(span.start, span.end);
        if tree.is_flow_pair(source.node) {
            return None;
        }
        let text = self
            .whole_lines(span.start, span.end)
            .unwrap_or_else(|| format!("{raw}\n"));
        let (first, below) = text.split_once('\n')?;
        let first = first.trim().to_owned();
        if below.is_empty() {
            let below = String::new();
            return Some(CarriedText { first, below });
        }
        let from = match source.key {
            Some(key) => lines.column(tree.outer_start(key)).ok()?,
            None => lines.column(lines.dash_before(span.start)?).ok()?,
        };
        // Behind a line break, since a first line is not moved.
        let below = reindented(&format!("\n{below}"), from, place.column)?.split_off(1);
        Some(CarriedText { first, below })
    }

    /// The text from an offset to the end of the line on which content ends.
    fn whole_lines(&self, start: usize, end: usize) -> Option<String> {
        let below = self.below(end).ok()?;
        let mut text = self.lines.slice(start, below).to_owned();
        if below > self.tree.text().len() {
            text.push_str(self.lines.break_before(below));
        }
        Some(text)
    }

    /// The text that replaces a scalar with a value that was moved or copied, if it stays on one line.
    pub(super) fn carried_on_one_line(&self, source: Source) -> Option<String> {
        if self.carrying != Carrying::Text {
            return None;
        }
        spelling(self.tree, source.node, Context::Block)
    }
}

/// The text with all lines but the first moved by the difference of two columns. Lines of white space that are less indented
/// than the column stay. None where a line cannot be moved.
fn reindented(text: &str, from: usize, to: usize) -> Option<String> {
    if text.replace("\r\n", "\n").contains('\r') {
        return None;
    }
    let mut moved = String::with_capacity(text.len());
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_start_matches(' ');
        let indentation = line.len() - content.len();
        let is_blank = content.trim_end().is_empty();
        if index == 0 || (is_blank && (indentation < from || indentation == 0)) {
            moved.push_str(line);
            continue;
        }
        let is_too_far_left = indentation + to < from && !content.starts_with('#');
        if content.starts_with('\t') || is_too_far_left {
            return None;
        }
        moved.extend(std::iter::repeat_n(
            ' ',
            (indentation + to).saturating_sub(from),
        ));
        moved.push_str(content);
    }
    Some(moved)
}
