//! The parser's errors in our words.

use super::locate::{ErrorLocator, SeveralLines};
use crate::tree::YamlError;
use granit_parser::{ErrorKind, ScanError};

pub(crate) const TAB: &str = "a tab cannot be used for indentation; use spaces";
const KEY_WITHOUT_COLON: &str = "expected `:` after this key";
const UNKNOWN_ESCAPE: &str = "unknown escape in double quotes; use single quotes or double the backslash";
const ODD_CHARACTER: &str = "this character cannot stand here";
const OPEN_QUOTE: &str = "this quote is never closed, or a line within it is not indented as its surroundings demand";
const LATE_QUOTE: &str =
    "this quote ends within a later line, and text follows it there; is its closing quote missing?";
const CONTINUED: &str =
    "this line continues the text of the line above; correct its indentation, or the `:` or `- ` that is missing above";

/// What is wrong in `text`, and where. What stands before `from` has been read and is right.
pub(super) fn explain(scan: &ScanError, text: &str, from: usize) -> YamlError {
    let offset = scan.marker().byte_offset().unwrap_or(0);
    let culprit = ErrorLocator { text, from, offset };
    let (offset, message) = culprit.told(scan.kind()).unwrap_or((offset, message(scan)));
    YamlError { offset, message: message.to_owned() }
}

impl ErrorLocator<'_> {
    /// Where the parser noticed it is no place where a person would look.
    fn told(&self, kind: &ErrorKind) -> Option<(usize, &'static str)> {
        use ErrorKind as E;
        Some(match kind {
            E::TabNotAllowed
            | E::TabInBlockIndentation
            | E::TabInIndentation
            | E::TabAtBlockScalarStart
            | E::TabInPlainScalar => (self.tab()?, TAB),
            E::UnknownQuotedScalarEscape => (self.unknown_escape()?, UNKNOWN_ESCAPE),
            E::UnexpectedCharacter { character } => (self.character(*character)?, ODD_CHARACTER),
            E::InvalidQuotedScalarIndent => (self.quote_of_an_earlier_line()?, OPEN_QUOTE),
            E::InvalidTrailingSingleQuotedScalar | E::InvalidTrailingDoubleQuotedScalar => {
                (self.quote_of_an_earlier_line()?, LATE_QUOTE)
            }
            E::MappingValueNotAllowed | E::InvalidColonPlacement | E::InvalidMappingValueWhitespace => {
                match self.text_of_several_lines()? {
                    SeveralLines::Key { start } => (start, KEY_WITHOUT_COLON),
                    SeveralLines::Value { last_line } => (last_line, CONTINUED),
                }
            }
            _ => return None,
        })
    }
}

fn message(scan: &ScanError) -> &'static str {
    use ErrorKind as E;
    match scan.kind() {
        E::UnknownAnchor => "this alias refers to an anchor that does not exist in the document",
        E::UnexpectedEofFlowSequence | E::UnexpectedEofFlowMapping | E::UnexpectedEofImplicitFlowMapping => {
            "a bracket is never closed"
        }
        E::UnclosedFlowCollection { .. } => "this bracket is never closed",
        E::MisplacedFlowCollectionEnd => "this closing bracket has no opening one",
        E::MismatchedFlowCollectionEnd { .. } => "this closing bracket does not fit the opening one",
        E::ExpectedFlowMappingSeparator => "expected `,` or `}` here",
        E::ExpectedFlowSequenceSeparator => "expected `,` or `]` here",
        E::UnclosedQuotedScalar | E::DocumentIndicatorInQuotedScalar => "this quote is never closed",
        E::InvalidTrailingSingleQuotedScalar | E::InvalidTrailingDoubleQuotedScalar => {
            "text after the closing quote is not allowed"
        }
        E::UnknownQuotedScalarEscape => UNKNOWN_ESCAPE,
        E::InvalidQuotedScalarHexEscape
        | E::InvalidLowSurrogateHexEscape
        | E::InvalidLowSurrogate
        | E::MissingLowSurrogate
        | E::UnpairedLowSurrogate
        | E::InvalidUnicodeEscape => "this escape in double quotes is not a valid character",
        E::TabNotAllowed
        | E::TabInBlockIndentation
        | E::TabInIndentation
        | E::TabAtBlockScalarStart
        | E::TabInPlainScalar => TAB,
        E::SimpleKeyExpected | E::InvalidSimpleKey => KEY_WITHOUT_COLON,
        E::ExpectedBlockMappingKey => "expected a key at this indentation",
        E::ExpectedBlockSequenceEntry => "expected `- ` at this indentation",
        E::BlockSequenceEntryNotAllowed | E::BlockEntryInFlowCollection => "`- ` cannot begin a list here",
        E::MappingValueNotAllowed | E::InvalidColonPlacement | E::InvalidMappingValueWhitespace => {
            "`: ` cannot stand here; quote the text if it belongs to a value"
        }
        E::MappingKeyNotAllowed => "a key cannot stand here",
        E::InvalidIndentation | E::InvalidQuotedScalarIndent | E::InvalidFlowScalarIndent => {
            "this line is not indented as its surroundings demand"
        }
        E::InvalidBlockScalarIndent => "this line of the block scalar is not indented as its first one",
        E::InvalidBlockScalarHeader => "only `+`, `-`, a digit or a comment may follow `|` or `>`",
        E::ZeroBlockScalarIndent => "the indentation of a block scalar cannot be 0",
        E::RecursionLimitExceeded => "the document nests deeper than 255 levels",
        E::UnexpectedCharacter { .. } => ODD_CHARACTER,
        E::BomInsideDocument => "a byte order mark may stand only at the very beginning",
        E::CommentInterceptedScalar => "a comment cannot stand inside a value of several lines",
        E::CommentNotSeparated => "a comment needs a space before its `#`",
        E::UndeclaredTagHandle => "this tag's handle is not declared",
        E::InvalidDocumentEnd => "only a comment may follow `...`",
        E::MissingDocumentEndBeforeDirective | E::ExpectedDocumentStart => "expected `---` here",
        E::DuplicateVersionDirective
        | E::UnsupportedYamlMajorVersion
        | E::DuplicateTagDirective
        | E::InvalidDirectiveTerminator
        | E::MissingDirectiveName
        | E::InvalidDirectiveName
        | E::DirectiveByteLimitExceeded { .. }
        | E::YamlVersionTooLong
        | E::MissingYamlVersion
        | E::MissingYamlVersionSeparator => "this directive is not valid",
        E::ExpectedNodeContent => "expected a value here",
        E::MissingAnchorOrAliasName => "a name must follow `&` and `*`; quote the text if it is none",
        _ => "this is not valid YAML",
    }
}

#[cfg(test)]
mod tests {
    use crate::read::read;

    /// The line, from 1, and what stands at the place in it; and the words.
    fn told(text: &str) -> (usize, &str, String) {
        let error = read(text).unwrap_err();
        let (before, behind) = text.split_at(error.offset);
        (before.lines().count().max(1) + usize::from(before.ends_with('\n')), behind, error.message)
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
            ("a: \"b\n  c\\n\\\\ \\d\"\n", 2, "\\d", "unknown escape"),
            ("a: b\u{1}c\n", 1, "\u{1}c", "this character"),
            ("a: @b\n", 1, "@b", "this character"),
            ("a:\n  b: \"c\n  d: [\"e\"]\n", 2, "\"c", "this quote ends within a later line"),
            ("a:\n  b: 'c\n  d: 'e'\n", 2, "'c", "this quote ends within a later line"),
            ("a:\n  b: 'c\nd: 1\n", 2, "'c", "this quote is never closed"),
            ("a: 'b' c\n", 1, "c", "text after the closing quote"),
            ("a b\nc: 1\n", 1, "a b", "expected `:` after this key"),
            ("a:\n  b\n    - c: 1\n", 2, "b\n", "expected `:` after this key"),
            ("a:\n  - b: c\n      d: 1\n", 3, "d: 1", "this line continues"),
            ("a:\n  -b: c\n   d: 1\n", 3, "d: 1", "this line continues"),
            ("a: b\n  c: 1\n", 2, "c: 1", "this line continues"),
            ("a: b: c\n", 1, ": c", "`: ` cannot stand here"),
            ("a: b # d\n  c: 1\n", 1, "# d", "a comment cannot stand"),
            ("a: *\n", 1, "*", "a name must follow"),
        ] {
            let (told_line, told_at, message) = told(text);
            assert_eq!(told_line, line, "{text:?} {told_at:?} {message}");
            assert!(told_at.starts_with(at), "{text:?} {told_at:?} {message}");
            assert!(message.starts_with(words), "{text:?} {message}");
        }
    }
}
