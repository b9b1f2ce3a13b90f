//! Where pod templates stand: one table from group and kind to the JSON Pointer of the PodTemplateSpec.
//!
//! Group and kind both count: a Volcano `Job` is not a batch `Job`, a Knative `Service` is not a core one. Versions do not
//! (`extensions/v1beta1` Deployments have their template where `apps/v1` has it).

use crate::config::{PodTemplatePath, Step};
use crate::duplicate_keys::{occurrences, second_key};
use crate::patch::{escape, unescape};
use std::collections::{HashMap, HashSet};
use yaml_json_patch::{Kind, NodeId, Tree, is_merge_key};

/// Group, kind and pointer of every built-in place. The sources are the projects' API types.
const BUILT_IN: &[(&str, &str, &str)] = &[
    ("", "Pod", ""),
    ("", "PodTemplate", "/template"),
    ("", "ReplicationController", "/spec/template"),
    ("apps", "ReplicaSet", "/spec/template"),
    ("apps", "Deployment", "/spec/template"),
    ("apps", "StatefulSet", "/spec/template"),
    ("apps", "DaemonSet", "/spec/template"),
    // Served until Kubernetes 1.15; old manifests and charts still carry it.
    ("extensions", "ReplicaSet", "/spec/template"),
    ("extensions", "Deployment", "/spec/template"),
    ("extensions", "DaemonSet", "/spec/template"),
    ("batch", "Job", "/spec/template"),
    ("batch", "CronJob", "/spec/jobTemplate/spec/template"),
    ("apps.openshift.io", "DeploymentConfig", "/spec/template"),
    // OpenShift 3 served it without a group, as plain `v1`.
    ("", "DeploymentConfig", "/spec/template"),
    ("argoproj.io", "Rollout", "/spec/template"),
    ("serving.knative.dev", "Service", "/spec/template"),
    // A Revision's own spec is the PodSpec: like a Pod, it is its own template.
    ("serving.knative.dev", "Revision", ""),
    ("apps.kruise.io", "CloneSet", "/spec/template"),
    ("apps.kruise.io", "StatefulSet", "/spec/template"),
    ("apps.kruise.io", "DaemonSet", "/spec/template"),
    ("apps.kruise.io", "BroadcastJob", "/spec/template"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "/spec/leaderWorkerTemplate/leaderTemplate"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "/spec/leaderWorkerTemplate/workerTemplate"),
    ("jobset.x-k8s.io", "JobSet", "/spec/replicatedJobs/*/template/spec/template"),
];

/// Group and kind of every built-in place.
pub fn built_in_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILT_IN.iter().map(|(group, kind, _)| (*group, *kind))
}

/// The built-in places and the configured ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'c> {
    configured: &'c [PodTemplatePath],
}

/// The way from a resource to its pod templates, or what is left of it.
#[derive(Debug, Clone, Copy)]
enum Way<'c> {
    BuiltIn(&'static str),
    Configured(&'c [Step]),
}

/// From a pod template to what makes it one.
const CONTAINERS: Way<'_> = Way::BuiltIn("/spec/containers/*");

/// One step of it.
enum Next<'c> {
    Key(&'c str),
    Each,
}

impl<'c> Way<'c> {
    /// Less with each step.
    fn left(self) -> usize {
        match self {
            Way::BuiltIn(path) => path.len(),
            Way::Configured(steps) => steps.len(),
        }
    }

    /// The next step, and what is left behind it.
    fn split(self) -> Option<(Next<'c>, Way<'c>)> {
        match self {
            Way::BuiltIn(path) => {
                let path = path.strip_prefix('/')?;
                let (token, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
                Some((if token == "*" { Next::Each } else { Next::Key(token) }, Way::BuiltIn(rest)))
            }
            Way::Configured(steps) => {
                let (step, rest) = steps.split_first()?;
                let next = match step {
                    Step::Key(key) => Next::Key(key),
                    Step::Each => Next::Each,
                };
                Some((next, Way::Configured(rest)))
            }
        }
    }
}

impl<'c> Table<'c> {
    /// The built-in places and `configured` ones.
    #[must_use]
    pub(crate) fn new(configured: &'c [PodTemplatePath]) -> Self {
        Self { configured }
    }

    /// Group, kind and way of each.
    fn places(&self) -> impl Iterator<Item = (&'c str, &'c str, Way<'c>)> {
        let built_in = BUILT_IN.iter().map(|(group, kind, path)| (*group, *kind, Way::BuiltIn(path)));
        let configured = self.configured.iter();
        built_in.chain(configured.map(|place| (&*place.group, &*place.kind, Way::Configured(&place.path.steps))))
    }

    /// True when some group has a kind of this name that holds a pod template. Lists are not kinds: ask [`is_list`].
    #[must_use]
    pub(crate) fn knows_kind(&self, kind: &str) -> bool {
        self.kinds().any(|(_, known)| known == kind)
    }

    /// True when this kind, of the group or of some group, holds a pod template.
    #[must_use]
    pub(crate) fn knows(&self, group: Option<&str>, kind: &str) -> bool {
        self.kinds().any(|(of, known)| known == kind && group.is_none_or(|group| group == of))
    }

    /// Group and kind of everything that holds a pod template.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&'c str, &'c str)> {
        self.places().map(|(group, kind, _)| (group, kind))
    }

    /// The pod templates of a resource, of which `is_of` tells group and kind. Places that it does not fill are left out.
    #[must_use]
    pub(crate) fn templates(&self, tree: &Tree<'_>, resource: NodeId, is_of: impl Fn(&str, &str) -> bool) -> Templates {
        let mut walk = Walk { tree, found: Vec::new(), duplicate: None, leads: HashMap::new(), chosen: HashMap::new() };
        let mut all: Vec<(String, NodeId)> = Vec::new();
        for (_, _, way) in self.places().filter(|(group, kind, _)| is_of(group, kind)) {
            walk.go(resource, way, String::new());
            let mut here = std::mem::take(&mut walk.found);
            // A configured place may repeat a built-in one.
            here.retain(|(pointer, _)| all.iter().all(|(known, _)| known != pointer));
            all.append(&mut here);
            // Whether a node leads anywhere is known for this way only.
            walk.leads.clear();
            walk.chosen.clear();
        }
        Templates { found: all, duplicate: walk.duplicate }
    }
}

/// What a resource has at the places of its kind.
#[derive(Debug)]
pub(crate) struct Templates {
    /// Pointer from the resource, and node.
    pub(crate) found: Vec<(String, NodeId)>,
    /// A key on the way to them that stands twice and is refused for that.
    pub(crate) duplicate: Option<NodeId>,
}

/// The member of a mapping as Kubernetes sees it: aliases are looked through, and merge keys (`<<`) where the mapping
/// itself has no such key. Of equal keys the last counts, as for [`Tree::get`].
#[must_use]
pub(crate) fn member(tree: &Tree<'_>, mapping: NodeId, key: &str) -> Option<NodeId> {
    merged_member(tree, mapping, key, &mut Vec::new()).map(|member| member.value)
}

/// The containers of a mapping that has the form of a pod template.
#[must_use]
pub(crate) fn containers(tree: &Tree<'_>, node: NodeId) -> Option<NodeId> {
    let list = tree.resolve(member(tree, member(tree, node, "spec")?, "containers")?);
    let mut kinds = tree.items(list).map(|item| tree.kind(tree.resolve(item)));
    kinds.any(|kind| kind == Kind::Mapping).then_some(list)
}

/// The mapping that has the key, where [`member`] finds it.
#[must_use]
pub(crate) fn holder(tree: &Tree<'_>, mapping: NodeId, key: &str) -> Option<NodeId> {
    merged_member(tree, mapping, key, &mut Vec::new()).map(|member| member.holder)
}

/// The member that is seen.
struct Member {
    value: NodeId,
    /// The mapping in which it stands: another one where a merge key brings it.
    holder: NodeId,
    /// The key stands in front of it, too.
    stands_twice: bool,
}

/// The way from a resource to its pod templates. Where a key on it stands twice, the last one is taken that leads to a
/// template with containers.
struct Walk<'a, 't> {
    tree: &'a Tree<'t>,
    found: Vec<(String, NodeId)>,
    duplicate: Option<NodeId>,
    /// Of nodes that many keys and aliases may lead to, and what is left of the way, within a template or to it.
    leads: HashMap<(NodeId, usize, bool), bool>,
    /// Of mappings that many aliases may lead to, and what is left of the way.
    chosen: HashMap<(NodeId, usize), NodeId>,
}

impl Walk<'_, '_> {
    fn go(&mut self, node: NodeId, way: Way<'_>, pointer: String) {
        let tree = self.tree;
        match way.split() {
            None => {
                if tree.kind(tree.resolve(node)) == Kind::Mapping {
                    self.found.push((pointer, node));
                }
            }
            Some((Next::Key(key), rest)) => {
                let Some(member) = merged_member(tree, node, key, &mut Vec::new()) else { return };
                if self.duplicate.is_none() {
                    self.duplicate = second_key(tree, node, key);
                }
                let value = if member.stands_twice { self.last_that_leads(&member, key, rest) } else { member.value };
                self.go(value, rest, pointer + "/" + &escape(key));
            }
            Some((Next::Each, rest)) => {
                let Members { all, duplicate } = members(tree, node);
                self.duplicate = self.duplicate.or(duplicate);
                for (token, member) in all {
                    self.go(member, rest, format!("{pointer}/{token}"));
                }
            }
        }
    }

    #[cold]
    fn last_that_leads(&mut self, member: &Member, key: &str, rest: Way<'_>) -> NodeId {
        let place = (member.holder, rest.left());
        if let Some(chosen) = self.chosen.get(&place) {
            return *chosen;
        }
        let mut from_last = occurrences(self.tree, member.holder, key).rev();
        let chosen = from_last.find(|value| self.leads(*value, rest, false)).unwrap_or(member.value);
        self.chosen.insert(place, chosen);
        chosen
    }

    /// True where any key on the way leads to a template with containers.
    fn leads(&mut self, node: NodeId, way: Way<'_>, in_template: bool) -> bool {
        let tree = self.tree;
        let node = tree.resolve(node);
        let place = (node, way.left(), in_template);
        if let Some(known) = self.leads.get(&place) {
            return *known;
        }
        let leads = match way.split() {
            None if in_template => tree.kind(node) == Kind::Mapping,
            None => self.leads(node, CONTAINERS, true),
            Some((Next::Key(key), rest)) => holder(tree, node, key)
                .is_some_and(|holder| occurrences(tree, holder, key).any(|value| self.leads(value, rest, in_template))),
            Some((Next::Each, rest)) => {
                members(tree, node).all.into_iter().any(|(_, member)| self.leads(member, rest, in_template))
            }
        };
        self.leads.insert(place, leads);
        leads
    }
}

/// The items of a list or the members of a map.
struct Members {
    /// Each with its token of a JSON Pointer.
    all: Vec<(String, NodeId)>,
    /// The first key that stands twice.
    duplicate: Option<NodeId>,
}

fn members(tree: &Tree<'_>, node: NodeId) -> Members {
    let node = tree.resolve(node);
    let items = tree.items(node).enumerate().map(|(index, item)| (index.to_string(), item)).collect();
    let mut members = Members { all: items, duplicate: None };
    let mut names = HashSet::new();
    for (key, value) in tree.entries(node) {
        let Some(name) = tree.scalar(tree.resolve(key)) else { continue };
        members.all.push((escape(&name).into_owned(), value));
        if !names.insert(name) {
            members.duplicate = members.duplicate.or(Some(key));
        }
    }
    members
}

/// True where a pod template has containers by any of its keys that stand twice.
#[must_use]
pub(crate) fn may_have_containers(tree: &Tree<'_>, template: NodeId) -> bool {
    let mut walk = Walk { tree, found: Vec::new(), duplicate: None, leads: HashMap::new(), chosen: HashMap::new() };
    walk.leads(template, CONTAINERS, true)
}

/// Beyond it, a key is taken to be absent. People write one or two.
pub(crate) const MOST_MERGES: usize = 256;

/// `seen`: a mapping that did not have the key need not be asked again, however many merge keys lead to it.
fn merged_member(tree: &Tree<'_>, mapping: NodeId, key: &str, seen: &mut Vec<NodeId>) -> Option<Member> {
    let mapping = tree.resolve(mapping);
    let (mut found, mut merged): (Option<Member>, Option<NodeId>) = (None, None);
    for (name, value) in tree.entries(mapping) {
        if tree.is_key(name, key) {
            found = Some(Member { value, holder: mapping, stands_twice: found.is_some() });
        } else if is_merge_key(tree, name) {
            merged = Some(value);
        }
    }
    if found.is_some() {
        return found;
    }
    let source = tree.resolve(merged?);
    if seen.contains(&source) || seen.len() > MOST_MERGES {
        return None;
    }
    seen.push(source);
    match tree.kind(source) {
        Kind::Sequence => tree.items(source).find_map(|item| merged_member(tree, item, key, seen)),
        _ => merged_member(tree, source, key, seen),
    }
}

/// One token of a JSON Pointer further down; aliases and merge keys are looked through.
#[must_use]
pub(crate) fn step(tree: &Tree<'_>, node: NodeId, token: &str) -> Option<NodeId> {
    let node = tree.resolve(node);
    match (tree.kind(node), token.parse()) {
        (Kind::Sequence, Ok(index)) => tree.items(node).nth(index),
        _ => member(tree, node, &unescape(token)),
    }
}

/// True for a kind whose `items` are resources: `List`, `ResourceList` and typed lists such as `DeploymentList`.
#[must_use]
pub(crate) fn is_list(kind: &str) -> bool {
    kind.ends_with("List")
}
