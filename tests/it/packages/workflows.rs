//! The workflows, which cannot run here: judged by actionlint, and held to what it does not ask for.

use super::static_program::script;
use crate::program::Folder;
use crate::tools;
use config::Config;
use serde_yaml::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use support::root;

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

/// The registry's tags, and the titles of the issues that the forge has.
struct Forge<'a> {
    tags: &'a [&'a str],
    issues: &'a str,
}

impl Forge<'_> {
    /// Runs `.ci/newest-agent`. Returns its exit code, what it prints, and the arguments of the issue that it opens.
    fn asked(&self, arguments: &[&str]) -> (Option<i32>, String, Option<String>) {
        let image = Config::default().value("agent.image").unwrap();
        let (name, _) = image.as_str().unwrap().split_once(':').unwrap();
        let tags = serde_json::json!({"Tags": self.tags}).to_string();
        let folder = Folder::with(&[("tags", &tags), ("issues", self.issues)]);
        let skopeo = format!(
            "#!/bin/sh\n[ \"$*\" = 'list-tags docker://docker.io/{name}' ] && cat \"$FORGE/tags\"\n"
        );
        let gh = "#!/bin/sh\ncase $2 in\nlist) cat \"$FORGE/issues\" ;;\n\
            create) printf '%s\\n' \"$@\" >\"$FORGE/opened\" ;;\nesac\n";
        for (program, text) in [("skopeo", &*skopeo), ("gh", gh)] {
            folder.write(program, text);
            fs::set_permissions(folder.path(program), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [folder.root().to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&path));
        let output = Command::new(root().join(".ci/newest-agent"))
            .args(arguments)
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("FORGE", folder.root())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.code(),
            String::from_utf8(said).unwrap(),
            fs::read_to_string(folder.path("opened")).ok(),
        )
    }
}

#[test]
fn a_newer_agent_is_noticed_and_gets_one_issue() {
    if !tools::on_path(&["jq"]) {
        return;
    }
    let image = Config::default().value("agent.image").unwrap();
    let (_, tag) = image.as_str().unwrap().split_once(':').unwrap();
    let ending =
        tag.trim_start_matches(['v', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    let [nine, ten, candidate] =
        ["v999.9.9", "v999.9.10", "v999.9.11"].map(|version| format!("{version}{ending}"));
    let candidate = format!("{candidate}-rc1");
    let others = ["latest", "v999.9.12", "v0.0.1", "999.9.13", &candidate, tag];
    let asked = |tags: &[&str], issues: &str| Forge { tags, issues }.asked(&["--issue"]);

    let (code, said, opened) = asked(&others, "");
    assert_eq!((code, opened), (Some(0), None), "{said}");
    assert!(said.ends_with(" is the newest\n"), "{said}");

    let tags = [&others[..], &[&ten, &nine]].concat();
    let title = format!("The agent has a newer version: {ten}");
    for issues in [String::new(), format!("Another one\n{title} and faster\n")] {
        let (code, said, opened) = asked(&tags, &issues);
        assert_eq!(code, Some(0), "{said}");
        assert!(
            said.contains(&format!("{ten} is newer than {tag}\n")),
            "{said}"
        );
        let opened = opened.unwrap();
        assert!(
            opened.starts_with(&format!("issue\ncreate\n--title\n{title}\n--body\n"))
                && opened.contains(tag),
            "{opened}"
        );
    }
    let (code, said, opened) = asked(&tags, &format!("Another one\n{title}\n"));
    assert_eq!((code, opened), (Some(0), None), "{said}");
    let forge = Forge {
        tags: &tags,
        issues: "",
    };
    let (code, said, opened) = forge.asked(&[]);
    assert_eq!((code, opened), (Some(0), None), "{said}");

    // An answer that lacks the tag that is known to exist is no list of the tags.
    let (code, said, opened) = asked(&[&ten], "");
    assert_eq!((code, opened), (Some(2), None), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
