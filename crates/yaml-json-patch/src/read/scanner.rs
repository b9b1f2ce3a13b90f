//! Byte scanner of the fast reader: ends of spaces and single-line scalars.

use crate::block_scalar::line_end;
use crate::tree::Style;

/// The text of one document, as bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan<'b>(pub(super) &'b [u8]);

/// Longer keys are refused by YAML; near that, the counting (of characters) is left to the complete reader.
const MAX_KEY: usize = 1000;

/// A table is asked once per byte, where a list of bytes would be gone through.
const fn table(bytes: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
}

/// The same byte eight times.
const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Sets the highest bit of the first byte that is less than `limit`, of ASCII. Later bytes may have theirs set without reason.
fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(eight(limit)) & !word & eight(0x80)
}

/// True for a byte at which a plain scalar may end, in a block.
fn may_end_plain(byte: u8) -> bool {
    byte < b' ' || matches!(byte, b':' | b'#')
}

/// Bytes that cannot begin a plain scalar; but a dash can, before some others.
static INDICATORS: [bool; 256] = table(b"-?:,[]{}#&*!|>'\"%@`\t\n\r");

impl Scan<'_> {
    // Without the `#[inline]`s here and in `fast.rs`, an injection takes 3 % more instructions.
    #[inline]
    pub(super) fn byte(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    /// Skips spaces.
    #[inline]
    pub(super) fn spaces(self, at: usize) -> usize {
        let mut at = at;
        if self.byte(at) != Some(b' ') {
            return at;
        }
        while let Some(word) = self.0.get(at..).and_then(|rest| rest.first_chunk()) {
            let others = u64::from_le_bytes(*word) ^ eight(b' ');
            if others != 0 {
                return at + others.trailing_zeros() as usize / 8;
            }
            at += 8;
        }
        while self.byte(at) == Some(b' ') {
            at += 1;
        }
        at
    }

    #[inline]
    pub(super) fn next_line(self, at: usize) -> usize {
        if self.byte(at) == Some(b'\n') {
            at + 1
        } else {
            line_end(self.0, at).1
        }
    }

    /// The rest of a line after a token, if it holds no more than white space and a comment. Gives the next line.
    #[inline]
    pub(super) fn rest(self, at: usize) -> Option<usize> {
        let end = self.spaces(at);
        match self.byte(end) {
            None | Some(b'\n' | b'\r') => Some(self.next_line(end)),
            Some(b'#') if end > at => Some(self.next_line(end)),
            Some(_) => None,
        }
    }

    /// The dash of an item of a block sequence.
    #[inline]
    pub(super) fn is_dash(self, at: usize) -> bool {
        self.byte(at) == Some(b'-')
            && matches!(self.byte(at + 1), None | Some(b' ' | b'\n' | b'\r'))
    }

    pub(super) fn is_marker(self, at: usize, marker: &[u8]) -> bool {
        self.0.get(at..at + 3) == Some(marker)
            && matches!(self.byte(at + 3), None | Some(b' ' | b'\t' | b'\n' | b'\r'))
    }

    /// The colon that makes a key of what ended at `end`.
    #[inline]
    pub(super) fn colon(self, end: usize) -> Option<usize> {
        let at = self.spaces(end);
        (self.byte(at) == Some(b':')
            && matches!(self.byte(at + 1), None | Some(b' ' | b'\n' | b'\r')))
        .then_some(at)
    }

    /// The name of an anchor or alias, after its `&` or `*`: letters, digits, `-`, `_` and `.`, then white space.
    pub(super) fn name(self, at: usize) -> Option<usize> {
        let named = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let end = at + self.0.get(at..)?.iter().take_while(named).count();
        (end > at && matches!(self.byte(end), None | Some(b' ' | b'\n' | b'\r'))).then_some(end)
    }

    /// A scalar on one line of a block: its style, and where it ends.
    #[inline]
    pub(super) fn scalar(self, at: usize) -> Option<(Style, usize)> {
        match self.byte(at)? {
            b'"' | b'\'' => self.quoted(at, None),
            _ => Some((Style::Plain, self.plain(at)?)),
        }
    }

    /// A quoted scalar: on one line, or with a `parent` over several that are indented deeper than that column.
    pub(super) fn quoted(self, at: usize, parent: Option<usize>) -> Option<(Style, usize)> {
        match self.byte(at)? {
            b'"' => Some((Style::DoubleQuoted, self.double_quoted(at, parent)?)),
            b'\'' => Some((Style::SingleQuoted, self.single_quoted(at, parent)?)),
            _ => None,
        }
    }

    /// False for a merge key, and for one that may be too long.
    pub(super) fn may_be_key(self, style: Style, start: usize, end: usize) -> bool {
        end - start <= MAX_KEY && !(style == Style::Plain && self.0.get(start..end) == Some(b"<<"))
    }

    /// The first line of a plain scalar in a block.
    #[inline]
    pub(super) fn plain(self, at: usize) -> Option<usize> {
        if !self.begins_plain(at) {
            return None;
        }
        self.plain_end(at + 1)
    }

    /// A further line of a plain scalar in a block, which may begin with any sign: with a quote, a bracket or a dash.
    pub(super) fn further_plain(self, at: usize) -> Option<usize> {
        self.plain_end(at).filter(|end| *end > at)
    }

    /// The end of a line of a plain scalar: `at` is behind the first character of a first line, and on that of a further one.
    #[inline]
    fn plain_end(self, at: usize) -> Option<usize> {
        let mut end = at;
        loop {
            end = self.plain_stop(end);
            match self.byte(end) {
                Some(b':')
                    if !matches!(
                        self.byte(end + 1),
                        None | Some(b' ' | b'\n' | b'\r' | b'\t')
                    ) =>
                {
                    end += 1
                }
                Some(b'#') if self.byte(end - 1) != Some(b' ') => end += 1,
                Some(b'\t') => return None,
                _ => break,
            }
        }
        while self.byte(end - 1) == Some(b' ') {
            end -= 1;
        }
        Some(end)
    }

    /// The first byte at which a plain scalar may end; the end of the text if there is none.
    #[inline]
    fn plain_stop(self, at: usize) -> usize {
        let mut at = at;
        while let Some(word) = self.0.get(at..).and_then(|rest| rest.first_chunk()) {
            let word = u64::from_le_bytes(*word);
            let colon = below(word ^ eight(b':'), 1);
            let stops = below(word, b' ') | colon | below(word ^ eight(b'#'), 1);
            if stops != 0 {
                return at + stops.trailing_zeros() as usize / 8;
            }
            at += 8;
        }
        while self.byte(at).is_some_and(|byte| !may_end_plain(byte)) {
            at += 1;
        }
        at
    }

    /// True where a plain scalar may begin, without looking at what follows it.
    #[inline]
    pub(super) fn begins_plain(self, at: usize) -> bool {
        let Some(first) = self.byte(at) else {
            return false;
        };
        let follows = |next| {
            !matches!(
                next,
                b' ' | b'\n' | b'\r' | b'\t' | b',' | b'[' | b']' | b'{' | b'}'
            )
        };
        !INDICATORS[usize::from(first)] || first == b'-' && self.byte(at + 1).is_some_and(follows)
    }

    fn single_quoted(self, at: usize, parent: Option<usize>) -> Option<usize> {
        let mut at = at + 1;
        loop {
            at += memchr::memchr2(b'\'', b'\n', self.0.get(at..)?)?;
            match (self.byte(at), self.byte(at + 1)) {
                (Some(b'\''), Some(b'\'')) => at += 2,
                (Some(b'\''), _) => return Some(at + 1),
                _ => at = self.further_line(at + 1, parent?)?,
            }
        }
    }

    fn double_quoted(self, at: usize, parent: Option<usize>) -> Option<usize> {
        let mut at = at + 1;
        loop {
            at += memchr::memchr3(b'"', b'\\', b'\n', self.0.get(at..)?)?;
            match self.byte(at) {
                Some(b'"') => return Some(at + 1),
                Some(b'\\') if self.byte(at + 1) == Some(b'\n') => at += 1,
                Some(b'\\') => at = self.escape(at + 1)?,
                _ => at = self.further_line(at + 1, parent?)?,
            }
        }
    }

    /// Steps from the start of a line within quotes to its content, or to its break if the line is blank.
    fn further_line(self, at: usize, parent: usize) -> Option<usize> {
        let content = self.spaces(at);
        match self.byte(content)? {
            b'\n' => Some(content),
            b'\r' => Some(content + 1),
            b'\t' => None,
            _ => (content - at > parent).then_some(content),
        }
    }

    /// The common escapes; surrogate pairs and rare ones are left to the complete reader.
    fn escape(self, at: usize) -> Option<usize> {
        let digits = match self.byte(at)? {
            b'n' | b't' | b'r' | b'"' | b'\\' | b'/' | b' ' | b'0' | b'a' | b'b' | b'e' | b'f'
            | b'v' => {
                return Some(at + 1);
            }
            b'x' => 2,
            b'u' => 4,
            _ => return None,
        };
        let code = self.0.get(at + 1..at + 1 + digits)?;
        let surrogate = digits == 4 && matches!(code[0], b'd' | b'D') && code[1] > b'7';
        (code.iter().all(u8::is_ascii_hexdigit) && !surrogate).then_some(at + 1 + digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_stop_a_plain_scalar_one_by_one_and_eight_at_once() {
        for byte in u8::MIN..=u8::MAX {
            let short = [b'a', byte, b'a'];
            let long = [&short[..], b"aaaaaaaa"].concat();
            let stop = |text| Scan(text).plain_stop(0);
            let expected = may_end_plain(byte).then_some(1);
            assert_eq!(stop(&short), expected.unwrap_or(short.len()), "{byte}");
            assert_eq!(stop(&long), expected.unwrap_or(long.len()), "{byte}");
        }
    }
}
