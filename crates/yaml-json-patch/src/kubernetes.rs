//! Shown by the feature `kubernetes`: the tree of a document with its places, and the steps of [`apply`](crate::apply()), for
//! streams of thousands of documents that get one value.

/// The crate of [`Patch`](crate::Patch).
pub use json_patch;

pub use crate::json::{is_merge_key, is_plainly_json, to_json};
pub use crate::patch::{splice, splice_in};
pub use crate::quote::{Context, quote};
pub use crate::read::{read, read_into, read_json, read_piece};
pub use crate::splice::{
    Cache, NullSource, Operation, Spliced, Uneditable, ends_in_open_block_scalar, find_uneditable,
    null_source, operations, place_of_new_member,
};
pub use crate::tree::{Buffer, Kind, NodeId, Style, Tree};
pub use crate::value::{ScalarValue, scalar_value};
pub use crate::verify::verify;
