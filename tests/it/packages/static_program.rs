//! The program as it is in the packages: static, without debug information.

use crate::tools;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The program. None, with a line on standard error, if Cargo has linked it dynamically.
pub(super) fn static_program() -> Option<&'static Path> {
    static STRIPPED: OnceLock<PathBuf> = OnceLock::new();
    // The flag that links the program so links this one too.
    if !cfg!(target_feature = "crt-static") {
        tools::missing(
            "a static program",
            "tests/run links one, on Linux with the static C library",
        );
        return None;
    }
    Some(STRIPPED.get_or_init(stripped))
}

fn stripped() -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mackerel-agent-injector");
    script(
        Command::new("strip")
            .arg("-o")
            .arg(&program)
            .arg(env!("CARGO_BIN_EXE_mackerel-agent-injector")),
    );
    program
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
