//! Finds the real tools that `tests/tools/install` installs, as pinned in `tests/tools/versions`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The one pinned tool of that name whose version starts with `version`, say `("helm", "4.")`.
///
/// Where it is not installed: a panic in CI; elsewhere `None`, said on standard error with a running count.
pub(crate) fn find(name: &str, version: &str) -> Option<PathBuf> {
    let pinned: Vec<&str> = include_str!("../tools/versions")
        .lines()
        .filter_map(|line| line.split_once(char::is_whitespace))
        .filter(|(pinned, _)| *pinned == name)
        .filter_map(|(_, rest)| rest.split_whitespace().next())
        .filter(|pinned| pinned.starts_with(version))
        .collect();
    let [version] = pinned[..] else { panic!("{name} {version}: tests/tools/versions pins {pinned:?}, expected one") };

    let path = folder().join("bin").join(format!("{name}-{version}"));
    if path.exists() {
        return Some(path);
    }
    let set = |variable| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    assert!(!set("CI"), "{name} {version} is missing, run tests/tools/install");
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    // Straight to standard error: what a passing test says by `eprintln!` is never seen.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED: {name} {version} missing, run tests/tools/install ({count} skipped so far)"
    );
    None
}

/// Where `tests/tools/install` puts the tools.
fn folder() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable("MACKEREL_TOOLS") {
        return folder.into();
    }
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || Path::new(&variable("HOME").unwrap_or_default()).join(".cache");
    cache.unwrap_or_else(home).join("mackerel-agent-injector-tools")
}
