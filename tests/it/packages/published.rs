//! `.ci/published` and `.ci/names`: the address, the image and the version, and a repository that has them all.

use super::helm_plugins::packages;
use super::static_program::script;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::root;

pub(super) const REPOSITORY: &str = "acme/injector";
pub(super) const IMAGE: &str = "registry.example/acme/injector";

/// The image that files of this repository name, with the version as its tag.
pub(crate) fn image() -> String {
    let published = fs::read_to_string(root().join(".ci/published")).unwrap();
    let name = published
        .lines()
        .filter_map(|line| line.strip_prefix("image="))
        .find(|name| !name.is_empty())
        .unwrap_or("localhost/mackerel-agent-injector");
    format!("{name}:{}", env!("CARGO_PKG_VERSION"))
}

/// A copy of the repository, as Git knows it.
fn copy(folder: PathBuf) -> PathBuf {
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    let copy = "git ls-files -z --cached --others --exclude-standard |
        xargs -0 cp --parents --no-dereference --target-directory \"$0\" && cd \"$0\" && git init --quiet && git add --all";
    script(Command::new("bash").args(["-euc", copy]).arg(&folder));
    folder
}

fn set(repository: &Path, names: &[&str]) {
    script(
        Command::new(repository.join(".ci/names"))
            .arg("set")
            .args(names),
    );
}

/// A copy of the repository that is published, for all tests.
pub(super) fn published() -> &'static Path {
    static PUBLISHED: OnceLock<PathBuf> = OnceLock::new();
    PUBLISHED.get_or_init(|| {
        let folder = copy(Path::new(env!("CARGO_TARGET_TMPDIR")).join("a published repository"));
        let names = [format!("repository={REPOSITORY}"), format!("image={IMAGE}")];
        set(&folder, &names.each_ref().map(String::as_str));
        folder
    })
}

fn git(repository: &Path, arguments: &[&str]) -> String {
    script(
        Command::new("git")
            .arg("-C")
            .arg(repository)
            .args(arguments),
    )
}

#[test]
fn what_is_set_can_be_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = copy(folder.path().join("repository"));
    let before = ["repository", "image", "version"].map(|name| {
        let mut names = Command::new(folder.join(".ci/names"));
        format!("{name}={}", script(names.args(["get", name])).trim_end())
    });
    set(&folder, &before.each_ref().map(String::as_str));
    assert_eq!(git(&folder, &["diff"]), "");
    for names in [
        &["repository=acme/injector", "image=registry.example/a/b"][..],
        &["version=98.76.54"],
    ] {
        set(&folder, names);
        assert!(git(&folder, &["diff", "--name-only"]).lines().count() > 10);
        set(&folder, &before.each_ref().map(String::as_str));
        assert_eq!(git(&folder, &["diff"]), "", "{names:?}");
    }
}

#[test]
fn a_published_repository_names_no_image_of_this_machine() {
    let local = ["grep", "--line-number", "localhost/mackerel-agent-injector"];
    // What makes and judges the names may say it.
    let but = [":!.ci/names", ":!tests/it"];
    let said = Command::new("git")
        .arg("-C")
        .arg(published())
        .args(local)
        .arg("--")
        .args(but)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "");
    for (file, line) in [
        (
            "Cargo.toml",
            "repository = \"https://github.com/acme/injector\"",
        ),
        (
            "crates/yaml-json-patch/Cargo.toml",
            "repository = \"https://github.com/acme/injector\"",
        ),
        (
            "webhook/chart/Chart.yaml",
            "home: https://github.com/acme/injector",
        ),
        (
            "webhook/chart/values.yaml",
            "  repository: registry.example/acme/injector",
        ),
    ] {
        let text = fs::read_to_string(published().join(file)).unwrap();
        assert!(text.lines().any(|found| found == line), "{file}");
    }
}

/// While the project has no address, no file gives it one.
#[test]
fn a_repository_without_an_address_has_no_line_that_needs_one() {
    let published = fs::read_to_string(root().join(".ci/published")).unwrap();
    let is_empty = published.lines().any(|line| line == "repository=");
    let of_chart = fs::read_to_string(root().join("webhook/chart/Chart.yaml")).unwrap();
    assert_eq!(
        of_chart.lines().any(|line| line.starts_with("home: ")),
        !is_empty
    );
}

#[test]
fn names_of_a_wrong_form_are_refused() {
    for name in [
        "repository=acme",
        "image=injector",
        "image=ghcr.io/acme/injector:1",
        "version=1.0",
        "tag=v1",
        "version",
    ] {
        let ran = Command::new(published().join(".ci/names"))
            .args(["set", name])
            .output()
            .unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert!(
            !ran.status.success() && said.starts_with(".ci/names: ") && said.lines().count() == 1,
            "{said}"
        );
    }
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// A user who has one file of a release, and no repository, reads nothing untrue in it.
#[test]
fn every_text_of_a_release_is_true_by_itself() {
    let Some(packages) = packages() else { return };
    let folder = tempfile::tempdir().unwrap();
    for archive in files(&packages.folder) {
        let name = archive.file_name().unwrap().to_str().unwrap();
        if name.ends_with("gz") {
            let to = folder.path().join(name);
            fs::create_dir(&to).unwrap();
            let mut tar = Command::new("tar");
            script(tar.arg("-xzf").arg(&archive).arg("-C").arg(to));
        } else {
            fs::copy(&archive, folder.path().join(name)).unwrap();
        }
    }
    let link = regex_lite::Regex::new(r"\]\(([^)#\s]+)[^)]*\)").unwrap();
    let (mut texts, mut links) = (0, 0);
    for path in files(folder.path()) {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        texts += 1;
        for phrase in [
            "localhost/",
            "released yet",
            "何もリリース",
            "<!--",
            "$REPOSITORY",
            "$IMAGE",
            "$CHART",
            "$VERSION",
            "krm-fn/build localhost",
            "needs a clone",
        ] {
            // The plugins' scripts and the notes of the chart have comments and variables of their own.
            assert!(!text.contains(phrase), "{}: {phrase}", path.display());
        }
        if path.extension().is_some_and(|extension| extension == "md") {
            for target in link.captures_iter(&text).map(|found| found[1].to_owned()) {
                let is_there = path.parent().unwrap().join(&target).exists();
                assert!(
                    target.contains("://") || is_there || path.ends_with("CHANGELOG.md"),
                    "{}: {target}",
                    path.display()
                );
                links += 1;
            }
        }
    }
    assert!(texts > 100 && links > 100, "{texts} texts, {links} links");
}

/// The program of a release, as the Action takes it: by a `gh` that knows one release.
#[test]
fn the_program_of_this_commit_is_fetched_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let gh = folder.path().join("gh");
    let platform = super::helm_plugins::platform();
    let name = format!(
        "mackerel-agent-injector-{}-{platform}",
        env!("CARGO_PKG_VERSION")
    );
    // A commit is what it is asked for, but for the tag, which is `abc`; $GENUINE says whether an archive is.
    let script_of_gh = format!(
        r#"#!/bin/sh
case "$1 $2" in
    "api repos/acme/injector/commits/v"*) echo abc ;;
    "api "*) echo "${{2##*/}}" ;;
    "release download")
        while [ "$1" != --dir ]; do shift; done
        mkdir "$2/{name}" && echo program >"$2/{name}/mackerel-agent-injector"
        tar -C "$2" -czf "$2/{name}.tar.gz" "{name}" && rm -r "$2/{name}" ;;
    "attestation verify")
        echo "$*" | grep -q -e '--repo acme/injector --source-ref refs/tags/v' && [ "$GENUINE" = yes ] ;;
esac
"#
    );
    fs::write(&gh, script_of_gh).unwrap();
    script(Command::new("chmod").arg("+x").arg(&gh));
    let path = format!(
        "{}:{}",
        folder.path().display(),
        std::env::var("PATH").unwrap()
    );
    let fetch = |repository: &Path, reference: &str, genuine: &str| {
        let to = tempfile::tempdir_in(folder.path()).unwrap();
        let to = to.path().join("bin");
        let ran = Command::new(repository.join(".ci/fetch"))
            .arg(&to)
            .arg(reference)
            .env("PATH", &path)
            .env("GENUINE", genuine)
            .output()
            .unwrap();
        (
            ran.status.code(),
            to.join("mackerel-agent-injector").is_file(),
        )
    };
    assert_eq!(fetch(published(), "abc", "yes"), (Some(0), true));
    assert_eq!(fetch(published(), "abc", "no"), (Some(1), false));
    assert_eq!(fetch(published(), "def", "yes"), (Some(3), false));
    if image().starts_with("localhost/") {
        assert_eq!(fetch(root(), "abc", "yes"), (Some(3), false));
    }
}
