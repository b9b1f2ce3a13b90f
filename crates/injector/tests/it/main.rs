//! The cases and the laws: what the injector does with manifests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy.toml allows them in #[test] functions only, not in their helpers"
)]

mod cases;
mod corpus_laws;
mod every_setting_has_an_effect;
mod force_restores;
mod istio;
mod properties;
mod uninject_after_reprint;
