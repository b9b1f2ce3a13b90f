//! The files of a release, as `.ci/release` makes them.

use super::helm_plugins::{packages, platform};
use super::notices::{NOTICES, notices};
use super::published::{IMAGE, published};
use super::static_program::{script, static_program};
use crate::real_tools::User;
use crate::tools;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use support::root;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const PAGES: &str = concat!(
    "https://github.com/acme/injector/blob/v",
    env!("CARGO_PKG_VERSION"),
    "/"
);

/// The image of the release, as its files name it.
fn image() -> String {
    format!("{IMAGE}@{DIGEST}")
}

/// The command that makes them, in a repository that is published.
pub(super) fn release(helm: &Path, folder: &Path, programs: &[(&str, &Path)]) -> Command {
    let mut release = Command::new(published().join(".ci/release"));
    release.arg(folder).args(
        programs
            .iter()
            .map(|(platform, program)| format!("{platform}={}", program.display())),
    );
    // The copy has no commit.
    release
        .env("HELM", helm)
        .env("DIGEST", DIGEST)
        .env("SOURCE_DATE_EPOCH", "1700000000");
    release
}

/// The names of the files in a folder.
fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn every_file_has_its_checksum() {
    let Some(packages) = packages() else { return };
    let checksums = fs::read_to_string(packages.folder.join("SHA256SUMS")).unwrap();
    let listed: BTreeSet<String> = checksums
        .lines()
        .map(|line| line.split_once("  ").unwrap().1.to_owned())
        .chain(["SHA256SUMS".to_owned()])
        .collect();
    assert_eq!(listed, names(&packages.folder));
    // Three platforms: an archive, three plugins and two signatures each, and the plugins with all of them; the chart and its
    // signature; the definition.
    assert_eq!(listed.len(), 3 * 6 + 5 + 2 + 2);
    let check = "cd \"$0\" && sha256sum --check --strict --quiet SHA256SUMS";
    assert_eq!(
        script(Command::new("sh").args(["-c", check]).arg(&packages.folder)),
        ""
    );
}

#[test]
fn an_archive_holds_the_program_its_manual_and_completions() {
    let Some(packages) = packages() else { return };
    for platform in [platform(), "darwin-arm64", "windows-amd64"] {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("mackerel-agent-injector-{VERSION}-{platform}");
        let archive = packages.folder.join(format!("{name}.tar.gz"));
        script(
            Command::new("tar")
                .args(["-xzf"])
                .arg(archive)
                .arg("-C")
                .arg(folder.path()),
        );
        let inside = folder.path().join(name);
        let program = if platform.starts_with("windows") {
            "mackerel-agent-injector.exe"
        } else {
            "mackerel-agent-injector"
        };
        let expected = [
            "CHANGELOG.md",
            "LICENSE",
            "README.ja.md",
            "README.md",
            NOTICES,
            "completions",
            "examples",
            "man",
            program,
        ];
        assert_eq!(names(&inside), expected.map(str::to_owned).into());
        assert_eq!(fs::read_to_string(inside.join(NOTICES)).unwrap(), notices());
        assert_eq!(names(&inside.join("completions")).len(), 4);
        assert!(names(&inside.join("man")).contains("mackerel-agent-injector-inject.1"));
        if platform == self::platform() {
            let said = script(Command::new(inside.join(program)).arg("--version"));
            assert_eq!(said, format!("mackerel-agent-injector {VERSION}\n"));
        }
    }
}

#[test]
fn the_definition_names_the_image_and_the_pages_of_the_release() {
    let Some(packages) = packages() else { return };
    let text = fs::read_to_string(packages.folder.join("krm-function.yaml")).unwrap();
    let definition: Value = serde_yaml::from_str(&text).unwrap();
    let version = &definition["spec"]["versions"][0];
    assert_eq!(version["runtime"]["container"]["image"], image());
    assert_eq!(version["usage"], format!("{PAGES}krm-fn/README.md"));
    for page in version["examples"].as_array().unwrap() {
        let page = page.as_str().unwrap().strip_prefix(PAGES).unwrap();
        assert!(root().join(page).is_file(), "{page}");
    }
}

/// The name of the chart's archive.
fn chart() -> String {
    format!("mackerel-agent-injector-webhook-{VERSION}.tgz")
}

#[test]
fn the_chart_has_the_version_and_the_image_of_the_release() {
    let Some(packages) = packages() else { return };
    let archive = packages.folder.join(chart());
    let archive = archive.to_str().unwrap();
    for helm in super::helm_plugins::helms() {
        let user = User::new();
        assert!(
            user.runs(&helm, &["verify", "--keyring", &packages.keyring, archive])
                .contains("Chart Hash Verified")
        );
        let sets = ["--kube-version=1.30", "--set=tls.mode=cert-manager"];
        let rendered = user.runs(
            &helm,
            &[&["template", "injector", archive], &sets[..]].concat(),
        );
        assert!(
            rendered.contains(&format!("\n          image: \"{}\"\n", image()))
                && rendered.contains(&format!("\n        image: {}\n", image())),
            "{rendered}"
        );
        assert!(
            rendered.contains(&format!("\n    app.kubernetes.io/version: \"{VERSION}\"\n")),
            "{rendered}"
        );
        assert!(
            rendered.contains(&format!(
                "helm.sh/chart: mackerel-agent-injector-webhook-{VERSION}\n"
            )),
            "{rendered}"
        );
    }
}

/// The programs are by `.ci/reproducible`; here it is what is made of them.
#[test]
fn the_same_programs_give_the_same_files() {
    let (Some(packages), Some(helm), Some(program)) =
        (packages(), tools::find("helm", "4."), static_program())
    else {
        return;
    };
    let again = tempfile::tempdir().unwrap();
    script(&mut release(&helm, again.path(), &[(platform(), program)]));
    let mut compared = 0;
    let is_alike = |name: &String| name.contains(platform()) || *name == chart();
    for name in names(again.path()).into_iter().filter(is_alike) {
        assert!(
            fs::read(again.path().join(&name)).unwrap()
                == fs::read(packages.folder.join(&name)).unwrap(),
            "{name}"
        );
        compared += 1;
    }
    assert_eq!(compared, 5);
}

#[test]
fn without_a_published_image_or_its_digest_there_is_no_release() {
    let folder = tempfile::tempdir().unwrap();
    let run = |release: &mut Command| {
        let ran = release
            .arg(folder.path())
            .arg("linux-amd64=none")
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(2));
        String::from_utf8(ran.stderr).unwrap()
    };
    let said = run(Command::new(published().join(".ci/release")).env_remove("DIGEST"));
    assert!(said.contains("DIGEST is not sha256:"), "{said}");
    if super::published::image().starts_with("localhost/") {
        let said = run(&mut Command::new(root().join(".ci/release")));
        assert!(said.contains("no image is published"), "{said}");
    }
}
