//! Files of the repository that a test makes.

use similar::TextDiff;
use std::path::Path;

/// Compares a file with what it should hold; `UPDATE_EXPECTED=1` before the command writes it.
#[track_caller]
pub fn assert_is(path: &Path, expected: &str, command: &str) {
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(path, expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    let difference = TextDiff::from_lines(&*found, expected)
        .unified_diff()
        .to_string();
    assert!(
        difference.is_empty(),
        "{difference}\n`UPDATE_EXPECTED=1 {command}` writes {} anew",
        path.display()
    );
}
