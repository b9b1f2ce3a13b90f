//! Puts the Mackerel container agent into the pod templates of Kubernetes manifests and changes no other byte.
//!
//! The modules in the order of the data's way. None of them does I/O, reads a clock or the environment;
//! the front ends at the end of the list do.

pub mod inject;

pub mod read;
pub mod yaml;

pub mod find;
pub mod resource;

mod adoption;
pub mod agent;
pub mod annotations;
pub mod config;
pub mod decide;
mod hand_edit;
mod judge;
mod lint;
mod merge_patch;
pub mod needs;
mod owner;
pub mod parts;
pub mod pod_template;
mod qos;
pub mod rbac;
mod standing;
pub mod surroundings;
mod unknown_kind;
pub mod wait_for;

mod change;
pub mod edit;
pub mod patch;
pub mod splice;
pub mod verify;

pub mod diagnostic;
pub mod explain;
pub mod field_path;
pub mod report;
pub mod tolerance;

pub mod cli;
pub mod krm_fn;
pub mod post_renderer;
