//! The comments of members and items, read and written.
//!
//! The column decides whose a comment is: lines right above an element, in its column, are its own; deeper ones are of the element
//! before. Only a comment that reads as an item (`#- x`) is never that of the item below it, nor of the key below a list that is
//! flush with its own key.

use super::error::{ErrorKind, SpliceError};
use super::layout;
use super::lines::{Lines, commented_out_indentation};
use super::plan::{self, Element};
use super::reading;
use crate::block_scalar;
use crate::edit::Edit;
use crate::json::is_json;
use crate::tree::{Kind, NodeId, Style, Tree, narrow};
use json_patch::jsonptr::Pointer;
use std::ops::Range;

/// The place of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentPlace {
    /// At the end of the line: of the value, or of the key of several lines. The line of `- name: web` is that of `name`, too.
    LineEnd,
    /// On lines of its own, right above. Above the first key of an item, it is that of the item.
    Above,
}

/// A comment, or the place of one.
pub(crate) struct Comment<'t> {
    /// The comment as it is written, with the white space before `#`; line breaks, too, where it is on lines of its own.
    written: &'t str,
    start: usize,
    /// The white space before `#` and the line break after the text.
    before: &'t str,
    after: &'static str,
}

impl Comment<'_> {
    /// The text of the comment, each line without its `#`.
    pub(crate) fn text(&self) -> String {
        self.lines().map(text_of).collect::<Vec<_>>().join("\n")
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        self.written.split_inclusive('\n')
    }

    /// The edit that gives the comment another text; none if it has it. Lines that stay, and the marker of others, are as written.
    pub(crate) fn edit(&self, tree: &Tree<'_>, text: &str) -> Option<Edit> {
        if text == self.text() {
            return None;
        }
        let marked = self.lines().find(|line| !text_of(line).is_empty());
        let marker = marked.map_or("#", |line| line.trim_start());
        let marker = &marker[..marker.len() - marker.trim_start_matches('#').len()];
        let mut old = self.lines();
        let mut written = String::new();
        for line in text.lines() {
            let is_marked = line == "#" || line.starts_with("##") || line.starts_with("# ");
            match old.next().filter(|old| text_of(old) == line) {
                Some(same) => written.push_str(same),
                None if is_marked => written.extend([self.before, line, self.after]),
                None if line.is_empty() => written.extend([self.before, marker, self.after]),
                None => written.extend([self.before, marker, " ", line, self.after]),
            }
        }
        let start = tree.start() + self.start;
        Some(Edit::replace(start..start + self.written.len(), written))
    }
}

/// The text of a line of a comment.
fn text_of(line: &str) -> &str {
    let text = line.trim().trim_start_matches('#');
    text.strip_prefix(' ').unwrap_or(text)
}

/// The comment of the value at a path, or its place.
pub(crate) fn comment_at<'t>(
    tree: &Tree<'t>,
    path: &Pointer,
    place: CommentPlace,
) -> Result<Comment<'t>, SpliceError> {
    let lines = Lines { text: tree.text() };
    let (around, element) = element_at(tree, path).ok_or_else(|| reading::nowhere(tree, path))?;
    let before = lines.slice(lines.start(element.start), element.start);
    let in_brackets = tree.style(around) == Style::Flow;
    let comment = match place {
        // JSON has no comments.
        _ if in_brackets && (!before.trim().is_empty() || is_json(tree.text())) => None,
        CommentPlace::Above => comment_above(tree, element.start, before),
        CommentPlace::LineEnd => at_line_end(tree, element, in_brackets),
    };
    comment.ok_or_else(|| {
        let path = reading::named(path);
        let detail = format!("{path} has no line of its own for a comment");
        ErrorKind::Layout.at(element.start).saying(detail)
    })
}

/// `before`: the text before the element on its line.
fn comment_above<'t>(tree: &Tree<'t>, start: usize, before: &'t str) -> Option<Comment<'t>> {
    let lines = Lines { text: tree.text() };
    let line = start - before.len();
    let dashes = before.trim_start();
    let indentation = &before[..before.len() - dashes.len()];
    let own = own_lines_above(tree, line + indentation.len());
    dashes.trim_matches(['-', ' ']).is_empty().then(|| Comment {
        written: lines.slice(own.start, line),
        start: own.start,
        before: indentation,
        after: lines.break_before(line),
    })
}

fn at_line_end<'t>(tree: &Tree<'t>, element: Element, in_brackets: bool) -> Option<Comment<'t>> {
    let lines = Lines { text: tree.text() };
    let value = element.value;
    let mut end = match (tree.style(value), element.mark) {
        (Style::Block, mark) => {
            let mark = mark?;
            if layout::first(tree, value) < lines.line_end(mark) {
                let inner = plan::elements_of(tree, &lines, value).ok()?;
                return at_line_end(tree, *inner.first()?, false);
            }
            tree.properties_end(value).unwrap_or(mark).max(mark)
        }
        (Style::Literal | Style::Folded, _) => {
            block_scalar::header(tree.text(), tree.span(value).start).end
        }
        _ => element.end,
    };
    let comma = lines.skip_blanks(end);
    if in_brackets && lines.is_at(comma, b',') {
        end = comma + 1;
    }
    let written = lines.slice(end, lines.line_end(end));
    let comment = written.trim_start();
    let blanks = &written[..written.len() - comment.len()];
    let before = if comment.is_empty() { " " } else { blanks };
    (comment.is_empty() || comment.starts_with('#')).then_some(Comment {
        written,
        start: end,
        before,
        after: "",
    })
}

/// The way with the text around a change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Around {
    /// They go with the element that goes: to its new place, if it has one.
    pub(crate) comments: Comments,
    /// A new member is right behind the one before it, and not right in front of the next one.
    pub(crate) is_behind: bool,
    /// A block scalar that ends the text without a line break may get another header, so that text can follow it.
    pub(crate) closes_blocks: bool,
}

/// The lines of comments that go with an element that goes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Comments {
    /// Right above it.
    pub(crate) above: Range<usize>,
    /// At its end, and deeper.
    pub(crate) below: Range<usize>,
}

impl Comments {
    /// Those of the element at a path. The head of the text is none.
    pub(super) fn of(tree: &Tree<'_>, path: &Pointer) -> Self {
        let lines = Lines { text: tree.text() };
        let is_in_lines = |found: &(NodeId, Element)| tree.style(found.0) == Style::Block;
        let Some((_, element)) = element_at(tree, path).filter(is_in_lines) else {
            return Self::default();
        };
        let Element { start, end, .. } = element;
        let line = lines.start(start);
        let is_head = tree.root().map(|root| layout::first(tree, root)) == Some(start);
        let has_own_lines = lines.indentation(start).is_some() && !is_head;
        // Lines that cannot be removed are an error later on.
        let below = lines.below(end).unwrap_or_default();
        let is_deeper = |mark| mark - lines.start(mark) > start - line;
        Self {
            above: if has_own_lines {
                own_lines_above(tree, start)
            } else {
                line..line
            },
            below: below..lines.comments_below(below, is_deeper).unwrap_or(below),
        }
    }

    /// Leaves a comment above that looks like YAML that was commented out, or that may tell of what follows, too: a sibling without a
    /// comment of its own or a blank line in front of it.
    pub(super) fn of_one(mut self, tree: &Tree<'_>) -> Self {
        let lines = Lines { text: tree.text() };
        let start = lines.next_line_with_content(self.above.end);
        let next = lines.next_line_with_content(self.below.end);
        let line = lines.start(next);
        let is_sibling = line == self.below.end
            && next - line == start - self.above.end
            && lines.is_at(next, b'-') == lines.is_at(start, b'-');
        let ends = next == lines.text.len() || lines.is_at(next, b'#') || !is_sibling;
        let mut above = lines.slice(self.above.start, self.above.end).lines();
        if !ends || above.any(is_commented_out) {
            self.above.start = self.above.end;
        }
        self
    }
}

/// The member or item at a path, with the collection that holds it.
fn element_at(tree: &Tree<'_>, path: &Pointer) -> Option<(NodeId, Element)> {
    let lines = Lines { text: tree.text() };
    let value = reading::source_at(tree, path)?.node;
    let around = tree.alias_target(reading::source_at(tree, path.parent()?)?.node);
    let elements = plan::elements_of(tree, &lines, around).ok()?;
    let element = elements
        .into_iter()
        .find(|element| element.value == value)?;
    Some((around, element))
}

/// Moves a line start back over the comments right above it, up to one that is not deeper than `column`. A `#` in a scalar above
/// begins none.
pub(super) fn above(tree: &Tree<'_>, line: usize, column: usize) -> usize {
    let lines = Lines { text: tree.text() };
    let first = lines.comments_above(line, |mark| !tree.is_in_scalar(mark));
    lines
        .comments_below(first, |mark| mark - lines.start(mark) > column)
        .unwrap_or(first)
}

/// The comment lines right above an element that begins its line at `start`, in its column: its own.
pub(super) fn own_lines_above(tree: &Tree<'_>, start: usize) -> Range<usize> {
    let lines = Lines { text: tree.text() };
    let line = lines.start(start);
    let first = lines.comments_above(line, |mark| {
        mark - lines.start(mark) == start - line && !tree.is_in_scalar(mark)
    });
    if lines.is_at(start, b'-') || follows_flush_list(tree, start) {
        below_items(&lines, first..line)..line
    } else {
        first..line
    }
}

/// The place below the last of the comment lines that reads as an item, and below the lines that continue it.
pub(super) fn below_items(lines: &Lines<'_>, comments: Range<usize>) -> usize {
    let Range { start, end } = comments;
    let comments = lines.slice(start, end).split_inclusive('\n');
    let is_beside = |line: &&str| !line.trim().is_empty();
    let comments: Vec<&str> = comments.take_while(is_beside).collect();
    let depth = |comment: &str| commented_out_indentation(comment.trim_start());
    let item = comments.iter().rposition(|line| reads_as_item(line));
    let of_list = item.map_or(0, |item| {
        let is_inside = |line: &&&str| depth(line) > depth(comments[item]);
        item + 1 + comments[item + 1..].iter().take_while(is_inside).count()
    });
    let place = start + comments[..of_list].concat().len();
    if place == lines.text.len() {
        lines.end()
    } else {
        place
    }
}

/// True for a key behind a value that may have items in the key's column.
fn follows_flush_list(tree: &Tree<'_>, key: usize) -> bool {
    let column = key - Lines { text: tree.text() }.start(key);
    let begun = tree
        .nodes
        .partition_point(|node| (node.start as usize) < key);
    let before = tree.nodes[..begun]
        .iter()
        .rposition(|node| node.next as usize == begun);
    before.is_some_and(|value| is_flush_list(tree, NodeId(narrow(value)), column))
}

/// True for the value of a key in a column if it is a list with its dashes there, or has nothing but such items commented out.
pub(super) fn is_flush_list(tree: &Tree<'_>, value: NodeId, column: usize) -> bool {
    let span = tree.span(value);
    let line = Lines { text: tree.text() }.start(span.start);
    let is_list = tree.kind(value) == Kind::Sequence && span.start - line == column;
    is_list || span.is_empty()
}

fn reads_as_item(comment: &str) -> bool {
    comment.trim_start_matches([' ', '#']).starts_with("- ")
}

/// True for `# key: value`, `# - item`, and a line at the very left that was indented: a new last member goes below it.
fn is_commented_out(line: &str) -> bool {
    let text = line.trim_start_matches([' ', '#']);
    let (word, rest) = text.split_once(':').unwrap_or((text, "text"));
    let is_member = !word.contains(' ') && (rest.is_empty() || rest.starts_with(' '));
    let was_indented = line.starts_with('#') && commented_out_indentation(line) > 0;
    is_member || reads_as_item(line) || was_indented
}
