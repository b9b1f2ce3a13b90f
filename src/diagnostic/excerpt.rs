//! The source line of a diagnostic, cut to the width of a terminal.

use crate::diagnostic::position::Position;
use crate::diagnostic::visible::substitute;
use memchr::memchr;
use std::ops::Range;
use unicode_width::UnicodeWidthChar as _;

/// Maximum width of a line.
const COLUMNS: usize = 120;
/// Columns kept before the caret of a cut line.
const BEFORE: usize = 40;
/// Bytes read on each side of the caret: enough for the columns at four bytes each.
const REACH: usize = COLUMNS * 4;

/// A line as shown.
pub(super) struct Excerpt {
    pub(super) line: String,
    /// Columns before the first caret.
    pub(super) indent: usize,
    /// Carets.
    pub(super) width: usize,
}

/// A character as shown.
struct Cell {
    text: String,
    width: usize,
}

impl Excerpt {
    pub(super) fn new(text: &[u8], at: &Position, range: &Range<usize>) -> Self {
        let start = range.start.min(text.len());
        // A line may be as long as the file: read only what can be shown, and a line break behind it.
        let line_end = start
            + line_length(
                text.get(start..text.len().min(start + REACH + 2))
                    .unwrap_or_default(),
            );
        let end = end_of_character(text, range.end.clamp(start, line_end));
        let from = at.line_start.max(start.saturating_sub(REACH));
        let to = line_end.min(start + REACH);
        let mut before = cells(text.get(from..start).unwrap_or_default());
        let marked = cells(text.get(start..end.min(to)).unwrap_or_default());
        let after = cells(text.get(end.min(to)..to).unwrap_or_default());

        let is_whole = from == at.line_start && to == line_end;
        let total = columns(&before) + columns(&marked) + columns(&after);
        let mut line = String::new();
        if !is_whole || total > COLUMNS {
            let mut kept = 0;
            let keep = before.iter().rev().take_while(|cell| {
                kept += cell.width;
                kept <= BEFORE
            });
            let cut = before.len() - keep.count();
            if cut > 0 || from > at.line_start {
                before.drain(..cut);
                before.insert(
                    0,
                    Cell {
                        text: "…".to_owned(),
                        width: 1,
                    },
                );
            }
        }
        before.iter().for_each(|cell| line.push_str(&cell.text));
        let indent = columns(&before);
        let mut shown = indent;
        let mut carets = 0;
        for (index, cell) in marked.iter().chain(&after).enumerate() {
            if shown + cell.width > COLUMNS {
                break;
            }
            shown += cell.width;
            line.push_str(&cell.text);
            if index < marked.len() {
                carets += cell.width;
            }
        }
        if shown < indent + columns(&marked) + columns(&after) || to < line_end {
            line.push('…');
        }
        Excerpt {
            line,
            indent,
            width: carets.max(1),
        }
    }
}

/// Returns the end of the character that an offset is in, or the offset if it is in none.
fn end_of_character(text: &[u8], at: usize) -> usize {
    let is_continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    at + text
        .get(at..)
        .unwrap_or_default()
        .iter()
        .take(3)
        .take_while(is_continuation)
        .count()
}

/// Returns the length of the line in bytes, without its line break.
fn line_length(rest: &[u8]) -> usize {
    let end = memchr(b'\n', rest).unwrap_or(rest.len());
    match rest.get(..end) {
        Some([.., b'\r']) => end - 1,
        _ => end,
    }
}

fn columns(cells: &[Cell]) -> usize {
    cells.iter().map(|cell| cell.width).sum()
}

fn cells(bytes: &[u8]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match substitute(character) {
                // A byte order mark is no part of the line.
                Some(_) if character == '\u{feff}' && cells.is_empty() => {}
                Some(text) => cells.push(Cell {
                    width: text.chars().count(),
                    text: text.into_owned(),
                }),
                None => cells.push(Cell {
                    text: character.to_string(),
                    width: character.width().unwrap_or_default(),
                }),
            }
        }
        if !chunk.invalid().is_empty() {
            cells.push(Cell {
                text: '\u{fffd}'.to_string(),
                width: 1,
            });
        }
    }
    cells
}
