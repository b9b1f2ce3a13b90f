//! The packages, made by their scripts from one static program and used by the real tools.

mod definition;
mod image;
mod static_program;
