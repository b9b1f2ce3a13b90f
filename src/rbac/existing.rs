//! Finds the ClusterRoles and bindings of a text: those of an earlier run (managed) and others (unmanaged).

use crate::mackerel::annotations::Annotation;
use crate::manifest::identity::Identity;
use crate::manifest::resource::{Resource, file, resources};
use crate::rbac::objects::{GROUP, NAME_PREFIX};
use json_patch::jsonptr::PointerBuf;
use kube_core::TypeMeta;
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
    pub(super) place: ObjectLocation,
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

/// The location of a managed object.
#[derive(Debug)]
pub(super) enum ObjectLocation {
    /// A document, and the span of its content without the markers, comments and blank lines around.
    Document {
        all: Range<usize>,
        content: Range<usize>,
    },
    /// An item of a list, somewhere in a document.
    ListItem {
        document: Range<usize>,
        pointer: PointerBuf,
    },
}

impl Existing {
    /// Reads the documents that may hold one.
    pub(super) fn of(text: &str) -> Self {
        let mut existing = Self::default();
        let may_hold = |text: &str| {
            [RECORD, NAME_PREFIX]
                .iter()
                .any(|word| memmem::find(text.as_bytes(), word.as_bytes()).is_some())
        };
        if !may_hold(text) {
            return existing;
        }
        for document in yaml::documents(text).map(|document| document.span) {
            if may_hold(&text[document.clone()]) {
                existing.look(text, &document);
            }
        }
        existing
    }

    fn look(&mut self, text: &str, document: &Range<usize>) {
        let tree = match yaml::read_piece(text, document.clone(), &mut Buffer::default()) {
            Ok(tree) => tree,
            Err(error) => {
                self.unreadable.get_or_insert(error.offset);
                return;
            }
        };
        let Some(root) = tree.root() else { return };
        for resource in resources(&tree, root, &TypeMeta::default()) {
            let place = match PointerBuf::parse(resource.pointer.clone()) {
                Ok(pointer) if !pointer.is_root() => ObjectLocation::ListItem {
                    document: document.clone(),
                    pointer,
                },
                _ => ObjectLocation::Document {
                    all: document.clone(),
                    content: tree.outer_place(root),
                },
            };
            self.take(&tree, &resource, place);
        }
    }

    fn take(&mut self, tree: &Tree<'_>, resource: &Resource, place: ObjectLocation) {
        let is_of_us = |kind: &str| matches!(kind, "ClusterRole" | "ClusterRoleBinding");
        if !resource
            .gvk
            .as_ref()
            .is_some_and(|gvk| gvk.group == GROUP && is_of_us(&gvk.kind))
        {
            return;
        }
        let identity = resource.identity.clone();
        let annotations = || tree.member(tree.member(resource.node, "metadata")?, "annotations");
        let record = annotations()
            .and_then(|annotations| tree.member_text(annotations, Annotation::Record.key()));
        let is_managed = matches!(record.as_deref(), Some(RECORD | RECORD_WITH_SEPARATOR));
        match to_json(tree, resource.node) {
            Ok(value) if is_managed => {
                let duplicate = resource.duplicate.map(|key| tree.place(key).start);
                self.managed.push(Managed {
                    identity,
                    value,
                    adds_separator: record.as_deref() == Some(RECORD_WITH_SEPARATOR),
                    place,
                    duplicate,
                });
            }
            value => self.unmanaged.push(Unmanaged {
                identity,
                value: value.ok(),
                offset: tree.place(resource.node).start,
                file: file(tree, resource.node),
            }),
        }
    }
}
