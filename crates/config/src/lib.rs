//! The validated configuration: one type for files, `--set`, ConfigMaps, functionConfigs and annotations.
//!
//! - [`load()`]: reads and checks a configuration; [`Config::default`] has every default
//! - [`Config`]: the validated configuration, read-only, so that each value is checked and has its [`Origin`]
//! - [`SCHEMA`], [`EXAMPLE`]: every setting with its meaning, unit and default, as JSON Schema and as a commented file
//!
//! ```
//! use config::{Sources, load};
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
//! error: unknown setting `agent.rolls`
//!  --> injector.yaml:5:5
//!   |
//! 5 |     rolls: ['shop:web']
//!   |     ^^^^^
//!   = help: did you mean `agent.roles`?
//! "
//! );
//! ```

mod agent;
mod allowed_annotations;
pub mod annotations;
mod checked;
mod config;
mod container_rules;
mod cross_checks;
mod go_regexp;
mod grammar;
mod kubernetes;
mod label_selector;
mod layers;
mod load;
mod message;
mod origin;
mod read;
mod role;
mod secret;
mod select;
mod sources;
mod spec;
mod table;
mod template_config;
mod template_path;
#[cfg(test)]
mod tests;
mod values;
mod version;
mod violation;
mod warning;

pub use agent::{AgentSettings, AgentVolume};
pub use checked::{Namespace, ObjectName};
pub use config::{Config, value_at, without_empty};
pub use container_rules::amount_path;
pub use origin::Origin;
pub use role::{NAMESPACE as NAMESPACE_REFERENCE, Role, label as label_reference, labels};
pub use select::{
    Exclusion, KindPattern, LabelOperator, LabelSelector, NamespacePattern, SYSTEM_NAMESPACES,
    is_system_namespace,
};
pub use sources::{Base, ConfigReader, Sources, load};
pub use spec::{
    Hooks, InjectionMode, KubeletConnection, OnError, Platform, Qos, SidecarKind, Spec,
    WaitForPosition,
};
pub use table::Setting;
pub use template_path::TemplatePath;
pub use version::KubernetesVersion;
pub use violation::listed;
pub use warning::WarningId;

/// The `apiVersion` of the configuration object.
pub const API_VERSION: &str = "agent-injector.contrib.mackerel.io/v1alpha1";
/// The `kind` of the configuration object.
pub const KIND: &str = "AgentInjector";

/// The JSON Schema (2020-12) of the configuration object: every setting with its description and default.
pub const SCHEMA: &str = include_str!("../../../docs/config/schema.json");

/// A configuration (YAML) in which every setting is commented out (`#image: …`) at its default.
pub const EXAMPLE: &str = include_str!("../../../docs/config/example.yaml");
