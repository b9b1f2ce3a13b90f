//! Syntax errors: words for the frequent ones, and the place where the user made the mistake rather than the one where the
//! parser noticed it.

use super::unindented_quotes::is_followed_by_text;
use crate::block_scalar;
use crate::tree::YamlError;
use granit_parser::{ErrorKind, ScanError};

pub(crate) const TAB: &str = "a tab cannot be used for indentation; use spaces";

/// Describes a syntax error. The text before `from` has been read and is right.
pub(super) fn explain(scan: &ScanError, text: &str, from: usize) -> YamlError {
    use ErrorKind as E;
    let noticed = scan.marker().byte_offset().unwrap_or(0);
    let locator = ErrorLocator {
        text,
        from,
        noticed,
    };
    let (offset, message) = match scan.kind() {
        E::TabNotAllowed
        | E::TabInBlockIndentation
        | E::TabInIndentation
        | E::TabAtBlockScalarStart
        | E::TabInPlainScalar => (locator.tab(), TAB),
        E::SimpleKeyExpected | E::InvalidSimpleKey => (None, locator.missing_after_key(noticed)),
        E::MappingValueNotAllowed | E::InvalidColonPlacement | E::InvalidMappingValueWhitespace => {
            match locator.text_of_several_lines() {
                Some(SeveralLines::Key { start }) => {
                    (Some(start), locator.missing_after_key(start))
                }
                Some(SeveralLines::Value { last_line }) => (
                    Some(last_line),
                    "this line continues the text of the line above; correct its indentation, or add the missing \
                     `:` or `- ` above",
                ),
                None => (
                    None,
                    "`: ` is not allowed here; if it is part of a value, quote the value",
                ),
            }
        }
        E::ExpectedBlockMappingKey => (None, "expected a key at this indentation"),
        E::ExpectedBlockSequenceEntry => (None, "expected `- ` at this indentation"),
        E::UnclosedFlowCollection { .. } => (None, "this bracket is never closed"),
        E::UnclosedQuotedScalar | E::DocumentIndicatorInQuotedScalar => {
            (None, "this quote is never closed")
        }
        E::InvalidQuotedScalarIndent if !locator.text_follows_the_quote() => (
            locator.quote_of_an_earlier_line(),
            "this quote is never closed, or a line within it is not indented enough",
        ),
        E::InvalidQuotedScalarIndent
        | E::InvalidTrailingSingleQuotedScalar
        | E::InvalidTrailingDoubleQuotedScalar => match locator.quote_of_an_earlier_line() {
            Some(quote) => (
                Some(quote),
                "this quote ends on a later line that has text after it; is a closing quote missing?",
            ),
            None => (None, "text after the closing quote is not allowed"),
        },
        E::UnknownQuotedScalarEscape => (
            None,
            "unknown escape in double quotes; use single quotes or double the backslash",
        ),
        E::UnexpectedCharacter { character } => (
            locator.character(*character),
            "this character is not allowed here",
        ),
        E::UnknownAnchor => (
            None,
            "this alias refers to an anchor that the document does not have",
        ),
        E::RecursionLimitExceeded => (None, "the document is nested more than 255 levels deep"),
        rare => return YamlError::new(noticed, rare.to_string()),
    };
    YamlError::new(offset.unwrap_or(noticed), message.to_owned())
}

/// Finds the place of a mistake.
struct ErrorLocator<'t> {
    text: &'t str,
    /// The text before it has been read and is right.
    from: usize,
    /// The place where the parser noticed the mistake.
    noticed: usize,
}

/// A plain scalar that goes on over several lines, with a colon on the last of them.
enum SeveralLines {
    /// The user meant its first line as a key.
    Key { start: usize },
    /// It is a value, and the user did not mean the last line as a part of it.
    Value { last_line: usize },
}

impl ErrorLocator<'_> {
    /// The first tab in the white space at the beginning of a line, from the line of the mistake on.
    fn tab(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.noticed) == Some(&b'\t') {
            return Some(self.noticed);
        }
        let mut line = self.line_start(self.noticed);
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

    /// The first such character: the parser may name the beginning of the scalar that holds it.
    fn character(&self, character: char) -> Option<usize> {
        self.text
            .get(self.noticed..)?
            .find(character)
            .map(|found| self.noticed + found)
    }

    /// The beginning of the quoted scalar that the parser was reading, if that is on an earlier line.
    fn quote_of_an_earlier_line(&self) -> Option<usize> {
        let start = self.pending()?;
        let quoted = self.text.get(start..)?.starts_with(['"', '\'']);
        (quoted && start < self.line_start(self.noticed)).then_some(start)
    }

    fn text_follows_the_quote(&self) -> bool {
        self.quote_of_an_earlier_line()
            .is_some_and(|quote| is_followed_by_text(self.text, quote))
    }

    /// The plain scalar that the parser was reading, if it began on an earlier line.
    fn text_of_several_lines(&self) -> Option<SeveralLines> {
        let start = self.pending()?;
        let last_line = self.line_start(self.noticed);
        let scalar = self.text.get(start..self.noticed)?;
        let is_plain = !scalar.starts_with(['"', '\'', '[', ']', '{', '}', '|', '>', '*', ',']);
        if start >= last_line || !is_plain || scalar.contains(" #") || scalar.contains(": ") {
            return None;
        }
        let before = self.text.get(self.line_start(start)..start)?;
        if before.bytes().all(|byte| matches!(byte, b' ' | b'-')) {
            return Some(SeveralLines::Key { start });
        }
        let blank = self
            .text
            .get(last_line..)?
            .bytes()
            .take_while(|byte| *byte == b' ')
            .count();
        Some(SeveralLines::Value {
            last_line: last_line + blank,
        })
    }

    /// The words for a key without its `: `, as in `a b` or `a:"b"`.
    fn missing_after_key(&self, key: usize) -> &'static str {
        let line = self
            .text
            .get(key..)
            .and_then(|rest| rest.lines().next())
            .unwrap_or_default();
        match line.split_once(':') {
            Some((name, value)) if !name.contains(' ') && !value.starts_with("//") => {
                "expected a blank after the `:` of this key"
            }
            _ => "expected `:` after this key",
        }
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
                // JSON needs no space after it.
                b':' | b',' => at += 1,
                b'#' => at = block_scalar::line_end(bytes, at).1,
                b'&' | b'!' => at += bytes.get(at..)?.iter().position(u8::is_ascii_whitespace)?,
                _ => return Some(at).filter(|at| *at < self.noticed),
            }
        }
    }

    fn line_start(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        memchr::memrchr2(b'\n', b'\r', before).map_or(0, |found| found + 1)
    }
}

#[cfg(test)]
mod tests {
    use crate::read::read;

    /// The line, from 1, the text from the place on, and the words.
    fn explained(text: &str) -> (usize, &str, String) {
        let error = read(text).unwrap_err();
        let (before, rest) = text.split_at(error.offset);
        (
            before.lines().count().max(1) + usize::from(before.ends_with('\n')),
            rest,
            error.message,
        )
    }

    /// An edit that removes what is in front must not change how the rest is read.
    #[test]
    fn a_tab_in_brackets_is_refused_wherever_it_indents() {
        for front in ["", "x, ", "{y: 1}, "] {
            for at in ["\td]\n", "\t{e: 1}]\n", "\t]\n"] {
                let text = format!("a:\n  b: [{front} # why\n  {at}");
                let (line, found, message) = explained(&text);
                assert_eq!((line, found), (3, at), "{text}");
                assert!(message.contains("a tab"), "{message}");
            }
            for fine in ["   \td]\n", "\t# why\n   d]\n", "\t\n   d]\n", "  d\t]\n"] {
                let text = format!("a:\n  b: [{front} # why\n{fine}");
                assert!(read(&text).is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn a_person_looks_where_it_points() {
        for (text, line, at, words) in [
            ("a:\n- b: c\n\td: 1\n", 3, "\td", "a tab"),
            ("a:\n- b: c\n  \td: 1\n", 3, "\td", "a tab"),
            ("a: b\r\n\r\n\tc: 1\r\n", 3, "\tc", "a tab"),
            ("a:\n\t- b\n", 2, "\t-", "a tab"),
            ("a: |\n\tb\n", 2, "\tb", "a tab"),
            ("a:\tb\n\tc: 1\n", 2, "\tc", "a tab"),
            ("a: \"b\n\tc\"\n", 2, "\tc", "a tab"),
            ("a:\n  b: [c,\n\td]\n", 3, "\td", "a tab"),
            ("a: \"b\n  c\\n\\\\ \\d\"\n", 1, "\"b", "unknown escape"),
            ("a: b\u{1}c\n", 1, "\u{1}c", "this character"),
            ("a: @b\n", 1, "@b", "this character"),
            (
                "a:\n  b: \"c\n  d: [\"e\"]\n",
                2,
                "\"c",
                "this quote ends on a later line",
            ),
            (
                "a:\n  b: 'c\n  d: 'e'\n",
                2,
                "'c",
                "this quote ends on a later line",
            ),
            ("a:\n  b: 'c\nd: 1\n", 2, "'c", "this quote is never closed"),
            ("a: 'b' c\n", 1, "c", "text after the closing quote"),
            ("a b\nc: 1\n", 1, "a b", "expected `:` after this key"),
            (
                "a:\n  b\n    - c: 1\n",
                2,
                "b\n",
                "expected `:` after this key",
            ),
            (
                "a:\n  b:\"c\"\n  d: 1\n",
                2,
                "b:",
                "expected a blank after the `:` of this key",
            ),
            (
                "a: 1\nb:c\n",
                2,
                "b:",
                "expected a blank after the `:` of this key",
            ),
            (
                "a: 1\nb:\"c\"\nd: 1\n",
                2,
                "b:",
                "expected a blank after the `:` of this key",
            ),
            (
                "a: 1\nb c:1\nd: 1\n",
                2,
                "b c",
                "expected `:` after this key",
            ),
            (
                "a: 1\nb://c\nd: 1\n",
                2,
                "b://",
                "expected `:` after this key",
            ),
            (
                "a:\n  - b: c\n      d: 1\n",
                3,
                "d: 1",
                "this line continues",
            ),
            ("a:\n  -b: c\n   d: 1\n", 3, "d: 1", "this line continues"),
            ("a: b\n  c: 1\n", 2, "c: 1", "this line continues"),
            ("a: b: c\n", 1, ": c", "`: ` is not allowed here"),
            ("a: {b: c\n", 1, "{b", "this bracket is never closed"),
            ("a: *b\n", 1, "*b", "this alias refers to an anchor"),
            ("a: b # d\n  c: 1\n", 1, "# d", "comment intercepting"),
        ] {
            let (shown_line, shown_at, message) = explained(text);
            assert_eq!(shown_line, line, "{text:?} {shown_at:?} {message}");
            assert!(shown_at.starts_with(at), "{text:?} {shown_at:?} {message}");
            assert!(message.starts_with(words), "{text:?} {message}");
        }
    }
}
