//! Links lead somewhere, paths that are named exist, and Japanese is not broken into lines.

use super::page::{self, Page};
use crate::architecture;
use regex_lite::Regex;
use std::fs;
use std::path::{Component, Path, PathBuf};
use support::root;

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let mut wrong = String::new();
    for page in page::all() {
        for (line, link) in page.links() {
            if link.starts_with("https://") {
                continue;
            }
            if let Err(why) = leads_somewhere(&page, &link) {
                wrong.push_str(&format!("{}:{line}: {link}: {why}\n", page.path));
            }
        }
    }
    assert_eq!(wrong, "");
}

fn leads_somewhere(page: &Page, link: &str) -> Result<(), String> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => page.path.clone(),
        file => join(Path::new(&page.path).parent().unwrap(), file)
            .ok_or("leads out of the repository")?,
    };
    if !root().join(&target).exists() {
        return Err("does not exist".to_owned());
    }
    // What is built is nothing but the two books, side by side.
    if page.is_of_a_book()
        && !["docs/en/", "docs/ja/"]
            .iter()
            .any(|book| target.starts_with(book))
    {
        return Err("leads out of the books: name the path instead".to_owned());
    }
    if !anchor.is_empty()
        && !Page::read(&target)
            .anchors()
            .iter()
            .any(|known| known == anchor)
    {
        return Err("no such heading".to_owned());
    }
    Ok(())
}

/// A path with `.` and `..` resolved; none above the root.
fn join(folder: &Path, link: &str) -> Option<String> {
    let mut joined = PathBuf::new();
    for part in folder.join(link).components() {
        match part {
            Component::ParentDir => {
                if !joined.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            other => joined.push(other),
        }
    }
    Some(joined.to_str().unwrap().replace('\\', "/"))
}

/// Messages, the chart, the packages and the templates of issues name pages by their path in the repository.
#[test]
fn pages_that_other_files_name_exist() {
    let named = Regex::new(r"docs/(en|ja)/[a-z-]+\.(md|svg)(#[\w-]+)?").unwrap();
    let folders = [
        "src",
        "crates",
        "webhook",
        "krm-fn",
        "helm-plugin",
        "docs/playground",
        ".github",
    ];
    let files = folders
        .iter()
        .flat_map(|folder| architecture::files(&root().join(folder)))
        .chain(["action.yml", "SECURITY.md"].map(|file| root().join(file)));
    let (mut seen, mut wrong) = (0, String::new());
    for file in files {
        // Pictures and archives are no text.
        let text = fs::read_to_string(&file).unwrap_or_default();
        for link in named.find_iter(&text).map(|found| found.as_str()) {
            seen += 1;
            if let Err(why) = leads_somewhere(&Page::of("README.md", ""), link) {
                wrong += &format!("{}: {link}: {why}\n", file.display());
            }
        }
    }
    assert!(seen > 5 && wrong.is_empty(), "{seen} links:\n{wrong}");
}

/// The books name paths between backticks: a book has no links to files outside of it.
#[test]
fn paths_that_the_books_name_exist() {
    let folders = [
        "docs/",
        "examples/",
        "krm-fn/",
        "helm-plugin/",
        "tests/",
        "src/",
    ];
    let mut seen = 0;
    for page in page::all().iter().filter(|page| page.is_of_a_book()) {
        for (line, code) in page.code() {
            if folders.iter().any(|folder| code.starts_with(folder))
                && !code.contains(['<', '*', ' '])
            {
                assert!(root().join(code).exists(), "{}:{line}: {code}", page.path);
                seen += 1;
            }
        }
    }
    assert!(seen > 10);
}

/// `docs/*/plugins.md` is of both books; sources are named below `src/`.
#[test]
fn paths_that_the_tables_for_developers_name_exist() {
    let mut seen = 0;
    for file in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let page = Page::read(file);
        let prose = page.prose();
        let in_a_table = |line| {
            let mut rows = prose.iter().filter(|(_, text)| text.starts_with('|'));
            rows.any(|(number, _)| *number == line)
        };
        for (line, code) in page.code() {
            if !in_a_table(line) || !code.contains('/') || code.contains([' ', '<', '=', '\\']) {
                continue;
            }
            let path = code.replace('*', "en");
            let there = |folder| root().join(folder).join(&path).exists();
            assert!(
                ["", "crates", "src"].iter().any(there),
                "{file}:{line}: {code}"
            );
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

fn is_japanese(path: &str) -> bool {
    path.starts_with("docs/ja/") || path.ends_with("README.ja.md")
}

/// A browser makes a blank of a line break, also between two characters of Japanese.
#[test]
fn japanese_paragraphs_stand_on_one_line() {
    for page in page::all().iter().filter(|page| is_japanese(&page.path)) {
        let prose = page.prose();
        for ((_, before), (number, line)) in prose.iter().zip(&prose[1..]) {
            let line = line.trim_start();
            let begins = ["|", "- ", "#", ">", "["]
                .iter()
                .any(|mark| line.starts_with(mark))
                || line
                    .split_once(". ")
                    .is_some_and(|(number, _)| number.chars().all(|c| c.is_ascii_digit()));
            assert!(
                before.is_empty() || line.is_empty() || begins,
                "{}:{number}: {line}",
                page.path
            );
        }
    }
}
