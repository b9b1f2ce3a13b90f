//! The documents: the books in `docs/`, the READMEs and what lies beside the examples.
//!
//! `UPDATE_EXPECTED=1 cargo test --test it docs` writes the generated pages of both books.

mod annotations;
mod books;
mod cli;
pub(crate) mod commands;
mod configuration;
mod links;
pub(crate) mod page;
mod phrases;
mod pictures;
#[cfg(target_os = "linux")]
mod pictures_on_a_telephone;
#[cfg(target_os = "linux")]
mod playground;
mod reasons;
mod same;
#[cfg(target_os = "linux")]
mod search;

use support::{expected, root};

/// The languages of the books, as their folders are named.
const LANGUAGES: [&str; 2] = ["en", "ja"];

/// A generated page is what it would be if it were generated now.
#[track_caller]
fn expect(file: &str, page: &str) {
    expected::assert_is(&root().join(file), page, "cargo test --test it docs");
}
