//! What decisions look at: a small view of a pod template, with our own agent told apart from everything else.
//!
//! Every decision is made on the template without our agent, so that a changed configuration gives what it would have
//! given in the first place.

use crate::agent::normal::{Names, normal, take_image, take_names};
use crate::agent::record::{PullSecrets, Unreadable};
use crate::agent::{CONTAINER, Record, Sidecar, Volume, is_agent_image};
use crate::annotations::Annotation as Key;
use crate::duplicate_keys::second_key;
use crate::find::member;
use crate::parts::{Kinds, Parts};
use crate::resource::text;
use crate::wait_for;
use serde_json::Value;
use yaml_json_patch::{Kind, NodeId, Resolved, Tree, resolve, to_json};

/// One annotation of the template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Annotation {
    /// Its key.
    pub(crate) key: String,
    /// Its value; none where it is not a string, which Kubernetes refuses.
    pub(crate) value: Option<String>,
    /// Where its key stands.
    pub(crate) offset: usize,
    /// Where its value stands.
    pub(crate) value_offset: usize,
}

/// The list that a container stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContainerList {
    /// `containers`
    Containers,
    /// `initContainers`
    InitContainers,
    /// `ephemeralContainers`
    EphemeralContainers,
}

impl ContainerList {
    const ALL: [ContainerList; 3] =
        [ContainerList::Containers, ContainerList::InitContainers, ContainerList::EphemeralContainers];

    /// The field of the PodSpec.
    #[must_use]
    pub(crate) fn field(self) -> &'static str {
        match self {
            ContainerList::Containers => "containers",
            ContainerList::InitContainers => "initContainers",
            ContainerList::EphemeralContainers => "ephemeralContainers",
        }
    }
}

/// One container, as far as decisions need it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Container {
    /// The list it stands in.
    pub(crate) list: ContainerList,
    /// Its place in that list.
    pub(crate) index: usize,
    /// Its name, if it has one.
    pub(crate) name: Option<String>,
    /// Its image, if it has one.
    pub(crate) image: Option<String>,
    /// Where it stands.
    pub(crate) node: NodeId,
}

/// One volume.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PodVolume {
    /// Its place in `volumes`.
    pub(crate) index: usize,
    /// Its name, if it has one.
    pub(crate) name: Option<String>,
    /// Where it stands.
    pub(crate) node: NodeId,
}

/// One entry of `imagePullSecrets`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PullSecret {
    /// Its place in the list.
    pub(crate) index: usize,
    /// Its name, if it has one.
    pub(crate) name: Option<String>,
}

/// The view.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PodTemplate {
    /// Its mapping.
    pub(crate) node: NodeId,
    /// `metadata`, if the key is there.
    pub(crate) metadata: Option<NodeId>,
    /// `spec`, if the key is there.
    pub(crate) spec: Option<NodeId>,
    /// All annotations but ours (`status` and `record`).
    pub(crate) annotations: Vec<Annotation>,
    /// All labels that are strings.
    pub(crate) labels: Vec<(String, String)>,
    /// All containers but ours.
    pub(crate) containers: Vec<Container>,
    /// All volumes but ours.
    pub(crate) volumes: Vec<PodVolume>,
    /// All pull secrets but ours.
    pub(crate) pull_secrets: Vec<PullSecret>,
    /// `spec.restartPolicy`
    pub(crate) restart_policy: Option<String>,
    /// `spec.automountServiceAccountToken`; none where its ServiceAccount decides.
    pub(crate) automount: Option<bool>,
    /// `spec.hostNetwork: true`
    pub(crate) host_network: bool,
    /// What says Windows: `spec.os.name`, the node selector, the node affinity, or that a container is a host process.
    pub(crate) windows: Option<SpecField>,
    /// `spec.resources` has requests or limits: the pod's containers share one budget.
    pub(crate) pod_resources: bool,
    /// What carries our record.
    pub(crate) ours: Option<Ours>,
    /// It has no containers, since a key that stands twice hides them.
    pub(crate) hides_containers: bool,
}

/// A field of the PodSpec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpecField {
    /// Its value.
    pub(crate) node: NodeId,
    /// JSON Pointer to it from the PodSpec.
    pub(crate) pointer: String,
}

/// What we find of an earlier injection.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ours {
    /// The record, or why it cannot be read.
    pub(crate) record: Result<Record, Unreadable>,
    /// Where the record stands.
    pub(crate) offset: usize,
    /// `status: injected` stands beside it.
    pub(crate) status: bool,
    /// The agent that the record names; none where it is gone.
    pub(crate) agent: Option<Container>,
    /// The init container that the record names; none where it is gone.
    pub(crate) wait_for: Option<Container>,
    /// The volumes that the record names, each with its place; none for one that is gone.
    pub(crate) volumes: Vec<(Volume, Option<PodVolume>)>,
    /// The pull secrets that the record names, each with its place; none for one that is gone.
    pub(crate) pull_secrets: Vec<(String, Option<PullSecret>)>,
    /// The normal form of agent and volumes without their names; none where a part is gone.
    pub(crate) value: Option<Value>,
    /// The names in use, as far as what holds them is there.
    pub(crate) names: Names,
    /// The normal form of the init container without its image, and that; none where it is gone.
    pub(crate) wait_for_value: Option<(Value, Option<String>)>,
}

impl Ours {
    /// Which of the two it is; by what stands there where the record cannot be read.
    #[must_use]
    pub(crate) fn kinds(&self) -> Kinds {
        match &self.record {
            Ok(record) => record.parts.kinds(),
            Err(_) => {
                let found = Parts::of(self.agent.as_ref(), self.wait_for.as_ref());
                found.map_or(Parts::Agent(()), |found| found.kinds())
            }
        }
    }

    /// Both containers, as far as they are there.
    pub(crate) fn containers(&self) -> impl Iterator<Item = &Container> {
        self.agent.iter().chain(&self.wait_for)
    }
}

impl PodTemplate {
    /// Looks at the template at `node`.
    #[must_use]
    pub(crate) fn view(tree: &Tree<'_>, node: NodeId) -> Self {
        let metadata = member(tree, node, "metadata");
        let spec = member(tree, node, "spec");
        let below = |parent: Option<NodeId>, key: &str| parent.and_then(|parent| member(tree, parent, key));
        let mut annotations = annotations_of(tree, below(metadata, "annotations"));
        let mut containers: Vec<Container> = ContainerList::ALL
            .into_iter()
            .flat_map(|list| containers_of(tree, below(spec, list.field()), list))
            .collect();
        let mut volumes = volumes_of(tree, below(spec, "volumes"));
        let mut pull_secrets = pull_secrets_of(tree, below(spec, "imagePullSecrets"));
        let record = annotations.iter().rposition(|annotation| annotation.key == Key::Record.key());
        let record = record.map(|at| annotations.remove(at));
        let ours = record
            .map(|record| take_ours(tree, record, &mut annotations, &mut containers, &mut volumes, &mut pull_secrets));
        let is_set = |key: &str| match resolve(tree, tree.resolve(below(spec, key)?)) {
            Ok(Resolved::Bool(value)) => Some(value),
            _ => None,
        };
        let windows = spec.and_then(|spec| windows(tree, spec, &containers));
        Self {
            node,
            metadata,
            spec,
            annotations,
            labels: labels_of(tree, below(metadata, "labels")),
            containers,
            volumes,
            pull_secrets,
            restart_policy: spec.and_then(|spec| text(tree, spec, "restartPolicy")),
            automount: is_set("automountServiceAccountToken"),
            host_network: is_set("hostNetwork") == Some(true),
            windows,
            pod_resources: ["requests", "limits"]
                .iter()
                .any(|list| has_entries(tree, below(below(spec, "resources"), list))),
            ours,
            hides_containers: false,
        }
    }

    /// A key that stands twice in it, in its `metadata` or in its `spec`, and is refused for that.
    #[must_use]
    pub(crate) fn second_key(&self, tree: &Tree<'_>) -> Option<NodeId> {
        [(Some(self.node), "spec"), (self.metadata, ""), (self.spec, "")]
            .into_iter()
            .find_map(|(mapping, step)| second_key(tree, mapping?, step))
    }

    /// The value of an annotation that is a string.
    #[must_use]
    pub(crate) fn annotation(&self, key: &str) -> Option<&Annotation> {
        self.annotations.iter().rev().find(|annotation| annotation.key == key)
    }
}

fn annotations_of(tree: &Tree<'_>, node: Option<NodeId>) -> Vec<Annotation> {
    entries(tree, node)
        .map(|(key, name, value)| Annotation {
            key: name,
            value: match resolve(tree, tree.resolve(value)) {
                Ok(Resolved::Str(text)) if tree.kind(tree.resolve(value)) == Kind::Scalar => Some(text.into_owned()),
                _ => None,
            },
            offset: tree.span(key).start,
            value_offset: tree.span(value).start,
        })
        .collect()
}

fn labels_of(tree: &Tree<'_>, node: Option<NodeId>) -> Vec<(String, String)> {
    let node = node.map(|node| tree.resolve(node));
    entries(tree, node)
        .filter_map(|(_, key, value)| Some((key, tree.scalar(tree.resolve(value))?.into_owned())))
        .collect()
}

/// The entries of a mapping whose keys are scalars.
fn entries<'a>(tree: &'a Tree<'_>, node: Option<NodeId>) -> impl Iterator<Item = (NodeId, String, NodeId)> + 'a {
    node.map(|node| tree.resolve(node))
        .into_iter()
        .flat_map(|node| tree.entries(node))
        .filter_map(|(key, value)| Some((key, tree.scalar(tree.resolve(key))?.into_owned(), value)))
}

fn containers_of(tree: &Tree<'_>, node: Option<NodeId>, list: ContainerList) -> Vec<Container> {
    items(tree, node)
        .map(|(index, node)| Container {
            list,
            index,
            name: text(tree, node, "name"),
            image: text(tree, node, "image"),
            node,
        })
        .collect()
}

fn volumes_of(tree: &Tree<'_>, node: Option<NodeId>) -> Vec<PodVolume> {
    items(tree, node).map(|(index, node)| PodVolume { index, name: text(tree, node, "name"), node }).collect()
}

fn pull_secrets_of(tree: &Tree<'_>, node: Option<NodeId>) -> Vec<PullSecret> {
    items(tree, node).map(|(index, node)| PullSecret { index, name: text(tree, node, "name") }).collect()
}

fn has_entries(tree: &Tree<'_>, node: Option<NodeId>) -> bool {
    entries(tree, node).next().is_some()
}

fn items<'a>(tree: &'a Tree<'_>, node: Option<NodeId>) -> impl Iterator<Item = (usize, NodeId)> + 'a {
    node.map(|node| tree.resolve(node)).into_iter().flat_map(|node| tree.items(node)).enumerate()
}

/// The labels of a node that tell its system.
const OS_LABELS: [&str; 2] = ["kubernetes.io/os", "beta.kubernetes.io/os"];

fn windows(tree: &Tree<'_>, spec: NodeId, containers: &[Container]) -> Option<SpecField> {
    let of_system = |parent: &str, key: &str| {
        let node = member(tree, member(tree, spec, parent)?, key)?;
        let system = tree.scalar(tree.resolve(node))?;
        let pointer = format!("/{parent}/{}", crate::patch::escape(key));
        system.eq_ignore_ascii_case("windows").then_some(SpecField { node, pointer })
    };
    let by_label = || OS_LABELS.into_iter().find_map(|label| of_system("nodeSelector", label));
    let by_affinity = || {
        let node = member(tree, spec, "affinity").filter(|_| needs_windows(tree, spec))?;
        Some(SpecField { node, pointer: "/affinity".to_owned() })
    };
    let of_pod = || host_process(tree, spec, "");
    let of_container = || {
        containers.iter().find_map(|container| {
            host_process(tree, container.node, &format!("/{}/{}", container.list.field(), container.index))
        })
    };
    of_system("os", "name").or_else(by_label).or_else(by_affinity).or_else(of_pod).or_else(of_container)
}

/// True where every term of the required node affinity wants Windows: one of them is enough for a node.
#[cold]
fn needs_windows(tree: &Tree<'_>, spec: NodeId) -> bool {
    const PATH: [&str; 4] =
        ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"];
    let terms = PATH.iter().try_fold(spec, |node, key| member(tree, node, key));
    let wants = |term: NodeId| {
        items(tree, member(tree, term, "matchExpressions")).any(|(_, expression)| {
            let is_of_system = text(tree, expression, "key").is_some_and(|key| OS_LABELS.contains(&&*key));
            let is_in = text(tree, expression, "operator").as_deref() == Some("In");
            let mut values = items(tree, member(tree, expression, "values")).peekable();
            let any = values.peek().is_some();
            is_of_system
                && is_in
                && any
                && values.all(|(_, value)| tree.scalar(tree.resolve(value)).as_deref() == Some("windows"))
        })
    };
    let mut terms = items(tree, terms).peekable();
    terms.peek().is_some() && terms.all(|(_, term)| wants(term))
}

/// Where the security context of a pod or container asks for a host process. Only Windows nodes have those, and a pod with
/// one of them may have no container of another sort.
fn host_process(tree: &Tree<'_>, holder: NodeId, at: &str) -> Option<SpecField> {
    let path = ["securityContext", "windowsOptions", "hostProcess"];
    let node = path.into_iter().try_fold(holder, |node, key| member(tree, node, key))?;
    let is_set = matches!(resolve(tree, tree.resolve(node)), Ok(Resolved::Bool(true)));
    is_set.then(|| SpecField { node, pointer: format!("{at}/{}", path.join("/")) })
}

/// Takes out of the lists what an earlier injection put there, as the record says.
// Most templates never had an agent: this is apart from what they all run.
#[inline(never)]
fn take_ours(
    tree: &Tree<'_>,
    annotation: Annotation,
    annotations: &mut Vec<Annotation>,
    containers: &mut Vec<Container>,
    volumes: &mut Vec<PodVolume>,
    pull_secrets: &mut Vec<PullSecret>,
) -> Ours {
    let record = annotation.value.as_deref().map_or(Err(Unreadable::Broken), Record::parse);
    let parts = record.as_ref().map(|record| &record.parts);
    // Beside an init container alone a status is somebody else's.
    let mut status = None;
    if parts.map_or(true, |parts| parts.agent().is_some()) {
        let at = annotations.iter().position(|annotation| annotation.key == Key::Status.key());
        status = at.map(|at| annotations.remove(at)).and_then(|annotation| annotation.value);
    }
    let mut take = |lists: &[ContainerList], name: &str| {
        let is_it = |container: &Container| lists.contains(&container.list) && container.name.as_deref() == Some(name);
        containers.iter().position(is_it).map(|at| containers.remove(at))
    };
    let agent = match parts.map(|parts| parts.agent().map(|agent| agent.sidecar)) {
        Ok(Some(Sidecar::Native)) => take(&[ContainerList::InitContainers], CONTAINER),
        Ok(Some(Sidecar::Container)) => take(&[ContainerList::Containers], CONTAINER),
        Ok(None) => None,
        Err(_) => take(&[ContainerList::Containers, ContainerList::InitContainers], CONTAINER),
    };
    let has_wait_for = parts.map_or(true, |parts| parts.wait_for().is_some());
    let wait_for = has_wait_for.then(|| take(&[ContainerList::InitContainers], wait_for::CONTAINER)).flatten();
    let is_named = |volume: &Volume| volumes.iter().any(|other| other.name.as_deref() == Some(volume.name()));
    let named: Vec<Volume> = match parts {
        Ok(parts) => parts.agent().map_or_else(Vec::new, |agent| agent.volumes.clone()),
        Err(_) => Volume::ALL.into_iter().filter(is_named).collect(),
    };
    let taken: Vec<(Volume, Option<PodVolume>)> = named
        .into_iter()
        .map(|volume| {
            let at = volumes.iter().position(|candidate| candidate.name.as_deref() == Some(volume.name()));
            (volume, at.map(|at| volumes.remove(at)))
        })
        .collect();
    let pulled = record.as_ref().ok().and_then(|record| record.pull_secrets.as_ref());
    let pulled = pulled.map_or_else(Vec::new, |ours| take_pull_secrets(ours, pull_secrets));
    let is_complete = pulled.iter().all(|(_, secret)| secret.is_some());
    let (value, names) = value_of(tree, agent.as_ref(), &taken);
    Ours {
        record,
        offset: annotation.offset,
        status: status.as_deref() == Some(crate::patch::INJECTED),
        agent,
        wait_for_value: wait_for.as_ref().and_then(|container| wait_for_value(tree, container)),
        wait_for,
        volumes: taken,
        pull_secrets: pulled,
        value: value.filter(|_| is_complete),
        names,
    }
}

/// Takes out the pull secrets that we added. kustomize may have given them another name with ours inside it; what stood
/// there before us stands in front of them, and is never taken for one.
fn take_pull_secrets(ours: &PullSecrets, there: &mut Vec<PullSecret>) -> Vec<(String, Option<PullSecret>)> {
    let take = |name: &String| {
        let same = there.iter().rposition(|secret| secret.name.as_ref() == Some(name));
        let renamed = || {
            let is_it = |secret: &PullSecret| {
                secret.index >= ours.behind && secret.name.as_ref().is_some_and(|other| other.contains(name.as_str()))
            };
            there.iter().position(is_it)
        };
        let at = same.or_else(renamed);
        (name.clone(), at.map(|at| there.remove(at)))
    };
    ours.names.iter().map(take).collect()
}

/// The normal form of what stands there, or none where a part of it is gone; and the names in what is there.
fn value_of(
    tree: &Tree<'_>,
    agent: Option<&Container>,
    volumes: &[(Volume, Option<PodVolume>)],
) -> (Option<Value>, Names) {
    let container = agent.and_then(|agent| to_json(tree, agent.node).ok());
    let there = volumes.iter().filter_map(|(_, volume)| to_json(tree, volume.as_ref()?.node).ok());
    let mut there: Vec<Value> = there.collect();
    let is_complete = container.is_some() && there.len() == volumes.len();
    let mut container = container.unwrap_or_default();
    let names = take_names(&mut container, &mut there);
    (is_complete.then(|| normal_parts(&container, &there)), names)
}

/// The same of the init container that waits.
fn wait_for_value(tree: &Tree<'_>, container: &Container) -> Option<(Value, Option<String>)> {
    let mut container = to_json(tree, container.node).ok()?;
    let image = take_image(&mut container);
    Some((normal_parts(&container, &[]), image))
}

/// The normal form that a record's `value` is the fingerprint of.
#[must_use]
pub(crate) fn normal_parts(container: &Value, volumes: &[Value]) -> Value {
    Value::Array(std::iter::once(container).chain(volumes).map(normal).collect())
}

/// True for a container that is an agent, whoever put it there.
#[must_use]
pub(crate) fn is_agent(container: &Container) -> bool {
    container.image.as_deref().is_some_and(is_agent_image)
}
