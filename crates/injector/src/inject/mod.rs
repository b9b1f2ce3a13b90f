//! The pipeline from one text to edits and outcomes.
//!
//! - `plan`: what is to change in one piece of text, a document or a list's item, and why. It writes nothing.
//! - `apply`: the edits that the plan takes, spliced and verified
//! - `pipeline`: all pieces of a text, in batches
//! - `in_order`: batches on several threads
//!
//! [`engine::inject`](crate::engine::inject) calls it; writing is the caller's part.

mod apply;
mod in_order;
mod injection;
pub mod kind_counts;
pub mod outcome;
mod pipeline;
mod plan;
pub(crate) mod refusal;
pub mod row;
pub mod severity;
mod template_form;
pub mod totals;
pub mod unknown_kind;

pub use injection::Injection;
pub use pipeline::{Input, SharedWork, asks_for_nothing, inject_templates};
