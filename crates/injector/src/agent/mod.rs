//! The components that are injected: the agent with its volumes, the init container that waits, and the record of both.

pub mod canonical;
pub mod component;
pub mod component_kind;
pub mod container;
pub mod endpoint;
pub mod environment;
pub mod existing;
pub mod field_order;
pub mod kubelet_access;
pub mod plan;
pub mod pod_properties;
pub mod prerequisites;
pub mod record;
pub mod replaceable_names;
pub mod shape;
pub mod wait_for;

pub use component::Component;
pub use component_kind::{ComponentKind, ComponentKinds};
pub use container::Agents;
