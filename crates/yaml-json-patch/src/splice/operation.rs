//! RFC 6902 operations with shared values: one container may go into every document of a stream, and copying it would cost
//! more than splicing it.

use crate::tree::Style;
use json_patch::jsonptr::PointerBuf;
use json_patch::{
    AddOperation, CopyOperation, MoveOperation, Patch, PatchOperation, RemoveOperation,
    ReplaceOperation, TestOperation,
};
use serde_json::Value;
use std::sync::Arc;

/// A [`PatchOperation`] whose value is shared, or one that RFC 6902 sees as `add` or `replace` but that says more about the text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Operation {
    /// Adds a member or an item, or replaces a member.
    Add {
        /// The place of the new value.
        path: PointerBuf,
        /// The new value.
        value: Arc<Value>,
    },
    /// Adds a member in front of the member `before` and the comment right above it, or after all others if there is none.
    ///
    /// ```text
    /// spec: 1     InsertBefore {path: /metadata, value: 2, before: "spec"}     metadata: 2
    ///                                                                          spec: 1
    /// ```
    InsertBefore {
        /// The place of the new member.
        path: PointerBuf,
        /// The new value.
        value: Arc<Value>,
        /// The key of the member that follows.
        before: String,
    },
    /// Adds a member right behind the member `after`, or after all others if there is none.
    InsertAfter {
        /// The place of the new member.
        path: PointerBuf,
        /// The new value.
        value: Arc<Value>,
        /// The key of the member before it.
        after: String,
    },
    /// Removes a member or an item.
    Remove {
        /// The place that goes.
        path: PointerBuf,
    },
    /// Replaces a value.
    Replace {
        /// The place of the value.
        path: PointerBuf,
        /// The new value.
        value: Arc<Value>,
    },
    /// Replaces the value of a member by a null, as [`null_source`](super::null_source) found it in a mapping of the same style.
    RestoreNull {
        /// The place of the value.
        path: PointerBuf,
        /// The text of the null.
        source: NullSource,
    },
    /// Removes a value and adds it elsewhere.
    Move {
        /// The place that goes.
        from: PointerBuf,
        /// The place of the new value.
        path: PointerBuf,
    },
    /// Adds a copy of a value.
    Copy {
        /// The place of the value.
        from: PointerBuf,
        /// The place of the new value.
        path: PointerBuf,
    },
    /// Fails unless the value is this one.
    Test {
        /// The place of the value.
        path: PointerBuf,
        /// The expected value.
        value: Arc<Value>,
    },
}

impl Operation {
    /// Returns the place of the value that the operation moves or copies.
    pub(crate) fn source_path(&self) -> Option<&PointerBuf> {
        match self {
            Operation::Move { from, .. } | Operation::Copy { from, .. } => Some(from),
            _ => None,
        }
    }

    /// Returns the place of the value that the operation adds, removes, replaces or tests.
    #[must_use]
    pub fn path(&self) -> &PointerBuf {
        match self {
            Operation::Add { path, .. }
            | Operation::Remove { path }
            | Operation::Replace { path, .. }
            | Operation::Move { path, .. }
            | Operation::Copy { path, .. }
            | Operation::Test { path, .. }
            | Operation::InsertBefore { path, .. }
            | Operation::InsertAfter { path, .. } => path,
            Operation::RestoreNull { path, .. } => path,
        }
    }
}

/// The text of a null in a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NullSource {
    /// In a block mapping: the text between the colon and the end of the null, such as ` null`; it may be empty.
    Block(String),
    /// In brackets: the same.
    Flow(String),
    /// In brackets: a key without a colon, as in `{key}`.
    FlowKey,
}

impl NullSource {
    /// Returns the style of the mapping.
    #[must_use]
    pub fn style(&self) -> Style {
        match self {
            NullSource::Block(_) => Style::Block,
            NullSource::Flow(_) | NullSource::FlowKey => Style::Flow,
        }
    }
}

/// The way with a value to be changed that has an anchor, and aliases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnchorPolicy {
    /// Nothing: it is an error ([`ErrorKind::Anchor`](crate::ErrorKind::Anchor), [`ErrorKind::Alias`](crate::ErrorKind::Alias)).
    #[default]
    Refuse,
    /// Change it, and with it what the aliases stand for: a path leads through an alias to the value with the anchor. What aliases
    /// need is not removed.
    Follow,
}

/// The operations of a patch, in their order.
#[must_use]
pub fn operations(patch: &Patch) -> Vec<Operation> {
    patch.0.iter().cloned().map(Operation::from).collect()
}

impl From<PatchOperation> for Operation {
    fn from(operation: PatchOperation) -> Self {
        match operation {
            PatchOperation::Add(AddOperation { path, value }) => Operation::Add {
                path,
                value: Arc::new(value),
            },
            PatchOperation::Remove(RemoveOperation { path }) => Operation::Remove { path },
            PatchOperation::Replace(ReplaceOperation { path, value }) => Operation::Replace {
                path,
                value: Arc::new(value),
            },
            PatchOperation::Move(MoveOperation { from, path }) => Operation::Move { from, path },
            PatchOperation::Copy(CopyOperation { from, path }) => Operation::Copy { from, path },
            PatchOperation::Test(TestOperation { path, value }) => Operation::Test {
                path,
                value: Arc::new(value),
            },
        }
    }
}
