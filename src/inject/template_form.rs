//! What has the form of a pod template, wherever it stands: a mapping with containers in its `spec`.

use crate::manifest::template_path::{Step, TemplatePath};
use memchr::memmem;
use std::collections::HashMap;
use yaml_json_patch::lookup::MAX_MERGES;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{Kind, NodeId, Tree, is_merge_key};

/// Of one resource, that are decided about: each decision looks at all of the resource.
pub(crate) const MOST_LOOKED_AT: usize = 100;

/// False: nothing in the text is of that form.
#[must_use]
pub(crate) fn may_be_in(text: &str) -> bool {
    memmem::find(text.as_bytes(), b"containers").is_some()
}

/// Something of that form.
#[derive(Debug)]
pub(crate) struct Formed {
    /// JSON Pointer from the resource; empty where that has the form itself.
    pub(crate) pointer: String,
    /// As a path for all items of the lists on the way.
    pub(crate) path: TemplatePath,
    /// The mapping.
    pub(crate) node: NodeId,
}

/// Everything of that form in a resource, the resource itself among them, in order of the text. Aliases on the way are not
/// looked through: what stands behind one is looked at there.
#[must_use]
pub(crate) fn formed(tree: &Tree<'_>, resource: NodeId) -> Vec<Formed> {
    let mut search = Search { tree, found: Vec::new(), specs: HashMap::new() };
    search.look(tree.alias_target(resource), &mut Vec::new(), String::new());
    search.found
}

struct Search<'a, 't> {
    tree: &'a Tree<'t>,
    found: Vec<Formed>,
    /// Whether they have containers. Many may share one by aliases and merge keys: it is looked at once.
    specs: HashMap<NodeId, bool>,
}

impl Search<'_, '_> {
    fn look(&mut self, node: NodeId, steps: &mut Vec<Step>, pointer: String) {
        let tree = self.tree;
        match tree.kind(node) {
            Kind::Mapping => {
                // A template that a merge key brings is looked at where it stands.
                if tree.get(node, "spec").is_some_and(|spec| self.has_containers(spec, 0)) {
                    let path = TemplatePath { steps: steps.clone() };
                    self.found.push(Formed { pointer: pointer.clone(), path, node });
                }
                for (key, value) in tree.entries(node) {
                    // A path has no other name for a key that is a star, nor one for the empty key.
                    let Some(key) = tree.scalar(key).filter(|key| !matches!(&**key, "" | "*")) else { continue };
                    let is_leaf = matches!(tree.kind(value), Kind::Scalar | Kind::Alias);
                    if is_leaf {
                        continue;
                    }
                    steps.push(Step::Key(key.clone().into_owned()));
                    self.look(value, steps, format!("{pointer}/{}", escape(&key)));
                    steps.pop();
                }
            }
            Kind::Sequence => {
                steps.push(Step::Each);
                for (index, item) in tree.items(node).enumerate() {
                    self.look(item, steps, format!("{pointer}/{index}"));
                }
                steps.pop();
            }
            Kind::Scalar | Kind::Alias => {}
        }
    }

    /// Of its own, or by a merge key.
    fn has_containers(&mut self, spec: NodeId, merges: usize) -> bool {
        let tree = self.tree;
        let spec = tree.alias_target(spec);
        if let Some(known) = self.specs.get(&spec) {
            return *known;
        }
        // Until it is known, for a merge that leads back to it.
        self.specs.insert(spec, false);
        let has = match tree.get(spec, "containers") {
            Some(list) => {
                tree.items(tree.alias_target(list)).any(|item| tree.kind(tree.alias_target(item)) == Kind::Mapping)
            }
            None if merges > MAX_MERGES => false,
            None => {
                let merged =
                    tree.entries(spec).filter(|(key, _)| is_merge_key(tree, *key)).map(|(_, value)| value).last();
                merged.is_some_and(|source| match tree.kind(tree.alias_target(source)) {
                    Kind::Sequence => {
                        tree.items(tree.alias_target(source)).any(|source| self.has_containers(source, merges + 1))
                    }
                    _ => self.has_containers(source, merges + 1),
                })
            }
        };
        self.specs.insert(spec, has);
        has
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
            ("a: {spec: {containers: []}, b: {spec: {containers: {}}}, c: {containers: [{}]}}", &[]),
            ("a: {spec: {containers: [text]}, '*': {spec: {containers: [{}]}}}", &[]),
            ("a: |\n  spec: {containers: [{}]}\n", &[]),
        ] {
            let tree = yaml_json_patch::read(text).unwrap();
            let found = formed(&tree, tree.root().unwrap());
            let shown: Vec<String> = found.iter().map(|formed| format!("{}|{}", formed.pointer, formed.path)).collect();
            assert_eq!(shown, expected, "{text}");
        }
    }
}
