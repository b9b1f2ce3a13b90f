//! The plain reader on damaged text: what it still takes, the reference reader must read as the same tree.

use crate::yaml_test_suite::agree;
use serde_json::{Value, json};
use std::sync::Arc;
use support::corpus;
use yaml_json_patch::json_patch::jsonptr::PointerBuf;
use yaml_json_patch::{self as yaml, Cache, Kind, Operation, Tree};
use yaml_json_patch::{Edit, documents, edit, splice, verify};

/// A small generator of numbers (xorshift), the same ones on every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// Characters and words with a meaning in YAML.
const PIECES: [&str; 48] = [
    " ", "  ", "\n", "\n\n", "\t", "- ", "-", ": ", ":", " #", "# c\n", "\"", "'", "[", "]", "{",
    "}", ",", "|", ">", "|+\n", "|-\n", "|2\n", "&a ", "*a ", "!!str ", "? ", "<<: ", "%", "@",
    "`", "\\", "\\u00e9", "''", "---\n", "...\n", "\r\n", "\r", "\u{85}", "\u{2028}", "\u{feff}",
    "\u{a0}", "日本", "\u{7f}", "\n  \n", " \n", "a: b\n", "x",
];

fn damaged(text: &str, numbers: &mut Numbers) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let line = numbers.below(lines.len());
    let other = numbers.below(lines.len());
    match numbers.below(12) {
        0 => return text.replace('\n', "\r\n"),
        1 => return text.trim_end_matches(['\n', '\r']).to_owned(),
        2 => drop(lines.remove(line)),
        3 => lines.insert(other, lines[line].clone()),
        4 => lines[line].insert_str(0, numbers.of(&[" ", "  ", "   ", "    "])),
        5 => {
            let cut = lines[line]
                .bytes()
                .take_while(|byte| *byte == b' ')
                .count()
                .min(1 + numbers.below(3));
            lines[line].drain(..cut);
        }
        6 => lines.swap(line, other),
        7 => {
            let indent = " ".repeat(numbers.below(9));
            lines.insert(
                line,
                format!(
                    "{indent}{}\n",
                    numbers.of(&[
                        "# c", "", "-", "a", "a:", "- a", "- a: 1", "a: |", "x: [", "]", "}"
                    ])
                ),
            );
        }
        8 => {
            let end = floor(text, numbers.below(text.len() + 1));
            return text[..end].to_owned();
        }
        9 => {
            let at = floor(text, numbers.below(text.len() + 1));
            return format!("{}{}{}", &text[..at], numbers.of(&PIECES), &text[at..]);
        }
        10 => {
            let at = floor(text, numbers.below(text.len() + 1));
            let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
            return format!("{}{}{}", &text[..at], numbers.of(&["", " "]), &text[end..]);
        }
        _ => {
            // Where it matters most: at the end of a line.
            let content = lines[line].trim_end_matches(['\n', '\r']).len();
            lines[line].insert_str(content, numbers.of(&PIECES));
        }
    }
    lines.concat()
}

/// The number of times that each document is damaged; more is the business of fuzzing.
const ROUNDS: usize = 2;

fn floor(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

#[test]
fn the_plain_reader_agrees_on_damaged_manifests() {
    let Some(files) = corpus::manifests("plain reader, damaged") else {
        return;
    };
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut tried, mut taken) = (0, 0);
    for (name, bytes) in files {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            continue;
        };
        for document in documents(text) {
            // Short documents have as many situations, and many more fit into the time.
            if document.span.len() > 3000 || document.span.is_empty() {
                continue;
            }
            for _ in 0..ROUNDS {
                let mut text = text[document.span.clone()].to_owned();
                for _ in 0..=numbers.below(3) {
                    if !text.is_empty() {
                        text = damaged(&text, &mut numbers);
                    }
                }
                tried += 1;
                taken += usize::from(agree(&text, &name));
            }
        }
    }
    assert!(
        taken * 4 > tried,
        "of {tried} texts only {taken} were taken"
    );
}

/// A text is edited, damaged, and read again with the nodes of what it was before: as if the damage were an edit, and as if the
/// edits were still right.
#[test]
fn nodes_are_not_copied_to_where_their_text_reads_otherwise() {
    let Some(files) = corpus::manifests("texts read again, damaged") else {
        return;
    };
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let value = Arc::new(json!({"a": [{"b": {"c": "d"}}, ["e"]], "f": "g"}));
    let cache = Cache::default();
    for (name, bytes) in files {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            continue;
        };
        for document in documents(text) {
            let text = &text[document.span];
            if text.len() > 3000 {
                continue;
            }
            let Ok(tree) = yaml::read(text) else { continue };
            let Ok(spliced) = splice(&tree, additions(&tree, &value), &cache) else {
                continue;
            };
            let edited = edit::apply(text, &spliced.edits);
            let new = cache.read_edited(&tree, &spliced.edits, &edited).unwrap();
            verify(&tree, &spliced, &new, &cache).unwrap();
            for _ in 0..ROUNDS {
                let damaged = damaged(&edited, &mut numbers);
                let expected = yaml::read(&damaged);
                let damage = [difference(&edited, &damaged)];
                let again = cache.read_edited(&new, &damage, &damaged);
                assert_eq!(again, expected, "{name}\n{damaged}");
                let again = cache.read_edited(&tree, &spliced.edits, &damaged);
                assert_eq!(again, expected, "{name}\n{damaged}");
            }
        }
    }
}

/// The edit that makes one text of another.
fn difference(before: &str, after: &str) -> Edit {
    let same = |(one, other): &(char, char)| one == other;
    let start: usize = before
        .chars()
        .zip(after.chars())
        .take_while(same)
        .map(|(one, _)| one.len_utf8())
        .sum();
    let (before, after) = (&before[start..], &after[start..]);
    let end: usize = before
        .chars()
        .rev()
        .zip(after.chars().rev())
        .take_while(same)
        .map(|(one, _)| one.len_utf8())
        .sum();
    Edit::replace(
        start..start + before.len() - end,
        &after[..after.len() - end],
    )
}

/// Adds the value to each mapping and list below the root.
fn additions(tree: &Tree<'_>, value: &Arc<Value>) -> Vec<Operation> {
    let mut operations = Vec::new();
    let Some(root) = tree.root() else {
        return operations;
    };
    for (key, child) in tree.entries(root) {
        let Some(key) = tree.scalar(key) else {
            continue;
        };
        let end = match tree.kind(child) {
            Kind::Mapping => "added",
            Kind::Sequence => "-",
            Kind::Scalar | Kind::Alias => continue,
        };
        operations.push(Operation::Add {
            path: PointerBuf::from_tokens([&*key, end]),
            value: Arc::clone(value),
        });
    }
    operations
}
