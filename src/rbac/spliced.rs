//! Items put into a list that is read as a whole, or taken out of it, and the result read again: it must be the list that
//! was wanted.

use crate::edit::{self, Edit};
use crate::splice::{Uneditable, splice};
use crate::yaml::{self, Tree};
use json_patch::{Patch, PatchOperation};

/// Why the permissions stay as they are.
#[derive(Debug, PartialEq)]
pub(super) enum Failure {
    /// They cannot be edited safely.
    Refused(Uneditable),
    /// Something else stands in the same document or item.
    Shared { offset: usize },
    /// The result is not what it should be: a mistake of ours, with the place in the text that it came from.
    Fault { message: String, offset: usize },
}

impl From<Uneditable> for Failure {
    fn from(uneditable: Uneditable) -> Self {
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
    let spliced = splice(tree, &Patch(operations), &[]).map_err(|refused| Uneditable {
        offset: refused.offset + base,
        again: None,
        ..refused
    })?;
    let edits: Vec<Edit> =
        spliced.edits.iter().map(|edit| Edit::replace(edit.range.clone(), dress(&edit.text))).collect();
    let text = edit::apply(tree.text(), &edits);
    let new = yaml::read(&text).map_err(|error| fault(format!("the result is not valid YAML: {}", error.message)))?;
    spliced.verify(tree, &new).map_err(|mismatch| fault(mismatch.to_string()))?;
    let place = |edit: Edit| Edit { range: edit.range.start + base..edit.range.end + base, ..edit };
    Ok(edits.into_iter().map(place).collect())
}
