//! The program as it is in the packages: static.

use crate::tools;
use std::path::Path;
use std::process::Command;

/// The program. None, with a line on standard error, if Cargo has linked it dynamically.
pub(super) fn static_program() -> Option<&'static Path> {
    // The flag that links the program so links this one too.
    if !cfg!(target_feature = "crt-static") {
        tools::missing(
            "a static program",
            "tests/run links one, on Linux with the static C library",
        );
        return None;
    }
    Some(Path::new(env!("CARGO_BIN_EXE_mackerel-agent-injector")))
}

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs one of the repository's scripts, which must succeed. Returns what it prints.
#[track_caller]
pub(super) fn script(command: &mut Command) -> String {
    let output = command.current_dir(root()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}
