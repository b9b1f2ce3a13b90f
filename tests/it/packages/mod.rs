//! The packages, made by their scripts from one static program and used by the real tools.

mod definition;
mod helm_plugins;
mod helm_release;
pub(crate) mod image;
mod notices;
mod release;
mod static_program;
mod workflows;
