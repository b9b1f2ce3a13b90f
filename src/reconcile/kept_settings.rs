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
use crate::mackerel::env::{REFERABLE, Variable, VariableForm};
use crate::manifest::expansion::literal;
use crate::manifest::pod_template::{ContainerList, PodTemplate};
use crate::reconcile::agent_container::{
    AgentContainer, INSECURE_TLS, KUBELET_VARIABLES, repository,
};
use crate::reconcile::lost_settings::{AdoptionDifferences, LostSetting, setting_of};
use serde_json::Value;

/// An annotation that keeps a setting of the old agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeptSetting {
    pub(super) annotation: Annotation,
    pub(super) value: String,
}

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
    /// Returns the annotations that keep the old agent's settings, and are allowed. Those of the template stay as they are.
    pub(super) fn annotations(&self) -> Vec<KeptSetting> {
        let mut kept = self.wanted();
        kept.retain(|kept| self.config.allows(kept.annotation));
        if !self.is_valid(&kept) {
            kept.retain(|one| self.is_valid(std::slice::from_ref(one)));
        }
        if !self.is_valid(&kept) {
            kept.clear();
        }
        kept
    }

    /// Returns true if an injection would take the annotations.
    fn is_valid(&self, kept: &[KeptSetting]) -> bool {
        let mut given: Vec<Given<'_>> = Vec::new();
        for KeptSetting { annotation, value } in kept {
            given.push((annotation.key(), value, 0));
        }
        overlay(self.config, &given).is_ok()
    }

    /// Returns the annotations that would keep more of the old agent's settings, each with the setting, if they were allowed.
    pub(super) fn not_allowed(&self) -> Vec<LostSetting> {
        let mut lost = Vec::new();
        for KeptSetting { annotation, .. } in self.wanted() {
            let setting = annotation.setting();
            if setting.is_some() && !self.config.allows(annotation) {
                let name = annotation.name().to_owned();
                lost.push(LostSetting { name, setting });
            }
        }
        lost
    }

    /// Returns the annotations that would keep every setting of the old agent.
    fn wanted(&self) -> Vec<KeptSetting> {
        let mut kept = Comparison {
            old: AgentContainer(&self.old),
            new: AgentContainer(&self.agent.container),
            config: self.config,
            kept: Vec::new(),
        };
        kept.variables();
        kept.names();
        kept.agent_config(&self.volumes);
        kept.kubelet();
        kept.amounts("cpu", Annotation::CpuRequest, Annotation::CpuLimit);
        kept.amounts("memory", Annotation::MemoryRequest, Annotation::MemoryLimit);
        let is_native = self.old_list == ContainerList::InitContainers
            && self.old.get("restartPolicy").and_then(Value::as_str) == Some("Always");
        let has_native = self.config.spec.kubernetes_version >= KubernetesVersion::NATIVE_SIDECARS;
        if is_native && has_native && self.agent.record.list == ContainerList::Containers {
            kept.keep(Annotation::Sidecar, "native");
        }
        let mut kept = kept.kept;
        kept.retain(|kept| !self.is_given(kept.annotation));
        kept.sort_by_key(|kept| kept.annotation);
        kept
    }

    /// Returns true if the template has the annotation, and it has an effect.
    fn is_given(&self, annotation: Annotation) -> bool {
        let mut given = self.template.annotations.iter();
        self.config.allows(annotation)
            && given.any(|given| Annotation::of(&given.key) == Some(annotation))
    }

    /// Returns the read-only port of an old agent that sets INSECURE_TLS too: that port has no TLS.
    pub(super) fn read_only_port_beside_tls(&self) -> Option<u16> {
        let old = AgentContainer(&self.old);
        old.variable(INSECURE_TLS)?;
        match old.kubelet()? {
            KubeletConnection::ReadOnly { port } => Some(port),
            KubeletConnection::Tls { .. } | KubeletConnection::ApiServer => None,
        }
    }

    /// Returns the fields of the old container that the new one changes or lacks, each with the setting that gives it.
    pub(super) fn differences(&self) -> AdoptionDifferences {
        AdoptionDifferences::of(
            &self.old,
            &self.agent.container,
            &self.equal_in_meaning(),
            &self.config.spec.agent,
        )
    }

    /// Returns the variables that only the new container has because the configuration sets them.
    pub(super) fn added_variables(&self) -> Vec<LostSetting> {
        let [old, new] = [&self.old, &self.agent.container].map(AgentContainer);
        let equal = self.equal_in_meaning();
        let mut added = Vec::new();
        for name in new.variable_names() {
            let setting = setting_of(name).path;
            let is_new = old.variable(name).is_none() && !equal.contains(&name);
            if is_new && self.config.is_explicit(setting) {
                added.push(LostSetting {
                    name: format!("env {name}"),
                    setting: Some(setting),
                });
            }
        }
        added
    }

    /// Returns variables, and volumes of mounts, that differ in form only.
    fn equal_in_meaning(&self) -> Vec<&str> {
        let (old, new) = (
            AgentContainer(&self.old),
            AgentContainer(&self.agent.container),
        );
        let mut equal = Vec::new();
        if old.kubelet().is_some() && old.kubelet() == new.kubelet() {
            equal.extend(KUBELET_VARIABLES);
        }
        for (_, Variable { name, form, .. }) in variables() {
            let has_forms = matches!(form, VariableForm::List | VariableForm::IgnorePattern);
            let meaning = old.meaning(name, form);
            // The own container is always ignored.
            let is_equal = meaning.is_none() || meaning == new.meaning(name, form);
            if has_forms && old.value(name).is_some() && is_equal {
                equal.push(name);
            }
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

/// The old and the new container, and the annotations that keep their differences.
struct Comparison<'a> {
    old: AgentContainer<'a>,
    new: AgentContainer<'a>,
    /// The configuration of the new one.
    config: &'a Config,
    kept: Vec<KeptSetting>,
}

impl Comparison<'_> {
    fn keep(&mut self, annotation: Annotation, value: impl ToString) {
        let value = value.to_string();
        self.kept.push(KeptSetting { annotation, value });
    }

    fn variables(&mut self) {
        for (setting, Variable { name, form, .. }) in variables() {
            let meaning = self.old.meaning(name, form);
            if meaning == self.new.meaning(name, form) {
                continue;
            }
            let value = match form {
                VariableForm::IgnorePattern => meaning.as_deref(),
                _ => self.old.value(name).filter(is_literal),
            };
            if let (Some(annotation), Some(value)) = (setting.annotation(), value) {
                self.keep(annotation, value);
            }
        }
    }

    /// Keeps the Secret of the API key, and an image of another repository.
    fn names(&mut self) {
        for (setting, field) in [(SecretKeyRef::name(), "name"), (SecretKeyRef::key(), "key")] {
            if let (Some(annotation), Some(value)) = (setting.annotation(), self.old.secret(field))
                && Some(value) != self.new.secret(field)
            {
                self.keep(annotation, value);
            }
        }
        let image = self.old.image();
        if repository(image) != repository(self.new.image()) {
            self.keep(Annotation::Image, image);
        }
    }

    fn agent_config(&mut self, volumes: &[Value]) {
        let variable = AgentSettings::config().variable_name();
        let configured = &self.config.spec.agent.config;
        if let Some(mounted) = self.old.config_map(volumes) {
            let name = configured.config_map_key_ref.name.as_deref();
            if configured.location.is_some() || name != Some(mounted.name) {
                self.keep(Annotation::AgentConfigMapName, mounted.name);
            }
            if configured.config_map_key_ref.key != mounted.key {
                self.keep(Annotation::AgentConfigMapKey, mounted.key);
            }
        } else if let Some(location) = self.old.value(variable).filter(is_literal)
            && self.new.value(variable) != Some(location)
        {
            self.keep(Annotation::AgentConfigLocation, location);
        }
    }

    fn kubelet(&mut self) {
        let configured = self.config.spec.kubelet_connection();
        let Some(old) = self.old.kubelet().filter(|old| *old != configured) else {
            return;
        };
        if configured == KubeletConnection::ApiServer {
            self.keep(Annotation::Platform, Platform::Kubernetes);
        }
        match old {
            KubeletConnection::ApiServer => self.keep(Annotation::Platform, Platform::EksFargate),
            KubeletConnection::ReadOnly { port } => {
                self.keep(Annotation::KubeletReadOnlyPort, port);
            }
            KubeletConnection::Tls { port, insecure } => {
                let (configured_port, configured_insecure) = match configured {
                    KubeletConnection::Tls { port, insecure } => (Some(port), insecure),
                    KubeletConnection::ReadOnly { .. } => (None, false),
                    KubeletConnection::ApiServer => (Some(10250), false),
                };
                if configured_port != Some(port) {
                    self.keep(Annotation::KubeletPort, port);
                }
                if configured_insecure != insecure {
                    self.keep(Annotation::KubeletInsecureTls, insecure);
                }
            }
        }
    }

    /// Keeps the request and the limit of one resource. A default must not contradict what is kept: a request that would be more
    /// than its limit is set to null.
    fn amounts(&mut self, resource: &str, request: Annotation, limit: Annotation) {
        let (old, new) = (self.old, self.new);
        let [old_request, new_request] = [old, new].map(|one| one.nanos("requests", resource));
        let [old_limit, new_limit] = [old, new].map(|one| one.nanos("limits", resource));
        match old.amount("requests", resource) {
            Some(amount) if old_request != new_request => self.keep(request, amount),
            None if is_more(new_request, old_limit) => self.keep(request, "null"),
            _ => {}
        }
        match old.amount("limits", resource) {
            Some(amount) if old_limit != new_limit => self.keep(limit, amount),
            None if is_more(old_request, new_limit) => self.keep(limit, "null"),
            _ => {}
        }
    }
}

/// Returns true for a variable's value that an annotation may have: a reference to another variable would be text.
fn is_literal(value: &&str) -> bool {
    literal(value, &REFERABLE) == *value
}

/// Returns true if both amounts exist, and the first is more than the second.
fn is_more(one: Option<i128>, other: Option<i128>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one > other)
}
