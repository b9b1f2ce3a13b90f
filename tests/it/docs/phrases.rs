//! Phrases that a reader of the Kubernetes documentation does not know are in no text for users.

use regex_lite::Regex;
use std::fs;
use std::path::Path;
use support::root;

/// Phrases that a plain word replaces: inject, add, remove, skip, update, adopt, report, a user.
const PHRASES: &str = "(?i)\\b(of ours|gives way|put in|take out|passed by|is told|somebody|whoever)\\b\
                       |引き取る|本家|土台|手を付けない|エージェントを(追加|加え|足し|入れ)|差し込む";

/// Texts that only developers read.
const FOR_DEVELOPERS: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "RELEASE.md"];

#[test]
fn no_text_for_users_has_an_unusual_phrase() {
    let phrases = Regex::new(PHRASES).unwrap();
    let mut found = Vec::new();
    let mut check = |file: &Path, text: &str| {
        for (number, line) in text.lines().enumerate() {
            if let Some(phrase) = phrases.find(line) {
                found.push(format!(
                    "{}:{}: {}",
                    file.display(),
                    number + 1,
                    phrase.as_str()
                ));
            }
        }
    };
    let mut files = Vec::new();
    for folder in [
        "docs",
        "examples",
        "helm-plugin",
        "krm-fn",
        "webhook",
        "src",
        "crates",
    ] {
        below(&root().join(folder), &mut files);
    }
    files.extend(
        fs::read_dir(root())
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    for file in files {
        let Some(extension) = file.extension().and_then(|extension| extension.to_str()) else {
            continue;
        };
        let is_for_developers = FOR_DEVELOPERS.iter().any(|name| file.ends_with(name));
        match extension {
            "rs" => check(&file, &code(&fs::read_to_string(&file).unwrap())),
            "md" | "yaml" | "json" | "tpl" | "txt" if !is_for_developers => {
                check(&file, &fs::read_to_string(&file).unwrap());
            }
            _ => {}
        }
    }
    assert!(found.is_empty(), "use a plain word:\n{}", found.join("\n"));
}

/// The string literals of a file are in its lines of code; names have no spaces.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let without_comment = |line: &str| match line.trim_start().starts_with("//") {
        true => String::new(),
        false => line.split(" // ").next().unwrap_or_default().to_owned(),
    };
    text.lines()
        .map(|line| without_comment(line) + "\n")
        .collect()
}

fn below(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, files)
        } else {
            files.push(path)
        }
    }
}

#[test]
fn phrases_are_found_in_messages_and_not_in_comments() {
    let phrases = Regex::new(PHRASES).unwrap();
    assert!(phrases.is_match(&code("let message = \"the agent gives way\";\n")));
    assert!(!phrases.is_match(&code(
        "// A comment of ours.\nlet a = 1; // Whoever reads this.\n"
    )));
    assert!(!phrases.is_match("put into a Secret, outputs in the log"));
}
