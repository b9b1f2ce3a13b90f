//! The fast reader inside brackets: JSON, and the flow collections that people write.

use super::FastReader;
use crate::tree::{Kind, NONE, Style};

/// A collection from its opening bracket, on one line or several. Gives where it ends.
///
/// Calls itself for a collection within: not deeper than [`FastReader::begin`] allows.
pub(super) fn collection(reader: &mut FastReader<'_>, at: usize) -> Option<usize> {
    let mapping = reader.scan.byte(at) == Some(b'{');
    let (kind, closing) = if mapping {
        (Kind::Mapping, b'}')
    } else {
        (Kind::Sequence, b']')
    };
    reader.begin(kind, Style::Flow, at, 0)?;
    let mut at = space(reader, at + 1)?;
    while reader.scan.byte(at)? != closing {
        if mapping {
            let (style, end) = scalar(reader, at)?;
            if !reader.scan.may_be_key(style, at, end) {
                return None;
            }
            reader.leaf(style, at, end, NONE);
            // Only after quotes may a value follow the colon at once.
            let colon = reader.scan.spaces(end);
            let apart = matches!(reader.scan.byte(colon + 1), Some(b' ' | b'\n' | b'\r'));
            if reader.scan.byte(colon) != Some(b':') || (style == Style::Plain && !apart) {
                return None;
            }
            at = space(reader, colon + 1)?;
        }
        let end = if matches!(reader.scan.byte(at), Some(b'[' | b'{')) {
            collection(reader, at)?
        } else {
            let (style, end) = scalar(reader, at)?;
            reader.leaf(style, at, end, NONE);
            end
        };
        at = space(reader, end)?;
        match reader.scan.byte(at)? {
            b',' => at = space(reader, at + 1)?,
            byte if byte == closing => {}
            // A second line of a plain scalar, a pair in a sequence, or an error.
            _ => return None,
        }
    }
    reader.last_end = at + 1;
    reader.close();
    Some(at + 1)
}

fn scalar(reader: &FastReader<'_>, at: usize) -> Option<(Style, usize)> {
    match reader.scan.byte(at)? {
        b'"' | b'\'' => reader.scan.quoted(at, None),
        _ => Some((Style::Plain, plain(reader, at)?)),
    }
}

fn plain(reader: &FastReader<'_>, begin: usize) -> Option<usize> {
    if !reader.scan.begins_plain(begin) {
        return None;
    }
    let mut at = begin + 1;
    loop {
        match reader.scan.byte(at)? {
            b'\n' | b'\r' | b',' | b']' | b'}' => break,
            b'[' | b'{' | b'\t' => return None,
            b':' if matches!(
                reader.scan.byte(at + 1)?,
                b' ' | b'\n' | b'\r' | b'\t' | b',' | b'[' | b']' | b'{' | b'}'
            ) =>
            {
                break;
            }
            b'#' if reader.scan.byte(at - 1) == Some(b' ') => break,
            _ => at += 1,
        }
    }
    while reader.scan.byte(at - 1) == Some(b' ') {
        at -= 1;
    }
    Some(at)
}

/// Steps over spaces, line breaks and comments; not over what would end the document.
fn space(reader: &FastReader<'_>, at: usize) -> Option<usize> {
    let mut at = at;
    loop {
        match reader.scan.byte(at)? {
            b' ' => at += 1,
            b'\r' => at += 1,
            b'\n' => {
                at += 1;
                if reader.scan.is_marker(at, b"---") || reader.scan.is_marker(at, b"...") {
                    return None;
                }
            }
            // To the break; without one, the bracket is never closed.
            b'#' if matches!(reader.scan.byte(at - 1), Some(b' ' | b'\n')) => {
                at += memchr::memchr(b'\n', reader.scan.0.get(at..)?)?;
            }
            _ => return Some(at),
        }
    }
}
