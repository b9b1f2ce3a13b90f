//! Both books say the same: the code words of each section, and about as much prose.

use super::page::Page;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Japanese characters for each English one. Pages that were translated whole have 0.65 to 0.75.
const RATIO: RangeInclusive<f64> = 0.6..=0.8;

/// The characters of a page below which a few names decide the ratio.
const SHORT: usize = 600;

/// The pages of the English book, each with its Japanese one.
fn pairs() -> Vec<(Page, Page)> {
    let pages = super::page::all().into_iter();
    let pairs = pages
        .filter(|page| page.path.starts_with("docs/en/"))
        .map(|english| {
            let japanese = Page::read(&english.path.replace("docs/en/", "docs/ja/"));
            (english, japanese)
        });
    pairs.collect()
}

/// The lines of prose from each heading to the next one.
fn sections(page: &Page) -> Vec<Vec<&str>> {
    let mut sections = vec![Vec::new()];
    for (_, line) in page.prose() {
        if line.starts_with('#') {
            sections.push(Vec::new());
        }
        sections.last_mut().unwrap().push(line);
    }
    sections
}

fn code_words<'l>(section: &[&'l str]) -> BTreeSet<&'l str> {
    section
        .iter()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect()
}

#[test]
fn each_section_has_the_code_words_of_the_other_language() {
    let mut wrong = String::new();
    for (english, japanese) in pairs() {
        let (ours, theirs) = (sections(&english), sections(&japanese));
        assert_eq!(ours.len(), theirs.len(), "{}: sections", english.path);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let heading = ours.first().unwrap_or(&"");
            let (english_words, japanese_words) = (code_words(ours), code_words(theirs));
            for (language, word) in english_words
                .difference(&japanese_words)
                .map(|word| ("en", word))
                .chain(
                    japanese_words
                        .difference(&english_words)
                        .map(|word| ("ja", word)),
                )
            {
                wrong += &format!(
                    "{}: {heading}: only {language} has `{word}`\n",
                    english.path
                );
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "say it in both languages, or in neither:\n{wrong}"
    );
}

/// The characters of the prose, without code, the targets of links and blanks.
fn characters(page: &Page) -> usize {
    let prose = page.prose();
    let text = prose.iter().map(|(_, line)| {
        let without_code: String = line.split('`').step_by(2).collect();
        let mut parts = without_code.split("](");
        let mut kept = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            kept += part.split_once(')').map_or("", |(_, behind)| behind);
        }
        kept.chars()
            .filter(|character| !character.is_whitespace())
            .count()
    });
    text.sum()
}

#[test]
fn each_page_is_about_as_long_as_in_the_other_language() {
    let mut wrong = String::new();
    let mut seen = 0;
    for (english, japanese) in pairs() {
        let characters = (characters(&english), characters(&japanese));
        if characters.0 < SHORT {
            continue;
        }
        seen += 1;
        let ratio = characters.1 as f64 / characters.0 as f64;
        if !RATIO.contains(&ratio) {
            wrong += &format!("{}: {ratio:.2}\n", japanese.path);
        }
    }
    assert!(seen > 25 && wrong.is_empty(), "{seen} pages:\n{wrong}");
}

#[test]
fn code_targets_and_blanks_are_no_prose() {
    let page = Page::of(
        "docs/en/page.md",
        "# A b\n\n`code` of [a link](page.md#there), c.\n\n```\nblock\n```\n",
    );
    assert_eq!(characters(&page), "#Abof[alink,c.".len());
    assert_eq!(sections(&page).len(), 2);
    assert_eq!(code_words(&sections(&page)[1]), BTreeSet::from(["code"]));
}
