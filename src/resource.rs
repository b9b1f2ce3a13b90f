//! The resources of a document: the document itself, or the items of a ResourceList, a `v1 List` or a typed list.

use crate::find::{is_list, member};
use crate::report::Identity;
use kube_core::{GroupVersionKind, TypeMeta};
use yaml_json_patch::{Kind, NodeId, Resolved, Tree, resolve};

/// One resource: who it is and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resource {
    /// What its text says of itself.
    pub(crate) identity: Identity,
    /// Group, version and kind; none where `apiVersion` has no such form.
    pub(crate) gvk: Option<GroupVersionKind>,
    /// Its mapping.
    pub(crate) node: NodeId,
    /// JSON Pointer from the document's root.
    pub(crate) pointer: String,
}

/// The most lists inside lists that are looked into. Real input nests two deep.
const LIST_DEPTH: usize = 8;

/// Every resource below `root`, lists opened, in order of the text. Items that are no mappings (`null`) are left out.
/// `inherited` is what a typed list around `root` says of its items.
#[must_use]
pub(crate) fn resources(tree: &Tree<'_>, root: NodeId, inherited: &TypeMeta) -> Vec<Resource> {
    with_lists(tree, root, inherited).resources
}

/// The resources of a document, and the lists that they stand in.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) resources: Vec<Resource>,
    pub(crate) lists: Vec<List>,
}

/// A list that was opened.
#[derive(Debug)]
pub(crate) struct List {
    /// Its mapping.
    pub(crate) node: NodeId,
    /// JSON Pointer from the document's root.
    pub(crate) pointer: String,
}

/// As [`resources`], with the lists that were opened.
#[must_use]
pub(crate) fn with_lists(tree: &Tree<'_>, root: NodeId, inherited: &TypeMeta) -> Found {
    let mut found = Found::default();
    collect(tree, root, String::new(), inherited, LIST_DEPTH, &mut found);
    found
}

fn collect(tree: &Tree<'_>, node: NodeId, pointer: String, inherited: &TypeMeta, depth: usize, found: &mut Found) {
    let mapping = tree.resolve(node);
    if tree.kind(mapping) != Kind::Mapping {
        return;
    }
    let items = member(tree, mapping, "items").map(|items| tree.resolve(items));
    if let Some(items) = items.filter(|items| tree.kind(*items) == Kind::Sequence && depth > 0)
        && let Some(inherited) = item_types(tree, mapping)
    {
        for (index, item) in tree.items(items).enumerate() {
            collect(tree, item, format!("{pointer}/items/{index}"), &inherited, depth - 1, found);
        }
        found.lists.push(List { node, pointer });
        return;
    }
    let types = types(tree, mapping, inherited);
    let gvk = GroupVersionKind::try_from(&types).ok();
    let identity = identity(tree, mapping, types);
    found.resources.push(Resource { identity, gvk, node, pointer });
}

fn types(tree: &Tree<'_>, mapping: NodeId, inherited: &TypeMeta) -> TypeMeta {
    TypeMeta {
        api_version: text(tree, mapping, "apiVersion").unwrap_or_else(|| inherited.api_version.clone()),
        kind: text(tree, mapping, "kind").unwrap_or_else(|| inherited.kind.clone()),
    }
}

/// What a list says of its items; none for what is no list. The API server leaves kind and version out of a typed list's
/// items: a DeploymentList holds Deployments.
#[must_use]
pub(crate) fn item_types(tree: &Tree<'_>, mapping: NodeId) -> Option<TypeMeta> {
    let list = types(tree, mapping, &TypeMeta::default());
    match list.kind.as_str() {
        kind if !is_list(kind) => None,
        "List" | "ResourceList" => Some(TypeMeta::default()),
        kind => Some(TypeMeta { kind: kind.strip_suffix("List").unwrap_or_default().to_owned(), ..list }),
    }
}

fn identity(tree: &Tree<'_>, mapping: NodeId, types: TypeMeta) -> Identity {
    let metadata = member(tree, mapping, "metadata");
    let field = |key| metadata.and_then(|m| text(tree, m, key)).filter(|value| !value.is_empty());
    Identity {
        api_version: types.api_version,
        kind: types.kind,
        namespace: field("namespace"),
        name: field("name").or_else(|| field("generateName")).unwrap_or_default(),
    }
}

/// Where a function's orchestrator read the resource.
pub(crate) fn file(tree: &Tree<'_>, resource: NodeId) -> Option<(String, Option<i64>)> {
    let annotations = member(tree, member(tree, resource, "metadata")?, "annotations")?;
    let annotation = |keys: [&str; 2]| keys.into_iter().find_map(|key| text(tree, annotations, key));
    let path = annotation(["internal.config.kubernetes.io/path", "config.kubernetes.io/path"])?;
    let index = annotation(["internal.config.kubernetes.io/index", "config.kubernetes.io/index"]);
    Some((path, index.and_then(|index| index.parse().ok())))
}

/// A member that is a scalar, as text. `name: 123` is a number to Kubernetes and refused there, but still says who it is.
pub(crate) fn text(tree: &Tree<'_>, mapping: NodeId, key: &str) -> Option<String> {
    let value = tree.resolve(member(tree, mapping, key)?);
    if tree.kind(value) != Kind::Scalar {
        return None;
    }
    match resolve(tree, value) {
        Ok(Resolved::Null) => None,
        Ok(Resolved::Str(text)) => Some(text.into_owned()),
        _ => Some(tree.raw(value).to_owned()),
    }
}
