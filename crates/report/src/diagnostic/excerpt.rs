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
const MAX_BYTES: usize = COLUMNS * 4 + 4;

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
        let from = position.line_start.max(start.saturating_sub(MAX_BYTES));
        let to = start + line_length(slice(start, text.len().min(start + MAX_BYTES)));
        if may_show_api_key(
            slice(from.saturating_sub(MAX_BYTES), from.saturating_sub(1)),
            slice(from, to),
            slice(to, text.len().min(to + MAX_BYTES)),
        ) {
            return None;
        }
        let (mut before, mut after) = (shown(slice(from, start)), shown(slice(start, to)));
        if columns(&before) + columns(&after) > COLUMNS {
            before = last_columns(before, COLUMNS_BEFORE);
            after = first_columns(after, COLUMNS.saturating_sub(columns(&before)));
        }
        let marked = shown(slice(start, range.end.clamp(start, to)));
        Some(Excerpt {
            indent: columns(&before),
            width: columns(&marked).clamp(1, columns(&after).max(1)),
            // The parts may make a mark together.
            line: visible_part(&(before + &after)).into_owned(),
        })
    }
}

/// Returns true if a line names an API key, or may belong to a line beside it that does. In wrong YAML, indentation alone does not tell.
fn may_show_api_key(above: &[u8], line: &[u8], below: &[u8]) -> bool {
    let is_end = |byte: &u8| *byte == b'\n';
    let mut above = above
        .rsplit(is_end)
        .filter(|line| !line.trim_ascii().is_empty())
        .take(3);
    let next = below.split(is_end).nth(1).unwrap_or_default();
    names_api_key(line)
        || above.any(|above| names_api_key(above) && may_be_value_below(above, line))
        || (next.trim_ascii_start().starts_with(b"name:") && names_api_key(next))
}

/// Returns true if a line may have the value of the key that a line above names.
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

/// Cuts the end off a text that does not fit into a number of columns.
fn first_columns(text: String, columns: usize) -> String {
    let mut width = 0;
    let fits = |character: &char| {
        width += character.width().unwrap_or_default();
        width <= columns
    };
    let mut first: String = text.chars().take_while(fits).collect();
    if first.len() < text.len() {
        first.push('…');
    }
    first
}

/// Cuts the beginning off a text that does not fit into a number of columns.
fn last_columns(text: String, columns: usize) -> String {
    let reversed = |text: String| text.chars().rev().collect::<String>();
    reversed(first_columns(reversed(text), columns))
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
