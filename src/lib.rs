//! Adds the Mackerel container agent to the pod templates of Kubernetes manifests and changes no other byte.
//!
//! This library is for the program of the same name and its tests alone, and is not published: any version may change it. The crate
//! [`injector`] makes edits of a text; here is what reads and writes: only `cli` and the crate `webhook` read a file, a clock or the
//! environment.
//!
//! Offsets and ranges are bytes of the text that was given, from 0; lines and columns count from 1, columns in characters.
//! Pointers are JSON Pointers (RFC 6901).

mod explain;
mod rbac;

mod diff;
mod patches;

// The front ends; `cli` alone does I/O.
mod krm_fn;
mod post_renderer;

mod cli;

pub use cli::run;
pub use diff::{ChangedLines, unified};
pub use krm_fn::is_call;
pub use patches::patches;
