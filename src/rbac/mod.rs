//! What the agent may ask, as Kubernetes' RBAC has it: which permissions, of whom, as a manifest.
//!
//! - [`Grants`]: those of all templates together, and the ClusterRoles and bindings that give them
//! - [`manifest()`]: what the command `rbac` prints; with `rbac.generate` an injection writes the same objects into its text

mod addition;
mod generated;
mod grants;
mod manifest;
mod objects;
mod present;
mod record;
mod removal;
mod spliced;

pub(crate) use generated::write;

pub(crate) use grants::{Grant, Grants};
pub(crate) use manifest::manifest;
