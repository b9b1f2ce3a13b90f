//! The one integration test binary: a module per subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy.toml allows them in #[test] functions only, not in their helpers"
)]

mod block_yaml;
mod carried_text;
mod comment_properties;
mod comments;
mod corpus_edits;
mod editor;
mod editor_properties;
mod every_place;
mod generator;
mod independent_readers;
mod json;
mod json_patch_suite;
mod properties;
mod public_names;
mod random_patches;
mod reader_mutation;
mod restored_nulls;
mod splice;
mod style;
mod yaml_test_suite;
