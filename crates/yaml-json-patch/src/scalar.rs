//! A scalar's characters: quotes, escapes, folding and indentation taken away, as YAML 1.2 says.
//!
//! One deviation, go-yaml's: a block scalar that ends with the text, without a line break, has none in its value.

use crate::block_scalar::{self, Chomping, Line};
use crate::tree::{Kind, NodeId, Style, Tree};
use std::borrow::Cow;

impl<'t> Tree<'t> {
    /// The scalar's characters, decoded; none for other nodes. [`scalar_value()`](crate::scalar_value()) gives the value.
    #[must_use]
    pub fn scalar(&self, id: NodeId) -> Option<Cow<'t, str>> {
        (self.kind(id) == Kind::Scalar).then(|| decode(self, id))
    }
}

/// The characters of the scalar `id`.
pub(crate) fn decode<'t>(tree: &Tree<'t>, id: NodeId) -> Cow<'t, str> {
    let raw = tree.raw(id);
    if tree.is_plain_line(id) {
        return Cow::Borrowed(raw);
    }
    match tree.style(id) {
        Style::SingleQuoted => single(inside(raw)),
        Style::DoubleQuoted => double(inside(raw)),
        Style::Literal | Style::Folded => block_value(tree, id),
        _ => Cow::Owned(fold(raw)),
    }
}

fn inside(raw: &str) -> &str {
    raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default()
}

fn has_break(text: &str) -> bool {
    memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some()
}

fn single(inner: &str) -> Cow<'_, str> {
    let folded = if has_break(inner) {
        Cow::Owned(fold(inner))
    } else {
        Cow::Borrowed(inner)
    };
    if folded.contains('\'') {
        Cow::Owned(folded.replace("''", "'"))
    } else {
        folded
    }
}

/// Joins the lines of a flow scalar: one break is a space, n breaks are n - 1 line feeds. White space around breaks
/// goes, that at the very beginning and end stays.
fn fold(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let mut breaks = 0;
    loop {
        let (end, next) = block_scalar::line_end(bytes, at);
        let mut line = text.get(at..end).unwrap_or_default();
        let (first, last) = (at == 0, next == end);
        if !first {
            line = line.trim_start_matches([' ', '\t']);
        }
        if !last {
            line = line.trim_end_matches([' ', '\t']);
        }
        // The last line counts even when it is empty: "a\n" in quotes is "a ".
        if !first && (last || !line.is_empty()) {
            push_breaks(&mut out, breaks);
            breaks = 0;
        }
        out.push_str(line);
        if last {
            return out;
        }
        breaks += 1;
        at = next;
    }
}

fn push_breaks(out: &mut String, breaks: usize) {
    if breaks == 1 {
        out.push(' ');
    }
    out.extend(std::iter::repeat_n('\n', breaks.saturating_sub(1)));
}

fn double(inner: &str) -> Cow<'_, str> {
    if memchr::memchr3(b'\\', b'\n', b'\r', inner.as_bytes()).is_none() {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    // White space after this length of `out` goes if a line break follows; escaped white space never does.
    let mut kept = 0;
    let mut rest = inner;
    while let Some(found) = memchr::memchr3(b'\\', b'\n', b'\r', rest.as_bytes()) {
        out.push_str(&rest[..found]);
        if rest.as_bytes()[found] == b'\\' {
            let (character, after) = escape(&rest[found + 1..]);
            match character {
                Some(character) => out.push(character),
                // `\` before a break: the lines are joined without a space.
                None => {
                    let (breaks, next) = skip_breaks(after);
                    out.extend(std::iter::repeat_n('\n', breaks.saturating_sub(1)));
                    kept = out.len();
                    rest = next;
                    continue;
                }
            }
            kept = out.len();
            rest = after;
        } else {
            let trimmed = out[kept..].trim_end_matches([' ', '\t']).len();
            out.truncate(kept + trimmed);
            let (breaks, next) = skip_breaks(&rest[found..]);
            push_breaks(&mut out, breaks);
            kept = out.len();
            rest = next;
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Counts the line breaks at the beginning of `text`, with white space between and after them.
fn skip_breaks(text: &str) -> (usize, &str) {
    let mut rest = text;
    let mut breaks = 0;
    loop {
        let next = rest.trim_start_matches([' ', '\t']);
        let after = next
            .strip_prefix("\r\n")
            .or_else(|| next.strip_prefix('\n'))
            .or_else(|| next.strip_prefix('\r'));
        match after {
            Some(after) => {
                breaks += 1;
                rest = after;
            }
            None => return (breaks, next),
        }
    }
}

/// Reads what follows a backslash: a character, or none in front of a line break. The readers have refused what is no escape.
fn escape(text: &str) -> (Option<char>, &str) {
    let mut chars = text.chars();
    let Some(first) = chars.next() else {
        return (Some('\\'), "");
    };
    let rest = chars.as_str();
    let character = match first {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        'x' => return hex(rest, 2),
        'u' => return utf16(rest),
        'U' => return hex(rest, 8),
        '\n' | '\r' => return (None, text),
        other => other,
    };
    (Some(character), rest)
}

fn code(text: &str, digits: usize) -> Option<(u32, &str)> {
    Some((
        u32::from_str_radix(text.get(..digits)?, 16).ok()?,
        text.get(digits..)?,
    ))
}

fn hex(text: &str, digits: usize) -> (Option<char>, &str) {
    let (character, rest) = match code(text, digits) {
        Some((code, rest)) => (char::from_u32(code), rest),
        None => (None, text),
    };
    (character.or(Some(char::REPLACEMENT_CHARACTER)), rest)
}

/// JSON writes what lies beyond U+FFFF as a pair: `\ud83d\ude00`.
fn utf16(text: &str) -> (Option<char>, &str) {
    if let Some((high @ 0xd800..=0xdbff, rest)) = code(text, 4)
        && let Some((low @ 0xdc00..=0xdfff, rest)) =
            rest.strip_prefix("\\u").and_then(|rest| code(rest, 4))
    {
        let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return (
            char::from_u32(code).or(Some(char::REPLACEMENT_CHARACTER)),
            rest,
        );
    }
    hex(text, 4)
}

fn block_value<'t>(tree: &Tree<'t>, id: NodeId) -> Cow<'t, str> {
    let text = tree.text;
    let span = tree.span(id);
    let header = block_scalar::header(text, span.start);
    let indent = tree.content_column(id) as usize;
    let mut out = String::with_capacity(span.len());
    let folded = tree.style(id) == Style::Folded;
    // Breaks that have been read but not yet written, and whether the last content line began with white space.
    let mut breaks = 0;
    let mut spaced = true;
    let mut any = false;
    for (line, next) in block_scalar::lines(text, header.body, indent) {
        let range = match line {
            Line::Blank(range) if range.end > span.end => break,
            Line::Blank(range) => {
                breaks += usize::from(next > range.end);
                continue;
            }
            Line::Content(range) if range.end > span.end => break,
            Line::Content(range) => range,
        };
        let content = &text[range.clone()];
        // More-indented lines keep the breaks around them.
        let keeps = content.starts_with([' ', '\t']);
        if folded && any && !keeps && !spaced {
            push_breaks(&mut out, breaks);
        } else {
            out.extend(std::iter::repeat_n('\n', breaks));
        }
        out.push_str(content);
        breaks = usize::from(next > range.end);
        spaced = keeps;
        any = true;
    }
    match header.chomping {
        Chomping::Strip => {}
        Chomping::Clip => out.extend((any && breaks > 0).then_some('\n')),
        Chomping::Keep => out.extend(std::iter::repeat_n('\n', breaks)),
    }
    Cow::Owned(out)
}
