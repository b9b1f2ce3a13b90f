//! YAML as text with places: which bytes are which node. Nothing here ever prints a document again.
//!
//! - [`tree`]: the located tree that every later stage walks
//! - [`resolve()`]: what a scalar means to Kubernetes (YAML 1.1 as sigs.k8s.io/yaml reads it); [`to_json`]: what a whole
//!   node means
//! - [`spell()`]: how a string is written so that every reader gets it back

mod block;
mod culprit;
mod flow;
mod json;
mod outdented;
mod plain;
mod reference;
mod resolve;
mod scalar;
mod scan;
mod scan_error;
mod spell;
mod tabs;
mod tag;
pub(crate) mod tree;
mod unreadable;

pub(crate) use json::is_merge;
pub use json::to_json;
pub use plain::read as read_plain;
pub use reference::read as read_reference;
pub(crate) use resolve::is_word;
pub use resolve::{Resolved, resolve};
pub(crate) use spell::{Where, spell};
pub(crate) use tabs::misplaced as misplaced_tabs;
pub use tree::{Buffer, Kind, NodeId, Style, Tree};
pub(crate) use unreadable::unreadable;

/// Why a text is not a YAML document, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct YamlError {
    /// Byte offset into the text that was read.
    pub offset: usize,
    /// What is wrong, lower case, without a full stop.
    pub message: String,
}

/// Reads one document (its text may begin with a byte order mark, directives and `---`).
///
/// # Errors
/// When the text is not valid YAML, holds more than one document, or nests deeper than 255 levels.
pub fn read(text: &str) -> Result<Tree<'_>, YamlError> {
    read_into(text, &mut Buffer::default())
}

/// As [`read`], in memory that [`Tree::recycle`] has given back.
///
/// # Errors
/// As [`read`].
pub fn read_into<'t>(text: &'t str, buffer: &mut Buffer) -> Result<Tree<'t>, YamlError> {
    match plain::read_into(text, buffer) {
        Some(tree) => Ok(tree),
        None => reference::read_into(text, std::mem::take(&mut buffer.nodes)),
    }
}
