//! A patch, applied and checked: [`apply`] and [`edits`].

use crate::edit::{self, Edit};
use crate::read::read;
use crate::splice::{Cache, SpliceError, operations, splice};
use crate::tree::YamlError;
use crate::verify::{Mismatch, verify};
use json_patch::Patch;

/// A reason why a text was not patched, with the place ([`Error::offset`]).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no YAML document.
    #[error("not valid YAML: {0}")]
    Yaml(#[from] YamlError),
    /// The text cannot be edited safely, or the patch does not fit it;
    /// [`ErrorKind::is_fault_of_patch`](crate::ErrorKind::is_fault_of_patch) tells the two apart.
    #[error(transparent)]
    Splice(#[from] SpliceError),
    /// The edited text is not what it should be; nothing of it may be used.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
}

impl Error {
    /// Returns the byte offset of the place: into the text that was given, but for [`Error::Mismatch`] into the edited one.
    #[must_use]
    pub fn offset(&self) -> usize {
        match self {
            Error::Yaml(error) => error.offset,
            Error::Splice(error) => error.offset,
            Error::Mismatch(error) => error.offset,
        }
    }

    /// Advises what to do next.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Error::Yaml(_) => "correct the document",
            Error::Splice(error) => error.kind.help(),
            Error::Mismatch(_) => {
                "this is a bug in yaml-json-patch; please report it with the document and the patch"
            }
        }
    }
}

/// Applies a patch to the text of one document.
///
/// All operations are carried out, in their order, or none. The result is read again and compared with what RFC 6902 says.
///
/// A path names keys as YAML 1.1 reads them, and else as they are written: both `/true` and `/on` name the member `on: push`.
/// RFC 6902 knows only the first of them, so that its `add` at `/on` would add a member; here it replaces the value.
///
/// ```
/// use yaml_json_patch::{Error, ErrorKind, Patch, apply};
///
/// let patch: Patch = serde_json::from_str(r#"[{"op": "add", "path": "/hosts/-", "value": "db3"}]"#)?;
/// assert_eq!(apply("hosts: [db1, db2] # both\n", &patch)?, "hosts: [db1, db2, db3] # both\n");
///
/// let shared = "standby: &all [db1]\nhosts: *all\n";
/// let error = apply(shared, &patch).unwrap_err();
/// assert!(matches!(&error, Error::Splice(error) if error.kind == ErrorKind::Alias));
/// assert_eq!(error.help(), "replace the alias `*name` with its value");
/// assert_eq!(&shared[error.offset()..], "*all\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - the text is not valid YAML, or holds more than one document: [`Error::Yaml`]
/// - an operation names a place that the document does not have, a `test` finds another value, or a `move` goes into itself:
///   [`Error::Splice`]
/// - the text cannot be edited safely; the [`ErrorKind`](crate::ErrorKind) says why and what to do: [`Error::Splice`]
/// - the result is not what it should be, which is a defect of this crate: [`Error::Mismatch`]
pub fn apply(text: &str, patch: &Patch) -> Result<String, Error> {
    Ok(checked(text, patch)?.1)
}

/// Returns the edits that [`apply`] makes: for editors, diffs, and texts that are part of a larger one. They are sorted and do
/// not overlap; offsets are bytes of `text`.
///
/// ```
/// use yaml_json_patch::{Patch, edit, edits};
///
/// let text = "keep: 7 days # as the contract says\n";
/// let patch: Patch = serde_json::from_str(r#"[{"op": "replace", "path": "/keep", "value": "14 days"}]"#)?;
/// let edits = edits(text, &patch)?;
/// assert_eq!((edits[0].range.clone(), &*edits[0].text), (6..12, "14 days"));
/// assert_eq!(edit::apply(text, &edits), "keep: 14 days # as the contract says\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    let new = read(&patched).map_err(|error| Mismatch {
        offset: error.offset,
    })?;
    verify(&tree, &spliced, &new, &cache)?;
    Ok((spliced.edits, patched))
}
