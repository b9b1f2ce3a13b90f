//! Lines of a text: their beginnings, ends and white space.
//!
//! Places are byte offsets. When the text does not end with a line break, the place after the break that is missing is
//! `text.len() + 1`: the start of the line after the last one ([`super::edits`] turns it into a real place again).

use super::error::{ErrorKind, SpliceError};
use crate::block_scalar;

pub(crate) struct Lines<'t> {
    pub(crate) text: &'t str,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

impl<'t> Lines<'t> {
    fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    fn before(&self, at: usize) -> &'t [u8] {
        self.bytes().get(..at).unwrap_or_default()
    }

    /// Steps over such bytes.
    fn skip(&self, at: usize, is_skipped: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes().get(at..).unwrap_or_default();
        at + rest.iter().take_while(|byte| is_skipped(**byte)).count()
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes().get(at).copied()
    }

    pub(crate) fn slice(&self, from: usize, to: usize) -> &'t str {
        self.text
            .get(from..to.min(self.text.len()))
            .unwrap_or_default()
    }

    /// The place after the text, and after its last line.
    pub(crate) fn end(&self) -> usize {
        let open = self.bytes().last().is_some_and(|last| !is_break(*last));
        self.text.len() + usize::from(open)
    }

    /// The beginning of the line that holds `at`. A byte order mark belongs to no line.
    pub(crate) fn start(&self, at: usize) -> usize {
        match memchr::memrchr2(b'\n', b'\r', self.before(at)) {
            Some(found) => found + 1,
            None if self.text.starts_with('\u{feff}') => '\u{feff}'.len_utf8().min(at),
            None => 0,
        }
    }

    /// The white space before `at`, if nothing else is before it on its line.
    pub(crate) fn indentation(&self, at: usize) -> Option<&'t str> {
        let before = self.before(at);
        let blanks = before
            .iter()
            .rev()
            .take_while(|byte| is_blank(**byte))
            .count();
        let start = at - blanks;
        let begins = start == 0
            || self.byte(start - 1).is_some_and(is_break)
            || &before[..start] == "\u{feff}".as_bytes();
        begins.then(|| self.slice(start, at))
    }

    /// The column, in characters from 0, of the first key or dash of a block collection.
    pub(crate) fn column(&self, at: usize) -> Result<usize, SpliceError> {
        let prefix = self.slice(self.start(at), at);
        if prefix.bytes().all(|byte| matches!(byte, b' ' | b'-')) && !prefix.starts_with("---") {
            return Ok(prefix.len());
        }
        let refusal = if prefix.contains('\t') {
            ErrorKind::Tabs
        } else if prefix.contains(['?', ':']) {
            ErrorKind::ExplicitKey
        } else {
            ErrorKind::Layout
        };
        Err(refusal.at(at))
    }

    pub(crate) fn skip_blanks(&self, at: usize) -> usize {
        self.skip(at, is_blank)
    }

    /// Moves back over blanks and tabs to other text on the same line; not at all if there is none.
    pub(crate) fn before_blanks(&self, at: usize) -> usize {
        if self.indentation(at).is_some() {
            at
        } else {
            self.slice(0, at).trim_end_matches([' ', '\t']).len()
        }
    }

    /// The dash in front of an item on its line.
    pub(crate) fn dash_before(&self, item: usize) -> Option<usize> {
        let dash = self.before_blanks(item).checked_sub(1)?;
        self.is_at(dash, b'-').then_some(dash)
    }

    /// The first break at or after `at`, else the text's end.
    pub(crate) fn line_end(&self, at: usize) -> usize {
        block_scalar::line_end(self.bytes(), at).0
    }

    /// The start of the line after the one that holds `at`.
    fn next(&self, at: usize) -> usize {
        let (end, next) = block_scalar::line_end(self.bytes(), at);
        if next > end {
            next
        } else {
            self.end().max(end)
        }
    }

    /// The start of the line after the one on which content ends at `at`: at most a comment follows on it.
    pub(crate) fn below(&self, at: usize) -> Result<usize, SpliceError> {
        let from = self.skip_blanks(at);
        let end = self.line_end(from);
        let rest = self.slice(from, end);
        let ends = rest.is_empty() || rest.starts_with('#') && from > at;
        if !ends {
            return Err(ErrorKind::Layout.at(from));
        }
        if has_odd_break(rest) {
            return Err(ErrorKind::LineBreaks.at(from));
        }
        Ok(self.next(end))
    }

    /// Moves a line start back over blank lines, not beyond the line start `from`.
    pub(crate) fn blank_lines_above(&self, from: usize, to: usize) -> usize {
        let content = self
            .slice(from, to)
            .trim_end_matches([' ', '\t', '\r', '\n']);
        if content.is_empty() {
            from.min(to)
        } else {
            self.next(from + content.len())
        }
    }

    /// Moves a line start back over the lines right above it that begin with a `#` which is part of the comment, but for lines that
    /// programs read at the head of a file.
    pub(crate) fn comments_above(&self, from: usize, is_part: impl Fn(usize) -> bool) -> usize {
        let mut place = from;
        loop {
            let end = self.before_break(place);
            if end == place {
                return place;
            }
            let start = self.start(end);
            let line = self.slice(start, end).trim_start_matches([' ', '\t']);
            let is_comment = line.starts_with('#') && is_part(end - line.len());
            if !is_comment || is_modeline(line) {
                return place;
            }
            place = start;
        }
    }

    /// Moves a line start over the comments that follow there and are indented deeper than `column`, and over blank
    /// lines in front of such comments. Lines that were commented out at the very left count as indented by the blanks
    /// after `#`, less the one that an editor may have put there; in column 0 only at the end of the text.
    pub(crate) fn below_comments(&self, from: usize, column: usize) -> Result<usize, SpliceError> {
        let counts_left = column > 0 || self.next_content(from) == self.text.len();
        self.comments_below(from, |mark| {
            let indentation = mark - self.start(mark);
            column
                < if indentation == 0 && counts_left {
                    commented_out_indentation(self.slice(mark, self.line_end(mark)))
                } else {
                    indentation
                }
        })
    }

    /// Moves a line start over the lines there that begin with a `#` which is part of the comment, and over blank lines in front of
    /// such lines.
    pub(crate) fn comments_below(
        &self,
        from: usize,
        is_part: impl Fn(usize) -> bool,
    ) -> Result<usize, SpliceError> {
        let mut place = from;
        let mut at = from;
        while at < self.text.len() {
            let first = self.skip_blanks(at);
            let end = self.line_end(first);
            let rest = self.slice(first, end);
            if rest.starts_with('#') && is_part(first) {
                if has_odd_break(rest) {
                    return Err(ErrorKind::LineBreaks.at(first));
                }
                place = self.next(end);
            } else if !rest.is_empty() {
                break;
            }
            at = self.next(end);
        }
        Ok(place)
    }

    /// Skips white space, line breaks and comments.
    pub(crate) fn next_content(&self, at: usize) -> usize {
        let mut at = at;
        while let Some(byte) = self.byte(at) {
            match byte {
                b'#' if at == 0
                    || self
                        .byte(at - 1)
                        .is_some_and(|before| is_blank(before) || is_break(before)) =>
                {
                    at = self.line_end(at);
                }
                byte if is_blank(byte) || is_break(byte) => at += 1,
                _ => break,
            }
        }
        at
    }

    /// Skips blank lines, then the indentation, from a line start on.
    pub(crate) fn next_line_with_content(&self, at: usize) -> usize {
        self.skip(at, |byte| is_blank(byte) || is_break(byte))
    }

    pub(crate) fn is_at(&self, at: usize, wanted: u8) -> bool {
        self.byte(at) == Some(wanted)
    }

    /// The break of the line before the line start `at`, else the text's first, else a line feed.
    pub(crate) fn break_before(&self, at: usize) -> &'static str {
        match self.slice(at.saturating_sub(2), at).as_bytes() {
            [b'\r', b'\n'] if at <= self.text.len() => "\r\n",
            [.., b'\n'] if at <= self.text.len() => "\n",
            _ => {
                let end = self.line_end(0);
                if self.slice(end, end + 2) == "\r\n" {
                    "\r\n"
                } else {
                    "\n"
                }
            }
        }
    }

    /// The beginning of the break before the line start `at`.
    pub(crate) fn before_break(&self, at: usize) -> usize {
        let before = self.before(at);
        if before.ends_with(b"\r\n") {
            at - 2
        } else if before.last().is_some_and(|last| is_break(*last)) {
            at - 1
        } else {
            at
        }
    }
}

/// The blanks behind `#`, less the one that an editor may have put there.
pub(crate) fn commented_out_indentation(comment: &str) -> usize {
    let text = comment.trim_start_matches('#').trim_end();
    let blanks = text.len() - text.trim_start_matches(' ').len();
    blanks.saturating_sub(1)
}

/// True for a comment that tells a shell or an editor how to read the file.
fn is_modeline(comment: &str) -> bool {
    let words = ["yaml-language-server:", "vim:", "-*-"];
    comment.starts_with("#!") || words.iter().any(|word| comment.contains(word))
}

fn has_odd_break(text: &str) -> bool {
    !text.is_ascii() && text.contains(['\u{85}', '\u{2028}', '\u{2029}'])
}
