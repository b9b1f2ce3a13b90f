//! The line of a text that a diagnostic shows, cut to the width of a terminal.

use crate::diagnostic::position::Position;
use crate::diagnostic::visible::visible_part;
use memchr::{memchr, memmem};
use std::ops::Range;
use unicode_width::UnicodeWidthChar as _;

/// Maximum width of a line.
const COLUMNS: usize = 120;
/// Columns before the first caret of a cut line.
const COLUMNS_BEFORE: usize = 40;
/// Bytes to read on each side of the first caret. A column has at most four bytes.
const MAX_BYTES: usize = COLUMNS * 4;

/// A line with the place of its carets.
pub(super) struct Excerpt {
    pub(super) line: String,
    /// Number of columns before the first caret.
    pub(super) indent: usize,
    /// Number of carets.
    pub(super) width: usize,
}

impl Excerpt {
    /// Returns the line at a position, with carets below the range; none if it may show an API key.
    pub(super) fn new(text: &[u8], position: &Position, range: &Range<usize>) -> Option<Self> {
        let slice = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        let start = range.start.min(text.len());
        // A line may be as long as the file, so only its visible part is read.
        let line_end = start + line_length(slice(start, text.len().min(start + MAX_BYTES + 2)));
        let from = position.line_start.max(start.saturating_sub(MAX_BYTES));
        let to = line_end.min(start + MAX_BYTES);
        let end = end_of_character(text, range.end.clamp(start, line_end)).min(to);
        let before = slice(from.saturating_sub(MAX_BYTES), from.saturating_sub(1));
        let is_end = |byte: &u8| *byte == b'\n';
        let mut above = before
            .rsplit(is_end)
            .filter(|line| !line.trim_ascii().is_empty())
            .take(3);
        let next = slice(to, text.len().min(to + MAX_BYTES))
            .split(is_end)
            .nth(1)
            .unwrap_or_default()
            .trim_ascii_start();
        let line = slice(from, to);
        if names_api_key(line)
            || above.any(|above| names_api_key(above) && may_be_value_below(above, line))
            || (next.starts_with(b"name:") && names_api_key(next))
        {
            return None;
        }
        let mut before = shown(slice(from, start));
        let marked = shown(slice(start, end));
        let rest = marked.clone() + &shown(slice(end, to));

        let is_whole = from == position.line_start && to == line_end;
        if !is_whole || columns(&before) + columns(&rest) > COLUMNS {
            let near = last_columns(&before, COLUMNS_BEFORE);
            if near.len() < before.len() || from > position.line_start {
                before = format!("…{near}");
            }
        }
        let indent = columns(&before);
        let after = first_columns(&rest, COLUMNS.saturating_sub(indent));
        let mut line = before + after;
        if after.len() < rest.len() || to < line_end {
            line.push('…');
        }
        let visible = marked.get(..after.len()).unwrap_or(&marked);
        let width = columns(visible).max(1);
        Some(Excerpt {
            // The parts may make a mark together.
            line: visible_part(&line).into_owned(),
            indent,
            width,
        })
    }
}

/// Returns true if a line may have the value of the key that a line above names. In wrong YAML, indentation alone does not tell.
fn may_be_value_below(above: &[u8], line: &[u8]) -> bool {
    let blanks = |line: &[u8]| line.len() - line.trim_ascii_start().len();
    let text = line.trim_ascii_start();
    let names: [&[u8]; 3] = [b"value:", b"key:", b"secretKeyRef:"];
    blanks(line) > blanks(above)
        || !text.contains(&b':')
        || names.iter().any(|name| text.starts_with(name))
}

/// Returns true for a line such as `apiKey: …`, `- name: MACKEREL_APIKEY` or `…/api-key-secret-name: …`.
fn names_api_key(line: &[u8]) -> bool {
    let mut letters = line.to_ascii_lowercase();
    letters.retain(|byte| !matches!(byte, b'-' | b'_'));
    memmem::find(&letters, b"apikey").is_some()
}

/// Returns the beginning of a text that fits into a number of columns.
fn first_columns(text: &str, columns: usize) -> &str {
    let mut width = 0;
    text.char_indices()
        .find(|(_, character)| {
            width += character.width().unwrap_or_default();
            width > columns
        })
        .map_or(text, |(end, _)| &text[..end])
}

/// Returns the end of a text that fits into a number of columns.
fn last_columns(text: &str, columns: usize) -> &str {
    let mut width = 0;
    text.char_indices()
        .rev()
        .take_while(|(_, character)| {
            width += character.width().unwrap_or_default();
            width <= columns
        })
        .last()
        .map_or("", |(start, _)| &text[start..])
}

/// Returns the end of the character that an offset is in, or the offset if it is in none.
fn end_of_character(text: &[u8], offset: usize) -> usize {
    let rest = text.get(offset..).unwrap_or_default();
    let is_continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    offset + rest.iter().take(3).take_while(is_continuation).count()
}

/// Returns the length of the line in bytes, without its line break.
fn line_length(rest: &[u8]) -> usize {
    let end = memchr(b'\n', rest).unwrap_or(rest.len());
    match rest.get(..end) {
        Some([.., b'\r']) => end - 1,
        _ => end,
    }
}

/// Returns the width of a text in columns of a terminal.
pub fn columns(text: &str) -> usize {
    text.chars()
        .map(|character| character.width().unwrap_or_default())
        .sum()
}

/// Returns a part of a line as a terminal shows it.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // A byte order mark is no part of the line.
    visible_part(text.trim_start_matches('\u{feff}')).into_owned()
}
