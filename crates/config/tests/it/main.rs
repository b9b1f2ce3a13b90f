//! Configurations, and the ways by which they come in.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy.toml allows them in #[test] functions only, not in their helpers"
)]

mod configs;
