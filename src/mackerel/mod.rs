//! Facts about the Mackerel container agent and about the annotations: change here what a new agent changes.

pub(crate) mod annotations;
pub(crate) mod config_file;
pub(crate) mod env;
pub(crate) mod names;
