//! Applies operations to a list and verifies the result.

use crate::report::{Finding, Reason};
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

impl RbacError {
    pub(super) fn finding(self) -> Finding {
        let (why, help, offset) = match self {
            Self::NotExact { why, help, offset } => (why.to_owned(), help, offset),
            Self::Uneditable(error) => {
                let why = format!("{}: {error}", error.kind.word());
                (why, error.kind.help(), error.offset)
            }
            Self::VerifyFailed { message, offset } => {
                return Finding::verify_failed(message, offset);
            }
        };
        let message = format!("cannot update the RBAC objects of the agents: {why}");
        Finding::new(Reason::Uneditable, message, offset, "").with_help(help)
    }
}

impl From<SpliceError> for RbacError {
    fn from(uneditable: SpliceError) -> Self {
        Self::Uneditable(uneditable)
    }
}

/// Returns the edits for operations on a list. `with_comments` may add comments to new text.
pub(super) fn apply(
    tree: &Tree<'_>,
    operations: Vec<PatchOperation>,
    with_comments: impl Fn(&str) -> String,
) -> Result<Vec<Edit>, RbacError> {
    let failed = |message: String| RbacError::VerifyFailed {
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
        .map(|edit| Edit::replace(edit.range.clone(), with_comments(&edit.text)))
        .collect();
    let text = edit::apply(tree.text(), &edits);
    let new = match yaml::read(&text) {
        Ok(new) => new,
        Err(error) => {
            let message = format!("the edited text is not valid YAML: {}", error.message);
            return Err(failed(message));
        }
    };
    match verify(tree, &spliced, &new, &Cache::default()) {
        Ok(()) => Ok(tree.edits_of_source(edits)),
        Err(mismatch) => Err(failed(mismatch.to_string())),
    }
}
