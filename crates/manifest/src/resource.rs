//! The resources of a document: the document itself, or the items of a ResourceList, a `v1 List` or a typed list.

use crate::duplicate_keys::{occurrences, second_key, texts};
use crate::identity::{self, Identity};
use crate::patch_directive::patch_directive;
use kube_core::{GroupVersionKind, TypeMeta};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use yaml_json_patch::{Kind, NodeId, ScalarValue, Tree, scalar_value};

/// One resource and its position in the document.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    pub identity: Identity,
    /// Group, version and kind; none if `apiVersion` is malformed.
    pub gvk: Option<GroupVersionKind>,
    /// Its mapping.
    pub node: NodeId,
    /// JSON Pointer from the document's root.
    pub pointer: String,
    /// The duplicate key in its root, or in the envelope of a list around it, for which it is refused.
    pub duplicate: Option<NodeId>,
    /// The first key in it that is a directive of a strategic merge patch.
    pub directive: Option<NodeId>,
    /// Results for its templates, which may be many.
    pub shared: Shared,
}

/// Results of searches in a resource that are not repeated for each of its templates.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shared {
    /// The mapping of its annotations.
    annotations: OnceCell<Option<NodeId>>,
    /// Annotations by their keys.
    found: RefCell<BTreeMap<String, Option<NodeId>>>,
    controller: OnceCell<Option<(usize, NodeId)>>,
    /// The first selected template below each mapping that leads to templates.
    pub first_templates: RefCell<HashMap<NodeId, NodeId>>,
}

impl Resource {
    /// Returns the mapping of its own annotations.
    pub fn annotations(&self, tree: &Tree<'_>) -> Option<NodeId> {
        *self
            .shared
            .annotations
            .get_or_init(|| tree.member_at(self.node, ["metadata", "annotations"]))
    }

    /// Returns the value of one of its own annotations.
    pub fn annotation(&self, tree: &Tree<'_>, key: &str) -> Option<NodeId> {
        let annotations = self.annotations(tree)?;
        let found = &self.shared.found;
        if let Some(known) = found.borrow().get(key) {
            return *known;
        }
        let annotation = tree.member(annotations, key);
        found.borrow_mut().insert(key.to_owned(), annotation);
        annotation
    }

    /// Returns the text of one of its own annotations.
    pub fn annotation_text(&self, tree: &Tree<'_>, key: &str) -> Option<String> {
        tree.text_of(self.annotation(tree, key)?)
    }

    /// Returns the owner that controls it, with its index.
    pub fn controller(&self, tree: &Tree<'_>) -> Option<(usize, NodeId)> {
        *self.shared.controller.get_or_init(|| {
            let metadata = tree.member(self.node, "metadata")?;
            tree.member_items(metadata, "ownerReferences")
                .enumerate()
                .find(|(_, owner)| {
                    tree.member(*owner, "controller")
                        .is_some_and(|node| scalar_value(tree, node) == Ok(ScalarValue::Bool(true)))
                })
        })
    }
}

/// Bytes of `apiVersion` and `kind`: a DNS subdomain, a version and a kind.
const MAX_TYPE: usize = 512;

/// The maximum depth of lists inside lists. Real input nests two deep.
const MAX_LIST_DEPTH: usize = 8;

/// Returns every resource below `root`, with the items in place of a list, in order of the text. Items that are no mappings
/// (`null`) are left out. `inherited` is the type of items that a typed list around `root` gives.
///
/// Kubernetes reads the last one of duplicate keys. What the others hide is here too, so that it is refused and not lost: the
/// items of each `items`, and a list itself, which may be a workload by another of its `kind`s.
pub fn resources(tree: &Tree<'_>, root: NodeId, inherited: &TypeMeta) -> Vec<Resource> {
    // Most documents are one resource.
    let mut found = Vec::with_capacity(1);
    let around = Around {
        inherited,
        depth: MAX_LIST_DEPTH,
        duplicate: None,
    };
    collect(tree, root, String::new(), around, &mut found);
    found
}

/// The lists around a resource.
#[derive(Clone, Copy)]
struct Around<'a> {
    inherited: &'a TypeMeta,
    /// Remaining depth of lists.
    depth: usize,
    duplicate: Option<NodeId>,
}

/// Adds the resources at `node` and below it.
fn collect(
    tree: &Tree<'_>,
    node: NodeId,
    pointer: String,
    around: Around<'_>,
    found: &mut Vec<Resource>,
) {
    let mapping = tree.alias_target(node);
    if tree.kind(mapping) != Kind::Mapping {
        return;
    }
    let own = second_key(tree, mapping);
    let around = Around {
        duplicate: around.duplicate.or(own),
        ..around
    };
    let lists = match around.depth {
        0 => Vec::new(),
        _ => item_lists(tree, mapping, own.is_some()),
    };
    if lists.is_empty() || own.is_some() {
        found.push(resource(tree, node, pointer.clone(), around));
    }
    if lists.is_empty() {
        return;
    }
    let around = Around {
        inherited: &item_types(tree, mapping).unwrap_or_default(),
        depth: around.depth - 1,
        ..around
    };
    for items in lists {
        for (index, item) in tree.items(items).enumerate() {
            let pointer = format!("{pointer}/items/{index}");
            collect(tree, item, pointer, around, found);
        }
    }
}

/// Returns the lists of a mapping's items: none if it is no list, several only if it has the key several times.
fn item_lists(tree: &Tree<'_>, mapping: NodeId, has_duplicates: bool) -> Vec<NodeId> {
    let Some(member) = tree.find_member(mapping, "items") else {
        return Vec::new();
    };
    let mut is_list = item_types(tree, mapping).is_some();
    let mut values = vec![member.value];
    if has_duplicates {
        is_list |= texts(tree, mapping, "kind").any(|kind| identity::is_list(&kind));
        values = occurrences(tree, member.holder, "items")
            .map(|(_, value)| value)
            .collect();
    }
    if !is_list {
        return Vec::new();
    }
    // Several keys may be aliases of one list.
    let mut known = HashSet::new();
    values
        .into_iter()
        .map(|value| tree.alias_target(value))
        .filter(|list| tree.kind(*list) == Kind::Sequence && known.insert(*list))
        .collect()
}

fn resource(tree: &Tree<'_>, node: NodeId, pointer: String, around: Around<'_>) -> Resource {
    let mapping = tree.alias_target(node);
    let types = types(tree, mapping, around.inherited);
    let gvk = GroupVersionKind::try_from(&types).ok();
    Resource {
        identity: identity(tree, mapping, types),
        gvk,
        node,
        pointer,
        duplicate: around.duplicate,
        directive: patch_directive(tree, node),
        shared: Shared::default(),
    }
}

/// Returns the type of a mapping, by its own keys or by the list around it.
pub fn types(tree: &Tree<'_>, mapping: NodeId, inherited: &TypeMeta) -> TypeMeta {
    let [api_version, kind] = tree.member_texts(mapping, ["apiVersion", "kind"]);
    TypeMeta {
        api_version: api_version.unwrap_or_else(|| inherited.api_version.clone()),
        kind: kind.unwrap_or_else(|| inherited.kind.clone()),
    }
}

/// Returns the type of a list's items; none if the mapping is no list. The API server leaves kind and version out of the items of a
/// typed list: a DeploymentList holds Deployments.
pub fn item_types(tree: &Tree<'_>, mapping: NodeId) -> Option<TypeMeta> {
    let list = types(tree, mapping, &TypeMeta::default());
    match list.kind.as_str() {
        kind if !identity::is_list(kind) => None,
        "List" | "ResourceList" => Some(TypeMeta::default()),
        // No type of Kubernetes is that long, and each item has a copy.
        _ if list.kind.len() + list.api_version.len() > MAX_TYPE => Some(TypeMeta::default()),
        kind => Some(TypeMeta {
            kind: kind.strip_suffix("List").unwrap_or_default().to_owned(),
            ..list
        }),
    }
}

fn identity(tree: &Tree<'_>, mapping: NodeId, types: TypeMeta) -> Identity {
    let mut identity = Identity {
        api_version: types.api_version,
        kind: types.kind,
        ..Identity::default()
    };
    if let Some(metadata) = tree.member(mapping, "metadata") {
        let [name, prefix, namespace] = tree
            .member_texts(metadata, ["name", "generateName", "namespace"])
            .map(|text| text.filter(|text| !text.is_empty()));
        identity.namespace = namespace;
        identity.is_generated = name.is_none() && prefix.is_some();
        identity.name = name.or(prefix).unwrap_or_default();
    }
    identity
}

/// Returns the file and index that the orchestrator of a KRM function read the resource from.
pub fn file(tree: &Tree<'_>, resource: NodeId) -> Option<(String, Option<i64>)> {
    let annotations = tree.member_at(resource, ["metadata", "annotations"])?;
    let [path, older_path, index, older_index] = tree.member_texts(
        annotations,
        [
            "internal.config.kubernetes.io/path",
            "config.kubernetes.io/path",
            "internal.config.kubernetes.io/index",
            "config.kubernetes.io/index",
        ],
    );
    let index = index.or(older_index).and_then(|index| index.parse().ok());
    Some((path.or(older_path)?, index))
}
