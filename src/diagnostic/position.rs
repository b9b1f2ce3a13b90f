//! Line and column, counted on demand.

use memchr::{memchr_iter, memrchr};

/// A position by line and column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// In characters, from 1. A byte order mark does not count.
    pub column: usize,
    /// Byte offset of the line's first byte.
    pub line_start: usize,
}

/// Counts lines from the last position, forward or backward.
#[derive(Debug, Clone)]
pub(crate) struct LineCounter<'t> {
    text: &'t [u8],
    offset: usize,
    at: Position,
}

impl<'t> LineCounter<'t> {
    /// Starts at the beginning of a text, which need not be UTF-8.
    pub(crate) fn new(text: &'t [u8]) -> Self {
        LineCounter {
            text,
            offset: 0,
            at: Position {
                line: 1,
                column: 1,
                line_start: 0,
            },
        }
    }

    /// Returns true if the counted text is this slice.
    pub(crate) fn is_of(&self, text: &[u8]) -> bool {
        std::ptr::eq(self.text, text)
    }

    /// Returns the position of an offset; an offset beyond the end counts as the end.
    pub(crate) fn position(&mut self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let between = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
        let mut at = self.at;
        if offset < at.line_start {
            at.line -= memchr_iter(b'\n', between(offset, at.line_start)).count();
            at.line_start = memrchr(b'\n', between(0, offset)).map_or(0, |newline| newline + 1);
            at.column = 1 + characters(between(at.line_start, offset), at.line_start);
        } else if offset < self.offset {
            at.column -= characters(between(offset, self.offset), offset);
        } else if let Some(newline) = memrchr(b'\n', between(self.offset, offset)) {
            at.line += memchr_iter(b'\n', between(self.offset, offset)).count();
            at.line_start = self.offset + newline + 1;
            at.column = 1 + characters(between(at.line_start, offset), at.line_start);
        } else {
            at.column += characters(between(self.offset, offset), self.offset);
        }
        self.offset = offset;
        self.at = at;
        at
    }
}

/// Counts the characters of bytes that begin at offset `start`: all but UTF-8 continuation bytes and a byte order mark.
fn characters(bytes: &[u8], start: usize) -> usize {
    let bytes = if start == 0 {
        bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
    } else {
        bytes
    };
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// The lines of a literal block scalar in the text around it. Callers ask from the first to the last.
pub(crate) struct LiteralLines<'t> {
    text: &'t str,
    /// Offset of the line that was asked for last; at first, of the scalar's `|`.
    start: usize,
    line: usize,
}

impl<'t> LiteralLines<'t> {
    /// Starts at the header of the scalar.
    pub(crate) fn new(text: &'t str, header: usize) -> Self {
        Self {
            text,
            start: header,
            line: 0,
        }
    }

    /// Returns the offset of the first character of a line behind its indentation; of the last line for one beyond the text.
    pub(crate) fn start_of_line(&mut self, line: usize) -> usize {
        let rest = |start: usize| self.text.get(start..).unwrap_or_default();
        while self.line < line {
            let Some(newline) = memchr::memchr(b'\n', rest(self.start).as_bytes()) else {
                break;
            };
            self.start += newline + 1;
            self.line += 1;
        }
        let rest = rest(self.start);
        self.start + (rest.len() - rest.trim_start_matches(' ').len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts from the beginning each time.
    fn slowly(text: &[u8], offset: usize) -> (usize, usize) {
        let before = &text[..offset.min(text.len())];
        let start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        (
            line,
            String::from_utf8_lossy(&before[start..])
                .trim_start_matches('\u{feff}')
                .chars()
                .count()
                + 1,
        )
    }

    #[test]
    fn every_jump_agrees_with_counting_from_the_beginning() {
        for text in [
            "",
            "a",
            "a\n",
            "\u{feff}a: 名\r\n\r\nb: é\n  c",
            "\n\n\n",
            "one line only, long enough",
        ] {
            let boundaries: Vec<usize> = (0..=text.len())
                .filter(|at| text.is_char_boundary(*at))
                .collect();
            for from in &boundaries {
                for to in &boundaries {
                    // Inside the mark itself there is nothing to point at.
                    if text.starts_with('\u{feff}') && (*from < 3 || *to < 3) {
                        continue;
                    }
                    let mut lines = LineCounter::new(text.as_bytes());
                    lines.position(*from);
                    let at = lines.position(*to);
                    assert_eq!(
                        (at.line, at.column),
                        slowly(text.as_bytes(), *to),
                        "{text:?} {from} {to}"
                    );
                }
            }
        }
    }
}
