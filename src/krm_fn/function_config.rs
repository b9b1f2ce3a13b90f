//! The functionConfig of a call, and its text as in the file of the user.

use serde_json::Value;
use yaml_json_patch::{self as yaml, NodeId, Tree, to_json};

/// Beginnings of the lines of annotations that orchestrators add to objects.
const ADDED_ANNOTATIONS: &[&str] = &[
    "internal.config.kubernetes.io/",
    "config.kubernetes.io/index:",
    "config.kubernetes.io/path:",
    "config.kubernetes.io/id:",
    "config.k8s.io/id:",
];

/// The functionConfig of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FunctionConfig<'e> {
    /// The tree that has it.
    pub(crate) tree: &'e Tree<'e>,
    /// The node of the object.
    pub(crate) node: NodeId,
    /// Offset of the text of the tree in the text of the call.
    pub(crate) start: usize,
}

impl FunctionConfig<'_> {
    /// Returns the file that the orchestrator read it from, if an annotation names it.
    pub(crate) fn file(&self) -> Option<String> {
        let annotations = self
            .tree
            .member_at(self.node, ["metadata", "annotations"])?;
        let path = |key| self.tree.member_text(annotations, key);
        path("internal.config.kubernetes.io/path").or_else(|| path("config.kubernetes.io/path"))
    }

    /// Returns kind and name: `AgentInjector/production`.
    pub(crate) fn name(&self) -> String {
        let kind = self
            .tree
            .member_text(self.node, "kind")
            .unwrap_or_else(|| "functionConfig".to_owned());
        let name = self.tree.member_at(self.node, ["metadata", "name"]);
        match name.and_then(|name| self.tree.text_of(name)) {
            Some(name) => format!("{kind}/{name}"),
            None => kind,
        }
    }

    /// Returns the text of the object alone, without the indentation and the annotations that the orchestrator added. It is that
    /// of the file, unless the orchestrator has reformatted it. None if the result would be another object.
    pub(crate) fn own_text(&self) -> Option<String> {
        let (text, span) = (self.tree.text(), self.tree.place(self.node));
        let (before, lines) = (text.get(..span.start)?, text.get(span)?);
        let indent = before.get(before.rfind('\n').map_or(0, |at| at + 1)..)?;
        let own_text = if indent.trim_matches(' ').is_empty() {
            without_added_annotations(&lines.replace(&format!("\n{indent}"), "\n"))
        } else {
            // `functionConfig: {…}`
            lines.to_owned()
        };
        let tree = yaml::read(&own_text).ok()?;
        let is_same = settings(&tree, tree.root()?)? == settings(self.tree, self.node)?;
        is_same.then_some(own_text)
    }
}

/// Removes the lines of annotations that orchestrators add, and `annotations:` if it has no others.
fn without_added_annotations(text: &str) -> String {
    let mut lines = text.split_inclusive('\n').peekable();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        if is_added_annotation(line) {
            continue;
        }
        let mut has_added = false;
        if line.trim() == "annotations:" {
            while lines.next_if(|next| is_added_annotation(next)).is_some() {
                has_added = true;
            }
        }
        let has_others = lines.peek().is_some_and(|next| indent(next) > indent(line));
        if !has_added || has_others {
            kept.push_str(line);
        }
    }
    kept
}

fn is_added_annotation(line: &str) -> bool {
    let line = line.trim_start();
    ADDED_ANNOTATIONS
        .iter()
        .any(|start| line.starts_with(start))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns the object as JSON, without its metadata, of which lines were removed.
fn settings(tree: &Tree<'_>, node: NodeId) -> Option<Value> {
    let mut value = to_json(tree, node).ok()?;
    if let Some(object) = value.as_object_mut() {
        object.remove("metadata");
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, file, own text of the functionConfig in a ResourceList.
    fn seen(list: &str) -> (String, Option<String>, Option<String>) {
        let tree = yaml::read(list).unwrap();
        let node = tree.get(tree.root().unwrap(), "functionConfig").unwrap();
        let function_config = FunctionConfig {
            tree: &tree,
            node,
            start: 0,
        };
        (
            function_config.name(),
            function_config.file(),
            function_config.own_text(),
        )
    }

    #[test]
    fn a_file_comes_back_as_it_was_before_kpt_read_it() {
        let file =
            "kind: AgentInjector\nmetadata:\n  name: a\nspec:\n  # why\n  agent: {memo: x}\n";
        let passed = file.replace(
            "  name: a\n",
            "  name: a\n  annotations:\n    config.kubernetes.io/path: 'a.yaml'\n    internal.config.kubernetes.io/index: '0'\n",
        );
        let list = format!(
            "kind: ResourceList\nfunctionConfig:\n  {}\nitems: []\n",
            passed.trim_end().replace('\n', "\n  ")
        );
        let (name, path, own) = seen(&list);
        assert_eq!(
            (&*name, path.as_deref()),
            ("AgentInjector/a", Some("a.yaml"))
        );
        assert_eq!(own.unwrap().trim_end(), file.trim_end());
    }

    #[test]
    fn annotations_of_the_users_own_stay() {
        let list = "functionConfig:\n  metadata:\n    annotations:\n      mine: x\n      config.k8s.io/id: '5'\n  spec: {}\n";
        let own = "metadata:\n  annotations:\n    mine: x\nspec: {}\n";
        assert_eq!(seen(list).2.unwrap().trim_end(), own.trim_end());
    }

    #[test]
    fn braces_are_taken_as_they_stand() {
        let (name, path, own) =
            seen("functionConfig: {kind: ConfigMap, data: {a: b}}\nitems: []\n");
        assert_eq!(
            (&*name, path, own.as_deref()),
            ("ConfigMap", None, Some("{kind: ConfigMap, data: {a: b}}"))
        );
    }
}
