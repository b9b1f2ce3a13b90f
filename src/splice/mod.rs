//! Edits YAML and JSON as text: RFC 6902 operations in, the few bytes that change out.
//!
//! The patch is applied to an overlay of the document, then one walk along the changes writes the edits, in the
//! style that surrounds them. Everything else stays as it is, byte for byte: comments, quotes, blank lines, line ends.
//! What cannot be edited without guessing is refused by name ([`Refusal`]), never printed anew.
//!
//! Where new text goes, so that a removal is the exact inverse of an addition:
//! - items and members stand behind the last one, below its comment and the comments that are indented deeper; only a pod
//!   template's `metadata` stand in front of its `spec`, and of the comments above it
//! - comments at or left of a list's dashes or a mapping's keys stay with what follows them; so do those above the first item
//! - a removal takes whole lines, and no comment of its neighbours
//! - `{}` and `[]` are filled in place, a null gives way to lines below its key
//!
//! What is not kept: comments inside a value that the patch replaces or removes.

mod block;
mod edits;
mod flow;
mod lines;
mod memo;
mod operation;
pub(crate) mod overlay;
mod plan;
mod refusal;
mod render;
mod style;
mod writer;

pub(crate) use memo::Memo;
pub(crate) use operation::Operation;
pub(crate) use refusal::Again;
pub use refusal::{Refusal, Uneditable};

use crate::edit::Edit;
use crate::verify::{self, Mismatch};
use crate::yaml::{self, NodeId, Tree};
use json_patch::Patch;
use overlay::Overlay;
use writer::Writer;

/// How an operation that writes a null is to spell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelling {
    /// The operation's path.
    pub pointer: String,
    /// As [`gave_way`] said: nothing, ` null`, `  ~`, `{: ~`.
    pub raw: String,
}

/// A patch, turned into edits of the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Spliced {
    /// Sorted, without overlap, offsets into the tree's text.
    pub edits: Vec<Edit>,
    overlay: Overlay,
}

impl Spliced {
    /// Checks the edited text, read anew: it must be the old document with the patch applied.
    ///
    /// # Errors
    /// When anything but what the patch says has changed.
    pub fn verify(&self, old: &Tree<'_>, new: &Tree<'_>) -> Result<(), Mismatch> {
        self.verify_again(old, new, &Memo::default())
    }

    /// As [`Spliced::verify`], for many documents.
    pub(crate) fn verify_again(&self, old: &Tree<'_>, new: &Tree<'_>, memo: &Memo) -> Result<(), Mismatch> {
        verify::verify(old, &self.overlay, new, memo)
    }
}

/// Turns a patch into edits.
///
/// # Errors
/// When the patch does not fit the document, or the text cannot be edited safely; see [`Refusal`].
pub fn splice(tree: &Tree<'_>, patch: &Patch, spellings: &[Spelling]) -> Result<Spliced, Uneditable> {
    let operations = patch.0.iter().cloned().map(Operation::from).collect();
    splice_operations(tree, operations, spellings, &Memo::default())
}

/// As [`splice`], for many documents.
pub(crate) fn splice_operations(
    tree: &Tree<'_>,
    operations: Vec<Operation>,
    spellings: &[Spelling],
    memo: &Memo,
) -> Result<Spliced, Uneditable> {
    let overlay = overlay::apply(tree, operations, spellings)?;
    let mut writer = Writer::new(tree, memo);
    writer.document(&overlay)?;
    let edits = writer.out.finish(tree, memo)?;
    Ok(Spliced { edits, overlay })
}

/// How the null at `value` is written, which is to give way to a collection.
///
/// - in a block mapping, and for `null` itself: what stands between the colon and its end, without earlier lines
/// - otherwise in brackets, where another tool may have made JSON of it by the time it comes back: the same behind `{:`,
///   or `{` alone for a key without a colon
#[must_use]
pub fn gave_way(tree: &Tree<'_>, mapping: NodeId, value: NodeId) -> String {
    let lines = lines::Lines { text: tree.text() };
    let raw = lines.slice(lines.before_blanks(tree.outer_start(value)), tree.span(value).end);
    if tree.style(mapping) != yaml::Style::Flow || raw.trim_start() == "null" {
        return raw.to_owned();
    }
    let key = tree.entries(mapping).find(|(_, entry)| *entry == value).map(|(key, _)| tree.span(key).end);
    let has_colon = key.is_some_and(|end| lines.is_at(lines.next_content(end), b':'));
    if has_colon { format!("{{:{raw}") } else { "{".to_owned() }
}

/// True when the text ends, without a line break, in a block scalar whose value a line break would change: nothing can
/// stand behind it.
#[must_use]
pub(crate) fn ends_open(tree: &Tree<'_>) -> bool {
    edits::ends_open(tree, &lines::Lines { text: tree.text() })
}
