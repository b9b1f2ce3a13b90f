//! Finds the real tools that `tests/tools/install` installs, as pinned in `tests/tools/versions`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The one pinned tool of that name whose version starts with `version`, say `("helm", "4.")`.
///
/// If it is not installed: panics in CI; elsewhere returns `None`, and prints a running count on standard error.
pub(crate) fn find(name: &str, version: &str) -> Option<PathBuf> {
    let pinned: Vec<&str> = include_str!("../tools/versions")
        .lines()
        .filter_map(|line| line.split_once(char::is_whitespace))
        .filter(|(pinned, _)| *pinned == name)
        .filter_map(|(_, rest)| rest.split_whitespace().next())
        .filter(|pinned| pinned.starts_with(version))
        .collect();
    let [version] = pinned[..] else {
        panic!("{name} {version}: tests/tools/versions pins {pinned:?}, expected one")
    };

    let path = folder().join("bin").join(format!("{name}-{version}"));
    if path.exists() {
        return Some(path);
    }
    missing(&format!("{name} {version}"), "run tests/tools/install");
    None
}

/// True if these programs are on the PATH. `.ci/run` installs them if `CI` is set.
#[cfg(unix)]
pub(crate) fn on_path(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |program: &&&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let absent: Vec<&str> = programs
        .iter()
        .filter(|program| !is_there(program))
        .copied()
        .collect();
    if !absent.is_empty() {
        missing(&absent.join(", "), "install it as .ci/run does");
    }
    absent.is_empty()
}

/// A panic in CI; elsewhere a word on standard error, with a running count.
pub(crate) fn missing(what: &str, remedy: &str) {
    let set = |variable| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    assert!(!set("CI"), "{what} missing, {remedy}");
    say("SKIPPED", &format!("{what} missing, {remedy}"));
}

/// A word on standard error, in CI too: no machine has that unless a person brings it.
#[cfg(target_os = "linux")]
pub(crate) fn not_checked(what: &str, remedy: &str) {
    say("NOT CHECKED", &format!("{what}; {remedy}"));
}

fn say(word: &str, what: &str) {
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    // Straight to standard error: what a passing test says by `eprintln!` is never seen.
    let _ = writeln!(std::io::stderr(), "{word}: {what} ({count} skipped so far)");
}

/// The folder into which `tests/tools/install` installs the tools.
fn folder() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable("MACKEREL_TOOLS") {
        return folder.into();
    }
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || Path::new(&variable("HOME").unwrap_or_default()).join(".cache");
    cache
        .unwrap_or_else(home)
        .join("mackerel-agent-injector-tools")
}
