//! docs/en/migration.md and adopt.md, step by step: their commands run on a copy of the examples and print what the pages show.
//!
//! `SNAPSHOTS=overwrite cargo test migration` writes the expected diffs anew.

use crate::docs::commands::of_page as commands;
use crate::kubernetes::cluster::cluster;
use crate::program::Folder;
use crate::real_tools::copy;
use laws::independent_reader;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use support::root;

/// A copy of the examples, and the program on the PATH of a shell in it.
fn examples() -> Folder {
    let folder = Folder::with(&[]);
    copy(&root().join("examples"), &folder.path("examples"));
    folder
}

/// Runs a command. Returns what it prints; none if it is kubectl and there is no API server for the tests.
#[track_caller]
fn typed(folder: &Folder, command: &str) -> Option<String> {
    if let Some(arguments) = command.strip_prefix("kubectl ") {
        // The test API server runs no pods, so they have no logs.
        if arguments.starts_with("logs ") {
            return None;
        }
        let cluster = cluster()?;
        let at = |word: &str| match word.strip_prefix("examples/") {
            Some(_) => folder.path(word).display().to_string(),
            None => word.to_owned(),
        };
        let arguments: Vec<String> = arguments.split(' ').map(at).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (success, out, said) = cluster.kubectl(&arguments, "");
        assert!(success, "{command}: {said}");
        return Some(out);
    }
    let program = Path::new(env!("CARGO_BIN_EXE_mackerel-agent-injector"))
        .parent()
        .unwrap();
    let path = std::env::join_paths(
        [program.into()]
            .into_iter()
            .chain(std::env::split_paths(&path())),
    )
    .unwrap();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .current_dir(folder.root())
        .env("PATH", path);
    // Else git takes a repository around the folder for what is to be patched.
    let output = shell
        .env("GIT_CEILING_DIRECTORIES", folder.root().parent().unwrap())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// Runs all commands in their order. They succeed; the last of each way is the check that finds nothing to change.
#[test]
fn each_step_does_what_the_page_says() {
    if let Some(cluster) = cluster() {
        cluster.namespace("shop", &json!({}));
    }
    let folder = examples();
    let mut diffs = 0;
    let pages = ["docs/en/migration.md", "docs/en/adopt.md"];
    for command in pages.into_iter().flat_map(commands) {
        let Some(printed) = typed(&folder, &command) else {
            continue;
        };
        if command.contains(" --diff ") {
            let manifests = command.rsplit(' ').next().unwrap();
            let expected = root().join(manifests).with_file_name("expected.diff");
            if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
                fs::write(expected, printed).unwrap();
            } else {
                let expected = fs::read_to_string(expected).unwrap();
                assert_eq!(
                    printed, expected,
                    "{command}; SNAPSHOTS=overwrite writes it anew"
                );
            }
            diffs += 1;
        }
    }
    assert_eq!(diffs, 3);
    for way in ["original", "by-hand", "label"] {
        agents_are_left_alone_by_the_others(&folder, way);
    }
    // The page renames mackerel-operator's annotations.
    assert!(
        !folder
            .read("examples/migration/label/manifests/web.yaml")
            .contains("starry.blue/apikey")
    );
}

/// Every injected pod has the status for which the original's webhook skips it. On the way by label the agent is native too, so
/// mackerel-operator's policy adds none of its own.
fn agents_are_left_alone_by_the_others(folder: &Folder, way: &str) {
    let manifests = folder.path(&format!("examples/migration/{way}/manifests"));
    let mut agents = 0;
    for entry in fs::read_dir(manifests)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if entry
            .extension()
            .is_some_and(|extension| extension != "yaml")
        {
            continue;
        }
        let text = fs::read_to_string(&entry).unwrap();
        for value in independent_reader::documents(&text)
            .into_iter()
            .filter_map(independent_reader::read)
        {
            for (_, template) in independent_reader::pods(&value) {
                let of = |list: &str| {
                    template["spec"][list]
                        .as_array()
                        .cloned()
                        .unwrap_or_default()
                };
                let is_agent = |container: &Value| container["name"] == "mackerel-container-agent";
                let native = of("initContainers").iter().any(is_agent);
                if !native && !of("containers").iter().any(is_agent) {
                    continue;
                }
                let status = &template["metadata"]["annotations"]["agent-injector.contrib.mackerel.io/status"];
                assert_eq!(status, "injected", "{}", entry.display());
                assert!(native || way != "label", "{}", entry.display());
                agents += 1;
            }
        }
    }
    assert!(agents > 0, "{way}");
}
