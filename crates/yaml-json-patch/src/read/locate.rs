//! Where a person would look for the mistake, when the parser noticed it only later, or names the place before it.

use crate::block_scalar;

/// A mistake in a text.
pub(super) struct ErrorLocator<'t> {
    pub(super) text: &'t str,
    /// What stands before it has been read and is right.
    pub(super) from: usize,
    /// Where the parser noticed it.
    pub(super) offset: usize,
}

/// A plain scalar that goes on over several lines, with a colon on the last of them.
pub(super) enum SeveralLines {
    /// Its first line was meant as a key.
    Key { start: usize },
    /// It is a value already, and the last line is not.
    Value { last_line: usize },
}

impl ErrorLocator<'_> {
    /// The first tab in the white space at the beginning of a line, from the line of the mistake on.
    pub(super) fn tab(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.offset) == Some(&b'\t') {
            return Some(self.offset);
        }
        let mut line = self.line_start(self.offset);
        while line < bytes.len() {
            let rest = bytes.get(line..)?;
            let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
            if rest.get(spaces) == Some(&b'\t') {
                return Some(line + spaces);
            }
            line = block_scalar::line_end(bytes, line).1;
        }
        None
    }

    /// The backslash within the double quotes that begin at the mistake.
    pub(super) fn unknown_escape(&self) -> Option<usize> {
        let rest = self.text.get(self.offset..)?;
        let mut bytes = rest.bytes().enumerate().skip(1);
        while let Some((at, byte)) = bytes.next() {
            if byte == b'\\' {
                let (_, escaped) = bytes.next()?;
                if !b"0abt\tnvfre \"/\\N_LPxuU\r\n".contains(&escaped) {
                    return Some(self.offset + at);
                }
            }
        }
        None
    }

    /// The first such character: the parser may name the beginning of the scalar that it stands in.
    pub(super) fn character(&self, character: char) -> Option<usize> {
        self.text.get(self.offset..)?.find(character).map(|found| self.offset + found)
    }

    /// Where the quoted scalar begins that the parser was reading, if that is an earlier line.
    pub(super) fn quote_of_an_earlier_line(&self) -> Option<usize> {
        let start = self.pending()?;
        let quoted = self.text.get(start..)?.starts_with(['"', '\'']);
        (quoted && start < self.line_start(self.offset)).then_some(start)
    }

    /// The plain scalar that the parser was reading, if it began on an earlier line.
    pub(super) fn text_of_several_lines(&self) -> Option<SeveralLines> {
        let start = self.pending()?;
        let last_line = self.line_start(self.offset);
        let scalar = self.text.get(start..self.offset)?;
        let is_plain = !scalar.starts_with(['"', '\'', '[', ']', '{', '}', '|', '>', '*', ',']);
        if start >= last_line || !is_plain || scalar.contains(" #") || scalar.contains(": ") {
            return None;
        }
        let before = self.text.get(self.line_start(start)..start)?;
        if before.bytes().all(|byte| matches!(byte, b' ' | b'-')) {
            return Some(SeveralLines::Key { start });
        }
        let blank = self.text.get(last_line..)?.bytes().take_while(|byte| *byte == b' ').count();
        Some(SeveralLines::Value { last_line: last_line + blank })
    }

    /// The beginning of the first scalar or bracket that has not been read.
    fn pending(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = self.from;
        loop {
            let ends = || matches!(bytes.get(at + 1), None | Some(b' ' | b'\t' | b'\n' | b'\r'));
            match bytes.get(at)? {
                b' ' | b'\t' | b'\n' | b'\r' => at += 1,
                b'-' | b'?' if ends() => at += 1,
                // JSON needs no space behind it.
                b':' | b',' => at += 1,
                b'#' => at = block_scalar::line_end(bytes, at).1,
                b'&' | b'!' => at += bytes.get(at..)?.iter().position(u8::is_ascii_whitespace)?,
                _ => return Some(at).filter(|at| *at < self.offset),
            }
        }
    }

    fn line_start(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        before.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |found| found + 1)
    }
}
