//! Lines of a text, classified by how they begin.

use std::ops::Range;

/// Returns true if every carriage return belongs to a CRLF, so that every line ends at a line feed.
pub fn ends_with_line_feeds(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'\r', bytes).all(|at| bytes.get(at + 1) == Some(&b'\n'))
}

/// Returns the length of the byte order mark at the beginning of a text, or 0.
pub fn byte_order_mark(text: &str) -> usize {
    const MARK: char = '\u{feff}';
    if text.starts_with(MARK) {
        MARK.len_utf8()
    } else {
        0
    }
}

/// The lines of a text that [`ends_with_line_feeds`], without their breaks.
pub fn lines(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let mut start = byte_order_mark(text);
    std::iter::from_fn(move || {
        let line = line_at(bytes, start)?;
        start = line.next;
        Some(line.content)
    })
}

/// The lines of a text that [`ends_with_line_feeds`] which do not begin with a space, without their breaks.
pub fn flush_lines(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let begin = byte_order_mark(text);
    let mut start = match bytes.get(begin) {
        Some(b' ') => below_indented(bytes, begin),
        _ => Some(begin),
    };
    std::iter::from_fn(move || {
        let line = line_at(bytes, start?)?;
        start = below_indented(bytes, line.content.end);
        Some(line.content)
    })
}

struct LineBytes {
    /// The line without its break.
    content: Range<usize>,
    /// The start of the next line.
    next: usize,
}

/// Returns the line that begins at `start`; none at the end of the text.
fn line_at(bytes: &[u8], start: usize) -> Option<LineBytes> {
    let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
    let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let carriage_return = rest[..length].ends_with(b"\r");
    Some(LineBytes {
        content: start..start + length - usize::from(carriage_return),
        next: start + length + 1,
    })
}

/// Returns the start of the first line below the one at `at` that does not begin with a space.
fn below_indented(bytes: &[u8], at: usize) -> Option<usize> {
    const STRIDE: usize = 32;
    let begins = |(before, first): (&u8, &u8)| (*before == b'\n') & (*first != b' ');
    let mut at = at;
    // Most lines are indented: no branch per byte, so that the compiler emits vector instructions.
    while let Some((before, first)) = bytes
        .get(at..at + STRIDE)
        .zip(bytes.get(at + 1..at + 1 + STRIDE))
    {
        if before
            .iter()
            .zip(first)
            .fold(false, |any, pair| any | begins(pair))
        {
            break;
        }
        at += STRIDE;
    }
    let (before, first) = (bytes.get(at..)?, bytes.get(at + 1..)?);
    before
        .iter()
        .zip(first)
        .position(begins)
        .map(|found| at + found + 1)
}

/// A line without indentation, classified.
#[derive(Debug, PartialEq, Eq)]
pub enum Flush<'t> {
    /// White space or a comment.
    Nothing,
    /// `---` or `...`, with nothing but a comment behind it.
    Marker,
    /// `- `
    Dash,
    /// A plain `key:` and the trimmed text behind the colon.
    Key(&'t str, &'t str),
    /// Anything else.
    Other,
}

/// Classifies a line that does not begin with a space.
pub fn flush(line: &str) -> Flush<'_> {
    let bytes = line.as_bytes();
    let is_blank = |byte: Option<&u8>| matches!(byte, None | Some(b' ' | b'\t'));
    match bytes.first() {
        None | Some(b'#') => Flush::Nothing,
        Some(b'-') if is_blank(bytes.get(1)) => Flush::Dash,
        Some(b'-' | b'.')
            if matches!(bytes.get(..3), Some(b"---" | b"...")) && is_nothing(&line[3..]) =>
        {
            Flush::Marker
        }
        Some(byte) if byte.is_ascii_alphanumeric() => {
            let end = bytes.iter().position(|byte| {
                !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/'))
            });
            match end {
                Some(end) if bytes.get(end) == Some(&b':') && is_blank(bytes.get(end + 1)) => {
                    Flush::Key(&line[..end], line[end + 1..].trim_matches([' ', '\t']))
                }
                _ => Flush::Other,
            }
        }
        Some(b'\t') if line.trim_matches([' ', '\t']).is_empty() => Flush::Nothing,
        Some(_) => Flush::Other,
    }
}

/// Returns true if the rest of a line is only white space and perhaps a comment.
pub fn is_nothing(rest: &str) -> bool {
    let content = rest.trim_start_matches([' ', '\t']);
    content.is_empty() || (content.starts_with('#') && content.len() < rest.len())
}
