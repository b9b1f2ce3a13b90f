//! Puts the Mackerel container agent into the pod templates of Kubernetes manifests and changes no other byte.
//!
//! The modules in the order of the data's way. None of them does I/O, reads a clock or the environment;
//! the front ends do.

pub mod annotations;
pub mod cli;
pub mod config;
pub mod diagnostic;
pub mod edit;
pub mod field_path;
pub mod inject;
pub mod post_renderer;
pub mod read;
pub mod report;
pub mod splice;
pub mod verify;
pub mod yaml;
