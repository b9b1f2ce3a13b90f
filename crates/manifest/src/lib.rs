//! Facts about Kubernetes manifests; nothing here decides. A tree of YAML comes in; resources, their pod templates and what is true of
//! them go out.
//!
//! - [`resources()`]: the resources of a document, lists opened
//! - [`Table`]: the kinds with pod templates; [`PodTemplate`] is a view of one
//! - [`Kustomization`]: the files that a kustomization names
//! - [`mod@prefilter`], [`list`]: documents and items that need not be read
//! - [`go_yaml`], [`duplicate_keys`], [`strategic_merge`]: what makes a manifest another one than it seems

mod document;
pub mod dotted_path;
pub mod duplicate_keys;
pub mod expansion;
mod field_path;
pub mod go_yaml;
mod identity;
mod item_cache;
pub mod known_kinds;
pub mod kustomization;
mod lines;
pub mod list;
mod patch_directive;
mod pod_template;
pub mod prefilter;
pub mod qos;
mod quantity;
mod related;
pub mod release_tools;
pub mod resource;
pub mod strategic_merge;
mod template_path;
mod workloads;

pub use document::document;
pub use field_path::field_path;
pub use identity::{DEFAULT_NAMESPACE, Identity, is_list};
pub use item_cache::ItemCache;
pub use known_kinds::{Gap, WorkloadKind};
pub use kustomization::{Kustomization, NamedPatch};
pub use list::Cut;
pub use pod_template::{
    Container, ContainerList, FARGATE_NODES, PodAnnotation, PodTemplate, PodVolume, PullSecret,
    WINDOWS_NODES, item_pointer,
};
pub use prefilter::Prefilter;
pub use quantity::nanos;
pub use related::{Location, RelatedKind, Source};
pub use resource::{Resource, resources};
pub use strategic_merge::{Images, PatchEvidence};
pub use template_path::{PathRest, Step};
pub use workloads::{FoundTemplate, Table, Templates, containers};
