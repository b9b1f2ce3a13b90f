//! The plain reader on damaged text: what it still takes, the reference reader must read as the same tree.

use crate::corpus;
use crate::yaml_test_suite::agree;
use yaml_json_patch::documents;

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
