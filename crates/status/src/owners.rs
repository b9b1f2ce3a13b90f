//! The workload of a pod: its topmost owner among the objects of the input, by the owner references of controllers.

use config::LabelSelector;
use kube_core::TypeMeta;
use mackerel::annotations::Annotation;
use manifest::{PodTemplate, Resource};
use serde::Serialize;
use std::collections::HashMap;
use yaml_json_patch::Tree;

/// Owners above a pod. Real ones are three: a ReplicaSet, a Deployment and the object of an operator.
const MAX_OWNERS: usize = 8;

/// A workload, or a pod without one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    pub namespace: String,
    pub kind: String,
    pub name: String,
    pub api_version: String,
}

/// Labels as names and values.
type Labels = Vec<(String, String)>;

/// The objects of the input that are no pods.
#[derive(Default)]
pub(super) struct Objects {
    owners: HashMap<Workload, Owner>,
    namespaces: HashMap<String, Labels>,
}

/// An object that may own pods.
struct Owner {
    /// The object that controls it.
    controller: Option<Workload>,
    /// The origin of the agents of its pods.
    origin: Origin,
    rollout: Rollout,
}

/// The way in which a workload replaces its pods after a change of its template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rollout {
    /// At once; also assumed of a workload that the input lacks.
    Automatic,
    /// `updateStrategy.type: OnDelete`: a pod stays until a user deletes it.
    OnDelete,
    /// `paused: true`: not before a user resumes it.
    Paused,
}

/// The way by which the agent got into a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The pod template of an owner has it.
    Manifest,
    /// The webhook or a policy.
    ApiServer,
    /// The input has no owner with a pod template.
    Unknown,
}

/// The workload of a pod.
pub(super) struct PodOwner {
    pub(super) workload: Workload,
    /// The origin of the pod's agent, if it has one.
    pub(super) origin: Origin,
    pub(super) rollout: Rollout,
    /// False if the input lacks an owner that another object may own.
    pub(super) is_topmost: bool,
}

impl Objects {
    /// Adds an object that is no pod.
    pub(super) fn add(&mut self, tree: &Tree<'_>, resource: &Resource) {
        let identity = &resource.identity;
        if identity.kind == "Namespace" && identity.api_version == "v1" {
            let labels = PodTemplate::view(tree, resource.node).labels;
            self.namespaces.insert(identity.name.clone(), labels);
            return;
        }
        let template = tree.member_at(resource.node, ["spec", "template"]);
        let has = |path: &str, text: &str| {
            tree.member_at(resource.node, path.split('.'))
                .and_then(|field| tree.text_of(field))
                .as_deref()
                == Some(text)
        };
        let record = ["metadata", "annotations", Annotation::Record.key()];
        let owner = Owner {
            controller: controller(tree, resource),
            origin: match template {
                Some(template) if tree.member_at(template, record).is_some() => Origin::Manifest,
                Some(_) => Origin::ApiServer,
                None => Origin::Unknown,
            },
            rollout: if has("spec.updateStrategy.type", "OnDelete") {
                Rollout::OnDelete
            } else if has("spec.paused", "true") {
                Rollout::Paused
            } else {
                Rollout::Automatic
            },
        };
        self.owners.insert(Workload::of(resource), owner);
    }

    /// Returns true if a Namespace has the labels.
    pub(super) fn has_namespace(&self, selector: &LabelSelector) -> bool {
        self.namespaces
            .values()
            .any(|labels| selector.matches(labels))
    }

    /// Returns the labels of a Namespace; none if it is not in the input.
    pub(super) fn labels(&self, namespace: &str) -> Option<&[(String, String)]> {
        self.namespaces.get(namespace).map(Vec::as_slice)
    }

    /// Returns the topmost owner of a pod; the pod itself if it has none.
    pub(super) fn owner(&self, tree: &Tree<'_>, pod: &Resource, labels: &Labels) -> PodOwner {
        let Some(mut workload) = controller(tree, pod) else {
            return PodOwner {
                workload: Workload::of(pod),
                origin: Origin::Unknown,
                rollout: Rollout::Automatic,
                is_topmost: true,
            };
        };
        let mut origin = Origin::Unknown;
        for _ in 0..MAX_OWNERS {
            let owner = self.owners.get(&workload);
            if let Some(owner) = owner
                && (origin == Origin::Unknown || owner.origin == Origin::Manifest)
            {
                origin = owner.origin;
            }
            let above = match owner {
                Some(owner) => owner.controller.clone(),
                None => workload.deployment(labels),
            };
            let Some(above) = above else { break };
            workload = above;
        }
        let topmost = self.owners.get(&workload);
        PodOwner {
            is_topmost: topmost.is_some() || !is_owner_between(&workload.kind),
            rollout: topmost.map_or(Rollout::Automatic, |owner| owner.rollout),
            workload,
            origin,
        }
    }
}

impl Workload {
    fn of(resource: &Resource) -> Self {
        let identity = &resource.identity;
        Self {
            namespace: identity.namespace.clone().unwrap_or_default(),
            kind: identity.kind.clone(),
            name: identity.name.clone(),
            api_version: identity.api_version.clone(),
        }
    }

    /// Returns the Deployment of a ReplicaSet that is not in the input: `web-5d4f9` with the label `pod-template-hash: 5d4f9` is of
    /// the Deployment `web`.
    fn deployment(&self, labels: &Labels) -> Option<Self> {
        let (_, hash) = labels.iter().find(|(key, _)| key == "pod-template-hash")?;
        let name = self.name.strip_suffix(hash)?.strip_suffix('-')?;
        (self.kind == "ReplicaSet").then(|| Self {
            kind: "Deployment".to_owned(),
            name: name.to_owned(),
            ..self.clone()
        })
    }

    pub(super) fn types(&self) -> TypeMeta {
        TypeMeta {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
        }
    }

    /// The API group.
    pub(super) fn group(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }
}

/// Returns true for a kind that stands between pods and their workload.
fn is_owner_between(kind: &str) -> bool {
    matches!(kind, "ReplicaSet" | "Job")
}

/// Returns the object that controls a resource.
fn controller(tree: &Tree<'_>, resource: &Resource) -> Option<Workload> {
    let (_, owner) = resource.controller(tree)?;
    let field = |key| tree.member_text(owner, key).unwrap_or_default();
    Some(Workload {
        namespace: resource.identity.namespace.clone().unwrap_or_default(),
        kind: field("kind"),
        name: field("name"),
        api_version: field("apiVersion"),
    })
}
