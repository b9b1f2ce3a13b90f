//! Facts about Kubernetes manifests; nothing here knows Mackerel.

pub(crate) mod document;
pub(crate) mod dotted_path;
pub(crate) mod duplicate_keys;
pub(crate) mod expansion;
pub(crate) mod field_path;
pub(crate) mod go_yaml;
pub(crate) mod identity;
pub(crate) mod item_cache;
pub mod known_kinds;
pub(crate) mod kustomization;
pub(crate) mod lines;
pub mod list;
pub(crate) mod patch_directive;
pub(crate) mod pod_template;
pub mod prefilter;
pub(crate) mod qos;
pub(crate) mod quantity;
pub(crate) mod related;
pub(crate) mod release_tools;
pub(crate) mod resource;
pub(crate) mod strategic_merge;
pub(crate) mod template_path;
pub mod workloads;
