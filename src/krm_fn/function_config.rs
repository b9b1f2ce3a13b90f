//! The functionConfig of a call, and the file that the user wrote it in.

use crate::config::KIND;
use serde_json::Value;
use yaml_json_patch::{self as yaml, NodeId, Tree, to_json};

/// Annotations that orchestrators add to what they read.
const OF_ORCHESTRATORS: &[&str] = &[
    "internal.config.kubernetes.io/",
    "config.kubernetes.io/index:",
    "config.kubernetes.io/path:",
    "config.kubernetes.io/id:",
    "config.k8s.io/id:",
];

/// The functionConfig of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FunctionConfig<'e> {
    /// Its tree.
    pub(crate) tree: &'e Tree<'e>,
    /// The object.
    pub(crate) node: NodeId,
    /// Byte offset of the tree's text in the call's, for this object.
    pub(crate) start: usize,
}

impl FunctionConfig<'_> {
    /// The file that the orchestrator read it from, where it says so.
    pub(crate) fn file(&self) -> Option<String> {
        let annotations = self
            .tree
            .member(self.tree.member(self.node, "metadata")?, "annotations")?;
        let keys = [
            "internal.config.kubernetes.io/path",
            "config.kubernetes.io/path",
        ];
        keys.into_iter()
            .find_map(|key| self.tree.member_text(annotations, key))
    }

    /// Kind and name: `AgentInjector/production`.
    pub(crate) fn name(&self) -> String {
        let kind = self
            .tree
            .member_text(self.node, "kind")
            .unwrap_or_else(|| "functionConfig".to_owned());
        let metadata = self.tree.member(self.node, "metadata");
        match metadata.and_then(|metadata| self.tree.member_text(metadata, "name")) {
            Some(name) => format!("{kind}/{name}"),
            None => kind,
        }
    }

    /// The text of the object alone, equal to its file unless the orchestrator printed it anew. None if it cannot be cut out.
    pub(crate) fn own_text(&self) -> Option<String> {
        let (whole, span) = (self.tree.text(), self.tree.place(self.node));
        let (before, lines) = (whole.get(..span.start)?, whole.get(span)?);
        let indent = before.get(before.rfind('\n').map_or(0, |at| at + 1)..)?;
        let own = match indent.trim_matches(' ').is_empty() {
            true => without_added_annotations(&lines.replace(&format!("\n{indent}"), "\n")),
            // `functionConfig: {…}`
            false => lines.to_owned(),
        };
        let tree = yaml::read(&own).ok()?;
        (settings(&tree, tree.root()?)? == settings(self.tree, self.node)?).then_some(own)
    }
}

/// Returns true if a document of the text configures a run of this program by kustomize: an `AgentInjector`, or another object
/// whose annotation names the program or its image.
pub(crate) fn configures_injector(yaml_text: &str) -> bool {
    yaml::documents(yaml_text).any(|document| {
        let Ok(tree) = yaml::read(&yaml_text[document.span]) else {
            return false;
        };
        let Some(root) = tree.root() else {
            return false;
        };
        let annotations = tree
            .member(root, "metadata")
            .and_then(|metadata| tree.member(metadata, "annotations"));
        let function = annotations
            .and_then(|annotations| tree.member_text(annotations, "config.kubernetes.io/function"));
        tree.member_text(root, "kind").as_deref() == Some(KIND)
            || function.is_some_and(|function| function.contains("mackerel-agent-injector"))
    })
}

/// Takes out the lines that orchestrators add, and the `annotations:` that they made for them.
fn without_added_annotations(text: &str) -> String {
    let width = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let is_added = |line: &&str| {
        OF_ORCHESTRATORS
            .iter()
            .any(|start| line.trim_start().starts_with(start))
    };
    let mut lines = text.split_inclusive('\n').peekable();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        if line.trim() != "annotations:" {
            kept.push_str(if is_added(&line) { "" } else { line });
            continue;
        }
        let added = std::iter::from_fn(|| lines.next_if(|next| is_added(next))).count();
        let has_others = lines.peek().is_some_and(|next| width(next) > width(line));
        if added == 0 || has_others {
            kept.push_str(line);
        }
    }
    kept
}

/// The object without its metadata, which may have lost lines.
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
