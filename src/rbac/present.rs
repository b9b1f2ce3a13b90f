//! The documents and items of an earlier run, and others of their names.

use crate::mackerel::annotations::Annotation;
use crate::manifest::identity::Identity;
use crate::manifest::resource::{Resource, file, resources, text};
use crate::rbac::objects::{GROUP, NAME_PREFIX};
use crate::rbac::record::{MARK, Record};
use json_patch::jsonptr::PointerBuf;
use kube_core::TypeMeta;
use memchr::memmem;
use serde_json::Value;
use std::collections::HashSet;
use std::ops::Range;
use yaml_json_patch::{self as yaml, NodeId, Tree, to_json};

/// What a text holds of our kinds.
#[derive(Debug, Default)]
pub(super) struct Present {
    /// Those with our record, in order of the text.
    pub(super) ours: Vec<Ours>,
    /// Those of others.
    pub(super) others: Vec<Other>,
    /// Where a document cannot be read that may hold some.
    pub(super) unreadable: Option<usize>,
}

/// One object of ours.
#[derive(Debug)]
pub(super) struct Ours {
    pub(super) identity: Identity,
    pub(super) value: Value,
    pub(super) record: Record,
    pub(super) place: Place,
    /// Where something in it is not ours: two manifests that no `---` parts are one to YAML, and with ours the other one
    /// would go.
    pub(super) foreign: Option<usize>,
}

/// One object that is not ours.
#[derive(Debug)]
pub(super) struct Other {
    pub(super) identity: Identity,
    /// Where it stands.
    pub(super) offset: usize,
    /// Where a function's orchestrator read it.
    pub(super) file: Option<(String, Option<i64>)>,
}

#[derive(Debug)]
pub(super) enum Place {
    /// A document of its own: all of it, and what it says without markers, comments and blank lines at its ends.
    Document { all: Range<usize>, content: Range<usize> },
    /// An item of a list, somewhere in a document.
    Inside { document: Range<usize>, pointer: PointerBuf },
}

impl Present {
    /// Looks at the documents that may hold one.
    pub(super) fn of(text: &str) -> Self {
        let mut present = Self::default();
        let may_hold = |text: &str| {
            [MARK, NAME_PREFIX].iter().any(|word| memmem::find(text.as_bytes(), word.as_bytes()).is_some())
        };
        if !may_hold(text) {
            return present;
        }
        for document in documents(text) {
            if may_hold(&text[document.clone()]) {
                present.look(&text[document.clone()], &document);
            }
        }
        present
    }

    fn look(&mut self, text: &str, document: &Range<usize>) {
        let tree = match yaml::read(text) {
            Ok(tree) => tree,
            Err(error) => {
                self.unreadable.get_or_insert(document.start + error.offset);
                return;
            }
        };
        let Some(root) = tree.root() else { return };
        for resource in resources(&tree, root, &TypeMeta::default()) {
            let place = match PointerBuf::parse(resource.pointer.clone()) {
                Ok(pointer) if !pointer.is_root() => Place::Inside { document: document.clone(), pointer },
                _ => Place::Document {
                    all: document.clone(),
                    content: document.start + tree.outer_start(root)..document.start + tree.span(root).end,
                },
            };
            self.take(&tree, document.start, &resource, place);
        }
    }

    fn take(&mut self, tree: &Tree<'_>, base: usize, resource: &Resource, place: Place) {
        let is_of_us = |kind: &str| matches!(kind, "ClusterRole" | "ClusterRoleBinding");
        if !resource.gvk.as_ref().is_some_and(|gvk| gvk.group == GROUP && is_of_us(&gvk.kind)) {
            return;
        }
        let identity = resource.identity.clone();
        let annotations = || tree.member(tree.member(resource.node, "metadata")?, "annotations");
        let record = annotations().and_then(|annotations| text(tree, annotations, Annotation::Record.key()));
        match (record.as_deref().and_then(Record::parse), to_json(tree, resource.node)) {
            (Some(record), Ok(value)) => {
                let foreign = foreign_key(tree, resource.node).map(|key| base + key);
                self.ours.push(Ours { identity, value, record, place, foreign });
            }
            _ => self.others.push(Other {
                identity,
                offset: base + tree.span(resource.node).start,
                file: file(tree, resource.node),
            }),
        }
    }
}

impl Place {
    /// Where it begins, or the document that it is inside of.
    pub(super) fn start(&self) -> usize {
        match self {
            Place::Document { all, .. } => all.start,
            Place::Inside { document, .. } => document.start,
        }
    }
}

/// What a ClusterRole or ClusterRoleBinding may have.
const FIELDS: [&str; 7] = ["apiVersion", "kind", "metadata", "rules", "aggregationRule", "roleRef", "subjects"];

/// Where the first key of a mapping stands that is not one of those, or was there before.
fn foreign_key(tree: &Tree<'_>, mapping: NodeId) -> Option<usize> {
    let mut seen = HashSet::new();
    let mut keys = tree.entries(tree.alias_target(mapping)).map(|(key, _)| key);
    let is_ours = |name: &str| FIELDS.contains(&name);
    let foreign = keys.find(|key| tree.scalar(*key).is_none_or(|name| !is_ours(&name) || !seen.insert(name)))?;
    Some(tree.span(foreign).start)
}

pub(super) fn documents(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    yaml_json_patch::documents(text).map(|document| document.span)
}
