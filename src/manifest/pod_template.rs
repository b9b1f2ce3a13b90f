//! A view of a pod template: containers, volumes, annotations and the fields of the PodSpec that the rules need.

use crate::mackerel::names::Volume;
use crate::manifest::duplicate_keys::second_key;
use crate::manifest::resource::text;
use crate::manifest::workloads::FoundTemplate;
use serde::{Deserialize, Serialize};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
        let metadata_field = |key| tree.member(metadata?, key);
        let spec_field = |key| tree.member(spec?, key);
        let mut containers = Vec::new();
        for list in ContainerList::ALL {
            containers.extend(containers_of(tree, spec_field(list.field()), list));
        }
        let resources = spec_field("resources");
        let amounts = |list| resources.and_then(|resources| tree.member(resources, list));
        let mut template = Self {
            node,
            ancestors: Vec::new(),
            metadata,
            spec,
            annotations: annotations_of(tree, metadata_field("annotations")),
            labels: labels_of(tree, metadata_field("labels")),
            volumes: volumes_of(tree, spec_field("volumes")),
            pull_secrets: pull_secrets_of(tree, spec_field("imagePullSecrets")),
            completes: spec.and_then(|spec| completes_by_policy(tree, spec)) == Some(true),
            automount: spec_field("automountServiceAccountToken")
                .and_then(|node| boolean(tree, node)),
            host_network: spec_field("hostNetwork").and_then(|node| boolean(tree, node))
                == Some(true),
            windows: spec.and_then(|spec| windows(tree, spec, &containers)),
            pod_resources: has_entries(tree, amounts("requests"))
                || has_entries(tree, amounts("limits")),
            containers,
        };
        let is_stored = metadata_field("uid").is_some();
        if is_stored {
            template.see_token(tree);
        }
        template
    }

    /// Sets `automount` to false where no container mounts a token: the ServiceAccount admission plugin adds one to each pod that is
    /// to have it. Where the ServiceAccount turns that off, nothing else in the pod says so.
    pub(crate) fn see_token(&mut self, tree: &Tree<'_>) {
        let has_token = self.containers.iter().any(|container| {
            container.list != ContainerList::EphemeralContainers && mounts_token(tree, container)
        });
        if !has_token {
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
        // Kubeflow's jobs state the policy beside the template, and overwrite the one within it.
        let outer = ancestors
            .last()
            .and_then(|holder| completes_by_policy(tree, *holder));
        let spec = tree.member(node, "spec");
        let policy = outer.or_else(|| completes_by_policy(tree, spec?));
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

/// Returns true if a container mounts a token that was not injected.
fn mounts_token(tree: &Tree<'_>, container: &Container) -> bool {
    items(tree, tree.member(container.node, "volumeMounts")).any(|(_, mount)| {
        let path = text(tree, mount, "mountPath");
        let is_injected = text(tree, mount, "name").as_deref() == Some(Volume::Token.name());
        !is_injected && path.is_some_and(|path| path.trim_end_matches('/') == TOKEN_FOLDER)
    })
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

/// Returns the first field that asks for Windows.
fn windows(tree: &Tree<'_>, spec: NodeId, containers: &[Container]) -> Option<SpecField> {
    let mut system_fields = SYSTEM_FIELDS.iter();
    if let Some(found) = system_fields.find_map(|field| field.of_windows(tree, spec)) {
        return Some(found);
    }
    if let Some(node) = tree.member(spec, "affinity")
        && needs_windows(tree, spec)
    {
        return Some(SpecField {
            node,
            pointer: "/affinity".to_owned(),
        });
    }
    if let Some(found) = host_process(tree, spec, "") {
        return Some(found);
    }
    containers.iter().find_map(|container| {
        let pointer = format!("/{}/{}", container.list.field(), container.index);
        host_process(tree, container.node, &pointer)
    })
}

/// A field of the PodSpec that names an operating system.
struct SystemField {
    parent: &'static str,
    key: &'static str,
}

const SYSTEM_FIELDS: [SystemField; 3] = [
    SystemField {
        parent: "os",
        key: "name",
    },
    SystemField {
        parent: "nodeSelector",
        key: OS_LABELS[0],
    },
    SystemField {
        parent: "nodeSelector",
        key: OS_LABELS[1],
    },
];

impl SystemField {
    /// Returns the field if its value is `windows`. Scheduler and kubelet compare exactly: no node has the label `Windows`.
    fn of_windows(&self, tree: &Tree<'_>, spec: NodeId) -> Option<SpecField> {
        let node = tree.member(tree.member(spec, self.parent)?, self.key)?;
        let system = tree.scalar(tree.alias_target(node))?;
        let key = yaml_json_patch::pointer::escape(self.key);
        (system == "windows").then(|| SpecField {
            node,
            pointer: format!("/{}/{key}", self.parent),
        })
    }
}

/// Returns true if every term of the required node affinity asks for Windows; the scheduler needs only one to match.
fn needs_windows(tree: &Tree<'_>, spec: NodeId) -> bool {
    const PATH: [&str; 4] = [
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ];
    let mut keys = PATH.iter();
    let terms = keys.try_fold(spec, |node, key| tree.member(node, key));
    let terms: Vec<NodeId> = items(tree, terms).map(|(_, term)| term).collect();
    !terms.is_empty() && terms.iter().all(|term| asks_for_windows(tree, *term))
}

/// Returns true for a term with `{key: kubernetes.io/os, operator: In, values: [windows]}`.
fn asks_for_windows(tree: &Tree<'_>, term: NodeId) -> bool {
    items(tree, tree.member(term, "matchExpressions")).any(|(_, expression)| {
        let key = text(tree, expression, "key");
        let operator = text(tree, expression, "operator");
        let mut systems = Vec::new();
        for (_, value) in items(tree, tree.member(expression, "values")) {
            systems.push(tree.scalar(tree.alias_target(value)));
        }
        key.is_some_and(|key| OS_LABELS.contains(&&*key))
            && operator.as_deref() == Some("In")
            && !systems.is_empty()
            && systems
                .iter()
                .all(|system| system.as_deref() == Some("windows"))
    })
}

/// The `hostProcess: true` of a pod or container. Only Windows nodes support it, and all containers of a pod must agree.
fn host_process(tree: &Tree<'_>, holder: NodeId, pointer: &str) -> Option<SpecField> {
    let path = ["securityContext", "windowsOptions", "hostProcess"];
    let mut keys = path.iter();
    let node = keys.try_fold(holder, |node, key| tree.member(node, key))?;
    (boolean(tree, node) == Some(true)).then(|| SpecField {
        node,
        pointer: format!("{pointer}/{}", path.join("/")),
    })
}

fn boolean(tree: &Tree<'_>, node: NodeId) -> Option<bool> {
    match scalar_value(tree, tree.alias_target(node)) {
        Ok(ScalarValue::Bool(value)) => Some(value),
        _ => None,
    }
}
