//! From a stream's bytes to the documents in it, without reading more of them than is needed.
//!
//! - [`documents()`]: where each document begins and ends

mod documents;

pub use documents::{Document, Documents, documents};
