//! The lines of a block scalar: which belong to the value, and where it ends.

use std::ops::Range;

/// The line breaks at the end of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chomping {
    /// No indicator: one line break.
    Clip,
    /// `-`: none.
    Strip,
    /// `+`: all of them.
    Keep,
}

/// The first line of a block scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) chomping: Chomping,
    /// The indentation indicator.
    pub(crate) indicator: Option<u8>,
    /// Just after `|` or `>` and its indicators.
    pub(crate) end: usize,
    /// The beginning of the first line below the header.
    pub(crate) body: usize,
}

/// Reads the header whose `|` or `>` is at `at`. The rest of its line (a comment) is not looked at.
pub(crate) fn header(text: &str, at: usize) -> Header {
    let bytes = text.as_bytes();
    let mut chomping = Chomping::Clip;
    let mut indicator = None;
    let mut end = at + 1;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'+' => chomping = Chomping::Keep,
            b'-' => chomping = Chomping::Strip,
            b'1'..=b'9' => indicator = Some(byte - b'0'),
            _ => break,
        }
        end += 1;
    }
    Header {
        chomping,
        indicator,
        end,
        body: line_end(bytes, end).1,
    }
}

/// The end of the line that holds `at`: without its break, and with it.
pub(crate) fn line_end(bytes: &[u8], at: usize) -> (usize, usize) {
    let rest = bytes.get(at..).unwrap_or_default();
    match memchr::memchr2(b'\n', b'\r', rest) {
        None => (bytes.len(), bytes.len()),
        Some(found) => {
            let end = at + found;
            let crlf = bytes.get(end) == Some(&b'\r') && bytes.get(end + 1) == Some(&b'\n');
            (end, if crlf { end + 2 } else { end + 1 })
        }
    }
}

/// A line of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// No more than the indentation; its range is without the line break.
    Blank(Range<usize>),
    /// Content, without the indentation and without the line break.
    Content(Range<usize>),
}

/// Walks the lines from `at` that are indented by at least `indent` columns or blank; stops at the first other line.
/// Each comes with where the next line begins.
pub(crate) fn lines(
    text: &str,
    at: usize,
    indent: usize,
) -> impl Iterator<Item = (Line, usize)> + '_ {
    let bytes = text.as_bytes();
    let mut at = at;
    std::iter::from_fn(move || {
        if at >= bytes.len() {
            return None;
        }
        let (end, next) = line_end(bytes, at);
        let line = &bytes[at..end];
        let spaces = line.iter().take_while(|byte| **byte == b' ').count();
        let start = at;
        if spaces == line.len() && spaces <= indent {
            at = next;
            return Some((Line::Blank(start..end), next));
        }
        // A document marker ends even a scalar whose content may be at column 0:
        //     --- |
        //     text
        //     ...
        if spaces < indent || (spaces == 0 && is_marker(line)) {
            return None;
        }
        at = next;
        Some((Line::Content(start + indent..end), next))
    })
}

/// True for `---` and `...`, alone or followed by white space.
pub(crate) fn is_marker(line: &[u8]) -> bool {
    (line.starts_with(b"---") || line.starts_with(b"..."))
        && matches!(line.get(3), None | Some(b' ' | b'\t' | b'\r' | b'\n'))
}

/// The end of the scalar, in the tree's sense: see [`super::tree`].
pub(crate) fn end(text: &str, header: &Header, indent: usize) -> usize {
    let mut end = header.end;
    for (line, next) in lines(text, header.body, indent) {
        match line {
            Line::Content(range) => end = range.end,
            // A blank line is kept only with its break; white space at the end of the text is none.
            Line::Blank(range) if header.chomping == Chomping::Keep && next > range.end => {
                end = range.end
            }
            Line::Blank(_) => {}
        }
    }
    end
}

/// Indentation and end of a scalar without content: that of its widest blank line, and the last one if they are kept.
/// The lines that follow say nothing about it: without content, the scalar's indentation is unknown.
pub(crate) fn blank(text: &str, header: &Header) -> (usize, usize) {
    let bytes = text.as_bytes();
    let mut at = header.body;
    let (mut widest, mut last) = (0, header.end);
    while at < bytes.len() {
        let (end, next) = line_end(bytes, at);
        let line = &bytes[at..end];
        if line.iter().any(|byte| *byte != b' ') {
            break;
        }
        widest = widest.max(line.len());
        if header.chomping == Chomping::Keep && next > end {
            last = end;
        }
        at = next;
    }
    (widest, last)
}
