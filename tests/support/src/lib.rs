//! Helpers for the tests of all crates: the root of the repository, the corpus, generated files, and work on several threads.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests call it"
)]

pub mod corpus;
pub mod expected;
pub mod parallel;

use std::path::Path;

/// The root of the repository.
pub fn root() -> &'static Path {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.nth(2).expect("it is tests/support")
}
