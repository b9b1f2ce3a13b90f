//! Lines and columns.

use memchr::{memchr_iter, memrchr};
use std::collections::BTreeMap;

/// A position by line and column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// In characters, from 1. A byte order mark does not count.
    pub column: usize,
    /// Byte offset of the line's first byte.
    pub line_start: usize,
}

/// Bytes of a step whose lines are counted without a look at the known ones.
const NEAR: usize = 4096;

/// Counts lines from the nearest one that is known, forward or backward.
#[derive(Debug, Clone)]
pub struct LineCounter<'t> {
    text: &'t [u8],
    offset: usize,
    /// The position of the offset.
    position: Position,
    /// The numbers of lines from which it went back or far, by the offsets of their first bytes.
    known: BTreeMap<usize, usize>,
}

impl<'t> LineCounter<'t> {
    /// Starts at the beginning of a text, which need not be UTF-8.
    pub fn new(text: &'t [u8]) -> Self {
        LineCounter {
            text,
            offset: 0,
            position: Position {
                line: 1,
                column: 1,
                line_start: 0,
            },
            known: BTreeMap::from([(0, 1)]),
        }
    }

    /// Starts at a position that is known, that of the offset.
    pub fn starting_at(text: &'t [u8], offset: usize, position: Position) -> Self {
        Self {
            offset,
            position,
            known: BTreeMap::from([(0, 1), (position.line_start, position.line)]),
            ..Self::new(text)
        }
    }

    /// Returns the position of an offset; an offset beyond the end counts as the end.
    pub fn position(&mut self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let Position {
            line_start, column, ..
        } = self.position;
        if (line_start..self.offset).contains(&offset) {
            self.position.column = column - characters(self.bytes(offset, self.offset), offset);
        } else if offset >= self.offset && memrchr(b'\n', self.bytes(self.offset, offset)).is_none()
        {
            let between = self.bytes(self.offset, offset);
            self.position.column = column + characters(between, self.offset);
        } else {
            let line_start = memrchr(b'\n', self.bytes(0, offset)).map_or(0, |newline| newline + 1);
            let line = match offset.checked_sub(self.offset) {
                Some(step) if step < NEAR => {
                    let between = self.bytes(self.offset, offset);
                    self.position.line + memchr_iter(b'\n', between).count()
                }
                _ => {
                    self.known
                        .insert(self.position.line_start, self.position.line);
                    self.line_at(line_start)
                }
            };
            self.position = Position {
                line,
                column: 1 + characters(self.bytes(line_start, offset), line_start),
                line_start,
            };
        }
        self.offset = offset;
        self.position
    }

    /// Returns the number of the line that begins at an offset.
    fn line_at(&self, start: usize) -> usize {
        let breaks = |from, to| memchr_iter(b'\n', self.bytes(from, to)).count();
        let (above, line) = self
            .known
            .range(..=start)
            .next_back()
            .map_or((0, 1), |(above, line)| (*above, *line));
        match self.known.range(start..).next() {
            Some((below, line)) if below - start < start - above => line - breaks(start, *below),
            _ => line + breaks(above, start),
        }
    }

    fn bytes(&self, from: usize, to: usize) -> &'t [u8] {
        self.text.get(from..to).unwrap_or_default()
    }
}

/// Counts the characters of bytes that begin at offset `start`: all but UTF-8 continuation bytes and a byte order mark.
fn characters(bytes: &[u8], start: usize) -> usize {
    let mark = usize::from(start == 0 && bytes.starts_with(b"\xef\xbb\xbf"));
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count() - mark
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
            // It knows more positions with each jump.
            let mut lines = LineCounter::new(text.as_bytes());
            for from in &boundaries {
                for to in &boundaries {
                    // Inside the mark itself there is nothing to point at.
                    if text.starts_with('\u{feff}') && (*from < 3 || *to < 3) {
                        continue;
                    }
                    lines.position(*from);
                    let position = lines.position(*to);
                    assert_eq!(
                        (position.line, position.column),
                        slowly(text.as_bytes(), *to),
                        "{text:?} {from} {to}"
                    );
                }
            }
        }
    }
}
