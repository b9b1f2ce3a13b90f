//! Facts about the Mackerel container agent and the annotations. A new version of the agent is entered here.

pub mod annotations;
pub mod env;
pub mod names;
