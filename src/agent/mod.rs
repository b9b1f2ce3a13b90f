//! The components that are injected: the agent with its volumes, the init container that waits, and the record of both.

pub(crate) mod canonical;
pub(crate) mod components;
pub(crate) mod container;
pub(crate) mod difference;
pub(crate) mod endpoint;
pub(crate) mod existing;
pub(crate) mod field_order;
pub(crate) mod kubelet_access;
pub(crate) mod plan;
pub(crate) mod prerequisites;
pub(crate) mod record;
pub(crate) mod wait_for;

pub(crate) use container::{Agent, Agents};
pub(crate) use record::{AgentRecord, Record};
