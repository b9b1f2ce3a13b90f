//! YAML as text with places: which bytes are which node. Nothing here ever prints a document again.
//!
//! - [`tree`]: the located tree that every later stage walks
//! - [`scalar`]: what a scalar means to Kubernetes (YAML 1.1 as sigs.k8s.io/yaml reads it), and how a string may be spelled

pub mod scalar;
pub mod tree;

mod reference;

pub use tree::{Kind, NodeId, Style, Tree};

/// Why a text is not a YAML document, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
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
    reference::read(text)
}
