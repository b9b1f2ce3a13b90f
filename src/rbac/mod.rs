//! What the agent may ask, as Kubernetes' RBAC has it: which permissions, of whom, as a manifest.
//!
//! - [`Access`]: how an agent reads what it reports, and the permissions that takes
//! - [`Bearer`]: whose permissions they must be, of one pod template
//! - [`Grants`]: those of all templates together, and the ClusterRoles and bindings that give them
//! - [`manifest()`]: what the command `rbac` prints; with `rbac.generate` an injection writes the same objects into its text

mod access;
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

pub(crate) use access::{Access, LESS, NODES_PROXY, PERMITS};
pub(crate) use grants::{Bearer, Grant, Grants, service_account};
pub(crate) use manifest::manifest;

/// What became of one ClusterRole or binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It was not there.
    Added,
    /// It permits something else, or somebody else.
    Updated,
    /// Nobody needs it any more.
    Removed,
}

impl Change {
    /// As reports say it.
    #[must_use]
    pub(crate) fn word(self) -> &'static str {
        match self {
            Change::Added => "added",
            Change::Updated => "brought up to date",
            Change::Removed => "taken out",
        }
    }
}
