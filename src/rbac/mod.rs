//! The agents' permissions: ClusterRoles and ClusterRoleBindings.
//!
//! - [`Grants`]: the permissions that all templates of a run need
//! - [`manifest()`]: the output of the command `rbac`
//! - [`has_objects()`]: whether the input has such objects

mod checks;
mod grants;
mod manifest;
mod objects;

pub use grants::{Grant, Grants};
pub use manifest::manifest;
pub use objects::has_objects;
