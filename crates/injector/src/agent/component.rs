//! The components of an injection: the agent, and the init container that waits for hosts.

use crate::agent::canonical::{CanonicalForm, Digest};
use crate::agent::component_kind::ComponentKind;
use crate::agent::endpoint::Endpoint;
use crate::agent::kubelet_access::KubeletAccess;
use crate::agent::prerequisites::Prerequisites;
use crate::agent::record::ComponentRecord;
use crate::agent::replaceable_names::{ReplaceableName, ReplaceableNames, for_each_name};
use crate::agent::shape::AgentShape;
use config::{Config, WaitForPosition};
use mackerel::names::Volume;
use manifest::ContainerList;
use serde_json::{Value, json};
use std::sync::Arc;

/// A component to add: one container with the rest that it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    pub kind: ComponentKind,
    /// The container, its fields in the usual order.
    pub container: Arc<Value>,
    /// The container as the only item of a list.
    pub(crate) container_list: Arc<Value>,
    pub volumes: Vec<(Volume, Arc<Value>)>,
    /// The volumes as a list.
    pub volume_list: Arc<Value>,
    /// Names of the pull secrets that the pod lacks. Those of an agent do for the init container beside it.
    pub pull_secrets: Vec<String>,
    /// Container and volumes in canonical form, without the names. The digest of this is a record's `value`.
    pub canonical: Arc<Value>,
    /// The names that other tools may change.
    pub names: ReplaceableNames,
    /// Its part of the record, with the list that it is added to.
    pub record: ComponentRecord,
    /// The objects that it needs.
    pub needs: Arc<Prerequisites>,
    /// The properties of the pod that it depends on; none for the init container.
    pub shape: Option<AgentShape>,
    /// Its access to the kubelet; none for the init container.
    pub access: Option<KubeletAccess>,
    /// Its configuration, if the template's annotations change it.
    pub annotated: Option<Arc<Config>>,
    /// The hosts that it waits for; none for the agent.
    pub endpoints: Vec<Endpoint>,
}

impl Component {
    /// Makes a component that needs nothing. `plan` is the digest of everything that is added for it.
    pub fn new(
        kind: ComponentKind,
        list: ContainerList,
        container: Value,
        volumes: Vec<(Volume, Value)>,
        plan: Digest,
    ) -> Self {
        let values: Vec<Value> = volumes.iter().map(|(_, value)| value.clone()).collect();
        let canonical = CanonicalForm::of(container.clone(), values.clone());
        let record = ComponentRecord {
            list,
            position: WaitForPosition::Last,
            plan,
            value: canonical.digest,
            names: canonical.name_digests(),
            volumes: volumes.iter().map(|(volume, _)| volume.clone()).collect(),
        };
        Self {
            kind,
            container_list: Arc::new(Value::Array(vec![container.clone()])),
            container: Arc::new(container),
            volumes: volumes
                .into_iter()
                .map(|(volume, value)| (volume, Arc::new(value)))
                .collect(),
            volume_list: Arc::new(Value::Array(values)),
            pull_secrets: Vec::new(),
            canonical: Arc::new(canonical.value),
            names: canonical.names,
            record,
            needs: Arc::default(),
            shape: None,
            access: None,
            annotated: None,
            endpoints: Vec::new(),
        }
    }

    /// Returns true if the component adds this volume.
    pub(crate) fn adds_volume(&self, name: &str) -> bool {
        self.volumes.iter().any(|(volume, _)| volume.name() == name)
    }

    /// Returns true if its container mounts this volume.
    pub(crate) fn mounts_volume(&self, name: &str) -> bool {
        self.container["volumeMounts"]
            .as_array()
            .is_some_and(|mounts| mounts.iter().any(|mount| mount["name"] == name))
    }

    /// Returns true if it uses the token that Kubernetes mounts into every container of the pod.
    pub(crate) fn relies_on_the_pods_token(&self) -> bool {
        let needs_token = matches!(
            self.access,
            Some(KubeletAccess::Kubelet | KubeletAccess::ApiServer)
        );
        needs_token && !self.adds_volume(&Volume::Token.name())
    }

    /// Returns the component with a name that a tool has changed. The record keeps the configured one.
    pub fn with(&self, name: &ReplaceableName, text: &str) -> Self {
        let mut container = Value::clone(&self.container);
        let mut volumes = self.volume_list.as_array().cloned().unwrap_or_default();
        let mut names = self.names.clone();
        for_each_name(&mut container, &mut volumes, |known, value| {
            if known == *name {
                *value = text.into();
                names.insert(known, text.to_owned());
            }
        });
        let mut needs = Prerequisites::clone(&self.needs);
        needs.find_objects(&container, &volumes);
        let named = self.volumes.iter().map(|(volume, _)| volume.clone());
        Self {
            container_list: Arc::new(json!([container])),
            container: Arc::new(container),
            volumes: named.zip(volumes.iter().cloned().map(Arc::new)).collect(),
            volume_list: Arc::new(Value::Array(volumes)),
            names,
            needs: Arc::new(needs),
            ..self.clone()
        }
    }
}
