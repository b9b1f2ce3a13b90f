//! Lines of a text, classified by how they begin.

use std::ops::Range;

/// Returns true if every carriage return belongs to a CRLF, so that every line ends at a line feed.
pub(crate) fn ends_with_line_feeds(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'\r', bytes).all(|at| bytes.get(at + 1) == Some(&b'\n'))
}

/// The lines of a text that [`ends_with_line_feeds`], without their breaks, each with the start of the next line.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (Range<usize>, usize)> + '_ {
    let bytes = text.as_bytes();
    let mut at = if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    };
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let start = at;
        let (mut end, next) = match memchr::memchr(b'\n', rest) {
            Some(found) => (start + found, start + found + 1),
            None => (bytes.len(), bytes.len()),
        };
        if next > end && end > start && bytes.get(end - 1) == Some(&b'\r') {
            end -= 1;
        }
        at = next;
        Some((start..end, next))
    })
}

/// The lines of a text that [`ends_with_line_feeds`] which do not begin with a space, without their breaks.
pub(crate) fn flush_lines(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let begin = if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    };
    let mut next = match bytes.get(begin) {
        None => None,
        Some(b' ') => below_indented(bytes, begin),
        Some(_) => Some(begin),
    };
    std::iter::from_fn(move || {
        let start = next?;
        let end =
            memchr::memchr(b'\n', bytes.get(start..)?).map_or(bytes.len(), |found| start + found);
        next = below_indented(bytes, end);
        let carriage_return =
            end > start && end < bytes.len() && bytes.get(end - 1) == Some(&b'\r');
        Some(start..end - usize::from(carriage_return))
    })
}

/// The first line behind `at` that does not begin with a space.
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
pub(crate) enum Flush<'t> {
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
pub(crate) fn flush(line: &str) -> Flush<'_> {
    let bytes = line.as_bytes();
    let blank = |byte: Option<&u8>| matches!(byte, None | Some(b' ' | b'\t'));
    match bytes.first() {
        None | Some(b'#') => Flush::Nothing,
        Some(b'-') if blank(bytes.get(1)) => Flush::Dash,
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
                Some(end) if bytes.get(end) == Some(&b':') && blank(bytes.get(end + 1)) => {
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
pub(crate) fn is_nothing(rest: &str) -> bool {
    let content = rest.trim_start_matches([' ', '\t']);
    content.is_empty() || (content.starts_with('#') && content.len() < rest.len())
}
