//! The program as it is in the packages: static, without debug information.

use crate::tools;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::root;

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

/// An ELF file of the type DYN without an interpreter is loaded at an address that differs in each run, with all of its code.
#[test]
fn the_program_is_position_independent() {
    let Some(program) = static_program() else {
        return;
    };
    let elf = std::fs::read(program).unwrap();
    let number = |at: usize, length: usize| {
        let bytes = elf[at..at + length].iter().rev();
        bytes.fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    assert_eq!(
        elf[..6],
        *b"\x7fELF\x02\x01",
        "64 bits, the lowest byte first"
    );
    let [header, size, count] = [number(32, 8), number(54, 2), number(56, 2)];
    let types = (0..count).map(|index| number(header + index * size, 4));
    let types: Vec<usize> = types.collect();
    let dynamic = 3;
    let [load, interpreter] = [1, 3];
    assert_eq!(number(16, 2), dynamic);
    assert!(
        types.contains(&load) && !types.contains(&interpreter),
        "{types:?}"
    );
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
