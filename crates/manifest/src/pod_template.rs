//! A view of a pod template: containers, volumes, annotations and the fields of the PodSpec that the rules need.

use crate::duplicate_keys::second_of;
use crate::workloads::FoundTemplate;
use mackerel::names::{
    FARGATE_LABEL, FARGATE_SCHEDULER, KUBERNETES_VARIABLES, PLATFORM, TOKEN_FOLDER, Volume,
    is_agent_image,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{NodeId, ScalarValue, Tree, scalar_value, to_json};

/// One annotation of the template.
#[derive(Debug, Clone, PartialEq)]
pub struct PodAnnotation {
    pub key: String,
    /// Its value; none if it is not a string, which the API server refuses.
    pub value: Option<String>,
    /// The node of its value; none for one that is not in the manifest.
    pub node: Option<NodeId>,
    /// Offset of its key.
    pub offset: usize,
    /// Offset of its value.
    pub value_offset: usize,
}

/// A list of containers in the PodSpec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ContainerList {
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
    pub fn field(self) -> &'static str {
        match self {
            ContainerList::Containers => "containers",
            ContainerList::InitContainers => "initContainers",
            ContainerList::EphemeralContainers => "ephemeralContainers",
        }
    }
}

/// The fields of a container that decisions need.
#[derive(Debug, Clone, PartialEq)]
pub struct Container {
    /// The list that holds it.
    pub list: ContainerList,
    /// Its index in that list.
    pub index: usize,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its image, if it has one.
    pub image: Option<String>,
    /// True for any agent, injected or foreign.
    pub is_agent: bool,
    /// Its node.
    pub node: NodeId,
}

/// One volume.
#[derive(Debug, Clone, PartialEq)]
pub struct PodVolume {
    /// Its index in `volumes`.
    pub index: usize,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its node.
    pub node: NodeId,
}

/// One entry of `imagePullSecrets`.
#[derive(Debug, Clone, PartialEq)]
pub struct PullSecret {
    /// Its index in the list.
    pub index: usize,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// The fields of a pod template that decisions need.
#[derive(Debug, Clone, PartialEq)]
pub struct PodTemplate {
    /// Its mapping.
    pub node: NodeId,
    /// The nodes above it, one for each token of its pointer, the resource first; empty if not known.
    pub ancestors: Vec<NodeId>,
    /// `metadata`, if the key is there.
    pub metadata: Option<NodeId>,
    /// `spec`, if the key is there.
    pub spec: Option<NodeId>,
    /// All annotations.
    pub annotations: Vec<PodAnnotation>,
    /// All labels, with those of merge keys.
    pub labels: Vec<(String, String)>,
    /// All containers.
    pub containers: Vec<Container>,
    /// All volumes.
    pub volumes: Vec<PodVolume>,
    /// All pull secrets.
    pub pull_secrets: Vec<PullSecret>,
    /// True if its pods run to completion: by the restart policy of its containers or its own, else by its kind.
    pub completes: bool,
    /// `spec.automountServiceAccountToken`; none if its ServiceAccount decides. Also false in a pod that the API server has stored
    /// without a token.
    pub automount: Option<bool>,
    /// `spec.hostNetwork: true`
    pub host_network: bool,
    /// The field that asks for Windows: `spec.os.name`, node selector, node affinity, or `windowsOptions` of the pod or a container.
    pub windows: Option<SpecField>,
    /// True for a pod on EKS Fargate: by its nodes, or by the label and the scheduler that EKS sets when a pod is created.
    pub is_for_fargate: bool,
    /// True if `spec.resources` has requests or limits, which all containers share.
    pub pod_resources: bool,
}

/// A field of the PodSpec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecField {
    /// Its value.
    pub node: NodeId,
    /// JSON Pointer to it from the template.
    pub pointer: String,
}

impl PodTemplate {
    /// Builds the view of the template at `node`.
    pub fn view(tree: &Tree<'_>, node: NodeId) -> Self {
        let [metadata, spec] = tree.members(node, ["metadata", "spec"]);
        let mut template = Self {
            node,
            ancestors: Vec::new(),
            metadata,
            spec,
            annotations: Vec::new(),
            labels: Vec::new(),
            containers: Vec::new(),
            volumes: Vec::new(),
            pull_secrets: Vec::new(),
            completes: false,
            automount: None,
            host_network: false,
            windows: None,
            is_for_fargate: false,
            pod_resources: false,
        };
        if let Some(metadata) = metadata {
            template.read_metadata(tree, metadata);
        }
        if let Some(spec) = spec {
            template.read_spec(tree, spec);
        }
        let is_stored = metadata.is_some_and(|metadata| tree.member(metadata, "uid").is_some());
        if is_stored {
            template.see_token(tree);
        }
        template
    }

    fn read_metadata(&mut self, tree: &Tree<'_>, metadata: NodeId) {
        for (key, value) in tree.member_entries(metadata, "annotations") {
            if is_merge_key(tree, key) {
                continue;
            }
            let Some(name) = tree.scalar(tree.alias_target(key)) else {
                continue;
            };
            let node = tree.alias_target(value);
            self.annotations.push(PodAnnotation {
                key: name.into_owned(),
                value: match scalar_value(tree, node) {
                    Ok(ScalarValue::Str(text)) => Some(text.into_owned()),
                    _ => None,
                },
                node: Some(node),
                offset: tree.place(key).start,
                value_offset: tree.place(value).start,
            });
        }
        self.add_merged_annotations(tree, metadata);
        if let Some(labels) = merged(tree, metadata, "labels") {
            self.labels.extend(labels.into_iter().map(|(key, value)| {
                let text = match value {
                    Value::Null => String::new(),
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                (key, text)
            }));
            return;
        }
        for (key, value) in tree.member_entries(metadata, "labels") {
            let key = tree.scalar(tree.alias_target(key));
            // The API server takes null for empty text.
            let value = match scalar_value(tree, tree.alias_target(value)) {
                Ok(ScalarValue::Null) => Some(Cow::Borrowed("")),
                _ => tree.scalar(tree.alias_target(value)),
            };
            if let (Some(key), Some(value)) = (key, value) {
                self.labels.push((key.into_owned(), value.into_owned()));
            }
        }
    }

    /// Adds the annotations that merge keys bring.
    fn add_merged_annotations(&mut self, tree: &Tree<'_>, metadata: NodeId) {
        let Some(all) = merged(tree, metadata, "annotations") else {
            return;
        };
        let own: HashSet<String> = self
            .annotations
            .iter()
            .map(|annotation| annotation.key.clone())
            .collect();
        let offset = tree
            .member(metadata, "annotations")
            .map_or(0, |annotations| tree.place(annotations).start);
        for (key, value) in all {
            if !own.contains(&key) {
                self.annotations.push(PodAnnotation {
                    key,
                    value: value.as_str().map(str::to_owned),
                    node: None,
                    offset,
                    value_offset: offset,
                });
            }
        }
    }

    fn read_spec(&mut self, tree: &Tree<'_>, spec: NodeId) {
        let lists = tree.members(spec, ContainerList::ALL.map(ContainerList::field));
        for (list, containers) in ContainerList::ALL.into_iter().zip(lists) {
            for (index, node) in items(tree, containers).enumerate() {
                self.containers
                    .push(Container::view(tree, list, index, node));
            }
        }
        let [volumes, pull_secrets, automount, host_network, resources] = tree.members(
            spec,
            [
                "volumes",
                "imagePullSecrets",
                "automountServiceAccountToken",
                "hostNetwork",
                "resources",
            ],
        );
        for (index, node) in items(tree, volumes).enumerate() {
            let name = tree.member_text(node, "name");
            self.volumes.push(PodVolume { index, name, node });
        }
        for (index, node) in items(tree, pull_secrets).enumerate() {
            let name = tree.member_text(node, "name");
            self.pull_secrets.push(PullSecret { index, name });
        }
        self.completes = self.completes(tree, completes_by_policy(tree, spec) == Some(true));
        self.automount = boolean(tree, automount);
        self.host_network = boolean(tree, host_network) == Some(true);
        self.windows = windows(tree, spec, &self.containers);
        self.is_for_fargate = tree.member_text(spec, "schedulerName").as_deref()
            == Some(FARGATE_SCHEDULER)
            || self.labels.iter().any(|(key, _)| key == FARGATE_LABEL)
            || required_nodes(tree, spec, &FARGATE_NODES).is_some();
        self.pod_resources = resources.is_some_and(|resources| {
            ["requests", "limits"]
                .iter()
                .any(|list| tree.member_entries(resources, list).next().is_some())
        });
    }

    /// Returns true if the containers complete, by their own policy or that of the pod. The agent follows them.
    fn completes(&self, tree: &Tree<'_>, of_pod: bool) -> bool {
        self.containers
            .iter()
            .filter(|container| container.list == ContainerList::Containers && !container.is_agent)
            .map(|container| completes_by_policy(tree, container.node).unwrap_or(of_pod))
            .reduce(|one, other| one && other)
            .unwrap_or(of_pod)
    }

    /// Sets `automount` to false where no container mounts a token: the ServiceAccount admission plugin adds one to each pod that is
    /// to have it. Where the ServiceAccount turns that off, nothing else in the pod says so.
    pub fn see_token(&mut self, tree: &Tree<'_>) {
        if !self
            .own_containers()
            .any(|container| mounts_token(tree, container))
        {
            self.automount = Some(false);
        }
    }

    /// Builds the view of a template that was found in its resource.
    pub fn of_found(tree: &Tree<'_>, found: FoundTemplate) -> Self {
        let view = Self::view(tree, found.node);
        // Kubeflow's jobs state the policy beside the template, and overwrite the one within it.
        let of_pod = found
            .ancestors
            .last()
            .and_then(|holder| completes_by_policy(tree, *holder))
            .or_else(|| completes_by_policy(tree, view.spec?))
            .unwrap_or(found.completes);
        Self {
            completes: view.completes(tree, of_pod),
            ancestors: found.ancestors,
            ..view
        }
    }

    /// Returns the second one of its `spec`s or of their lists of containers.
    pub fn second_key(&self, tree: &Tree<'_>) -> Option<NodeId> {
        [(Some(self.node), "spec"), (self.spec, "containers")]
            .into_iter()
            .find_map(|(from, step)| second_of(tree, tree.find_member(from?, step)?.holder, step))
    }

    /// Returns the containers without ephemeral ones, which users add to running pods, not in manifests.
    pub fn own_containers(&self) -> impl Iterator<Item = &Container> {
        self.containers
            .iter()
            .filter(|container| container.list != ContainerList::EphemeralContainers)
    }

    /// Returns the annotation with this key, the last one if there are several.
    pub fn annotation(&self, key: &str) -> Option<&PodAnnotation> {
        self.annotations
            .iter()
            .rev()
            .find(|annotation| annotation.key == key)
    }
}

fn is_merge_key(tree: &Tree<'_>, key: NodeId) -> bool {
    tree.raw(key) == "<<"
}

/// Returns a field of the metadata as Kubernetes gets it, if a merge key brings a part of it. Few manifests have that.
fn merged(tree: &Tree<'_>, metadata: NodeId, field: &str) -> Option<Map<String, Value>> {
    tree.member_entries(metadata, field)
        .find(|(key, _)| is_merge_key(tree, *key))?;
    match to_json(tree, tree.member(metadata, field)?) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    }
}

/// Returns the JSON Pointer from a template to an item of a list in its PodSpec.
pub fn item_pointer(list: &str, index: usize) -> String {
    format!("/spec/{list}/{index}")
}

impl Container {
    /// Returns the JSON Pointer from the template to it.
    pub fn pointer(&self) -> String {
        item_pointer(self.list.field(), self.index)
    }

    /// Returns the names of the volumes that it mounts, or uses as devices.
    pub fn mounted_volumes(&self, tree: &Tree<'_>) -> impl Iterator<Item = String> {
        tree.member_items(self.node, "volumeMounts")
            .chain(tree.member_items(self.node, "volumeDevices"))
            .filter_map(|mount| tree.member_text(mount, "name"))
    }

    fn view(tree: &Tree<'_>, list: ContainerList, index: usize, node: NodeId) -> Self {
        let [name, image] = tree.member_texts(node, ["name", "image"]);
        let has_image = image.as_deref().is_some_and(is_agent_image);
        Self {
            list,
            index,
            name,
            image,
            is_agent: has_image && may_run_agent(tree, node)
                || tree
                    .member_items(node, "env")
                    .any(|variable| is_for_agent(tree, variable)),
            node,
        }
    }
}

/// Returns false for a container with words of its own that runs `mkr` of the agent's image, as jobs do, or has none of the variables
/// without which the agent does not start.
fn may_run_agent(tree: &Tree<'_>, container: NodeId) -> bool {
    let items = |field| tree.member_items(container, field);
    let mut words = items("command").chain(items("args")).peekable();
    let is_mkr = |word| tree.text_of(word).is_some_and(|text| text.contains("mkr"));
    words.peek().is_none() || items("envFrom").next().is_some() && !words.any(is_mkr)
}

/// Returns true for a variable that only the agent reads. A registry mirror may have the image under any name, and `envFrom` may bring
/// the variable that the agent does not start without.
fn is_for_agent(tree: &Tree<'_>, variable: NodeId) -> bool {
    tree.member(variable, "name")
        .and_then(|name| tree.scalar(tree.alias_target(name)))
        .is_some_and(|name| name == PLATFORM || name.starts_with(KUBERNETES_VARIABLES))
}

/// Returns the items of a field that is a list; nothing if it is absent or another node.
fn items<'t>(tree: &'t Tree<'_>, field: Option<NodeId>) -> impl Iterator<Item = NodeId> + 't {
    field
        .into_iter()
        .flat_map(|list| tree.items(tree.alias_target(list)))
}

/// Returns true if a container mounts a token that was not injected.
fn mounts_token(tree: &Tree<'_>, container: &Container) -> bool {
    tree.member_items(container.node, "volumeMounts")
        .any(|mount| {
            let [path, name] = tree.member_texts(mount, ["mountPath", "name"]);
            let is_injected = name.and_then(|name| Volume::of(&name)) == Some(Volume::Token);
            !is_injected && path.is_some_and(|path| path.trim_end_matches('/') == TOKEN_FOLDER)
        })
}

/// Returns true if the `restartPolicy` of a pod or container lets it complete, and nothing if there is none.
fn completes_by_policy(tree: &Tree<'_>, holder: NodeId) -> Option<bool> {
    match &*tree.member_text(holder, "restartPolicy")? {
        "Never" | "OnFailure" | "ExitCode" => Some(true),
        "Always" => Some(false),
        _ => None,
    }
}

/// Key, operator and value of requirements that only Windows nodes meet; the value is empty for any.
pub const WINDOWS_NODES: [[&str; 3]; 5] = [
    ["kubernetes.io/os", "In", "windows"],
    ["kubernetes.io/os", "NotIn", "linux"],
    ["beta.kubernetes.io/os", "In", "windows"],
    ["node.kubernetes.io/windows-build", "In", ""],
    ["node.kubernetes.io/windows-build", "Exists", ""],
];

/// The requirement that only nodes of EKS Fargate meet.
pub const FARGATE_NODES: [[&str; 3]; 1] = [["eks.amazonaws.com/compute-type", "In", "fargate"]];

/// Returns the first field that asks for Windows.
fn windows(tree: &Tree<'_>, spec: NodeId, containers: &[Container]) -> Option<SpecField> {
    if let Some(node) = tree.member_at(spec, ["os", "name"])
        && tree.text_of(node).as_deref() == Some("windows")
    {
        let pointer = "/spec/os/name".to_owned();
        return Some(SpecField { node, pointer });
    }
    let of_container = |one: &Container| windows_option(tree, one.node, &one.pointer());
    required_nodes(tree, spec, &WINDOWS_NODES)
        .or_else(|| windows_option(tree, spec, "/spec"))
        .or_else(|| containers.iter().find_map(of_container))
}

/// Returns the field by which a pod runs only on nodes that meet one of the requirements: its node selector, or its required node
/// affinity. The scheduler needs only one term of the latter to match.
fn required_nodes(tree: &Tree<'_>, spec: NodeId, requirements: &[[&str; 3]]) -> Option<SpecField> {
    const PATH: [&str; 3] = [
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ];
    let [selector, affinity] = tree.members(spec, ["nodeSelector", "affinity"]);
    for [key, operator, value] in requirements {
        if let Some(node) = selector.and_then(|labels| tree.member(labels, key))
            && *operator == "In"
            && (value.is_empty() || tree.text_of(node).as_deref() == Some(value))
        {
            let pointer = format!("/spec/nodeSelector/{}", escape(key));
            return Some(SpecField { node, pointer });
        }
    }
    let is_met = |expression: NodeId| {
        let [key, operator] = tree.member_texts(expression, ["key", "operator"]);
        let values: Vec<_> = tree
            .member_items(expression, "values")
            .filter_map(|value| tree.text_of(value))
            .collect();
        requirements.iter().any(|[known, of, value]| {
            key.as_deref() == Some(known)
                && operator.as_deref() == Some(of)
                && (value.is_empty() || values == [*value])
        })
    };
    let node = affinity?;
    let mut terms = items(tree, tree.member_at(node, PATH)).peekable();
    let is_required = terms.peek().is_some()
        && terms.all(|term| tree.member_items(term, "matchExpressions").any(is_met));
    is_required.then(|| SpecField {
        node,
        pointer: "/spec/affinity".to_owned(),
    })
}

/// Returns the first of the `windowsOptions` that a pod or container `at` a place of the template has.
fn windows_option(tree: &Tree<'_>, holder: NodeId, at: &str) -> Option<SpecField> {
    let options = tree.member_at(holder, ["securityContext", "windowsOptions"])?;
    let (key, node) = tree
        .entries(tree.alias_target(options))
        .find(|(_, value)| {
            // Charts write the others as false or empty.
            match scalar_value(tree, tree.alias_target(*value)) {
                Ok(ScalarValue::Bool(value)) => value,
                Ok(ScalarValue::Str(text)) => !text.is_empty(),
                _ => false,
            }
        })?;
    let key = tree.text_of(key)?;
    let pointer = format!("{at}/securityContext/windowsOptions/{}", escape(&key));
    Some(SpecField { node, pointer })
}

fn boolean(tree: &Tree<'_>, field: Option<NodeId>) -> Option<bool> {
    match scalar_value(tree, field?) {
        Ok(ScalarValue::Bool(value)) => Some(value),
        _ => None,
    }
}
