//! Reasons not to edit a text, as data.

use crate::tree::Tree;
use json_patch::jsonptr::Pointer;
use std::fmt;

/// A text that is not edited: the place and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .detail.as_deref().unwrap_or(.kind.sentence()))]
#[non_exhaustive]
pub struct SpliceError {
    /// Byte offset of the place that cannot be edited, in the text that was given.
    pub offset: usize,
    /// The reason.
    pub kind: ErrorKind,
    /// A sentence about what is there instead: how far a path leads, or the value that a `test` found.
    pub detail: Option<String>,
    /// The operation of [`apply`](crate::apply()) or [`edits`](crate::edits()) that cannot be carried out. [`Editor`](crate::Editor) has
    /// none.
    pub operation: Option<FailedOperation>,
}

/// An operation of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedOperation {
    /// Its index in the patch, from 0.
    pub index: usize,
    /// The member of the operation that holds the path: `path` or `from`.
    pub member: &'static str,
    /// The path that the document does not have, or where it cannot be changed.
    pub path: String,
}

impl fmt::Display for FailedOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "operation {} ({} `{}`)",
            self.index, self.member, self.path
        )
    }
}

impl SpliceError {
    /// The message, with the operation in front of it.
    pub(crate) fn with_operation(&self) -> String {
        match &self.operation {
            Some(operation) => format!("{operation}: {self}"),
            None => self.to_string(),
        }
    }

    pub(crate) fn of_operation(self, index: usize, member: &'static str, path: &Pointer) -> Self {
        Self {
            operation: Some(FailedOperation {
                index,
                member,
                path: path.to_string(),
            }),
            ..self
        }
    }

    pub(crate) fn saying(self, detail: String) -> Self {
        let detail = Some(detail);
        Self { detail, ..self }
    }

    /// Returns an error at an offset of the document as one of the source.
    pub(crate) fn in_source(self, tree: &Tree<'_>) -> Self {
        Self {
            offset: tree.start() + self.offset,
            ..self
        }
    }
}

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $variant:ident = $word:literal, $sentence:literal, $help:literal;)*) => {
        /// A reason not to edit a text: something in the text, or an error of the patch. Each has a stable word; a newer version may have more of them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind { $($(#[$doc])* #[doc = concat!("`", $word, "`: ", $sentence)] $variant,)* }

        impl ErrorKind {
            /// Every reason, in the order of the documentation.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$variant,)*];

            /// The stable short word.
            #[must_use]
            pub fn word(self) -> &'static str { match self { $(ErrorKind::$variant => $word,)* } }

            /// Describes the reason, in lower case, without a full stop.
            #[must_use]
            pub fn sentence(self) -> &'static str { match self { $(ErrorKind::$variant => $sentence,)* } }

            /// Advises what to do next.
            #[must_use]
            pub fn help(self) -> &'static str { match self { $(ErrorKind::$variant => $help,)* } }
        }
    };
}

error_kinds! {
    Alias = "alias",
        "the field to edit is an alias; an edit would change every alias of its anchor",
        "replace the alias `*name` with its value";
    Anchor = "anchor",
        "the field to edit has an anchor; an edit would change its aliases, too",
        "replace the aliases with the value";
    MergeKey = "merge-key",
        "a merge key `<<` may set or override this field",
        "set the field after the merge key, or replace the merge key with its fields";
    DuplicateKey = "duplicate-key",
        "this key is duplicated in its mapping",
        "merge the two keys; most YAML parsers use the last one";
    ExplicitKey = "explicit-key",
        "a key of this mapping is written with `? `",
        "write the key as `key: value`";
    FlowPair = "flow-pair",
        "a mapping without braces in a list (`[key: value]`) cannot be edited",
        "write `[{key: value}]`";
    Tag = "tag",
        "a collection with a tag cannot be emptied, nor a value be carried where its tags or numbers would change",
        "change the value by hand";
    OddKey = "odd-key",
        "a key of this mapping is not a string",
        "put the key in quotes";
    OddNull = "odd-null",
        "a `null` on a separate line behind a comment cannot be replaced",
        "delete the `null`";
    OddColon = "odd-colon",
        "a comma or bracket follows the colon of an empty value directly, so some YAML parsers read the colon as part of the key",
        "add a space after the colon";
    Tabs = "tabs",
        "the indentation contains a tab",
        "indent with spaces";
    LineBreaks = "line-breaks",
        "a character (U+0085, U+2028 or U+2029) is here that only some YAML parsers read as a line break",
        "remove the character";
    CarriageReturns = "carriage-returns",
        "a line ends in a bare carriage return, which only some YAML parsers read as a line break",
        "end the lines with line feeds";
    OpenBlockScalar = "open-block-scalar",
        "the text ends inside a block scalar without a line break; any text added after it would change its value",
        "end the file with a line break";
    Swallowed = "swallowed",
        "if the lines between them are removed, a comment or blank line becomes part of the block scalar above",
        "remove the comment or blank line, or indent the comment less";
    Layout = "layout",
        "the layout of the text cannot be edited safely",
        "put the mapping or list on separate lines";
    LongKey = "long-key",
        "a key is longer than the 1,024 characters that YAML allows",
        "use a shorter key";
    Unreadable = "unreadable",
        "a value cannot be represented in JSON",
        "correct the value";
    InvalidPointer = "invalid-pointer",
        "the path of the operation does not exist in the document",
        "check the path of the operation";
    TestFailed = "test-failed",
        "the value of a `test` operation does not match",
        "check the value of the operation";
    MovedIntoItself = "moved-into-itself",
        "a `move` operation would move a value into itself",
        "check `from` and `path` of the operation";
}

impl ErrorKind {
    /// True when the fault is the patch's, not the text's: RFC 6902 calls these errors.
    #[must_use]
    pub fn is_fault_of_patch(self) -> bool {
        matches!(
            self,
            ErrorKind::InvalidPointer | ErrorKind::TestFailed | ErrorKind::MovedIntoItself
        )
    }

    /// An error of this kind at a byte of the text.
    #[must_use]
    pub const fn at(self, offset: usize) -> SpliceError {
        SpliceError {
            offset,
            kind: self,
            detail: None,
            operation: None,
        }
    }
}
