//! `THIRD-PARTY-NOTICES`, as `.ci/notices` writes it on Linux: what is linked into the program, and each licence.

use super::static_program::script;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use support::root;

/// The name of the file in the packages.
pub(super) const NOTICES: &str = "THIRD-PARTY-NOTICES";

/// The file, made once for all tests.
pub(super) fn notices() -> &'static str {
    static MADE: OnceLock<String> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(NOTICES);
        script(Command::new(".ci/notices").arg(&file));
        fs::read_to_string(file).unwrap()
    })
}

/// The lines above the texts, and the texts with what they cover: `[NUMBER] NAMES`, a rule, the text.
fn parts() -> (&'static str, Vec<(&'static str, &'static str)>) {
    let [over, under] = ["=", "-"].map(|character| format!("{}\n", character.repeat(100)));
    let mut parts = notices().split(over.as_str());
    let head = parts.next().unwrap();
    let texts = parts.map(|part| part.split_once(under.as_str()).unwrap());
    (head, texts.collect())
}

/// Names and versions of the crates, as they are listed.
fn crates() -> BTreeSet<String> {
    let (head, _) = parts();
    let (_, list) = head.split_once("\nCrates\n======\n").unwrap();
    let (list, _) = list.split_once("\nThe Rust standard library\n").unwrap();
    let names = list.lines().filter_map(|line| line.split_once(": "));
    names.map(|(name, _)| name.replace(' ', "-")).collect()
}

#[test]
fn each_text_stands_once_and_is_of_something_listed() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let (head, texts) = parts();
    let numbers: BTreeSet<usize> = head
        .split('[')
        .filter_map(|rest| rest.split_once(']'))
        .flat_map(|(numbers, _)| numbers.split(", "))
        .filter_map(|number| number.parse().ok())
        .collect();
    assert!(numbers.iter().copied().eq(1..=texts.len()));
    let mut all = BTreeSet::new();
    for (number, (covered, text)) in (1..).zip(&texts) {
        assert!(covered.starts_with(&format!("[{number}] ")), "{covered}");
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.len() > 10, "{covered}: {text}");
        assert!(all.insert(words), "{covered} is there twice");
    }
    for needed in [
        "GNU LESSER GENERAL PUBLIC LICENSE",
        "Apache License",
        "UNICODE LICENSE",
        "Boost Software License",
    ] {
        let is_in = |(_, text): &(&str, &str)| text.contains(needed);
        assert!(texts.iter().any(is_in), "{needed}");
    }
}

/// The panics of a crate name its source, which lies in cargo's registry.
#[test]
fn every_crate_in_the_program_is_listed() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let program = fs::read(env!("CARGO_BIN_EXE_mackerel-agent-injector")).unwrap();
    let program = String::from_utf8_lossy(&program);
    let sources = program.split("/registry/src/").skip(1);
    let ends = |at: char| !at.is_ascii_alphanumeric() && !['-', '_', '.', '+'].contains(&at);
    let inside: BTreeSet<&str> = sources
        .filter_map(|source| source.split('/').nth(1)?.split(ends).next())
        // A feature of tempfile, which only the tests' own dependencies ask for, brings a second one.
        .filter(|name| !name.starts_with("getrandom-"))
        .collect();
    assert!(inside.len() > 50, "{inside:?}");
    let listed = crates();
    let missing: Vec<_> = inside
        .iter()
        .filter(|name| !listed.contains(**name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn what_is_only_for_tests_and_compilers_is_not_listed_and_every_platform_is() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let listed = crates();
    let has = |name: &str| {
        let version = |crate_name: &String| {
            crate_name
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('-'))
                .is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
        };
        listed.iter().any(version)
    };
    for name in ["kube-core", "linux-raw-sys", "ring", "windows-sys"] {
        assert!(has(name), "{name}");
    }
    for name in [
        "cc",
        "insta",
        "mackerel-agent-injector",
        "proptest",
        "serde_derive",
        "syn",
        "yaml-json-patch",
    ] {
        assert!(!has(name), "{name}");
    }
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let (release, script) = (read(".github/workflows/release.yml"), read(".ci/notices"));
    let targets = release
        .lines()
        .filter_map(|line| line.split_once(" target: "));
    let targets: Vec<&str> = targets
        .map(|(_, target)| target.trim_end_matches('}'))
        .collect();
    assert_eq!(targets.len(), 5);
    for target in targets {
        assert!(script.contains(&format!("    \"{target}\",\n")), "{target}");
    }
}
