//! From text to the located [`Tree`]: the fast reader where it can, else the complete one.

mod complete;
mod error;
mod fast;
mod scanner;
mod unindented_quotes;

#[cfg(feature = "kubernetes")]
pub use fast::read_json;
pub(crate) use fast::{Fragment, Reuse, Unchanged};

use crate::tree::{Buffer, Tree, YamlError};
use std::ops::Range;

/// Reads one document (its text may begin with a byte order mark, directives and `---`).
///
/// ```
/// let tree = yaml_json_patch::read("backup:\n  at: '03:00' # UTC\n")?;
/// let backup = tree.root().and_then(|root| tree.get(root, "backup")).unwrap();
/// let at = tree.get(backup, "at").unwrap();
/// assert_eq!((tree.raw(at), tree.place(at)), ("'03:00'", 14..21));
/// assert_eq!(tree.scalar(at).as_deref(), Some("03:00"));
/// # Ok::<(), yaml_json_patch::YamlError>(())
/// ```
///
/// # Errors
/// When the text is not valid YAML, holds more than one document, or nests deeper than 255 levels.
pub fn read(text: &str) -> Result<Tree<'_>, YamlError> {
    read_into(text, &mut Buffer::default())
}

/// Reads like [`read`], in memory that [`Tree::recycle`] has given back.
///
/// # Errors
/// As [`read`].
pub fn read_into<'t>(text: &'t str, buffer: &mut Buffer) -> Result<Tree<'t>, YamlError> {
    read_again(text, None, buffer)
}

/// Reads like [`read_into`], and copies what was read before. The tree is the same.
pub(crate) fn read_again<'t>(
    text: &'t str,
    reuse: Option<&Reuse<'_>>,
    buffer: &mut Buffer,
) -> Result<Tree<'t>, YamlError> {
    match fast::read_into(text, reuse, buffer) {
        Some(tree) => Ok(tree),
        None => complete::read_into(text, std::mem::take(&mut buffer.nodes)),
    }
}

/// Reads a piece of a text, such as one of its [`documents`](crate::documents()), in memory that [`Tree::recycle`] has given back. Its
/// places, and the offset of an error, are those of the text.
///
/// # Errors
/// As [`read`].
pub fn read_piece<'t>(
    source: &'t str,
    piece: Range<usize>,
    buffer: &mut Buffer,
) -> Result<Tree<'t>, YamlError> {
    let start = piece.start;
    match read_into(source.get(piece).unwrap_or_default(), buffer) {
        Ok(tree) => Ok(Tree {
            source,
            start,
            ..tree
        }),
        Err(error) => Err(YamlError::new(start + error.offset, error.message)),
    }
}

/// Reads with the fast reader alone: the same tree as [`read`], or none where it leaves the text to the complete reader.
#[cfg(any(test, feature = "unstable-readers"))]
#[must_use]
pub fn read_fast(text: &str) -> Option<Tree<'_>> {
    fast::read_into(text, None, &mut Buffer::default())
}

/// Reads with the complete reader alone: the same tree as [`read`], some ten times slower.
///
/// # Errors
/// As [`read`].
#[cfg(any(test, feature = "unstable-readers"))]
pub fn read_complete(text: &str) -> Result<Tree<'_>, YamlError> {
    complete::read_into(text, Vec::new())
}
