//! Finds the ClusterRoles and bindings of a text: those of an earlier run (managed) and others (unmanaged).

use crate::mackerel::annotations::Annotation;
use crate::manifest::identity::Identity;
use crate::manifest::related::{Location, RelatedKind};
use crate::manifest::resource::{file, resources};
use crate::rbac::objects::{GROUP, NAME_PREFIX};
use json_patch::jsonptr::PointerBuf;
use kube_core::{GroupVersionKind, TypeMeta};
use memchr::memmem;
use serde_json::Value;
use std::ops::Range;
use yaml_json_patch::{self as yaml, Buffer, Tree, to_json};

/// The record of a generated object: in its own metadata, under the same key as a pod template's.
pub(super) const RECORD: &str = "v1;rbac";

/// The record of the last object in front of a stream, if the injection added the `---` below it.
pub(super) const RECORD_WITH_SEPARATOR: &str = "v1;rbac;then=---";

/// The ClusterRoles and bindings of a text.
#[derive(Debug, Default)]
pub(super) struct Existing {
    /// Objects with a record, in order of the text.
    pub(super) managed: Vec<Managed>,
    /// Objects without a record.
    pub(super) unmanaged: Vec<Unmanaged>,
    /// Offset of the first syntax error in a document that may hold some.
    pub(super) unreadable: Option<usize>,
}

/// An object with a record, written by an earlier run.
#[derive(Debug)]
pub(super) struct Managed {
    pub(super) identity: Identity,
    pub(super) value: Value,
    /// True if the injection added a `---` below it.
    pub(super) adds_separator: bool,
    /// Bytes of the document that holds it.
    pub(super) document: Range<usize>,
    /// Bytes of the document's content, without the markers, comments and blank lines around.
    pub(super) content: Range<usize>,
    /// Its pointer in the document: the root, unless it is an item of a list.
    pub(super) pointer: PointerBuf,
    /// Offset of a duplicate key: without a `---` between them, two manifests are one to YAML, and a removal would take both.
    pub(super) duplicate: Option<usize>,
}

/// An object without a record.
#[derive(Debug)]
pub(super) struct Unmanaged {
    pub(super) identity: Identity,
    /// None if it is no JSON.
    pub(super) value: Option<Value>,
    /// Offset in the text.
    pub(super) offset: usize,
    /// The file and index that the orchestrator of a KRM function read it from.
    pub(super) file: Option<(String, Option<i64>)>,
}

impl Existing {
    /// Reads the documents that may hold one. `related` are the places of the text's related resources; most texts have no permissions
    /// among them.
    pub(super) fn of(text: &str, related: &[Location]) -> Self {
        let mut existing = Self::default();
        // In the order of the text. A list that is read as a whole is one piece, with all its permissions.
        let mut pieces: Vec<&Range<usize>> = related
            .iter()
            .filter(|location| location.kind == RelatedKind::Permission)
            .map(|location| &location.piece)
            .collect();
        pieces.dedup();
        pieces.retain(|piece| may_hold(&text[(*piece).clone()]));
        let mut pieces = pieces.into_iter().peekable();
        for document in yaml::documents(text).map(|document| document.span) {
            if pieces.peek().is_none() {
                break;
            }
            let is_in_document = |piece: &&Range<usize>| piece.start < document.end;
            if pieces.next_if(is_in_document).is_none() {
                continue;
            }
            while pieces.next_if(is_in_document).is_some() {}
            match yaml::read_piece(text, document.clone(), &mut Buffer::default()) {
                Ok(tree) => existing.add_document(&tree, document),
                Err(error) => _ = existing.unreadable.get_or_insert(error.offset),
            }
        }
        existing
    }

    fn add_document(&mut self, tree: &Tree<'_>, document: Range<usize>) {
        let Some(root) = tree.root() else { return };
        for resource in resources(tree, root, &TypeMeta::default()) {
            if !resource.gvk.as_ref().is_some_and(is_rbac) {
                continue;
            }
            let record = resource.annotation_text(tree, Annotation::Record.key());
            let is_managed = matches!(record.as_deref(), Some(RECORD | RECORD_WITH_SEPARATOR));
            match to_json(tree, resource.node) {
                Ok(value) if is_managed => self.managed.push(Managed {
                    identity: resource.identity,
                    value,
                    adds_separator: record.as_deref() == Some(RECORD_WITH_SEPARATOR),
                    document: document.clone(),
                    content: tree.outer_place(root),
                    pointer: PointerBuf::parse(resource.pointer).unwrap_or_default(),
                    duplicate: resource.duplicate.map(|key| tree.place(key).start),
                }),
                value => self.unmanaged.push(Unmanaged {
                    identity: resource.identity,
                    value: value.ok(),
                    offset: tree.place(resource.node).start,
                    file: file(tree, resource.node),
                }),
            }
        }
    }
}

/// Returns true for a text with the record of a generated object, or the prefix of its name.
fn may_hold(text: &str) -> bool {
    [RECORD, NAME_PREFIX]
        .iter()
        .any(|word| memmem::find(text.as_bytes(), word.as_bytes()).is_some())
}

fn is_rbac(gvk: &GroupVersionKind) -> bool {
    gvk.group == GROUP && matches!(&*gvk.kind, "ClusterRole" | "ClusterRoleBinding")
}
