//! Facts about the Mackerel container agent and the annotations. A new version of the agent is entered here.

pub(crate) mod annotations;
pub(crate) mod env;
pub(crate) mod names;
