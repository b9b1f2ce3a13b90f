//! Applies operations to a list and verifies the result.

use json_patch::PatchOperation;
use yaml_json_patch::edit::{self, Edit};
use yaml_json_patch::{self as yaml, Cache, SpliceError, Tree, splice, verify};

/// The reason why the permissions stay unchanged.
#[derive(Debug, PartialEq)]
pub(super) enum RbacError {
    /// The text cannot be edited safely.
    Uneditable(SpliceError),
    /// An object could not be removed exactly, now or later.
    NotExact {
        why: &'static str,
        help: &'static str,
        offset: usize,
    },
    /// The result is wrong, which is a bug of this program; with the offset of its cause.
    VerifyFailed { message: String, offset: usize },
}

impl From<SpliceError> for RbacError {
    fn from(uneditable: SpliceError) -> Self {
        Self::Uneditable(uneditable)
    }
}

/// The edits for the operations on `tree`. `dress` may add comments to new text.
pub(super) fn apply(
    tree: &Tree<'_>,
    operations: Vec<PatchOperation>,
    dress: impl Fn(&str) -> String,
) -> Result<Vec<Edit>, RbacError> {
    let fault = |message: String| RbacError::VerifyFailed {
        message,
        offset: tree.start(),
    };
    let spliced = splice(
        tree,
        operations.into_iter().map(Into::into).collect(),
        &Cache::default(),
    )?;
    let edits: Vec<Edit> = spliced
        .edits
        .iter()
        .map(|edit| Edit::replace(edit.range.clone(), dress(&edit.text)))
        .collect();
    let text = edit::apply(tree.text(), &edits);
    let new = yaml::read(&text).map_err(|error| {
        fault(format!(
            "the edited text is not valid YAML: {}",
            error.message
        ))
    })?;
    verify(tree, &spliced, &new, &Cache::default())
        .map_err(|mismatch| fault(mismatch.to_string()))?;
    Ok(tree.edits_of_source(edits))
}
