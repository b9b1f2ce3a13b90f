//! The parser's errors in our words.

use super::YamlError;
use granit_parser::{ErrorKind, ScanError};

/// What is wrong, and where.
pub(super) fn explain(scan: &ScanError) -> YamlError {
    use ErrorKind as E;
    let message = match scan.kind() {
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
        E::UnknownQuotedScalarEscape => "unknown escape in double quotes; use single quotes or double the backslash",
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
        | E::TabInPlainScalar => "a tab cannot be used for indentation; use spaces",
        E::SimpleKeyExpected | E::InvalidSimpleKey => "expected `:` after this key",
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
        E::UnexpectedCharacter { .. } => "this character cannot stand here",
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
        _ => "this is not valid YAML",
    };
    YamlError { offset: scan.marker().byte_offset().unwrap_or(0), message: message.to_owned() }
}
