//! Items put into a list that is read as a whole, or taken out of it, and the result read again: it must be the list that
//! was wanted.

use json_patch::PatchOperation;
use yaml_json_patch::edit::{self, Edit};
use yaml_json_patch::{self as yaml, Tree};
use yaml_json_patch::{Cache, SpliceError, splice, verify};

/// Why the permissions stay as they are.
#[derive(Debug, PartialEq)]
pub(super) enum Failure {
    /// They cannot be edited safely.
    Refused(SpliceError),
    /// Something else stands in the same document or item.
    Shared { offset: usize },
    /// The result is not what it should be: a mistake of ours, with the place in the text that it came from.
    Fault { message: String, offset: usize },
}

impl From<SpliceError> for Failure {
    fn from(uneditable: SpliceError) -> Self {
        Self::Refused(uneditable)
    }
}

/// The edits of a text in which the text of `tree` begins at `base`. `dress` may add comments to what is written.
pub(super) fn spliced(
    tree: &Tree<'_>,
    base: usize,
    operations: Vec<PatchOperation>,
    dress: impl Fn(&str) -> String,
) -> Result<Vec<Edit>, Failure> {
    let fault = |message: String| Failure::Fault { message, offset: base };
    let spliced = splice(tree, operations.into_iter().map(Into::into).collect(), &Cache::default())
        .map_err(|refused| refused.kind.at(refused.offset + base))?;
    let edits: Vec<Edit> =
        spliced.edits.iter().map(|edit| Edit::replace(edit.range.clone(), dress(&edit.text))).collect();
    let text = edit::apply(tree.text(), &edits);
    let new = yaml::read(&text).map_err(|error| fault(format!("the result is not valid YAML: {}", error.message)))?;
    verify(tree, &spliced, &new, &Cache::default()).map_err(|mismatch| fault(mismatch.to_string()))?;
    let place = |edit: Edit| Edit { range: edit.range.start + base..edit.range.end + base, ..edit };
    Ok(edits.into_iter().map(place).collect())
}
