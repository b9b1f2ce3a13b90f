//! The one integration test binary: a module per subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy.toml allows them in #[test] functions only, not in their helpers"
)]

mod block_yaml;
mod bounds;
mod cli;
mod commands;
mod configs;
mod corpus;
mod json_patch_suite;
mod json_schema;
mod krm_fn;
mod layout;
mod mutate;
mod oracles;
mod post_renderer;
mod program;
mod read;
#[cfg(unix)]
mod real_tools;
mod splice;
mod splice_corpus;
mod splice_everywhere;
mod splice_properties;
#[cfg(unix)]
mod tools;
mod yaml;
