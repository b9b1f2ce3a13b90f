//! Where pod templates stand: one table from group and kind to the JSON Pointer of the PodTemplateSpec.
//!
//! Group and kind both count: a Volcano `Job` is not a batch `Job`, a Knative `Service` is not a core one. Versions do not
//! (`extensions/v1beta1` Deployments have their template where `apps/v1` has it).

use crate::manifest::duplicate_keys::{occurrences, second_key};
use crate::manifest::template_path::{Step, TemplatePath};
use std::collections::{HashMap, HashSet};
use yaml_json_patch::lookup::Member;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{Kind, NodeId, Tree};

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
#[derive(Debug, Clone)]
pub(crate) struct Table<'c> {
    /// Group, kind and path.
    configured: Vec<(&'c str, &'c str, &'c TemplatePath)>,
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
    pub(crate) fn new(configured: impl IntoIterator<Item = (&'c str, &'c str, &'c TemplatePath)>) -> Self {
        Self { configured: configured.into_iter().collect() }
    }

    /// Group, kind and way of each.
    fn places(&self) -> impl Iterator<Item = (&'c str, &'c str, Way<'c>)> {
        let built_in = BUILT_IN.iter().map(|(group, kind, path)| (*group, *kind, Way::BuiltIn(path)));
        let configured = self.configured.iter();
        built_in.chain(configured.map(|(group, kind, path)| (*group, *kind, Way::Configured(&path.steps))))
    }

    /// True when some group has a kind of this name that holds a pod template. Lists are not kinds: ask [`is_list`](crate::manifest::identity::is_list).
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

/// The containers of a mapping that has the form of a pod template.
#[must_use]
pub(crate) fn containers(tree: &Tree<'_>, node: NodeId) -> Option<NodeId> {
    let list = tree.alias_target(tree.member(tree.member(node, "spec")?, "containers")?);
    let mut kinds = tree.items(list).map(|item| tree.kind(tree.alias_target(item)));
    kinds.any(|kind| kind == Kind::Mapping).then_some(list)
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
                if tree.kind(tree.alias_target(node)) == Kind::Mapping {
                    self.found.push((pointer, node));
                }
            }
            Some((Next::Key(key), rest)) => {
                let Some(member) = tree.find_member(node, key) else { return };
                if self.duplicate.is_none() {
                    self.duplicate = second_key(tree, node, key);
                }
                let value = if member.is_duplicate { self.last_that_leads(&member, key, rest) } else { member.value };
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
        let node = tree.alias_target(node);
        let place = (node, way.left(), in_template);
        if let Some(known) = self.leads.get(&place) {
            return *known;
        }
        let leads = match way.split() {
            None if in_template => tree.kind(node) == Kind::Mapping,
            None => self.leads(node, CONTAINERS, true),
            Some((Next::Key(key), rest)) => tree.find_member(node, key).is_some_and(|member| {
                occurrences(tree, member.holder, key).any(|value| self.leads(value, rest, in_template))
            }),
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
    let node = tree.alias_target(node);
    let items = tree.items(node).enumerate().map(|(index, item)| (index.to_string(), item)).collect();
    let mut members = Members { all: items, duplicate: None };
    let mut names = HashSet::new();
    for (key, value) in tree.entries(node) {
        let Some(name) = tree.scalar(tree.alias_target(key)) else { continue };
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
