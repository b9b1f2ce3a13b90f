//! What users set: one type, whatever door it came in by.
//!
//! - [`Config`]: the validated configuration, its settings below [`Spec`]
//! - [`Origin`]: where a setting's value came from

mod agent;
mod annotated;
mod choice;
mod collection;
mod contradiction;
mod example;
pub(crate) mod go_regexp;
mod kubernetes_type;
mod origin;
mod path;
pub mod quantity;
mod reading;
mod role;
mod rule;
mod scalar;
mod schema;
mod select;
mod setting;
mod source;
mod spec;
mod suggestion;
mod template_path;
mod value;
mod version;

pub(crate) use annotated::Annotated;
pub(crate) use reading::Complaint;
pub(crate) use suggestion::closest;

pub use agent::{Agent, AgentConfig, CONFIG_FOLDER, HostIdStore, HostStatus, ImagePullPolicy, LogLevel, Tmp};
pub use example::example;
pub use origin::Origin;
pub use role::Role;
pub use schema::schema;
pub use select::{Exclusion, KindPattern, Select};
pub use source::{Base, Sources, load, validate};
pub use spec::{
    ApiKey, HelmHooks, Injection, Kubelet, KubeletAccess, OnRefusal, Platform, Qos, Rbac, SidecarKind, Spec, WaitFor,
    WaitForPosition,
};
pub use template_path::{PodTemplatePath, Step, TemplatePath};
pub use version::KubernetesVersion;

use setting::Setting as _;
use std::collections::BTreeMap;

/// The `apiVersion` of our configuration object.
pub const API_VERSION: &str = "agent-injector.contrib.mackerel.io/v1alpha1";
/// The `kind` of our configuration object.
pub const KIND: &str = "AgentInjector";

/// The validated configuration: the settings, and where each explicit one came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `metadata.name` of the configuration object. Default: `default`.
    pub name: String,
    /// The settings.
    pub spec: Spec,
    /// Dotted path below `spec` of every setting that somebody set, to where.
    origins: BTreeMap<String, Origin>,
}

impl Default for Config {
    fn default() -> Self {
        Config { name: "default".to_owned(), spec: Spec::default(), origins: BTreeMap::new() }
    }
}

impl Config {
    /// Where the value of a setting came from; a dotted path below `spec`, such as `agent.image`.
    ///
    /// A setting also counts as set where a part of it was (`agent.resources` by `agent.resources.limits`) or the whole
    /// that it belongs to (`select.labels.app` by `select.labels`).
    #[must_use]
    pub fn origin(&self, path: &str) -> &Origin {
        let whole = self.origins.iter().rev().find(|(set, _)| is_at_or_below(path, set));
        let part = || self.origins.iter().find(|(set, _)| is_at_or_below(set, path));
        whole.or_else(part).map_or(&Origin::Default, |(_, origin)| origin)
    }

    /// True when configuration, `--set` or an annotation gave the setting, be it the default's value.
    #[must_use]
    pub fn is_explicit(&self, path: &str) -> bool {
        *self.origin(path) != Origin::Default
    }

    /// Every setting that somebody set, by its dotted path below `spec`, in the order of the paths.
    pub fn explicit(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.origins.iter().map(|(path, origin)| (path.as_str(), origin))
    }

    /// Every setting that has no settings below it, with its value and where that came from, in the order of the
    /// reference.
    #[must_use]
    pub fn settings(&self) -> Vec<(String, serde_json::Value, &Origin)> {
        let mut found = Vec::new();
        self.leaves(&self.spec.fields(), "", &mut found);
        found
    }

    fn leaves<'c>(
        &'c self,
        fields: &[setting::Field<'_>],
        inside: &str,
        found: &mut Vec<(String, serde_json::Value, &'c Origin)>,
    ) {
        for field in fields {
            let path = if inside.is_empty() { field.name.to_owned() } else { format!("{inside}.{}", field.name) };
            let inner = field.setting.fields();
            if inner.is_empty() {
                self.parts(path, field.setting.json(), found);
            } else {
                self.leaves(&inner, &path, found);
            }
        }
    }

    /// Requests come from here, limits from there: each has a line.
    fn parts<'c>(
        &'c self,
        path: String,
        value: serde_json::Value,
        found: &mut Vec<(String, serde_json::Value, &'c Origin)>,
    ) {
        match value {
            serde_json::Value::Object(parts) if !parts.is_empty() => {
                for (part, value) in parts {
                    self.parts(format!("{path}.{}", path::escape(&part)), value, found);
                }
            }
            value => {
                let origin = self.origin(&path);
                found.push((path, value, origin));
            }
        }
    }

    /// The same with the places of annotations moved: those of a piece are places of the text then.
    #[must_use]
    pub(crate) fn moved(mut self, base: usize) -> Self {
        for origin in self.origins.values_mut() {
            if let Origin::Annotation { offset, .. } = origin {
                *offset += base;
            }
        }
        self
    }

    /// The value of a setting as a configuration would write it, `null` where it has none; a dotted path below `spec`.
    /// None when there is no such setting.
    #[must_use]
    pub fn value(&self, path: &str) -> Option<serde_json::Value> {
        setting::json_at(&self.spec.fields(), &path::parts(path))
    }
}

fn is_at_or_below(path: &str, whole: &str) -> bool {
    path.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
