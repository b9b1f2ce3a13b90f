//! Applies a JSON Patch ([RFC 6902]) to the text of a YAML or JSON document and keeps everything else as it is, byte for byte:
//! comments, quotes, key order, blank lines, line ends. For any YAML; nothing here knows Mackerel or Kubernetes' objects.
//!
//! ```
//! use mackerel_agent_injector::patcher::{Patch, apply};
//!
//! let settings = "\
//! ## What the night shift may change.
//! backup:
//!   at: '03:00'
//!   keep: 7 days   # as the contract says
//!   mode: 0640
//!   hosts: [db1, db2]
//!
//! alerts:
//! - mail: ops@example.com
//! ";
//! let patch: Patch = serde_json::from_str(
//!     r#"[
//!         {"op": "test", "path": "/backup/mode", "value": 416},
//!         {"op": "replace", "path": "/backup/keep", "value": "14 days"},
//!         {"op": "add", "path": "/backup/hosts/-", "value": "db3"},
//!         {"op": "add", "path": "/alerts/-", "value": {"mail": "night@example.com", "weekends": true}}
//!     ]"#,
//! )?;
//! assert_eq!(
//!     apply(settings, &patch)?,
//!     "\
//! ## What the night shift may change.
//! backup:
//!   at: '03:00'
//!   keep: 14 days   # as the contract says
//!   mode: 0640
//!   hosts: [db1, db2, db3]
//!
//! alerts:
//! - mail: ops@example.com
//! - mail: night@example.com
//!   weekends: true
//! "
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! New text is written in the style that surrounds it: flush or indented lists, brackets or lines, the file's line ends. A
//! removal is the inverse of an addition: what was added by a patch, and is removed by another one, leaves no trace.
//!
//! What is not kept: comments inside a value that the patch replaces or removes. What cannot be edited without guessing,
//! such as a place that is reached through an alias, is refused by name ([`Refusal`]) and never printed anew.
//!
//! Scalars mean what they mean to Kubernetes, whose reader follows YAML 1.1: to a `test` operation `on` is `true` and `0640`
//! is 416. Strings that are written are such that readers of YAML 1.1 and 1.2 agree on them.
//!
//! [RFC 6902]: https://www.rfc-editor.org/rfc/rfc6902

/// The operations: the type of the crate [`json_patch`], in the major version that kube's crates use too. Read from JSON by
/// `serde_json`, or put together from that crate's operations.
pub use json_patch::Patch;

pub use crate::splice::{Refusal, Uneditable};
pub use crate::verify::Mismatch;
pub use crate::yaml::YamlError;

use crate::edit::{self, Edit};
use crate::splice::splice;
use crate::yaml;

/// Why a text was not patched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The text is no YAML document.
    #[error("not valid YAML: {0}")]
    Yaml(#[from] YamlError),
    /// The text cannot be edited safely, or the patch does not fit it: [`Refusal::is_fault_of_patch`] says which.
    #[error(transparent)]
    Uneditable(#[from] Uneditable),
    /// The edited text is not what it should be; nothing of it may be used.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
}

/// Applies a patch to the text of one document.
///
/// All operations are carried out, in their order, or none. The result is read again and compared with what RFC 6902 says.
///
/// # Errors
/// - the text is not valid YAML, or holds more than one document: [`ApplyError::Yaml`]
/// - an operation names a place that the document does not have, a `test` finds another value, or a `move` goes into itself:
///   [`ApplyError::Uneditable`]
/// - the text cannot be edited safely; the [`Refusal`] says what stands there and what to do: [`ApplyError::Uneditable`]
/// - the result is not what it should be, which is a defect of this crate: [`ApplyError::Mismatch`]
pub fn apply(text: &str, patch: &Patch) -> Result<String, ApplyError> {
    Ok(checked(text, patch)?.1)
}

/// As [`apply`], but gives the edits: for editors, diffs, and texts that are part of a larger one.
///
/// # Errors
/// As [`apply`].
pub fn edits(text: &str, patch: &Patch) -> Result<Vec<Edit>, ApplyError> {
    Ok(checked(text, patch)?.0)
}

/// The edits, and the text that they give.
fn checked(text: &str, patch: &Patch) -> Result<(Vec<Edit>, String), ApplyError> {
    let tree = yaml::read(text)?;
    let spliced = splice(&tree, patch, &[])?;
    let patched = edit::apply(text, &spliced.edits);
    spliced.verify(&tree, &yaml::read(&patched)?)?;
    Ok((spliced.edits, patched))
}
