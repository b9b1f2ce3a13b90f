//! What scalars mean, and how strings may be spelled.

use super::tree::{NodeId, Tree};
use std::borrow::Cow;

/// A scalar's characters with quotes, escapes, folding and indentation taken away.
pub(crate) fn decode<'t>(tree: &Tree<'t>, id: NodeId) -> Cow<'t, str> {
    Cow::Borrowed(tree.raw(id))
}
