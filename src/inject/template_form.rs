//! Mappings in the form of a pod template, at any place: with containers in their `spec`, or with the record of an injection
//! beside it.

use crate::mackerel::annotations::Annotation;
use crate::manifest::template_path::{Step, TemplatePath};
use crate::manifest::workloads::containers;
use memchr::memmem;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{Kind, NodeId, Tree};

/// The most candidates per resource. Each costs a walk over the whole resource.
pub(crate) const MAX_CANDIDATES: usize = 100;

/// Returns false for a text without such a mapping.
pub(crate) fn may_be_in(text: &str) -> bool {
    memmem::find(text.as_bytes(), b"containers").is_some()
}

/// A mapping in the form of a pod template.
#[derive(Debug)]
pub(crate) struct PossibleTemplate {
    /// JSON Pointer from the resource; empty for the resource itself.
    pub(crate) pointer: String,
    /// The same with `*` for the index of an item.
    pub(crate) path: TemplatePath,
    pub(crate) node: NodeId,
    /// The nodes above it, one for each token of the pointer, the resource first.
    pub(crate) ancestors: Vec<NodeId>,
}

/// Returns the mappings with containers in a resource, itself included, in order of the text. Aliases are not followed, since
/// their anchors are visited.
pub(crate) fn with_containers(tree: &Tree<'_>, resource: NodeId) -> Vec<PossibleTemplate> {
    search(tree, resource, |tree, node| {
        containers(tree, node).is_some()
    })
}

/// Returns the mappings with a record, in the same way.
pub(crate) fn with_record(tree: &Tree<'_>, resource: NodeId) -> Vec<PossibleTemplate> {
    search(tree, resource, has_record)
}

/// Returns true for a template that carries the record of an injection.
pub(crate) fn has_record(tree: &Tree<'_>, template: NodeId) -> bool {
    let path = ["metadata", "annotations", Annotation::Record.key()];
    let mut keys = path.into_iter();
    let record = keys.try_fold(template, |node, key| tree.member(node, key));
    record.is_some()
}

type Predicate = fn(&Tree<'_>, NodeId) -> bool;

fn search(tree: &Tree<'_>, resource: NodeId, matches: Predicate) -> Vec<PossibleTemplate> {
    let mut search = TemplateSearch {
        tree,
        matches,
        pointer: String::new(),
        steps: Vec::new(),
        ancestors: Vec::new(),
        found: Vec::new(),
    };
    search.visit(tree.alias_target(resource));
    search.found
}

struct TemplateSearch<'a, 't> {
    tree: &'a Tree<'t>,
    matches: Predicate,
    /// JSON Pointer to the current node.
    pointer: String,
    /// The path to it.
    steps: Vec<Step>,
    ancestors: Vec<NodeId>,
    found: Vec<PossibleTemplate>,
}

impl TemplateSearch<'_, '_> {
    fn visit(&mut self, node: NodeId) {
        let tree = self.tree;
        match tree.kind(node) {
            Kind::Mapping => {
                // A template that a merge key brings is looked at in its own place.
                if tree.get(node, "spec").is_some() && (self.matches)(tree, node) {
                    self.found.push(PossibleTemplate {
                        pointer: self.pointer.clone(),
                        path: TemplatePath {
                            steps: self.steps.clone(),
                        },
                        node,
                        ancestors: self.ancestors.clone(),
                    });
                }
                self.ancestors.push(node);
                for (key, value) in tree.entries(node) {
                    let is_leaf = matches!(tree.kind(value), Kind::Scalar | Kind::Alias);
                    let key = tree.scalar(key).unwrap_or_default();
                    // A path cannot name the empty key, nor a key that is a star.
                    if is_leaf || matches!(&*key, "" | "*") {
                        continue;
                    }
                    self.steps.push(Step::Key(key.clone().into_owned()));
                    self.visit_child(value, &escape(&key));
                    self.steps.pop();
                }
                self.ancestors.pop();
            }
            Kind::Sequence => {
                self.steps.push(Step::Each);
                self.ancestors.push(node);
                for (index, item) in tree.items(node).enumerate() {
                    self.visit_child(item, &index.to_string());
                }
                self.ancestors.pop();
                self.steps.pop();
            }
            Kind::Scalar | Kind::Alias => {}
        }
    }

    fn visit_child(&mut self, node: NodeId, token: &str) {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(token);
        self.visit(node);
        self.pointer.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::with_containers;

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
            let found = with_containers(&tree, tree.root().unwrap());
            let shown: Vec<String> = found
                .iter()
                .map(|formed| format!("{}|{}", formed.pointer, formed.path))
                .collect();
            assert_eq!(shown, expected, "{text}");
        }
    }
}
