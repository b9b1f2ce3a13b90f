//! mdBook builds both books, and the links of the built pages lead somewhere.

use super::LANGUAGES;
use super::page::all;
use crate::tools;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use support::root;

#[test]
fn both_books_have_the_same_pages_and_name_each() {
    let pages = |language: &str| -> Vec<String> {
        let folder = format!("docs/{language}/");
        all()
            .iter()
            .filter_map(|page| page.path.strip_prefix(&folder).map(str::to_owned))
            .collect()
    };
    assert_eq!(pages("en"), pages("ja"));
    for language in LANGUAGES {
        let summary =
            fs::read_to_string(root().join(format!("docs/{language}/SUMMARY.md"))).unwrap();
        for page in pages(language).iter().filter(|page| *page != "SUMMARY.md") {
            assert!(
                summary.contains(&format!("]({page})")),
                "{language}: SUMMARY.md lacks {page}"
            );
        }
    }
}

#[test]
fn mdbook_builds_both() {
    let Some(mdbook) = tools::find("mdbook", "") else {
        return;
    };
    let built = tempfile::tempdir().unwrap();
    for language in LANGUAGES {
        build(&mdbook, language, &built.path().join(language));
    }
    let mut links = 0;
    for language in LANGUAGES {
        for entry in fs::read_dir(built.path().join(language))
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if entry.extension().is_some_and(|end| end == "html") {
                links += follow(&entry);
            }
        }
    }
    assert!(links > 100);
}

/// Builds the book of a language into a folder.
pub(super) fn build(mdbook: &Path, language: &str, to: &Path) {
    let output = Command::new(mdbook)
        .arg("build")
        .arg(root().join("docs").join(language))
        .arg("--dest-dir")
        .arg(to)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !said.contains("WARN"),
        "{language}: {said}"
    );
}

/// Every link of a built page leads to a file and an element that are there.
fn follow(page: &Path) -> usize {
    let html = fs::read_to_string(page).unwrap();
    // Between Japanese characters two stars are not always what they seem.
    let text = html
        .split("</code>")
        .map(|part| part.split("<code").next().unwrap())
        .collect::<String>();
    let main = text
        .split("<main>")
        .nth(1)
        .unwrap_or_default()
        .split("</main>")
        .next()
        .unwrap();
    assert!(
        !main.contains("**"),
        "{}: emphasis that is none",
        page.display()
    );
    let folder = page.parent().unwrap();
    let mut seen = BTreeSet::new();
    for link in html
        .split("href=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
    {
        if link.starts_with("https://") || !seen.insert(link) {
            continue;
        }
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let target = if file.is_empty() {
            page.to_owned()
        } else {
            folder.join(file)
        };
        assert!(target.exists(), "{}: {link}", page.display());
        if !anchor.is_empty() {
            let text = fs::read_to_string(&target).unwrap();
            let anchor = percent_decoded(anchor);
            assert!(
                text.contains(&format!("id=\"{anchor}\"")),
                "{}: {link}",
                page.display()
            );
        }
    }
    seen.len()
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let byte = match tail {
            [high, low, ..] if *first == b'%' => {
                u8::from_str_radix(&format!("{}{}", char::from(*high), char::from(*low)), 16).ok()
            }
            _ => None,
        };
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).unwrap()
}
