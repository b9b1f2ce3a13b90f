//! The agents' permissions: ClusterRoles and ClusterRoleBindings.
//!
//! - [`Grants`]: the permissions that all templates of a run need
//! - [`manifest()`]: the output of the command `rbac`
//! - [`RbacCoverage`]: whether the input holds them
//! - [`write()`]: `rbac.generate`, which writes the same objects into the injected text

mod addition;
mod apply;
mod coverage;
mod existing;
mod generated;
mod grants;
mod manifest;
mod objects;
mod removal;

pub(crate) use coverage::RbacCoverage;
pub(crate) use generated::write;

pub(crate) use grants::{Grant, Grants};
pub(crate) use manifest::manifest;
