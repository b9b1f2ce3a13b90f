//! Gathers edits and puts them in order.

use super::cache::Cache;
use super::error::{ErrorKind, SpliceError};
use super::lines::Lines;
use crate::block_scalar::{self, Chomping, Header};
use crate::edit::Edit;
use crate::tree::{Node, Style, Tree};
use std::ops::Range;

/// Edits in the order in which they were added, which they keep at one place.
#[derive(Default)]
pub(crate) struct Edits(Vec<Draft>);

/// An edit whose text may still grow.
struct Draft {
    range: Range<usize>,
    text: String,
}

impl Edits {
    pub(crate) fn insert(&mut self, at: usize, text: String) {
        self.0.push(Draft {
            range: at..at,
            text,
        });
    }

    pub(crate) fn delete(&mut self, range: Range<usize>) {
        self.replace(range, String::new());
    }

    pub(crate) fn replace(&mut self, range: Range<usize>, text: String) {
        if !range.is_empty() || !text.is_empty() {
            self.0.push(Draft { range, text });
        }
    }

    /// Sorted, neighbours joined, and real places only.
    /// Or else everything that keeps them from being made, never nothing.
    pub(crate) fn finish(
        mut self,
        tree: &Tree<'_>,
        cache: &Cache,
    ) -> Result<Vec<Edit>, Vec<SpliceError>> {
        let mut errors = Vec::new();
        // At one place, insertions come before the text that is replaced.
        self.0
            .sort_by_key(|edit| (edit.range.start, !edit.range.is_empty()));
        let mut joined: Vec<Draft> = Vec::with_capacity(self.0.len());
        for edit in self.0 {
            match joined.last_mut() {
                Some(last) if edit.range.start == last.range.end => {
                    last.range.end = edit.range.end;
                    last.text.push_str(&edit.text);
                }
                Some(last) if edit.range.start < last.range.end => {
                    errors.push(ErrorKind::Layout.at(edit.range.start))
                }
                _ => joined.push(edit),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        close(&mut joined, tree);
        joined.retain(|edit| !edit.range.is_empty() || !edit.text.is_empty());
        let lines = Lines { text: tree.text() };
        errors.extend(
            joined
                .iter()
                .filter_map(|edit| bare_carriage_return(lines.text, &edit.range))
                .map(|at| ErrorKind::CarriageReturns.at(at)),
        );
        errors.extend(
            removals(&joined, &lines)
                .iter()
                .filter_map(|gone| gone.swallowed(tree, &lines))
                .map(|at| ErrorKind::Swallowed.at(at)),
        );
        if !errors.is_empty() {
            return Err(errors);
        }
        let finished = |edit: Draft| Edit {
            range: edit.range,
            text: cache.shared(edit.text),
        };
        Ok(joined.into_iter().map(finished).collect())
    }
}

/// A text without a final line break keeps none, unless it ends in a block scalar, whose value then keeps none.
///
/// ```text
/// a: 1⏎b: 2    insert c    a: 1⏎b: 2⏎c: 3
/// a: 1⏎b: 2    remove b    a: 1
/// b: |⏎  x     insert c    b: |-⏎  x⏎c: 3⏎
/// ```
fn close(edits: &mut Vec<Draft>, tree: &Tree<'_>) {
    let lines = Lines { text: tree.text() };
    let (len, end) = (lines.text.len(), lines.end());
    let Some((last, before)) = edits.split_last_mut() else {
        return;
    };
    if end == len || last.range.end < end {
        return;
    }
    let line_break = lines.break_before(end);
    if let Some(text) = last.text.strip_suffix(line_break) {
        if last.range.start == end {
            last.text = format!("{line_break}{text}");
            last.range = len..len;
            if ends_open(tree, &lines)
                && let Some(OpenBlockScalar { node, header }) = open_block_scalar(tree, &lines, len)
                && !before
                    .iter()
                    .any(|edit| edit.range.contains(&(node.start as usize)))
            {
                last.text.push_str(line_break);
                let indicator = header.indicator.map(|columns| columns.to_string());
                let header = Draft {
                    range: node.start as usize + 1..header.end,
                    text: indicator.unwrap_or_default() + "-",
                };
                edits.insert(edits.len() - 1, header);
            }
        } else {
            last.text = text.to_owned();
            last.range.end = len;
        }
    } else if last.text.is_empty() {
        let start = last.range.start.min(len);
        last.range = if ends_block_scalar(tree, &lines, start) {
            start..len
        } else {
            lines.before_break(start)..len
        };
    } else {
        last.range.end = len;
    }
}

/// Returns the place of a carriage return without a line feed in or beside the range of an edit.
///
/// Some readers of YAML take it for a line break and others do not, so that both the edit's lines and its neighbours would be
/// other lines to them.
fn bare_carriage_return(text: &str, range: &Range<usize>) -> Option<usize> {
    let bytes = text.as_bytes();
    let start = range.start.saturating_sub(1);
    let touched = bytes.get(start..text.len().min(range.end + 1))?;
    memchr::memchr_iter(b'\r', touched)
        .map(|found| start + found)
        .find(|at| bytes.get(at + 1) != Some(&b'\n'))
}

/// Removals with only blank lines between them.
struct Removals {
    /// The beginning of the first.
    start: usize,
    /// The end of each.
    ends: Vec<usize>,
}

fn removals(edits: &[Draft], lines: &Lines<'_>) -> Vec<Removals> {
    let mut removals: Vec<Removals> = Vec::new();
    for edit in edits.iter().filter(|edit| edit.text.is_empty()) {
        let Range { start, end } = edit.range;
        match removals.last_mut() {
            Some(last) if last.is_blank_up_to(start, lines) => last.ends.push(end),
            _ => removals.push(Removals {
                start,
                ends: vec![end],
            }),
        }
    }
    removals
}

impl Removals {
    fn is_blank_up_to(&self, at: usize, lines: &Lines<'_>) -> bool {
        let end = self.ends.last().copied().unwrap_or(self.start);
        lines.next_line_with_content(end) >= at
    }

    /// The end of a removal after which a comment or a blank line would become text of the block scalar in front.
    ///
    /// ```text
    /// a: |
    ///   text
    /// b: 1        without this line,
    ///   # note    this one is text, and so would be a line of more than two spaces
    /// ```
    fn swallowed(&self, tree: &Tree<'_>, lines: &Lines<'_>) -> Option<usize> {
        let OpenBlockScalar { node: last, header } = open_block_scalar(tree, lines, self.start)?;
        let keeps_blanks = header.chomping == Chomping::Keep;
        let has_content = lines.next_line_with_content(header.body) < last.end as usize;
        // Without content, the first line that is indented deeper than the key would be the content.
        let column = if has_content { last.child as usize } else { 1 };
        let has_column = has_content || header.indicator.is_some();
        let is_text = |line: &str| {
            let text = line.trim_end_matches(['\r', '\n']);
            (has_column && text.len() > column) || (keeps_blanks && text.len() < line.len())
        };
        self.ends.iter().copied().find(|end| {
            let next = lines.next_line_with_content(*end);
            let line = lines.start(next);
            let is_last = next == lines.text.len();
            let mut blanks = lines
                .slice(*end, if is_last { next } else { line })
                .split_inclusive('\n');
            let is_comment = lines.is_at(next, b'#');
            (is_comment && next - line >= column) || blanks.any(is_text)
        })
    }
}

/// The last scalar that begins before a place, if it is a block scalar.
pub(super) fn block_scalar_before<'a>(tree: &'a Tree<'_>, at: usize) -> Option<&'a Node> {
    let begun = tree
        .nodes
        .partition_point(|node| (node.start as usize) < at);
    tree.nodes[..begun]
        .iter()
        .rfind(|node| node.style != Style::Block)
        .filter(|node| node.style.is_block_scalar())
}

/// A block scalar with at most blank lines behind it.
struct OpenBlockScalar<'a> {
    node: &'a Node,
    header: Header,
}

/// The block scalar that blank lines part from a place, if at all. The lines of the scalar itself may go, and a dash ends it.
fn open_block_scalar<'a>(
    tree: &'a Tree<'_>,
    lines: &Lines<'_>,
    at: usize,
) -> Option<OpenBlockScalar<'a>> {
    let node = block_scalar_before(tree, at)?;
    let header = block_scalar::header(lines.text, node.start as usize);
    let end = node.end as usize;
    // Without content, it ends in front of the comment behind `|`.
    let between = lines.slice(end.max(header.body), at);
    let is_open = end <= at && between.trim_matches(['\n', '\r', ' ', '\t']).is_empty();
    is_open.then_some(OpenBlockScalar { node, header })
}

/// True when the break before `at` belongs to the value of a block scalar.
fn ends_block_scalar(tree: &Tree<'_>, lines: &Lines<'_>, at: usize) -> bool {
    open_block_scalar(tree, lines, at).is_some_and(|last| last.header.chomping != Chomping::Strip)
}

/// True when the text ends, without a line break, in a block scalar whose value a line break would change.
pub(crate) fn ends_open(tree: &Tree<'_>, lines: &Lines<'_>) -> bool {
    ends_block_scalar(tree, lines, lines.text.len())
}
