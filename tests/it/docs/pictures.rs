//! The pictures of both books: `docs/pictures` has a template of each, the style of all, and the words in both languages.

use super::LANGUAGES;
use super::page::{self};
use crate::program::Folder;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use support::root;

/// Pixels between the lines of a diff, and above the first one.
const LINE: usize = 19;
const HEAD: usize = 44;
/// The characters for which a line of a diff has room.
const MAX_WIDTH: usize = 67;
/// The lines at the beginning of a long block that are shown, and those at its end.
const SHOWN: [usize; 2] = [4, 3];

pub(super) fn words() -> serde_json::Map<String, Value> {
    let text = fs::read_to_string(root().join("docs/pictures/words.yaml")).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

#[test]
fn each_picture_is_its_template_with_the_words_of_the_language() {
    let style = fs::read_to_string(root().join("docs/pictures/style.css")).unwrap();
    for (name, words) in words() {
        let mut template =
            fs::read_to_string(root().join(format!("docs/pictures/{name}.svg"))).unwrap();
        if template.contains("{lines}") {
            let (lines, added) = diff();
            let foot = HEAD + lines.len() * LINE + 28;
            template = template.replace("{lines}", &drawn(&lines).join("\n"));
            for (place, number) in [("foot", foot), ("height", foot + 14), ("added", added)] {
                template = template.replace(&format!("{{{place}}}"), &number.to_string());
            }
        }
        for language in LANGUAGES {
            let mut picture = template.clone();
            for (key, word) in words.as_object().unwrap() {
                let place = format!("{{{key}}}");
                assert!(picture.contains(&place), "{name}: {key} is not used");
                let word = word[language].as_str().unwrap();
                assert!(!word.contains(['<', '&']), "{name}: {word}");
                picture = picture.replace(&place, word);
            }
            picture = picture.replace("{style}", style.trim_end());
            super::expect(&format!("docs/{language}/{name}.svg"), &picture);
        }
    }
}

/// Returns the diff of an example as the program prints it, without the middle of long blocks, whose number stands in its place; and
/// the number of lines that it adds. It removes none.
fn diff() -> (Vec<String>, usize) {
    let text = fs::read_to_string(root().join("examples/files/deployment.yaml")).unwrap();
    let folder = Folder::with(&[("deployment.yaml", &text)]);
    let printed = folder.run(&["inject", "--diff", "deployment.yaml"]).stdout;
    let printed: Vec<&str> = printed.lines().skip(3).collect();
    assert!(!printed.iter().any(|line| line.starts_with('-')));
    let added = printed.iter().filter(|line| line.starts_with('+')).count();
    let mut lines = Vec::new();
    for block in printed.chunk_by(|one, next| one.starts_with('+') == next.starts_with('+')) {
        let left_out = block.len().saturating_sub(SHOWN.iter().sum());
        if !block[0].starts_with('+') || left_out == 0 {
            lines.extend(block.iter().map(|line| cut(line)));
            continue;
        }
        lines.extend(block[..SHOWN[0]].iter().map(|line| cut(line)));
        lines.push(format!("+ … {left_out} {{more}}"));
        lines.extend(block[block.len() - SHOWN[1]..].iter().map(|line| cut(line)));
    }
    (lines, added)
}

/// Returns a line that fits. Between two parts of the file only dots are shown.
fn cut(line: &str) -> String {
    if line.starts_with("@@") {
        return "…".to_owned();
    }
    if line.chars().count() <= MAX_WIDTH {
        return line.to_owned();
    }
    let beginning: String = line.chars().take(MAX_WIDTH - 1).collect();
    beginning + "…"
}

/// Returns lines of a diff as elements, with a rectangle behind each one that is added.
fn drawn(lines: &[String]) -> Vec<String> {
    let element = |(number, line): (usize, &String)| {
        let y = HEAD + number * LINE;
        let mut element = String::new();
        if line.starts_with('+') {
            write!(
                element,
                "<rect class=\"added\" x=\"8\" y=\"{y}\" width=\"544\" height=\"{LINE}\"/>"
            )
            .unwrap();
        }
        let text = line.replace('&', "&amp;").replace('<', "&lt;");
        let y = y + LINE - 5;
        write!(
            element,
            "<text class=\"code left\" x=\"14\" y=\"{y}\" xml:space=\"preserve\">{text}</text>"
        )
        .unwrap();
        element
    };
    lines.iter().enumerate().map(element).collect()
}

/// A page shows a picture with a text for those who do not see it.
#[test]
fn each_picture_is_on_a_page_with_an_alternative_text() {
    for name in words().keys() {
        for language in LANGUAGES {
            let shown = page::all().iter().any(|page| {
                page.path.starts_with(&format!("docs/{language}/"))
                    && page.prose().iter().any(|(_, line)| {
                        line.starts_with("![")
                            && !line.starts_with("![]")
                            && line.ends_with(&format!("]({name}.svg)"))
                    })
            });
            assert!(shown, "no page of docs/{language} shows {name}.svg");
        }
    }
}
