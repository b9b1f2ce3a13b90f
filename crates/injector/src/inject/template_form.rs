//! Mappings in the form of a pod template, at any place: with containers in their `spec`, or with the record of an injection
//! beside it.

use config::TemplatePath;
use mackerel::annotations::Annotation;
use manifest::{FoundTemplate, Step, containers};
use memchr::memmem;
use yaml_json_patch::pointer::{escape, unescape};
use yaml_json_patch::{Kind, NodeId, Tree};

/// Returns false for a text without such a mapping.
pub fn may_be_in(text: &str) -> bool {
    memmem::find(text.as_bytes(), b"containers").is_some()
}

/// Returns the path to a template, with `*` for the index of an item.
pub fn path(tree: &Tree<'_>, template: &FoundTemplate) -> TemplatePath {
    let steps = template
        .pointer
        .split('/')
        .skip(1)
        .zip(&template.ancestors)
        .map(|(token, holder)| match tree.kind(*holder) {
            Kind::Sequence => Step::Each,
            _ => Step::Key(unescape(token).into_owned()),
        })
        .collect();
    TemplatePath { steps }
}

/// Returns the mappings with containers in a resource, itself included, in order of the text. Aliases are not followed, since
/// their anchors are visited.
pub fn with_containers(tree: &Tree<'_>, resource: NodeId) -> Vec<FoundTemplate> {
    search(tree, resource, |tree, node| {
        containers(tree, node).is_some()
    })
}

/// Returns the mappings with a record, in the same way.
pub fn with_record(tree: &Tree<'_>, resource: NodeId) -> Vec<FoundTemplate> {
    search(tree, resource, has_record)
}

/// Returns true for a template that carries the record of an injection.
pub fn has_record(tree: &Tree<'_>, template: NodeId) -> bool {
    let path = ["metadata", "annotations", Annotation::Record.key()];
    tree.member_at(template, path).is_some()
}

type Predicate = fn(&Tree<'_>, NodeId) -> bool;

fn search(tree: &Tree<'_>, resource: NodeId, matches: Predicate) -> Vec<FoundTemplate> {
    let mut search = TemplateSearch {
        tree,
        matches,
        pointer: String::new(),
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
    ancestors: Vec<NodeId>,
    found: Vec<FoundTemplate>,
}

impl TemplateSearch<'_, '_> {
    fn visit(&mut self, node: NodeId) {
        let tree = self.tree;
        match tree.kind(node) {
            Kind::Mapping => {
                // A template that a merge key brings is looked at in its own place.
                if tree.get(node, "spec").is_some() && (self.matches)(tree, node) {
                    self.found.push(FoundTemplate {
                        pointer: self.pointer.clone(),
                        node,
                        ancestors: self.ancestors.clone(),
                        completes: false,
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
                    self.visit_child(value, &escape(&key));
                }
                self.ancestors.pop();
            }
            Kind::Sequence => {
                self.ancestors.push(node);
                for (index, item) in tree.items(node).enumerate() {
                    self.visit_child(item, &index.to_string());
                }
                self.ancestors.pop();
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
    use super::{path, with_containers};

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
                .map(|found| format!("{}|{}", found.pointer, path(&tree, found)))
                .collect();
            assert_eq!(shown, expected, "{text}");
        }
    }
}
