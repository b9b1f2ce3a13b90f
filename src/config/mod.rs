//! What users set: one type, whatever door it came in by.
//!
//! - [`load`]: reads and checks a configuration; [`Config::default`] is the one that nobody changed
//! - [`Config`]: the validated configuration; it is only read, so that each value has been checked and has its [`Origin`]
//! - [`schema()`], [`example()`]: every setting with its meaning, unit and default, as JSON Schema and as a commented file
//!
//! ```
//! use mackerel_agent_injector::config::{Sources, load};
//!
//! let text = "\
//! apiVersion: agent-injector.contrib.mackerel.io/v1alpha1
//! kind: AgentInjector
//! spec:
//!   agent:
//!     roles: ['shop:web']
//! ";
//! let set = ["agent.resources.limits.memory=256Mi".to_owned()];
//! let config = load(&Sources::of_text("injector.yaml", text).with_set(&set)).expect("it is valid");
//! assert_eq!(config.value("agent.resources.limits.memory"), Some("256Mi".into()));
//! assert_eq!(config.origin("agent.roles").to_string(), "injector.yaml:5:12");
//! assert_eq!(config.origin("agent.image").to_string(), "default");
//!
//! let mistyped = text.replace("roles", "rolls");
//! let wrong = load(&Sources::of_text("injector.yaml", &mistyped)).unwrap_err();
//! assert_eq!(
//!     wrong[0].to_string(),
//!     "\
//! error: there is no setting `agent.rolls`
//!  --> injector.yaml:5:5
//!   |
//! 5 |     rolls: ['shop:web']
//!   |     ^^^^^
//!   = help: did you mean `agent.roles`?
//! "
//! );
//! ```

mod agent;
mod annotated;
mod choice;
mod collection;
mod contradiction;
mod example;
mod form;
pub(crate) mod go_regexp;
mod kubernetes_type;
mod origin;
mod path;
mod quantity;
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
mod violation;

pub(crate) use annotated::{Annotated, Contradicting};
pub(crate) use violation::Violation;

pub(crate) use agent::{Agent, CONFIG_FOLDER};
pub use example::example;
pub use origin::Origin;
pub use schema::schema;
#[cfg(test)]
pub(crate) use select::NamespacePattern;
pub(crate) use select::{Exclusion, KindPattern, is_system_namespace};
pub(crate) use source::Base;
pub use source::{Sources, load};
pub(crate) use spec::{
    Hooks, Injection, Kubelet, KubeletConnection, OnError, Platform, Qos, Rbac, SidecarKind, Spec, WaitForPosition,
};
pub(crate) use template_path::PodTemplatePath;
pub(crate) use version::KubernetesVersion;

use crate::manifest::workloads::Table;
use setting::Setting as _;
use std::collections::BTreeMap;

/// The `apiVersion` of our configuration object.
pub const API_VERSION: &str = "agent-injector.contrib.mackerel.io/v1alpha1";
/// The `kind` of our configuration object.
pub const KIND: &str = "AgentInjector";

/// The validated configuration: the settings, and where each explicit one came from. Made by [`load`]; the default one has
/// every setting's default.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `metadata.name` of the configuration object. Default: `default`.
    pub(crate) name: String,
    /// The settings.
    pub(crate) spec: Spec,
    /// Dotted path below `spec` of every setting that somebody set, to where.
    origins: BTreeMap<String, Origin>,
}

impl Default for Config {
    fn default() -> Self {
        Config { name: "default".to_owned(), spec: Spec::default(), origins: BTreeMap::new() }
    }
}

impl Config {
    /// `metadata.name` of the configuration object. Default: `default`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the value of a setting came from; a dotted path below `spec`, such as `agent.image`.
    ///
    /// A setting also counts as set where a part of it was (`agent.resources` by `agent.resources.limits`) or the whole
    /// that it belongs to (`select.podSelector.matchLabels.app` by `select.podSelector`).
    #[must_use]
    pub fn origin(&self, path: &str) -> &Origin {
        let whole = self.origins.iter().rev().find(|(set, _)| path::is_at_or_below(path, set));
        let part = || self.origins.iter().find(|(set, _)| path::is_at_or_below(set, path));
        whole.or_else(part).map_or(&Origin::Default, |(_, origin)| origin)
    }

    /// The kinds with pod templates: the built-in ones and those of `podTemplates`.
    pub(crate) fn workloads(&self) -> Table<'_> {
        Table::new(self.spec.pod_templates.iter().map(|place| (&*place.group, &*place.kind, &place.path)))
    }

    /// True when configuration, `--set` or an annotation gave the setting, be it with the default's value. What is explicit
    /// wins over what somebody changed in an injected agent since; defaults do not (`value-kept`).
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
