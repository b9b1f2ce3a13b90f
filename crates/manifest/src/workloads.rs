//! The pod templates of a resource, at the built-in and the configured paths.

use crate::duplicate_keys::{occurrences, second_key, second_of};
use crate::known_kinds::{KNOWN_KINDS, WorkloadKind};
use crate::template_path::{NextStep, PathRest};
use std::collections::HashMap;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{Kind, NodeId, Tree};

/// The kinds with pod templates: the built-in and the configured ones.
#[derive(Debug, Clone)]
pub struct Table<'c> {
    configured: Vec<WorkloadKind<'c>>,
}

impl<'c> Table<'c> {
    /// Creates the table of the built-in and the `configured` kinds.
    pub fn new(configured: impl IntoIterator<Item = WorkloadKind<'c>>) -> Self {
        Self {
            configured: configured.into_iter().collect(),
        }
    }

    /// Returns the kinds, one with several paths several times.
    pub fn kinds(&self) -> impl Iterator<Item = WorkloadKind<'c>> {
        KNOWN_KINDS.iter().chain(&self.configured).copied()
    }

    /// Returns true if a kind of this name holds a pod template, in this group or, without one, in any. See
    /// [`is_list`](crate::identity::is_list) for lists.
    pub fn knows(&self, group: Option<&str>, kind: &str) -> bool {
        self.kinds()
            .any(|known| known.kind == kind && group.is_none_or(|group| group == known.group))
    }

    /// Finds the pod templates of a resource at the paths of each kind that `is_wanted`. A path may lead nowhere.
    pub fn templates(
        &self,
        tree: &Tree<'_>,
        resource: NodeId,
        is_wanted: impl Fn(&WorkloadKind<'_>) -> bool,
    ) -> Templates {
        let mut finder = TemplateFinder {
            tree,
            found: Vec::new(),
            ancestors: Vec::new(),
            duplicate: None,
        };
        let mut all: Vec<FoundTemplate> = Vec::new();
        let mut known: HashMap<(String, NodeId), usize> = HashMap::new();
        let wanted: Vec<WorkloadKind<'_>> = self.kinds().filter(is_wanted).collect();
        for &WorkloadKind {
            path, completes, ..
        } in &wanted
        {
            finder.follow(path, resource, String::new());
            for found in std::mem::take(&mut finder.found) {
                let mut index = all.len();
                // A configured path may repeat a built-in one. Pods that complete by one of them complete.
                if wanted.len() > 1 {
                    let place = (found.pointer.clone(), found.node);
                    index = *known.entry(place).or_insert(index);
                }
                match all.get_mut(index) {
                    None => all.push(FoundTemplate { completes, ..found }),
                    Some(known) => known.completes |= completes,
                }
            }
        }
        Templates {
            found: all,
            duplicate: finder.duplicate,
        }
    }
}

/// The pod templates of a resource.
#[derive(Debug)]
pub struct Templates {
    pub found: Vec<FoundTemplate>,
    /// The first duplicate key on the path to them.
    pub duplicate: Option<NodeId>,
}

/// One pod template of a resource.
#[derive(Debug)]
pub struct FoundTemplate {
    /// JSON Pointer from the resource.
    pub pointer: String,
    pub node: NodeId,
    /// The nodes above it, one for each token of the pointer, the resource first.
    pub ancestors: Vec<NodeId>,
    /// The same as [`WorkloadKind::completes`].
    pub completes: bool,
}

/// Returns the list of containers if the mapping has the form of a pod template.
pub fn containers(tree: &Tree<'_>, node: NodeId) -> Option<NodeId> {
    let list = tree.alias_target(tree.member_at(node, ["spec", "containers"])?);
    tree.items(list)
        .any(|item| tree.kind(tree.alias_target(item)) == Kind::Mapping)
        .then_some(list)
}

/// Follows a path to its templates, at a duplicate key to each of its values: Kubernetes reads only the last, and a template in
/// another is refused, not lost silently.
struct TemplateFinder<'a, 't> {
    tree: &'a Tree<'t>,
    found: Vec<FoundTemplate>,
    /// The nodes above the current one.
    ancestors: Vec<NodeId>,
    duplicate: Option<NodeId>,
}

impl TemplateFinder<'_, '_> {
    /// Collects the templates below `node`; `pointer` leads to it from the resource.
    fn follow(&mut self, path: PathRest<'_>, node: NodeId, pointer: String) {
        let tree = self.tree;
        let mapping = tree.alias_target(node);
        let Some((step, rest)) = path.split_first() else {
            if tree.kind(mapping) == Kind::Mapping {
                self.found.push(FoundTemplate {
                    pointer,
                    node,
                    ancestors: self.ancestors.clone(),
                    completes: false,
                });
            }
            return;
        };
        self.ancestors.push(node);
        match step {
            NextStep::Key(key) => {
                if let Some(member) = tree.find_member(node, key) {
                    let holder = member.holder;
                    self.duplicate = self.duplicate.or_else(|| second_of(tree, holder, key));
                    let pointer = pointer + "/" + &escape(key);
                    for (_, value) in occurrences(tree, holder, key) {
                        self.follow(rest, value, pointer.clone());
                    }
                }
            }
            NextStep::Each => {
                self.duplicate = self.duplicate.or_else(|| second_key(tree, mapping));
                for (index, item) in tree.items(mapping).enumerate() {
                    self.follow(rest, item, format!("{pointer}/{index}"));
                }
                for (key, value) in tree.entries(mapping) {
                    if let Some(name) = tree.scalar(tree.alias_target(key)) {
                        self.follow(rest, value, format!("{pointer}/{}", escape(&name)));
                    }
                }
            }
        }
        self.ancestors.pop();
    }
}
