//! The program as it is in the packages: static. Built once for all tests, quick rather than small.

use crate::tools;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// None, and said so, where no static program can be built.
pub(super) fn static_program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(build).as_deref()
}

fn build() -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        tools::missing("a static program", "only Linux runs it");
        return None;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("static/mackerel-agent-injector");
    let mut build = Command::new(root().join(".ci/build"));
    build.arg(&program).args(["--profile", "packages"]).env("CARGO_TARGET_DIR", root().join("target/static"));
    let output = build.output().unwrap();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        tools::missing(&format!("a static program\n{said}"), "it needs Cargo 1.91 and the static C library");
        return None;
    }
    Some(program)
}

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs one of the repository's scripts, which must succeed; what it printed.
#[track_caller]
pub(super) fn script(command: &mut Command) -> String {
    let output = command.current_dir(root()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}
