//! From a stream's bytes to the documents in it, without reading more of them than is needed.
//!
//! - [`documents()`]: where each document begins and ends
//! - [`glance()`]: documents that need not be read, since no pod template can be in them
//! - [`list`]: a long list, item by item

mod glance;
mod lines;
pub mod list;

pub(crate) use glance::is_empty;
pub use glance::{Glance, glance};
pub(crate) use yaml_json_patch::documents;
