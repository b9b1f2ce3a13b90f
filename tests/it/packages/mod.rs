//! The packages, made by their scripts from one static program and used by the real tools.

mod definition;
mod helm_clone;
mod helm_plugins;
mod helm_release;
mod helm_repository;
pub(crate) mod image;
mod notices;
pub(crate) mod published;
mod release;
mod static_program;
mod workflows;
