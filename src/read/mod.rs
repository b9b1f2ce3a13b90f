//! From a stream's bytes to the documents in it, without reading more of them than is needed.
//!
//! - [`documents()`]: where each document begins and ends
//! - [`glance()`]: documents that need not be read, since no pod template can be in them
//! - [`list`]: a long list, item by item

mod documents;
mod glance;
mod lines;
pub mod list;

pub use documents::{Document, Documents, documents};
pub(crate) use glance::is_empty;
pub use glance::{Glance, glance};
