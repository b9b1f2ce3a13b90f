//! The agents' permissions: ClusterRoles and ClusterRoleBindings.
//!
//! - [`Grants`]: the permissions that all templates of a run need
//! - [`manifest()`]: the output of the command `rbac`
//! - [`has_objects()`]: whether the input has such objects

mod grants;
mod manifest;

pub use self::manifest::{has_objects, manifest};
pub use grants::Grants;
