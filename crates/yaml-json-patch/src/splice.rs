//! From JSON Patch operations to edits of the text: [`splice`](crate::splice()).
//!
//! The operations are applied to an overlay of the document. One walk along the changes then writes the edits, in the style
//! that surrounds them. Every other byte stays: comments, quotes, blank lines, line ends. A place that cannot be edited
//! without guessing is an error ([`ErrorKind`]); nothing is ever printed anew.
//!
//! New text is put where a removal is the exact inverse of an addition:
//! - items and members follow the last one, its comment, and the comments that are indented deeper, or were before they were
//!   commented out at the very left;
//!   `Operation::InsertBefore` alone puts it in front of a member and of the comment right above it, below the head of a section
//! - comments at or left of a list's dashes or a mapping's keys stay with what follows them; so do those above the first item.
//!   Only `#- x` stays with the list above a key in its column
//! - a removal takes whole lines, and no comment of its neighbours; that of an [`Editor`](crate::Editor) takes the element's own
//! - lines below its key replace a null, and `{}` or `[]` after one blank in a block mapping; lines replace a document of `{}` that is
//!   no JSON; elsewhere these are filled in place
//!
//! ```text
//! a:            add /a/-      a:
//! - x # why     remove /a/1   - x # why
//!   # deeper    ----------->    # deeper
//! # below       <-----------  - y
//! b: 1                        # below
//!                             b: 1
//!
//! a: [] # why   add /a/-      a: # why
//!                             - y
//! a: {b: 1}     add /a/c      a: {b: 1, c: 2}
//! a: # why      add /a        a: # why
//!                               b: 1
//! ```
//!
//! Comments inside a value that the patch replaces or removes are lost.

mod apply;
mod batch;
mod blank_lines;
mod block;
mod block_text;
mod brackets;
mod cache;
mod carry;
mod comment;
mod content;
mod edits;
mod error;
mod flow;
pub(crate) mod key;
mod layout;
mod lines;
pub(crate) mod members;
mod null;
mod operation;
pub(crate) mod overlay;
mod plan;
mod quotes;
mod reading;
mod render;
mod replace;
mod style;
mod styled;
mod words;
mod writer;

pub use cache::Cache;
pub use comment::CommentPlace;
pub(crate) use comment::{Comment, comment_at};
pub use error::{ErrorKind, FailedOperation, SpliceError};
pub(crate) use lines::Lines;
pub use null::null_source;
pub use operation::NullSource;
pub use operation::{AnchorPolicy, Operation, operations};
pub(crate) use reading::{node_at, nowhere, source_at, value_at};

use crate::edit::Edit;
use crate::tree::Tree;
use crate::tree::{NodeId, Style};
pub(crate) use apply::{Manner, Operations, Patched};
pub(crate) use content::Carrying;
use overlay::Overlay;
use writer::Writer;

/// Operations, turned into edits of the text. Nothing has checked them yet: see [`verify`](crate::verify()).
#[derive(Debug, Clone, PartialEq)]
pub struct Spliced {
    /// Sorted, without overlap; offsets into [`Tree::text`], for [`Tree::edits_of_source`].
    pub edits: Vec<Edit>,
    pub(crate) overlay: Overlay,
}

/// Carries out the operations on the document, in their order.
pub(crate) fn patched(tree: &Tree<'_>, operations: Operations<'_>) -> Result<Patched, SpliceError> {
    apply::apply(tree, overlay::unchanged(tree), operations).map_err(|error| error.in_source(tree))
}

/// Turns the patched document into edits.
pub(crate) fn write(
    tree: &Tree<'_>,
    patched: Patched,
    carrying: Carrying,
    cache: &Cache,
) -> Result<Spliced, SpliceError> {
    let Patched {
        overlay,
        around,
        alone,
        ..
    } = patched;
    let mut writer = Writer::new(tree, cache, carrying);
    (writer.around, writer.alone) = (around, alone);
    let edits = writer.document(&overlay).map_err(|errors| {
        errors
            .into_iter()
            .next()
            // There always is one.
            .unwrap_or(ErrorKind::Layout.at(0))
            .in_source(tree)
    })?;
    Ok(Spliced { edits, overlay })
}

/// One of several reasons why patches cannot be carried out together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Uneditable {
    /// The index of the patch whose operation does not fit; none where the place of the error tells.
    pub patch: Option<usize>,
    /// The reason.
    pub error: SpliceError,
}

/// Returns the reasons why [`splice`](crate::splice()) fails for patches that touch different parts of a document, in about the time that it
/// takes. Not always all of them: if some are about operations, the layout of the text has not been looked at yet.
#[must_use]
pub fn find_uneditable(
    tree: &Tree<'_>,
    patches: Vec<Vec<Operation>>,
    cache: &Cache,
) -> Vec<Uneditable> {
    let mut overlay = overlay::unchanged(tree);
    let mut found = Vec::new();
    for (index, operations) in patches.into_iter().enumerate() {
        match apply::apply(tree, overlay.clone(), Operations::together(&operations)) {
            Ok(patched) => overlay = patched.overlay,
            Err(error) => found.push(Uneditable {
                patch: Some(index),
                error: error.in_source(tree),
            }),
        }
    }
    if found.is_empty()
        && let Err(errors) = Writer::new(tree, cache, Carrying::Values).document(&overlay)
    {
        found.extend(errors.into_iter().map(|error| Uneditable {
            patch: None,
            error: error.in_source(tree),
        }));
    }
    found
}

/// Returns the place for the lines of a new last member of a block mapping: after the last member and its comments.
///
/// The place is the beginning of a line, or the end of a text that ends without a line break.
///
/// # Errors
/// When lines cannot be added there safely.
pub fn place_of_new_member(tree: &Tree<'_>, mapping: NodeId) -> Result<usize, SpliceError> {
    let lines = lines::Lines { text: tree.text() };
    let elements = plan::members_of(tree, &lines, mapping);
    let (Some(first), Some(last)) = (elements.first(), elements.last()) else {
        return Err(ErrorKind::Layout.at(tree.span(mapping).start));
    };
    if tree.style(mapping) == Style::Flow || tree.has_explicit_key(mapping) {
        return Err(ErrorKind::Layout.at(first.start));
    }
    let column = lines.column(first.start)?;
    let place = lines.below_comments(lines.below(last.end)?, column)?;
    if place > lines.text.len() && edits::ends_open(tree, &lines) {
        return Err(ErrorKind::OpenBlockScalar.at(last.start));
    }
    Ok(place.min(lines.text.len()))
}

/// True when the text ends, without a line break, in a block scalar whose value a line break would change. Nothing can then
/// be appended to the text.
#[must_use]
pub fn ends_in_open_block_scalar(tree: &Tree<'_>) -> bool {
    edits::ends_open(tree, &lines::Lines { text: tree.text() })
}
