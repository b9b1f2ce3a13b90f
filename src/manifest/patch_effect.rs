//! The fields that a patch of a kustomization replaces or removes: by JSON Patch (RFC 6902) or as a strategic merge patch.

use crate::manifest::resource::text;
use std::borrow::Cow;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{self as yaml, Kind, NodeId, ScalarValue, Tree, scalar_value};

/// Kind and name of a patch's target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchTarget {
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// A field that a patch replaces or removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchEffect {
    pub(crate) target: PatchTarget,
    /// JSON Pointer from the target.
    pub(crate) pointer: String,
    /// Byte offset of the operation or directive in the patch.
    pub(crate) offset: usize,
}

/// Reads `kind` and `name` of a mapping; none if one is missing.
pub(crate) fn target(tree: &Tree<'_>, node: NodeId) -> Option<PatchTarget> {
    Some(PatchTarget { kind: text(tree, node, "kind")?, name: text(tree, node, "name")? })
}

/// Returns the fields that a patch replaces or removes. A strategic merge patch names its target itself, if `target` does not.
pub(crate) fn effects(patch: &str, target: Option<&PatchTarget>) -> Vec<PatchEffect> {
    let mut found = Vec::new();
    for document in yaml::documents(patch) {
        let base = document.span.start;
        let Ok(tree) = yaml::read(&patch[document.span]) else { continue };
        let Some(root) = tree.root() else { continue };
        let mut add = |target: &PatchTarget, pointer: String, node: NodeId| {
            found.push(PatchEffect { target: target.clone(), pointer, offset: base + tree.span(node).start });
        };
        if tree.kind(root) == Kind::Sequence {
            let Some(target) = target else { continue };
            for operation in tree.items(root) {
                let is_change = matches!(text(&tree, operation, "op").as_deref(), Some("add" | "replace" | "remove"));
                if let Some(path) = text(&tree, operation, "path").filter(|_| is_change) {
                    add(target, path, operation);
                }
            }
            continue;
        }
        let own = || {
            let name = text(&tree, tree.member(root, "metadata")?, "name")?;
            Some(PatchTarget { kind: text(&tree, root, "kind")?, name })
        };
        let Some(target) = target.map(Cow::Borrowed).or_else(|| own().map(Cow::Owned)) else { continue };
        let merges_lists = text(&tree, root, "apiVersion").is_none_or(|version| is_built_in(&version));
        let mut search = MergeSearch { tree: &tree, merges_lists, found: Vec::new() };
        search.look(root, String::new());
        for (pointer, node) in search.found {
            add(&target, pointer, node);
        }
    }
    found
}

/// Returns true for an API version whose lists have merge keys. kustomize replaces the lists of other kinds.
fn is_built_in(api_version: &str) -> bool {
    matches!(api_version.split_once('/'), None | Some(("apps" | "batch" | "extensions", _)))
}

struct MergeSearch<'a, 't> {
    tree: &'a Tree<'t>,
    merges_lists: bool,
    found: Vec<(String, NodeId)>,
}

impl MergeSearch<'_, '_> {
    fn look(&mut self, node: NodeId, pointer: String) {
        let tree = self.tree;
        let node = tree.alias_target(node);
        let is_directive =
            |mapping: NodeId| matches!(text(tree, mapping, "$patch").as_deref(), Some("replace" | "delete"));
        match tree.kind(node) {
            Kind::Mapping if is_directive(node) => self.found.push((pointer, node)),
            Kind::Mapping => {
                for (key, value) in tree.entries(node) {
                    let Some(key) = tree.scalar(key) else { continue };
                    self.look(value, format!("{pointer}/{}", escape(&key)));
                }
            }
            Kind::Sequence => {
                // Within a list, the directive without a name is about the list.
                let is_whole = |item: &NodeId| is_directive(*item) && tree.member(*item, "name").is_none();
                if let Some(item) = tree.items(node).map(|item| tree.alias_target(item)).find(is_whole) {
                    self.found.push((pointer, item));
                } else if !self.merges_lists {
                    self.found.push((pointer, node));
                }
            }
            Kind::Scalar if scalar_value(tree, node) == Ok(ScalarValue::Null) => self.found.push((pointer, node)),
            Kind::Scalar | Kind::Alias => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PatchTarget, effects};

    #[test]
    fn what_is_replaced_or_removed_is_found_with_its_place() {
        let web = PatchTarget { kind: "Deployment".to_owned(), name: "web".to_owned() };
        let head = |version: &str| format!("apiVersion: {version}\nkind: Deployment\nmetadata: {{name: web}}\n");
        for (patch, expected) in [
            (
                "- {op: add, path: /a/-, value: 1}\n- {op: test, path: /b}\n- op: remove\n  path: /c\n".to_owned(),
                &["/a/-", "/c"][..],
            ),
            ("[{\"op\": \"replace\", \"path\": \"/a\", \"value\": {}}]".to_owned(), &["/a"]),
            (
                head("apps/v1") + "spec: {a: [{name: b}], c: null, d: {$patch: replace, e: 1}}\n",
                &["/spec/c", "/spec/d"],
            ),
            (
                head("apps/v1")
                    + "spec:\n  a:\n  - $patch: replace\n  - name: b\n  c:\n  - {$patch: delete, name: d}\n",
                &["/spec/a"],
            ),
            (head("argoproj.io/v1alpha1") + "spec: {a: [{name: b}]}\n", &["/spec/a"]),
            ("a: [\n".to_owned(), &[]),
        ] {
            let found = effects(&patch, Some(&web));
            assert_eq!(found.iter().map(|effect| &*effect.pointer).collect::<Vec<_>>(), expected, "{patch}");
            let is_merge = patch.starts_with("apiVersion");
            let own: Vec<_> = effects(&patch, None).into_iter().map(|effect| effect.target).collect();
            assert_eq!(own, if is_merge { vec![web.clone(); expected.len()] } else { Vec::new() });
        }
    }
}
