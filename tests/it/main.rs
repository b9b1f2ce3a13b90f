//! The one integration test binary: a module per subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy.toml allows them in #[test] functions only, not in their helpers"
)]

mod corpus;
mod mutate;
mod read;
mod splice;
mod yaml;
