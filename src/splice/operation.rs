//! RFC 6902 operations whose values are shared: the same container goes into every pod template of a stream, and copying
//! it would cost more than splicing it.

use json_patch::jsonptr::PointerBuf;
use json_patch::{
    AddOperation, CopyOperation, MoveOperation, PatchOperation, RemoveOperation, ReplaceOperation, TestOperation,
};
use serde_json::Value;
use std::rc::Rc;

/// As [`PatchOperation`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operation {
    Add {
        path: PointerBuf,
        value: Rc<Value>,
    },
    /// An `add` whose new member stands in the text in front of the member `of`, behind all others where there is none. To
    /// RFC 6902, members have no order.
    AddInFront {
        path: PointerBuf,
        value: Rc<Value>,
        of: &'static str,
    },
    Remove {
        path: PointerBuf,
    },
    Replace {
        path: PointerBuf,
        value: Rc<Value>,
    },
    Move {
        from: PointerBuf,
        path: PointerBuf,
    },
    Copy {
        from: PointerBuf,
        path: PointerBuf,
    },
    Test {
        path: PointerBuf,
        value: Rc<Value>,
    },
}

impl From<PatchOperation> for Operation {
    fn from(operation: PatchOperation) -> Self {
        match operation {
            PatchOperation::Add(AddOperation { path, value }) => Operation::Add { path, value: Rc::new(value) },
            PatchOperation::Remove(RemoveOperation { path }) => Operation::Remove { path },
            PatchOperation::Replace(ReplaceOperation { path, value }) => {
                Operation::Replace { path, value: Rc::new(value) }
            }
            PatchOperation::Move(MoveOperation { from, path }) => Operation::Move { from, path },
            PatchOperation::Copy(CopyOperation { from, path }) => Operation::Copy { from, path },
            PatchOperation::Test(TestOperation { path, value }) => Operation::Test { path, value: Rc::new(value) },
        }
    }
}

impl From<Operation> for PatchOperation {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Add { path, value } | Operation::AddInFront { path, value, .. } => {
                PatchOperation::Add(AddOperation { path, value: Rc::unwrap_or_clone(value) })
            }
            Operation::Remove { path } => PatchOperation::Remove(RemoveOperation { path }),
            Operation::Replace { path, value } => {
                PatchOperation::Replace(ReplaceOperation { path, value: Rc::unwrap_or_clone(value) })
            }
            Operation::Move { from, path } => PatchOperation::Move(MoveOperation { from, path }),
            Operation::Copy { from, path } => PatchOperation::Copy(CopyOperation { from, path }),
            Operation::Test { path, value } => {
                PatchOperation::Test(TestOperation { path, value: Rc::unwrap_or_clone(value) })
            }
        }
    }
}
