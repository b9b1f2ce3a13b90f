//! The components that are injected: the agent with its volumes, the init container that waits, and the record of both.

pub(crate) mod canonical;
pub(crate) mod component;
pub(crate) mod component_kind;
pub(crate) mod container;
pub(crate) mod endpoint;
pub(crate) mod environment;
pub(crate) mod existing;
pub(crate) mod field_order;
pub(crate) mod kubelet_access;
pub(crate) mod plan;
pub(crate) mod prerequisites;
pub(crate) mod record;
pub(crate) mod replaceable_names;
pub(crate) mod shape;
pub(crate) mod wait_for;

pub(crate) use component::Component;
pub(crate) use component_kind::{ComponentKind, ComponentKinds};
pub(crate) use container::Agents;
