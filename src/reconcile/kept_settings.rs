//! The settings of an adopted agent that annotations keep.
//!
//! An annotation is written only if the agent would behave differently without it. The agent's own default counts for the
//! connection to the kubelet: without a variable, it is the read-only port 10255.

use crate::agent::Component;
use crate::annotations::{Given, overlay};
use crate::config::{
    AgentSettings, Config, KubeletConnection, KubernetesVersion, Platform, SecretKeyRef, variables,
};
use crate::mackerel::annotations::Annotation;
use crate::mackerel::env::{Variable, VariableForm};
use crate::manifest::pod_template::{ContainerList, PodTemplate};
use crate::manifest::quantity::nanos;
use crate::reconcile::agent_container::{
    AgentContainer, INSECURE_TLS, KUBELET_VARIABLES, repository,
};
use crate::reconcile::lost_settings::{AdoptionDifferences, LostSetting};
use serde_json::Value;

/// An agent to adopt, and the one that replaces it.
pub(super) struct Replacement<'a> {
    pub(super) old: Value,
    pub(super) old_list: ContainerList,
    /// The pod's volumes.
    pub(super) volumes: Vec<Value>,
    pub(super) template: &'a PodTemplate,
    pub(super) agent: &'a Component,
    /// The configuration of the new one.
    pub(super) config: &'a Config,
}

impl Replacement<'_> {
    fn adopted(&self) -> AgentContainer<'_> {
        AgentContainer(&self.old)
    }

    fn injected(&self) -> AgentContainer<'_> {
        AgentContainer(&self.agent.container)
    }

    /// Returns the annotations that keep the old agent's settings, and are allowed. Those of the template stay as they are.
    pub(super) fn annotations(&self) -> Vec<(Annotation, String)> {
        let mut kept = self.wanted();
        kept.retain(|(annotation, _)| self.config.allows(*annotation));
        if !self.is_valid(&kept) {
            kept.retain(|one| self.is_valid(std::slice::from_ref(one)));
        }
        if self.is_valid(&kept) {
            kept
        } else {
            Vec::new()
        }
    }

    /// Returns true if an injection would take the annotations.
    fn is_valid(&self, annotations: &[(Annotation, String)]) -> bool {
        let mut given: Vec<Given<'_>> = Vec::new();
        for (annotation, value) in annotations {
            given.push((annotation.key(), value, 0));
        }
        overlay(self.config, &given).is_ok()
    }

    /// Returns the annotations that would keep more of the old agent's settings, each with the setting, if they were allowed.
    pub(super) fn not_allowed(&self) -> Vec<LostSetting> {
        let mut lost = Vec::new();
        for (annotation, _) in self.wanted() {
            let setting = annotation.setting();
            if setting.is_some() && !self.config.allows(annotation) {
                let name = annotation.name().to_owned();
                lost.push(LostSetting { name, setting });
            }
        }
        lost
    }

    /// Returns the annotations that would keep every setting of the old agent.
    fn wanted(&self) -> Vec<(Annotation, String)> {
        let mut kept = self.variables();
        kept.extend(self.names());
        kept.extend(self.agent_config());
        kept.extend(self.kubelet());
        kept.extend(self.resources());
        let is_native = self.old_list == ContainerList::InitContainers
            && self.old.get("restartPolicy").and_then(Value::as_str) == Some("Always");
        let has_native = self.config.spec.kubernetes_version >= KubernetesVersion::NATIVE_SIDECARS;
        if is_native && has_native && self.agent.record.list == ContainerList::Containers {
            kept.push((Annotation::Sidecar, "native".to_owned()));
        }
        kept.retain(|(annotation, _)| !self.is_given(*annotation));
        kept.sort_by_key(|(annotation, _)| *annotation);
        kept
    }

    /// Returns true if the template has the annotation, and it has an effect.
    fn is_given(&self, annotation: Annotation) -> bool {
        let mut given = self.template.annotations.iter();
        self.config.allows(annotation)
            && given.any(|given| Annotation::of(&given.key) == Some(annotation))
    }

    /// Returns the annotations that keep the old agent's variables.
    fn variables(&self) -> Vec<(Annotation, String)> {
        let (old, new) = (self.adopted(), self.injected());
        let mut kept = Vec::new();
        for (setting, Variable { name, form, .. }) in variables() {
            let Some(annotation) = setting.annotation() else {
                continue;
            };
            let text = || old.value(name).map(str::to_owned);
            let (value, is_equal) = match form {
                VariableForm::Text => (text(), old.value(name) == new.value(name)),
                VariableForm::List => (text(), old.list(name) == new.list(name)),
                VariableForm::IgnorePattern => {
                    let value = old.ignored(name);
                    let is_equal = value == new.ignored(name);
                    (value, is_equal)
                }
                VariableForm::ConfigFile | VariableForm::SecretKey | VariableForm::Connection => {
                    continue;
                }
            };
            kept.extend(value.filter(|_| !is_equal).map(|value| (annotation, value)));
        }
        kept
    }

    /// Returns the annotations that keep the Secret of the API key, and an image of another repository.
    fn names(&self) -> Vec<(Annotation, String)> {
        let (old, new) = (self.adopted(), self.injected());
        let mut kept = Vec::new();
        for (setting, field) in [(SecretKeyRef::name(), "name"), (SecretKeyRef::key(), "key")] {
            let value = old
                .secret(field)
                .filter(|old| Some(*old) != new.secret(field));
            kept.extend(setting.annotation().zip(value.map(str::to_owned)));
        }
        if repository(old.image()) != repository(new.image()) {
            let annotation = AgentSettings::image().annotation();
            kept.extend(annotation.map(|annotation| (annotation, old.image().to_owned())));
        }
        kept
    }

    fn agent_config(&self) -> Vec<(Annotation, String)> {
        let variable = AgentSettings::config().variable_name();
        let (old, new) = (self.adopted(), self.injected());
        let configured = &self.config.spec.agent.config;
        let mut kept = Vec::new();
        if let Some(mounted) = old.config_map(&self.volumes) {
            let name = configured.config_map_key_ref.name.as_deref();
            if configured.location.is_some() || name != Some(mounted.name) {
                kept.push((Annotation::AgentConfigMapName, mounted.name.to_owned()));
            }
            if configured.config_map_key_ref.key != mounted.key {
                kept.push((Annotation::AgentConfigMapKey, mounted.key.to_owned()));
            }
        } else if let Some(location) = old.value(variable)
            && new.value(variable) != Some(location)
        {
            kept.push((Annotation::AgentConfigLocation, location.to_owned()));
        }
        kept
    }

    fn kubelet(&self) -> Vec<(Annotation, String)> {
        let configured = self.config.spec.kubelet_connection();
        let mut kept = Vec::new();
        let Some(old) = self.adopted().kubelet() else {
            return kept;
        };
        if old == configured {
            return kept;
        }
        if configured == KubeletConnection::ApiServer {
            kept.push((Annotation::Platform, Platform::Kubernetes.to_string()));
        }
        match old {
            KubeletConnection::ApiServer => {
                kept.push((Annotation::Platform, Platform::EksFargate.to_string()));
            }
            KubeletConnection::ReadOnly { port } => {
                kept.push((Annotation::KubeletReadOnlyPort, port.to_string()));
            }
            KubeletConnection::Tls { port, insecure } => {
                let (configured_port, configured_insecure) = match configured {
                    KubeletConnection::Tls { port, insecure } => (Some(port), insecure),
                    KubeletConnection::ReadOnly { .. } => (None, false),
                    KubeletConnection::ApiServer => (Some(10250), false),
                };
                if configured_port != Some(port) {
                    kept.push((Annotation::KubeletPort, port.to_string()));
                }
                if configured_insecure != insecure {
                    kept.push((Annotation::KubeletInsecureTls, insecure.to_string()));
                }
            }
        }
        kept
    }

    /// Returns the read-only port of an old agent that sets INSECURE_TLS too: that port has no TLS.
    pub(super) fn read_only_port_beside_tls(&self) -> Option<u16> {
        let old = self.adopted();
        old.variable(INSECURE_TLS)?;
        match old.kubelet()? {
            KubeletConnection::ReadOnly { port } => Some(port),
            KubeletConnection::Tls { .. } | KubeletConnection::ApiServer => None,
        }
    }

    fn resources(&self) -> Vec<(Annotation, String)> {
        let mut kept = self.amounts("cpu", Annotation::CpuRequest, Annotation::CpuLimit);
        kept.extend(self.amounts("memory", Annotation::MemoryRequest, Annotation::MemoryLimit));
        kept
    }

    /// Returns the annotations that keep the request and the limit of one resource. A default must not contradict what is kept: a
    /// request is no more than its limit, and else there is none.
    fn amounts(
        &self,
        resource: &str,
        request: Annotation,
        limit: Annotation,
    ) -> Vec<(Annotation, String)> {
        let (old, new) = (self.adopted(), self.injected());
        let old_request = old.amount("requests", resource);
        let old_limit = old.amount("limits", resource);
        let new_request = new.amount("requests", resource);
        let new_limit = new.amount("limits", resource);
        let mut kept = Vec::new();
        match &old_request {
            Some(amount) if nanos_of(&old_request) != nanos_of(&new_request) => {
                kept.push((request, amount.clone()));
            }
            None if is_more(&new_request, &old_limit) => kept.push((request, "null".to_owned())),
            _ => {}
        }
        match &old_limit {
            Some(amount) if nanos_of(&old_limit) != nanos_of(&new_limit) => {
                kept.push((limit, amount.clone()));
            }
            None if is_more(&old_request, &new_limit) => kept.push((limit, "null".to_owned())),
            _ => {}
        }
        kept
    }

    /// Returns the fields of the old container that the new one changes or lacks, each with the setting that gives it.
    pub(super) fn differences(&self) -> AdoptionDifferences {
        AdoptionDifferences::of(&self.old, &self.agent.container, &self.equal_in_meaning())
    }

    /// Returns variables, and volumes of mounts, that differ in form only.
    fn equal_in_meaning(&self) -> Vec<&str> {
        let (old, new) = (self.adopted(), self.injected());
        let mut equal = Vec::new();
        if old.kubelet().is_some() && old.kubelet() == new.kubelet() {
            equal.extend(KUBELET_VARIABLES);
        }
        for (_, Variable { name, form, .. }) in variables() {
            let is_equal = match form {
                VariableForm::List => old.list(name).is_some() && old.list(name) == new.list(name),
                // The own container is always ignored.
                VariableForm::IgnorePattern => {
                    let other = old.ignored(name);
                    old.value(name).is_some() && (other.is_none() || other == new.ignored(name))
                }
                _ => false,
            };
            equal.extend(is_equal.then_some(name));
        }
        let injected = self.agent.volume_list.as_array();
        let injected = injected.map_or(&[][..], Vec::as_slice);
        if let (Some(old), Some(new)) = (old.config_map(&self.volumes), new.config_map(injected))
            && old.name == new.name
            && old.key == new.key
        {
            equal.extend([AgentSettings::config().variable_name(), old.volume]);
        }
        equal
    }
}

fn nanos_of(amount: &Option<String>) -> Option<i128> {
    amount.as_deref().and_then(nanos)
}

/// Returns true if both amounts exist, and the first is more than the second.
fn is_more(one: &Option<String>, other: &Option<String>) -> bool {
    match (nanos_of(one), nanos_of(other)) {
        (Some(one), Some(other)) => one > other,
        _ => false,
    }
}
