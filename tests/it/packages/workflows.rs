//! The workflows, which cannot run here: judged by actionlint, and held to what it does not ask for.

use super::static_program::{root, script};
use crate::tools;
use serde_yaml::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

fn workflows() -> Vec<(String, String)> {
    let folder = root().join(".github/workflows");
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths
        .map(|path| {
            (
                path.file_name().unwrap().to_str().unwrap().to_owned(),
                fs::read_to_string(path).unwrap(),
            )
        })
        .collect()
}

#[test]
fn actionlint_finds_nothing_to_say() {
    let Some(actionlint) = tools::find("actionlint", "") else {
        return;
    };
    // It checks the scripts in them by shellcheck where that is on the PATH.
    assert_eq!(script(Command::new(actionlint).arg("-no-color")), "");
}

/// Each workflow names the toolchain once, all the same one, and the oldest that is tried is the one that the manifest promises.
#[test]
fn workflows_take_one_toolchain_and_the_oldest_that_is_promised() {
    let mut toolchains = BTreeSet::new();
    for (name, text) in workflows() {
        let workflow: Value = serde_yaml::from_str(&text).unwrap();
        toolchains.insert(
            workflow["env"]["RUSTUP_TOOLCHAIN"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
        for (job, what) in workflow["jobs"].as_mapping().unwrap() {
            if let Some(own) = what["env"]["RUSTUP_TOOLCHAIN"].as_str() {
                assert_eq!(
                    (job, own),
                    (
                        &"msrv".into(),
                        concat!(env!("CARGO_PKG_RUST_VERSION"), ".0")
                    ),
                    "{name}"
                );
            }
        }
        assert!(!text.contains("install stable"), "{name}");
    }
    assert_eq!(toolchains.len(), 1, "{toolchains:?}");
}

/// Actions of other repositories are pinned by the hash of a commit, with its version in a comment.
#[test]
fn actions_are_pinned_by_hash() {
    let mut pinned = 0;
    for (name, text) in workflows() {
        for line in text.lines().filter_map(|line| {
            line.trim_start()
                .trim_start_matches("- ")
                .strip_prefix("uses: ")
        }) {
            let (action, version) = line
                .split_once(" # v")
                .unwrap_or_else(|| panic!("{name}: {line}"));
            let hash = action.split_once('@').unwrap().1;
            assert!(
                hash.len() == 40 && hash.chars().all(|digit| digit.is_ascii_hexdigit()),
                "{name}: {line}"
            );
            assert_eq!(version.split('.').count(), 3, "{name}: {line}");
            pinned += 1;
        }
    }
    assert!(pinned >= 4);
}

/// A workflow as a whole may only read the code; each job of a release requests the permissions that it needs.
#[test]
fn permissions_are_the_least() {
    for (name, text) in workflows() {
        let workflow: Value = serde_yaml::from_str(&text).unwrap();
        let read = serde_yaml::from_str::<Value>("{contents: read}").unwrap();
        let nothing = serde_yaml::from_str::<Value>("{}").unwrap();
        assert!(
            [&read, &nothing].contains(&&workflow["permissions"]),
            "{name}"
        );
        for (job, what) in workflow["jobs"].as_mapping().unwrap() {
            assert!(what["timeout-minutes"].is_u64(), "{name}: {job:?}");
            if workflow["permissions"] == nothing {
                let writes = what["permissions"]
                    .as_mapping()
                    .unwrap()
                    .values()
                    .any(|right| right == "write");
                assert_eq!(writes, what["environment"] == "release", "{name}: {job:?}");
            }
        }
    }
}

/// A release runs what the tests run, and everything that it runs is there.
#[test]
fn the_scripts_that_a_release_calls_exist() {
    let (_, release) = workflows()
        .into_iter()
        .find(|(name, _)| name == "release.yml")
        .unwrap();
    for called in [
        ".ci/build",
        ".ci/reproducible",
        ".ci/release",
        "krm-fn/build",
        "tests/tools/install",
    ] {
        assert!(
            release.contains(called) && root().join(called).is_file(),
            "{called}"
        );
    }
    for tool in ["helm", "cargo-cyclonedx"] {
        assert!(
            release.contains(&format!("--path {tool}"))
                && release.contains("tests/tools/install helm cargo-cyclonedx")
        );
    }
}
