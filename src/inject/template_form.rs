//! Mappings in the form of a pod template, at any place: with containers in their `spec`, or with the record of an injection
//! beside it.

use crate::mackerel::annotations::Annotation;
use crate::manifest::template_path::{Step, TemplatePath};
use crate::manifest::workloads::containers;
use memchr::memmem;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{Kind, NodeId, Tree};

/// Upper bound of candidates per resource. Each costs a walk over the whole resource.
pub(crate) const MAX_CANDIDATES: usize = 100;

/// Returns false for a text without such a mapping.
pub(crate) fn may_be_in(text: &str) -> bool {
    memmem::find(text.as_bytes(), b"containers").is_some()
}

/// A mapping of that form.
#[derive(Debug)]
pub(crate) struct Formed {
    /// JSON Pointer from the resource; empty for the resource itself.
    pub(crate) pointer: String,
    /// The same with `*` for the index of an item.
    pub(crate) path: TemplatePath,
    /// The mapping.
    pub(crate) node: NodeId,
    /// The nodes above it, one for each token of the pointer, the resource first.
    pub(crate) ancestors: Vec<NodeId>,
}

/// Returns the mappings with containers in a resource, itself included, in order of the text. Aliases are not followed, since
/// their anchors are visited.
pub(crate) fn formed(tree: &Tree<'_>, resource: NodeId) -> Vec<Formed> {
    search(tree, resource, |tree, node| {
        containers(tree, node).is_some()
    })
}

/// Returns the mappings with a record, in the same way.
pub(crate) fn recorded(tree: &Tree<'_>, resource: NodeId) -> Vec<Formed> {
    search(tree, resource, has_record)
}

/// Returns true for a template that carries the record of an injection.
pub(crate) fn has_record(tree: &Tree<'_>, template: NodeId) -> bool {
    let path = ["metadata", "annotations", Annotation::Record.key()];
    path.into_iter()
        .try_fold(template, |node, key| tree.member(node, key))
        .is_some()
}

fn search(tree: &Tree<'_>, resource: NodeId, is_it: fn(&Tree<'_>, NodeId) -> bool) -> Vec<Formed> {
    let mut search = FormSearch {
        tree,
        is_it,
        ancestors: Vec::new(),
        found: Vec::new(),
    };
    search.look(tree.alias_target(resource), &mut Vec::new(), String::new());
    search.found
}

struct FormSearch<'a, 't> {
    tree: &'a Tree<'t>,
    is_it: fn(&Tree<'_>, NodeId) -> bool,
    ancestors: Vec<NodeId>,
    found: Vec<Formed>,
}

impl FormSearch<'_, '_> {
    fn look(&mut self, node: NodeId, steps: &mut Vec<Step>, pointer: String) {
        let tree = self.tree;
        match tree.kind(node) {
            Kind::Mapping => {
                // A template that a merge key brings is looked at in its own place.
                if tree.get(node, "spec").is_some() && (self.is_it)(tree, node) {
                    let path = TemplatePath {
                        steps: steps.clone(),
                    };
                    let ancestors = self.ancestors.clone();
                    self.found.push(Formed {
                        pointer: pointer.clone(),
                        path,
                        node,
                        ancestors,
                    });
                }
                self.ancestors.push(node);
                for (key, value) in tree.entries(node) {
                    // A path has no other name for a key that is a star, nor one for the empty key.
                    let Some(key) = tree.scalar(key).filter(|key| !matches!(&**key, "" | "*"))
                    else {
                        continue;
                    };
                    let is_leaf = matches!(tree.kind(value), Kind::Scalar | Kind::Alias);
                    if is_leaf {
                        continue;
                    }
                    steps.push(Step::Key(key.clone().into_owned()));
                    self.look(value, steps, format!("{pointer}/{}", escape(&key)));
                    steps.pop();
                }
                self.ancestors.pop();
            }
            Kind::Sequence => {
                steps.push(Step::Each);
                self.ancestors.push(node);
                for (index, item) in tree.items(node).enumerate() {
                    self.look(item, steps, format!("{pointer}/{index}"));
                }
                self.ancestors.pop();
                steps.pop();
            }
            Kind::Scalar | Kind::Alias => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::formed;

    #[test]
    fn finds_what_has_containers_in_its_spec() {
        for (text, expected) in [
            ("spec: {containers: [{}]}", &["|"][..]),
            (
                "spec: {a: [{spec: {containers: [{name: a}]}}, {spec: {containers: [{}]}}]}",
                &["/spec/a/0|spec.a.*", "/spec/a/1|spec.a.*"],
            ),
            (
                "a/b: {c: {spec: {containers: [{}]}}, spec: {containers: [null, {}]}}",
                &["/a~1b|a\\/b", "/a~1b/c|a\\/b.c"],
            ),
            (
                "a: {spec: {containers: []}, b: {spec: {containers: {}}}, c: {containers: [{}]}}",
                &[],
            ),
            (
                "a: {spec: {containers: [text]}, '*': {spec: {containers: [{}]}}}",
                &[],
            ),
            ("a: |\n  spec: {containers: [{}]}\n", &[]),
        ] {
            let tree = yaml_json_patch::read(text).unwrap();
            let found = formed(&tree, tree.root().unwrap());
            let shown: Vec<String> = found
                .iter()
                .map(|formed| format!("{}|{}", formed.pointer, formed.path))
                .collect();
            assert_eq!(shown, expected, "{text}");
        }
    }
}
