//! A patch, applied and checked: [`apply`] and [`edits`].

use crate::edit::{self, Edit};
use crate::read::read;
use crate::splice::{Cache, SpliceError, operations, splice};
use crate::tree::YamlError;
use crate::verify::{Mismatch, verify};
use json_patch::Patch;

/// Why a text was not patched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no YAML document.
    #[error("not valid YAML: {0}")]
    Yaml(#[from] YamlError),
    /// The text cannot be edited safely, or the patch does not fit it: [`ErrorKind::is_fault_of_patch`](crate::ErrorKind::is_fault_of_patch) says which.
    #[error(transparent)]
    Splice(#[from] SpliceError),
    /// The edited text is not what it should be; nothing of it may be used.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
}

/// Applies a patch to the text of one document.
///
/// All operations are carried out, in their order, or none. The result is read again and compared with what RFC 6902 says.
///
/// # Errors
/// - the text is not valid YAML, or holds more than one document: [`Error::Yaml`]
/// - an operation names a place that the document does not have, a `test` finds another value, or a `move` goes into itself:
///   [`Error::Splice`]
/// - the text cannot be edited safely; the [`ErrorKind`](crate::ErrorKind) says what stands there and what to do: [`Error::Splice`]
/// - the result is not what it should be, which is a defect of this crate: [`Error::Mismatch`]
pub fn apply(text: &str, patch: &Patch) -> Result<String, Error> {
    Ok(checked(text, patch)?.1)
}

/// As [`apply`], but gives the edits: for editors, diffs, and texts that are part of a larger one.
///
/// # Errors
/// As [`apply`].
pub fn edits(text: &str, patch: &Patch) -> Result<Vec<Edit>, Error> {
    Ok(checked(text, patch)?.0)
}

/// The edits, and the text that they give.
fn checked(text: &str, patch: &Patch) -> Result<(Vec<Edit>, String), Error> {
    let (tree, cache) = (read(text)?, Cache::default());
    let spliced = splice(&tree, operations(patch), &cache)?;
    let patched = edit::apply(text, &spliced.edits);
    verify(&tree, &spliced, &read(&patched)?, &cache)?;
    Ok((spliced.edits, patched))
}
