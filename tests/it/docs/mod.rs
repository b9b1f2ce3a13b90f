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
mod playground;
mod reasons;
mod same;
#[cfg(target_os = "linux")]
mod search;

use std::fs;
use support::root;

/// The languages of the books, as their folders are named.
const LANGUAGES: [&str; 2] = ["en", "ja"];

/// A generated page is what it would be if it were generated now.
#[track_caller]
fn expect(file: &str, page: &str) {
    let path = root().join(file);
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(&path, page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "{file} is out of date: run this test with UPDATE_EXPECTED=1"
    );
}
