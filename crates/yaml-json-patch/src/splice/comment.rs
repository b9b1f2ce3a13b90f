//! The comments of members and items, read and written.

use super::error::{ErrorKind, SpliceError};
use super::layout;
use super::lines::{Lines, commented_out_indentation};
use super::reading::{self, Source};
use crate::block_scalar;
use crate::edit::Edit;
use crate::tree::{Style, Tree};
use json_patch::jsonptr::Pointer;
use serde_json::Value;
use std::ops::Range;

/// The place of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentPlace {
    /// At the end of the line: of the value, or of the key of several lines.
    LineEnd,
    /// On lines of its own, right above.
    Above,
}

/// A comment, or the place of one.
pub(crate) struct Comment {
    range: Range<usize>,
    /// The white space before `#` and the line break after the text; both belong to the comment.
    before: String,
    after: &'static str,
}

impl Comment {
    /// The text of the comment, each line without its `#`.
    pub(crate) fn text(&self, tree: &Tree<'_>) -> String {
        let raw = tree.text().get(self.range.clone()).unwrap_or_default();
        let line = |line: &str| {
            let text = line.trim().trim_start_matches('#');
            text.strip_prefix(' ').unwrap_or(text).to_owned()
        };
        raw.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn edit(&self, tree: &Tree<'_>, text: &str) -> Edit {
        let range = tree.start() + self.range.start..tree.start() + self.range.end;
        let line = |line: &str| {
            let blank = if line.is_empty() { "" } else { " " };
            [&self.before, "#", blank, line, self.after].concat()
        };
        Edit::replace(range, text.lines().map(line).collect::<String>())
    }
}

/// The value at a path; none if the path leads nowhere.
pub(crate) fn value_at(tree: &Tree<'_>, path: &Pointer) -> Result<Option<Value>, SpliceError> {
    Ok(reading::find(tree, path)?.map(|found| found.value))
}

/// The comment of the value at a path; none if the path leads nowhere.
pub(crate) fn comment_at(
    tree: &Tree<'_>,
    path: &Pointer,
    place: CommentPlace,
) -> Result<Option<Comment>, SpliceError> {
    let source = |path| Ok(reading::find(tree, path)?.and_then(|found| found.source));
    let Some(found) = source(path)? else {
        return Ok(None);
    };
    let around = path
        .parent()
        .map_or(Ok(None), source)?
        .map(|around| tree.style(tree.alias_target(around.node)));
    comment(tree, found, place, around).map(Some)
}

/// The text of a member or an item that begins a line: from its key or dash to the end of its content.
pub(super) fn element_lines(tree: &Tree<'_>, source: Source) -> Option<Range<usize>> {
    let lines = Lines { text: tree.text() };
    let value = tree.outer_start(source.node);
    let start = match source.key {
        Some(key) => tree.outer_start(key),
        None => lines.dash_before(value)?,
    };
    lines.indentation(start)?;
    Some(start..tree.span(source.node).end.max(start + 1))
}

/// Moves a line start back over the comments right above it. A `#` in a scalar above begins none.
pub(super) fn above(tree: &Tree<'_>, line: usize) -> usize {
    Lines { text: tree.text() }.comments_above(line, |mark| !tree.is_in_scalar(mark))
}

/// The comment right above an element that begins at `start`, in its column. The head of the text is none.
pub(super) fn of_element(tree: &Tree<'_>, start: usize) -> Option<Range<usize>> {
    let lines = Lines { text: tree.text() };
    let column = lines.indentation(start)?.len();
    let line = start - column;
    let above = lines.comments_above(line, |mark| {
        mark - lines.start(mark) == column && !tree.is_in_scalar(mark)
    });
    let is_head = layout::first(tree, tree.root()?) == start;
    (above < line && !is_head).then_some(above..line)
}

/// The comment right above an element that goes, if it does not look like YAML that was commented out, and nothing else
/// follows that it may tell of: the next element has a comment of its own or a blank line in front of it.
pub(super) fn gone_with_element(tree: &Tree<'_>, gone: Range<usize>) -> Option<Range<usize>> {
    let lines = Lines { text: tree.text() };
    let comment = of_element(tree, gone.start)?;
    let below = lines.below(gone.end).ok()?;
    let next = lines.next_line_with_content(below);
    let line = lines.start(next);
    let is_sibling = line == below
        && next - line == gone.start - comment.end
        && lines.is_at(next, b'-') == lines.is_at(gone.start, b'-');
    let ends = next == lines.text.len() || lines.is_at(next, b'#') || !is_sibling;
    let mut above = lines.slice(comment.start, comment.end).lines();
    (ends && !above.any(is_commented_out)).then_some(comment)
}

/// True for `# key: value`, `# - item`, and a line at the very left that was indented: a new last member goes below it.
fn is_commented_out(line: &str) -> bool {
    let text = line.trim_start_matches([' ', '#']);
    let (word, rest) = text.split_once(':').unwrap_or((text, "text"));
    let is_member = !word.contains(' ') && (rest.is_empty() || rest.starts_with(' '));
    let was_indented = line.starts_with('#') && commented_out_indentation(line) > 0;
    is_member || text.starts_with("- ") || was_indented
}

/// `around`: the style of the collection that holds the value.
fn comment(
    tree: &Tree<'_>,
    source: Source,
    place: CommentPlace,
    around: Option<Style>,
) -> Result<Comment, SpliceError> {
    let lines = Lines { text: tree.text() };
    let Source { node, key } = source;
    let start = tree.outer_start(key.unwrap_or(node));
    let layout = ErrorKind::Layout.at(start);
    let line = lines.start(start);
    let before = lines.slice(line, start);
    let in_brackets = around == Some(Style::Flow);
    // JSON has no comments.
    let is_json = || serde_json::from_str::<Value>(tree.text()).is_ok();
    if in_brackets && (!before.trim().is_empty() || is_json()) {
        return Err(layout);
    }
    if place == CommentPlace::Above {
        let has_dash = key.is_none() && !in_brackets;
        if before.trim() != if has_dash { "-" } else { "" } {
            return Err(layout);
        }
        let indentation = before.len() - before.trim_start().len();
        return Ok(Comment {
            range: above(tree, line)..line,
            before: before[..indentation].to_owned(),
            after: lines.break_before(line),
        });
    }
    let end = match (tree.style(node), key) {
        (Style::Block, Some(key)) => lines.next_content(tree.span(key).end) + 1,
        (Style::Block, None) => return Err(layout),
        (Style::Literal | Style::Folded, _) => {
            block_scalar::header(tree.text(), tree.span(node).start).end
        }
        _ => tree.span(node).end,
    };
    let comma = lines.skip_blanks(end);
    let has_comma = in_brackets && lines.is_at(comma, b',');
    let end = if has_comma { comma + 1 } else { end };
    let line_end = lines.line_end(end);
    let rest = lines.slice(end, line_end);
    let comment = rest.trim_start();
    if !comment.is_empty() && !comment.starts_with('#') {
        return Err(layout);
    }
    let blanks = &rest[..rest.len() - comment.len()];
    Ok(Comment {
        range: end..line_end,
        before: if comment.is_empty() { " " } else { blanks }.to_owned(),
        after: "",
    })
}
