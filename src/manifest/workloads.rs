//! The pod templates of a resource, at the built-in and the configured paths.

use crate::manifest::duplicate_keys::{occurrences, second_key};
use crate::manifest::known_kinds::KNOWN_KINDS;
use crate::manifest::template_path::{Step, TemplatePath};
use std::collections::{HashMap, HashSet};
use yaml_json_patch::lookup::Member;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{Kind, NodeId, Tree};

/// The built-in and the configured paths.
#[derive(Debug, Clone)]
pub(crate) struct Table<'c> {
    configured: Vec<ConfiguredPath<'c>>,
}

/// A path of `podTemplates`: group, kind, path, and true if its pods run to completion.
pub(crate) type ConfiguredPath<'c> = (&'c str, &'c str, &'c TemplatePath, bool);

/// The path from a resource to its pod templates, or the rest of it.
#[derive(Debug, Clone, Copy)]
enum Path<'c> {
    BuiltIn(&'static str),
    Configured(&'c [Step]),
}

/// One step of a [`Path`].
enum PathStep<'c> {
    Key(&'c str),
    Each,
}

impl<'c> Path<'c> {
    /// A measure of the remaining steps, smaller with each.
    fn left(self) -> usize {
        match self {
            Path::BuiltIn(path) => path.len(),
            Path::Configured(steps) => steps.len(),
        }
    }

    /// The next step and the remaining path.
    fn split(self) -> Option<(PathStep<'c>, Path<'c>)> {
        match self {
            Path::BuiltIn(path) => {
                let path = path.strip_prefix('/')?;
                let (token, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
                Some((
                    if token == "*" {
                        PathStep::Each
                    } else {
                        PathStep::Key(token)
                    },
                    Path::BuiltIn(rest),
                ))
            }
            Path::Configured(steps) => {
                let (step, rest) = steps.split_first()?;
                let next = match step {
                    Step::Key(key) => PathStep::Key(key),
                    Step::Each => PathStep::Each,
                };
                Some((next, Path::Configured(rest)))
            }
        }
    }
}

impl<'c> Table<'c> {
    /// Creates the table of the built-in and the `configured` paths.
    pub(crate) fn new(configured: impl IntoIterator<Item = ConfiguredPath<'c>>) -> Self {
        Self {
            configured: configured.into_iter().collect(),
        }
    }

    /// Group, kind and path of each, and true if its pods run to completion.
    fn places(&self) -> impl Iterator<Item = (&'c str, &'c str, Path<'c>, bool)> {
        let built_in = KNOWN_KINDS
            .iter()
            .map(|(group, kind, path, completes)| (*group, *kind, Path::BuiltIn(path), *completes));
        let configured = self.configured.iter();
        built_in.chain(configured.map(|(group, kind, path, completes)| {
            (*group, *kind, Path::Configured(&path.steps), *completes)
        }))
    }

    /// Returns true if a kind of this name holds a pod template in any group. See [`is_list`](crate::manifest::identity::is_list)
    /// for lists.
    pub(crate) fn knows_kind(&self, kind: &str) -> bool {
        self.kinds().any(|(_, known)| known == kind)
    }

    /// Returns true if this kind holds a pod template, in this group or, without one, in any.
    pub(crate) fn knows(&self, group: Option<&str>, kind: &str) -> bool {
        self.kinds()
            .any(|(of, known)| known == kind && group.is_none_or(|group| group == of))
    }

    /// Group and kind of every resource that holds a pod template.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&'c str, &'c str)> {
        self.places().map(|(group, kind, ..)| (group, kind))
    }

    /// The pod templates of a resource, of which `is_of` tells group and kind. Places that it does not fill are left out.
    pub(crate) fn templates(
        &self,
        tree: &Tree<'_>,
        resource: NodeId,
        is_of: impl Fn(&str, &str) -> bool,
    ) -> Templates {
        let mut finder = TemplateFinder::new(tree);
        let mut all: Vec<FoundTemplate> = Vec::new();
        let mut known: HashMap<(String, NodeId), usize> = HashMap::new();
        for (_, _, way, completes) in self.places().filter(|(group, kind, ..)| is_of(group, kind)) {
            finder.go(resource, way, String::new());
            for here in std::mem::take(&mut finder.found) {
                // A configured path may repeat a built-in one.
                let place = (here.pointer.clone(), here.node);
                let index = *known.entry(place).or_insert(all.len());
                match all.get_mut(index) {
                    Some(known) => known.completes |= completes,
                    None => all.push(FoundTemplate { completes, ..here }),
                }
            }
            // The cached results hold for this path only.
            finder.searched.clear();
            finder.aliased.clear();
        }
        Templates {
            found: all,
            duplicate: finder.duplicate,
        }
    }
}

/// The pod templates of a resource.
#[derive(Debug)]
pub(crate) struct Templates {
    pub(crate) found: Vec<FoundTemplate>,
    /// The first duplicate key on the path to them.
    pub(crate) duplicate: Option<NodeId>,
}

/// One pod template of a resource.
#[derive(Debug)]
pub(crate) struct FoundTemplate {
    /// JSON Pointer from the resource.
    pub(crate) pointer: String,
    pub(crate) node: NodeId,
    /// The nodes above it, one for each token of the pointer, the resource first.
    pub(crate) ancestors: Vec<NodeId>,
    /// True if its pods run to completion, whether or not it says so.
    pub(crate) completes: bool,
}

/// The list of containers, if the mapping has the form of a pod template.
pub(crate) fn containers(tree: &Tree<'_>, node: NodeId) -> Option<NodeId> {
    let list = tree.alias_target(tree.member(tree.member(node, "spec")?, "containers")?);
    let mut kinds = tree
        .items(list)
        .map(|item| tree.kind(tree.alias_target(item)));
    kinds.any(|kind| kind == Kind::Mapping).then_some(list)
}

/// Follows a [`Path`], at a duplicate key to all of its values: what Kubernetes does not read is refused and not lost.
struct TemplateFinder<'a, 't> {
    tree: &'a Tree<'t>,
    found: Vec<FoundTemplate>,
    /// The nodes above the current one.
    ancestors: Vec<NodeId>,
    duplicate: Option<NodeId>,
    /// True below a value that Kubernetes does not read.
    is_hidden: bool,
    /// Nodes with duplicate keys, and those that these hide, with the remaining path. Aliases lead to them again, but one
    /// hidden template is enough to refuse the resource.
    searched: HashSet<(NodeId, usize)>,
    /// Cached members of what aliases lead to, by mapping and remaining path.
    aliased: HashMap<(NodeId, usize), Option<Member>>,
}

impl<'a, 't> TemplateFinder<'a, 't> {
    fn new(tree: &'a Tree<'t>) -> Self {
        Self {
            tree,
            found: Vec::new(),
            ancestors: Vec::new(),
            duplicate: None,
            is_hidden: false,
            searched: HashSet::new(),
            aliased: HashMap::new(),
        }
    }

    fn go(&mut self, node: NodeId, way: Path<'_>, pointer: String) {
        let tree = self.tree;
        if self.is_hidden && !self.searched.insert((tree.alias_target(node), way.left())) {
            return;
        }
        match way.split() {
            None => {
                if tree.kind(tree.alias_target(node)) == Kind::Mapping {
                    let ancestors = self.ancestors.clone();
                    self.found.push(FoundTemplate {
                        pointer,
                        node,
                        ancestors,
                        completes: false,
                    });
                }
            }
            Some((PathStep::Key(key), rest)) => {
                let Some(member) = self.member(node, key, rest) else {
                    return;
                };
                let pointer = pointer + "/" + &escape(key);
                self.ancestors.push(node);
                if member.is_duplicate {
                    self.go_hidden(&member, key, rest, &pointer);
                }
                self.go(member.value, rest, pointer);
                self.ancestors.pop();
            }
            Some((PathStep::Each, rest)) => {
                let Members { all, duplicate } = members(tree, node);
                self.duplicate = self.duplicate.or(duplicate);
                self.ancestors.push(node);
                for (token, member) in all {
                    self.go(member, rest, format!("{pointer}/{token}"));
                }
                self.ancestors.pop();
            }
        }
    }

    /// Returns a member, and notes the first duplicate key. What many aliases lead to is looked at once for all of them.
    fn member(&mut self, node: NodeId, key: &str, rest: Path<'_>) -> Option<Member> {
        let tree = self.tree;
        let place = (tree.alias_target(node), rest.left());
        let is_alias = place.0 != node;
        if let Some(known) = self.aliased.get(&place).filter(|_| is_alias) {
            return *known;
        }
        let member = tree.find_member(node, key);
        if self.duplicate.is_none() && member.is_some() {
            self.duplicate = second_key(tree, node, key);
        }
        if is_alias {
            self.aliased.insert(place, member);
        }
        member
    }

    /// Follows the values of a duplicate key that Kubernetes does not read.
    fn go_hidden(&mut self, member: &Member, key: &str, rest: Path<'_>, pointer: &str) {
        if !self.searched.insert((member.holder, rest.left())) {
            return;
        }
        let is_outer_hidden = std::mem::replace(&mut self.is_hidden, true);
        for value in occurrences(self.tree, member.holder, key) {
            if value != member.value {
                self.go(value, rest, pointer.to_owned());
            }
        }
        self.is_hidden = is_outer_hidden;
    }
}

/// The items of a list or the members of a map.
struct Members {
    /// Each with its token of a JSON Pointer.
    all: Vec<(String, NodeId)>,
    /// The first duplicate key.
    duplicate: Option<NodeId>,
}

fn members(tree: &Tree<'_>, node: NodeId) -> Members {
    let node = tree.alias_target(node);
    let items = tree
        .items(node)
        .enumerate()
        .map(|(index, item)| (index.to_string(), item))
        .collect();
    let mut members = Members {
        all: items,
        duplicate: None,
    };
    let mut names = HashSet::new();
    for (key, value) in tree.entries(node) {
        let Some(name) = tree.scalar(tree.alias_target(key)) else {
            continue;
        };
        members.all.push((escape(&name).into_owned(), value));
        if !names.insert(name) {
            members.duplicate = members.duplicate.or(Some(key));
        }
    }
    members
}
