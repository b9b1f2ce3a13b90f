//! RFC 6902 operations for one pod template, built from the plan, never by comparing documents.

use crate::agent::record::{Parent, ReplacedParent};
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, ReplaceOperation};
use manifest::{ContainerList, PodTemplate};
use report::{Finding, Reason};
use serde_json::Value;
use std::sync::Arc;
use yaml_json_patch::{
    Kind, NodeId, NullSource, Operation, ScalarValue, Tree, null_source, scalar_value,
};

/// Operations on one template.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TemplatePatch {
    /// Each with the collection that it changes, if that was there. Pointers from the document's root.
    pub operations: Vec<(Operation, Option<NodeId>)>,
}

impl TemplatePatch {
    /// Returns these operations followed by the others.
    pub fn then(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.operations.extend(other.operations.iter().cloned());
        both
    }

    /// Makes the pointers relative to the resource at `prefix`.
    pub fn seen_from(self, prefix: &str) -> Patch {
        let mut operations = Vec::with_capacity(self.operations.len());
        for (operation, _) in self.operations {
            let whole = operation.path();
            let path = whole
                .as_str()
                .strip_prefix(prefix)
                .map_or_else(|| whole.clone(), pointer);
            operations.push(match operation {
                Operation::Add { value, .. } | Operation::InsertBefore { value, .. } => {
                    let value = Arc::unwrap_or_clone(value);
                    PatchOperation::Add(AddOperation { path, value })
                }
                Operation::Replace { value, .. } => {
                    let value = Arc::unwrap_or_clone(value);
                    PatchOperation::Replace(ReplaceOperation { path, value })
                }
                Operation::RestoreNull { .. } => {
                    let value = Value::Null;
                    PatchOperation::Replace(ReplaceOperation { path, value })
                }
                Operation::Remove { .. } => PatchOperation::Remove(RemoveOperation { path }),
                // Nothing is moved, copied or tested.
                _ => continue,
            });
        }
        Patch(operations)
    }
}

/// The place of a new agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentPlace {
    /// Behind the other containers of its list.
    Last,
    /// That of an adopted agent, which it replaces, or the end of the other list.
    Adopted { list: ContainerList, index: usize },
    /// Before the init container that waits, which is at this index.
    BeforeWaitFor { index: usize },
}

/// A change that cannot be made safely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UneditableChange {
    pub message: String,
    pub help: String,
    /// Byte offset in the source.
    pub offset: usize,
}

impl From<UneditableChange> for Finding {
    fn from(change: UneditableChange) -> Self {
        Finding::new(Reason::Uneditable, change.message, change.offset, "").with_help(change.help)
    }
}

/// A template that operations are made for.
#[derive(Clone, Copy)]
pub struct PatchTarget<'a, 't> {
    pub tree: &'a Tree<'t>,
    /// The template without an existing injection.
    pub template: &'a PodTemplate,
    /// JSON Pointer from the document's root to the template.
    pub path: &'a str,
}

/// The state of a mapping or list that must exist before something is added to it.
pub(super) enum ParentState {
    Collection,
    /// A null, or an empty mapping or list that lines will replace.
    Replaced(ReplacedParent),
    Missing,
}

impl ParentState {
    /// Returns true if members can be added one by one.
    pub(super) fn takes_members(&self) -> bool {
        matches!(
            self,
            ParentState::Collection | ParentState::Replaced(ReplacedParent::Empty)
        )
    }
}

impl PatchTarget<'_, '_> {
    /// Returns the node of a parent, if its key exists.
    pub(super) fn node(self, parent: Parent) -> Option<NodeId> {
        match parent {
            Parent::Metadata => self.template.metadata,
            Parent::Annotations => self.child(self.template.metadata, "annotations"),
            Parent::InitContainers => self.child(self.template.spec, "initContainers"),
            Parent::Volumes => self.child(self.template.spec, "volumes"),
        }
    }

    /// Returns the node that has a parent as a field.
    pub(super) fn holder(self, parent: Parent) -> Option<NodeId> {
        match parent {
            Parent::Metadata => Some(self.template.node),
            Parent::Annotations => self.template.metadata,
            Parent::InitContainers | Parent::Volumes => self.template.spec,
        }
    }

    /// Returns the node that has what is at a pointer from the template.
    fn holder_at(self, below: &str) -> Option<NodeId> {
        let (path, _) = below.rsplit_once('/')?;
        let mut keys = path.split('/').skip(1);
        let field = match keys.next() {
            None => Some(self.template.node),
            Some("metadata") => self.template.metadata,
            Some(_) => self.template.spec,
        };
        keys.fold(field, |node, key| self.child(node, key))
    }

    pub(super) fn child(self, holder: Option<NodeId>, key: &str) -> Option<NodeId> {
        self.tree.get(self.tree.alias_target(holder?), key)
    }

    /// Returns the state of a parent.
    pub(super) fn state(self, parent: Parent) -> Result<ParentState, UneditableChange> {
        let (kind, name) = match parent {
            Parent::Metadata => (Kind::Mapping, "metadata"),
            Parent::Annotations => (Kind::Mapping, "metadata.annotations"),
            Parent::InitContainers => (Kind::Sequence, "initContainers"),
            Parent::Volumes => (Kind::Sequence, "volumes"),
        };
        self.state_of(self.holder(parent), self.node(parent), kind, name)
    }

    /// Returns the state of `containers`.
    pub(super) fn containers_state(self) -> Result<ParentState, UneditableChange> {
        let holder = self.template.spec;
        let node = self.child(holder, "containers");
        self.state_of(holder, node, Kind::Sequence, "containers")
    }

    /// Returns the state of `node`, a field of `holder`.
    fn state_of(
        self,
        holder: Option<NodeId>,
        node: Option<NodeId>,
        kind: Kind,
        name: &'static str,
    ) -> Result<ParentState, UneditableChange> {
        let (Some(holder), Some(node)) = (holder, node) else {
            return Ok(ParentState::Missing);
        };
        let tree = self.tree;
        let value = tree.alias_target(node);
        let source = || null_source(tree, tree.alias_target(holder), node);
        if tree.kind(value) == kind {
            let is_empty = tree.place(value).len() == "{}".len();
            return Ok(if is_empty && opens_into_lines(&source()) {
                ParentState::Replaced(ReplacedParent::Empty)
            } else {
                ParentState::Collection
            });
        }
        let is_null =
            tree.kind(value) == Kind::Scalar && scalar_value(tree, value) == Ok(ScalarValue::Null);
        if !is_null {
            return Err(wrong_kind(tree, node, kind, name));
        }
        // The anchor would go with its null: no alias could refer to it, and no record keeps it for a removal.
        if tree.anchor(value).is_some() {
            let (what, help) = if tree.kind(node) == Kind::Alias {
                ("an alias of a null", "remove the field")
            } else {
                ("a null with an anchor", "remove the anchor and its aliases")
            };
            return Err(UneditableChange {
                message: format!("`{name}` is {what}"),
                help: help.to_owned(),
                offset: tree.place(node).start,
            });
        }
        Ok(ParentState::Replaced(source().into()))
    }
}

/// Refuses a field that is neither null nor the mapping or list that it must be.
fn wrong_kind(tree: &Tree<'_>, node: NodeId, wanted: Kind, name: &str) -> UneditableChange {
    let offset = tree.place(node).start;
    // A mapping with `key:value` as its only line is a string to YAML.
    let lacks_blank = tree.raw(node).split_once(':').is_some_and(|(key, value)| {
        !key.contains(['"', '\'', ' ', '\n'])
            && value.starts_with(|next: char| !next.is_ascii_whitespace())
    });
    let help = match wanted {
        Kind::Mapping if lacks_blank => "write a blank after the `:`",
        _ => "correct the field; the API server rejects it as well",
    };
    let wanted = match wanted {
        Kind::Sequence => "list",
        _ => "mapping",
    };
    UneditableChange {
        message: format!("expected `{name}` to be a {wanted}"),
        help: help.to_owned(),
        offset,
    }
}

/// Returns true for the text of an empty mapping or list that lines replace, and that replaces the lines when they are removed.
fn opens_into_lines(source: &NullSource) -> bool {
    matches!(source, NullSource::Block(text) if matches!(&**text, " {}" | " []"))
}

/// Collects operations, each with a pointer from the template.
pub(super) struct PatchBuilder<'a, 't> {
    target: PatchTarget<'a, 't>,
    patch: TemplatePatch,
}

impl<'a, 't> PatchBuilder<'a, 't> {
    pub(super) fn new(target: PatchTarget<'a, 't>) -> Self {
        let patch = TemplatePatch::default();
        Self { target, patch }
    }

    pub(super) fn finish(self) -> TemplatePatch {
        self.patch
    }

    /// Adds the operation at a pointer.
    pub(super) fn push(&mut self, below: &str, operation: impl FnOnce(PointerBuf) -> Operation) {
        let path = pointer(&[self.target.path, below].concat());
        let holder = self.target.holder_at(below);
        self.patch.operations.push((operation(path), holder));
    }

    pub(super) fn add(&mut self, below: &str, value: Arc<Value>) {
        self.push(below, |path| Operation::Add { path, value });
    }

    pub(super) fn replace(&mut self, below: &str, value: Arc<Value>) {
        self.push(below, |path| Operation::Replace { path, value });
    }

    pub(super) fn remove(&mut self, below: &str) {
        self.push(below, |path| Operation::Remove { path });
    }
}

/// Parses a pointer of constants, indices and escaped keys, which is always valid.
pub fn pointer(text: &str) -> PointerBuf {
    PointerBuf::parse(text).unwrap_or_default()
}
