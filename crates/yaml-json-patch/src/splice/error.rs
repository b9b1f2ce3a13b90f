//! Reasons not to edit a text, as data.

/// A text that is not edited: the place and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", .kind.sentence())]
#[non_exhaustive]
pub struct SpliceError {
    /// Byte offset into the text of the place that cannot be edited.
    pub offset: usize,
    /// The reason.
    pub kind: ErrorKind,
    /// The byte offset of the next occurrence of a duplicate key, into the same text.
    pub next_occurrence: Option<usize>,
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
        "the place to edit is an alias: an edit would change every place that shares its anchor",
        "write the value out instead of `*name`";
    Anchor = "anchor",
        "the place to edit has an anchor that aliases refer to: an edit would change them too",
        "write the value out where the aliases stand";
    MergeKey = "merge-key",
        "a merge key `<<` may supply or override this field",
        "write the field out behind the merge key, or write the merged fields out";
    DuplicateKey = "duplicate-key",
        "this key stands twice in its mapping",
        "write the two as one; Kubernetes reads the last one";
    ExplicitKey = "explicit-key",
        "a key of this mapping is written with `? `",
        "write the key as `key: value`";
    FlowPair = "flow-pair",
        "a mapping without braces inside brackets (`[key: value]`) cannot be edited",
        "write `[{key: value}]`";
    Tag = "tag",
        "a collection with a tag of its own cannot be edited",
        "remove the tag";
    OddKey = "odd-key",
        "a key of this mapping is not a string to Kubernetes",
        "put the key in quotes";
    OddNull = "odd-null",
        "an empty value whose `null` stands on a line of its own cannot be filled",
        "delete the `null`";
    OddColon = "odd-colon",
        "a comma or bracket stands right behind the colon of an empty value: Kubernetes takes the colon for a part of the key",
        "put a blank behind the colon";
    Tabs = "tabs",
        "a tab stands in the indentation",
        "indent with spaces";
    LineBreaks = "line-breaks",
        "a character (U+0085, U+2028 or U+2029) stands here that only some readers take for a line break",
        "remove the character";
    OpenBlockScalar = "open-block-scalar",
        "the text ends inside a block scalar, without a line break: anything added behind it would change its value",
        "end the file with a line break";
    Swallowed = "swallowed",
        "a comment or blank line would become part of the block scalar above it when what stands between them goes",
        "remove the comment or blank line, or indent the comment less";
    Layout = "layout",
        "the text is laid out in a way that cannot be edited safely",
        "put the collection on lines of its own";
    LongKey = "long-key",
        "a key is too long: YAML allows 1,024 characters",
        "use a shorter key";
    Unreadable = "unreadable",
        "a value here has no meaning in JSON",
        "correct the value; Kubernetes could not read it either";
    InvalidPointer = "invalid-pointer",
        "the patch names a place that the document does not have",
        "check the operation's path";
    TestFailed = "test-failed",
        "a `test` operation found another value",
        "check the operation's value";
    MovedIntoItself = "moved-into-itself",
        "a `move` operation would move a value into itself",
        "check the operation's `from` and `path`";
}

impl ErrorKind {
    /// True when the fault is the patch's, not the text's: RFC 6902 calls these errors.
    #[must_use]
    pub fn is_fault_of_patch(self) -> bool {
        matches!(self, ErrorKind::InvalidPointer | ErrorKind::TestFailed | ErrorKind::MovedIntoItself)
    }

    /// An error of this kind at a byte of the text.
    #[must_use]
    pub fn at(self, offset: usize) -> SpliceError {
        SpliceError { offset, kind: self, next_occurrence: None }
    }
}
