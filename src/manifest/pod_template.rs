//! A view of a pod template: containers, volumes, annotations and the fields of the PodSpec that the rules need.

use crate::mackerel::names::Volume;
use crate::manifest::duplicate_keys::second_key;
use crate::manifest::resource::text;
use crate::manifest::workloads::FoundTemplate;
use yaml_json_patch::{Kind, NodeId, ScalarValue, Tree, scalar_value};

/// The folder in which the ServiceAccount admission plugin mounts a pod's token.
const TOKEN_FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// One annotation of the template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PodAnnotation {
    pub(crate) key: String,
    /// Its value; none if it is not a string, which the API server refuses.
    pub(crate) value: Option<String>,
    /// The node of its value; none for one that is not in the manifest.
    pub(crate) node: Option<NodeId>,
    /// Offset of its key.
    pub(crate) offset: usize,
    /// Offset of its value.
    pub(crate) value_offset: usize,
}

/// A list of containers in the PodSpec.
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
    const ALL: [ContainerList; 3] = [
        ContainerList::Containers,
        ContainerList::InitContainers,
        ContainerList::EphemeralContainers,
    ];

    /// The name of the field in the PodSpec.
    pub(crate) fn field(self) -> &'static str {
        match self {
            ContainerList::Containers => "containers",
            ContainerList::InitContainers => "initContainers",
            ContainerList::EphemeralContainers => "ephemeralContainers",
        }
    }
}

/// The fields of a container that decisions need.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Container {
    /// The list that holds it.
    pub(crate) list: ContainerList,
    /// Its index in that list.
    pub(crate) index: usize,
    /// Its name, if it has one.
    pub(crate) name: Option<String>,
    /// Its image, if it has one.
    pub(crate) image: Option<String>,
    /// Its node.
    pub(crate) node: NodeId,
}

/// One volume.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PodVolume {
    /// Its index in `volumes`.
    pub(crate) index: usize,
    /// Its name, if it has one.
    pub(crate) name: Option<String>,
    /// Its node.
    pub(crate) node: NodeId,
}

/// One entry of `imagePullSecrets`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PullSecret {
    /// Its index in the list.
    pub(crate) index: usize,
    /// Its name, if it has one.
    pub(crate) name: Option<String>,
}

/// The fields of a pod template that decisions need.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PodTemplate {
    /// Its mapping.
    pub(crate) node: NodeId,
    /// The nodes above it, one for each token of its pointer, the resource first; empty if not known.
    pub(crate) ancestors: Vec<NodeId>,
    /// `metadata`, if the key is there.
    pub(crate) metadata: Option<NodeId>,
    /// `spec`, if the key is there.
    pub(crate) spec: Option<NodeId>,
    /// All annotations.
    pub(crate) annotations: Vec<PodAnnotation>,
    /// All labels that are strings.
    pub(crate) labels: Vec<(String, String)>,
    /// All containers.
    pub(crate) containers: Vec<Container>,
    /// All volumes.
    pub(crate) volumes: Vec<PodVolume>,
    /// All pull secrets.
    pub(crate) pull_secrets: Vec<PullSecret>,
    /// True if its pods run to completion: by its restart policy, else by its kind.
    pub(crate) completes: bool,
    /// `spec.automountServiceAccountToken`; none if its ServiceAccount decides. Also false in a pod that the API server has stored
    /// without a token.
    pub(crate) automount: Option<bool>,
    /// `spec.hostNetwork: true`
    pub(crate) host_network: bool,
    /// The field that asks for Windows: `spec.os.name`, node selector, node affinity, or a container's `hostProcess`.
    pub(crate) windows: Option<SpecField>,
    /// True if `spec.resources` has requests or limits, which all containers share.
    pub(crate) pod_resources: bool,
}

/// A field of the PodSpec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpecField {
    /// Its value.
    pub(crate) node: NodeId,
    /// JSON Pointer to it from the PodSpec.
    pub(crate) pointer: String,
}

impl PodTemplate {
    /// Builds the view of the template at `node`.
    pub(crate) fn view(tree: &Tree<'_>, node: NodeId) -> Self {
        let metadata = tree.member(node, "metadata");
        let spec = tree.member(node, "spec");
        let below =
            |parent: Option<NodeId>, key: &str| parent.and_then(|parent| tree.member(parent, key));
        let annotations = annotations_of(tree, below(metadata, "annotations"));
        let containers: Vec<Container> = ContainerList::ALL
            .into_iter()
            .flat_map(|list| containers_of(tree, below(spec, list.field()), list))
            .collect();
        let volumes = volumes_of(tree, below(spec, "volumes"));
        let pull_secrets = pull_secrets_of(tree, below(spec, "imagePullSecrets"));
        let is_set = |key: &str| match scalar_value(tree, tree.alias_target(below(spec, key)?)) {
            Ok(ScalarValue::Bool(value)) => Some(value),
            _ => None,
        };
        let windows = spec.and_then(|spec| windows(tree, spec, &containers));
        let is_stored = below(metadata, "uid").is_some();
        let mut template = Self {
            node,
            ancestors: Vec::new(),
            metadata,
            spec,
            annotations,
            labels: labels_of(tree, below(metadata, "labels")),
            containers,
            volumes,
            pull_secrets,
            completes: spec.and_then(|spec| completes_by_policy(tree, spec)) == Some(true),
            automount: is_set("automountServiceAccountToken"),
            host_network: is_set("hostNetwork") == Some(true),
            windows,
            pod_resources: ["requests", "limits"]
                .iter()
                .any(|list| has_entries(tree, below(below(spec, "resources"), list))),
        };
        if is_stored {
            template.see_token(tree);
        }
        template
    }

    /// Sets `automount` to false where no container mounts a token: the ServiceAccount admission plugin adds one to each pod that is
    /// to have it. Where the ServiceAccount turns that off, nothing else in the pod says so.
    pub(crate) fn see_token(&mut self, tree: &Tree<'_>) {
        let containers = self.containers.iter();
        let is_mounted = |container: &Container| {
            let mounts = tree
                .member(container.node, "volumeMounts")
                .into_iter()
                .flat_map(|mounts| tree.items(mounts));
            let mut others = mounts.filter(|mount| {
                text(tree, *mount, "name").as_deref() != Some(Volume::Token.name())
            });
            others.any(|mount| {
                text(tree, mount, "mountPath")
                    .is_some_and(|path| path.trim_end_matches('/') == TOKEN_FOLDER)
            })
        };
        if !containers
            .filter(|container| container.list != ContainerList::EphemeralContainers)
            .any(is_mounted)
        {
            self.automount = Some(false);
        }
    }

    /// Builds the view of a template that was found in its resource.
    pub(crate) fn of_found(tree: &Tree<'_>, found: FoundTemplate) -> Self {
        let FoundTemplate {
            node,
            ancestors,
            completes,
            ..
        } = found;
        let spec = || {
            tree.member(node, "spec")
                .and_then(|spec| completes_by_policy(tree, spec))
        };
        // Kubeflow's jobs state the policy beside the template, and overwrite the one within it.
        let policy = ancestors
            .last()
            .and_then(|holder| completes_by_policy(tree, *holder))
            .or_else(spec);
        Self {
            completes: policy.unwrap_or(completes),
            ancestors,
            ..Self::view(tree, node)
        }
    }

    /// The first duplicate key in the template, its `metadata` or its `spec` that is refused.
    pub(crate) fn second_key(&self, tree: &Tree<'_>) -> Option<NodeId> {
        [
            (Some(self.node), "spec"),
            (self.metadata, ""),
            (self.spec, ""),
        ]
        .into_iter()
        .find_map(|(mapping, step)| second_key(tree, mapping?, step))
    }

    /// The annotation with this key, the last one if there are several.
    pub(crate) fn annotation(&self, key: &str) -> Option<&PodAnnotation> {
        self.annotations
            .iter()
            .rev()
            .find(|annotation| annotation.key == key)
    }
}

/// Returns true if a container mounts the volume of this name.
pub(crate) fn mounts(tree: &Tree<'_>, container: &Container, volume: &str) -> bool {
    ["volumeMounts", "volumeDevices"]
        .into_iter()
        .filter_map(|list| tree.member(container.node, list))
        .any(|list| {
            let mut items = tree.items(tree.alias_target(list));
            items.any(|item| text(tree, item, "name").as_deref() == Some(volume))
        })
}

/// Returns true if the `restartPolicy` of a mapping lets pods complete, and nothing if there is none of a pod.
pub(crate) fn completes_by_policy(tree: &Tree<'_>, holder: NodeId) -> Option<bool> {
    match &*text(tree, holder, "restartPolicy")? {
        "Never" | "OnFailure" | "ExitCode" => Some(true),
        "Always" => Some(false),
        _ => None,
    }
}

fn annotations_of(tree: &Tree<'_>, node: Option<NodeId>) -> Vec<PodAnnotation> {
    entries(tree, node)
        .map(|(key, name, value)| PodAnnotation {
            key: name,
            value: match scalar_value(tree, tree.alias_target(value)) {
                Ok(ScalarValue::Str(text))
                    if tree.kind(tree.alias_target(value)) == Kind::Scalar =>
                {
                    Some(text.into_owned())
                }
                _ => None,
            },
            node: Some(tree.alias_target(value)),
            offset: tree.place(key).start,
            value_offset: tree.place(value).start,
        })
        .collect()
}

fn labels_of(tree: &Tree<'_>, node: Option<NodeId>) -> Vec<(String, String)> {
    let node = node.map(|node| tree.alias_target(node));
    entries(tree, node)
        .filter_map(|(_, key, value)| {
            Some((key, tree.scalar(tree.alias_target(value))?.into_owned()))
        })
        .collect()
}

/// The entries of a mapping whose keys are scalars.
fn entries<'a>(
    tree: &'a Tree<'_>,
    node: Option<NodeId>,
) -> impl Iterator<Item = (NodeId, String, NodeId)> + 'a {
    node.map(|node| tree.alias_target(node))
        .into_iter()
        .flat_map(|node| tree.entries(node))
        .filter_map(|(key, value)| {
            Some((
                key,
                tree.scalar(tree.alias_target(key))?.into_owned(),
                value,
            ))
        })
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
    items(tree, node)
        .map(|(index, node)| PodVolume {
            index,
            name: text(tree, node, "name"),
            node,
        })
        .collect()
}

fn pull_secrets_of(tree: &Tree<'_>, node: Option<NodeId>) -> Vec<PullSecret> {
    items(tree, node)
        .map(|(index, node)| PullSecret {
            index,
            name: text(tree, node, "name"),
        })
        .collect()
}

fn has_entries(tree: &Tree<'_>, node: Option<NodeId>) -> bool {
    entries(tree, node).next().is_some()
}

fn items<'a>(
    tree: &'a Tree<'_>,
    node: Option<NodeId>,
) -> impl Iterator<Item = (usize, NodeId)> + 'a {
    node.map(|node| tree.alias_target(node))
        .into_iter()
        .flat_map(|node| tree.items(node))
        .enumerate()
}

/// The node labels that name the operating system.
const OS_LABELS: [&str; 2] = ["kubernetes.io/os", "beta.kubernetes.io/os"];

fn windows(tree: &Tree<'_>, spec: NodeId, containers: &[Container]) -> Option<SpecField> {
    let of_system = |parent: &str, key: &str| {
        let node = tree.member(tree.member(spec, parent)?, key)?;
        let system = tree.scalar(tree.alias_target(node))?;
        let pointer = format!("/{parent}/{}", yaml_json_patch::pointer::escape(key));
        // As scheduler and kubelet compare: no node has the label `Windows`.
        (system == "windows").then_some(SpecField { node, pointer })
    };
    let by_label = || {
        OS_LABELS
            .into_iter()
            .find_map(|label| of_system("nodeSelector", label))
    };
    let by_affinity = || {
        let node = tree
            .member(spec, "affinity")
            .filter(|_| needs_windows(tree, spec))?;
        Some(SpecField {
            node,
            pointer: "/affinity".to_owned(),
        })
    };
    let of_pod = || host_process(tree, spec, "");
    let of_container = || {
        containers.iter().find_map(|container| {
            host_process(
                tree,
                container.node,
                &format!("/{}/{}", container.list.field(), container.index),
            )
        })
    };
    of_system("os", "name")
        .or_else(by_label)
        .or_else(by_affinity)
        .or_else(of_pod)
        .or_else(of_container)
}

/// Returns true if every term of the required node affinity asks for Windows; the scheduler needs only one to match.
fn needs_windows(tree: &Tree<'_>, spec: NodeId) -> bool {
    const PATH: [&str; 4] = [
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ];
    let terms = PATH
        .iter()
        .try_fold(spec, |node, key| tree.member(node, key));
    let wants = |term: NodeId| {
        items(tree, tree.member(term, "matchExpressions")).any(|(_, expression)| {
            let is_of_system =
                text(tree, expression, "key").is_some_and(|key| OS_LABELS.contains(&&*key));
            let is_in = text(tree, expression, "operator").as_deref() == Some("In");
            let mut values = items(tree, tree.member(expression, "values")).peekable();
            let any = values.peek().is_some();
            is_of_system
                && is_in
                && any
                && values.all(|(_, value)| {
                    tree.scalar(tree.alias_target(value)).as_deref() == Some("windows")
                })
        })
    };
    let mut terms = items(tree, terms).peekable();
    terms.peek().is_some() && terms.all(|(_, term)| wants(term))
}

/// The `hostProcess: true` of a pod or container. Only Windows nodes support it, and all containers of a pod must agree.
fn host_process(tree: &Tree<'_>, holder: NodeId, at: &str) -> Option<SpecField> {
    let path = ["securityContext", "windowsOptions", "hostProcess"];
    let node = path
        .into_iter()
        .try_fold(holder, |node, key| tree.member(node, key))?;
    let is_set = matches!(
        scalar_value(tree, tree.alias_target(node)),
        Ok(ScalarValue::Bool(true))
    );
    is_set.then(|| SpecField {
        node,
        pointer: format!("{at}/{}", path.join("/")),
    })
}
