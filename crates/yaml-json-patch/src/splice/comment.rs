//! The comments of members and items, read and written.

use super::error::{ErrorKind, SpliceError};
use super::lines::Lines;
use super::reading::{self, Found, Source};
use crate::block_scalar;
use crate::edit::Edit;
use crate::tree::{Kind, Style, Tree};
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
    match find(tree, path)? {
        Some(found) => Ok(Some(found.value)),
        None => Ok((path.is_root() && tree.root().is_none()).then_some(Value::Null)),
    }
}

/// The comment of the value at a path; none if the path leads nowhere.
pub(crate) fn comment_at(
    tree: &Tree<'_>,
    path: &Pointer,
    place: CommentPlace,
) -> Result<Option<Comment>, SpliceError> {
    let source = find(tree, path)?.and_then(|found| found.source);
    source
        .map(|source| comment(tree, source, place))
        .transpose()
}

fn find(tree: &Tree<'_>, path: &Pointer) -> Result<Option<Found>, SpliceError> {
    match tree.root() {
        Some(node) => reading::find(tree, Source { node, key: None }, path),
        None => Ok(None),
    }
}

fn comment(tree: &Tree<'_>, source: Source, place: CommentPlace) -> Result<Comment, SpliceError> {
    let lines = Lines { text: tree.text() };
    let Source { node, key } = source;
    let start = tree.outer_start(key.unwrap_or(node));
    let layout = ErrorKind::Layout.at(start);
    if place == CommentPlace::Above {
        let line = lines.start(start);
        let before = lines.slice(line, start);
        let mark = if key.is_some() { "" } else { "-" };
        if before.trim() != mark {
            return Err(layout);
        }
        let indentation = before.len() - before.trim_start().len();
        return Ok(Comment {
            range: lines.above_comments(line)..line,
            before: before[..indentation].to_owned(),
            after: lines.break_before(line),
        });
    }
    let is_block = tree.style(node) == Style::Block
        && matches!(tree.kind(node), Kind::Mapping | Kind::Sequence);
    let end = match (is_block, key, tree.style(node)) {
        (true, Some(key), _) => lines.next_content(tree.span(key).end) + 1,
        (true, None, _) => return Err(layout),
        (false, _, Style::Literal | Style::Folded) => {
            block_scalar::header(tree.text(), tree.span(node).start).end
        }
        _ => tree.span(node).end,
    };
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
