//! A page of Markdown, as far as the tests of the documents have to understand it.

use std::fs;
use std::path::{Path, PathBuf};
use support::root;

/// A page and where it lies.
pub(crate) struct Page {
    /// The path below the root of the repository.
    pub(crate) path: String,
    text: String,
}

/// A fenced block.
pub(crate) struct CodeBlock {
    /// The number of its first line, from 1.
    pub(crate) line: usize,
    /// The word behind the opening fence.
    pub(crate) language: String,
    /// Its text, without the indentation of the fence.
    pub(crate) text: String,
    /// True if only blank lines are between it and the block before it.
    pub(crate) follows: bool,
}

/// Every page for users, in a fixed order.
pub(crate) fn all() -> Vec<Page> {
    let mut paths: Vec<PathBuf> = markdown(root());
    for folder in ["docs", "examples", "krm-fn", "helm-plugin"] {
        below(&root().join(folder), &mut paths);
    }
    assert!(paths.len() > 20, "{paths:?}");
    paths
        .iter()
        .map(|path| Page::read(path.strip_prefix(root()).unwrap().to_str().unwrap()))
        .collect()
}

fn below(folder: &Path, paths: &mut Vec<PathBuf>) {
    paths.extend(markdown(folder));
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for entry in entries.iter().filter(|entry| entry.is_dir()) {
        below(entry, paths);
    }
}

fn markdown(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    pages.sort();
    pages
}

/// The text without HTML comments, which hold what a release says, each line in its place.
fn without_comments(text: &str) -> String {
    let mut parts = text.split("<!--");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (comment, behind) = part.split_once("-->").unwrap_or_default();
        shown.extend(comment.chars().filter(|character| *character == '\n'));
        shown += behind;
    }
    shown
}

impl Page {
    pub(crate) fn read(path: &str) -> Self {
        let text =
            fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self::of(&path.replace('\\', "/"), &text)
    }

    /// Returns the page of a text that lies there.
    pub(crate) fn of(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: without_comments(text),
        }
    }

    /// Replaces a text that occurs once in the file.
    pub(crate) fn replace(&self, old: &str, new: &str) {
        let path = root().join(&self.path);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(old).count(), 1, "{}: {old}", self.path);
        fs::write(path, text.replacen(old, new, 1)).unwrap();
    }

    /// True if one of the books holds the page.
    pub(crate) fn is_of_a_book(&self) -> bool {
        super::LANGUAGES
            .iter()
            .any(|language| self.path.starts_with(&format!("docs/{language}/")))
    }

    pub(crate) fn blocks(&self) -> Vec<CodeBlock> {
        let mut blocks: Vec<CodeBlock> = Vec::new();
        let mut open: Option<(usize, CodeBlock)> = None;
        let mut follows = false;
        for (number, line) in self.text.lines().enumerate() {
            let content = line.trim_start();
            match (&mut open, content.strip_prefix("```")) {
                (None, Some(language)) => {
                    let indentation = line.len() - content.len();
                    let language = language.trim().to_owned();
                    open = Some((
                        indentation,
                        CodeBlock {
                            line: number + 2,
                            language,
                            text: String::new(),
                            follows,
                        },
                    ));
                }
                (Some(_), Some(_)) => {
                    blocks.extend(open.take().map(|(_, block)| block));
                    follows = true;
                }
                (Some((indentation, block)), None) => {
                    let inside = line.len() - content.len();
                    block.text.push_str(&line[(*indentation).min(inside)..]);
                    block.text.push('\n');
                }
                (None, None) => follows = follows && content.is_empty(),
            }
        }
        assert!(open.is_none(), "{}: a block is not closed", self.path);
        blocks
    }

    /// The lines that are not inside of blocks, each with its number from 1; a blank line for each block.
    pub(crate) fn prose(&self) -> Vec<(usize, &str)> {
        let mut prose = Vec::new();
        let mut inside = false;
        for (number, line) in (1..).zip(self.text.lines()) {
            if line.trim_start().starts_with("```") {
                inside = !inside;
                prose.push((number, ""));
            } else if !inside {
                prose.push((number, line));
            }
        }
        prose
    }

    /// The anchors of the headings, as forges and mdBook make them: a link names one behind `#`.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for (_, line) in self.prose() {
            let Some(heading) = line
                .trim_start_matches('#')
                .strip_prefix(' ')
                .filter(|_| line.starts_with('#'))
            else {
                continue;
            };
            let kept = heading
                .trim()
                .chars()
                .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
            let anchor: String = kept.collect::<String>().to_lowercase().replace(' ', "-");
            let before = anchors.iter().filter(|other| **other == anchor).count();
            anchors.push(if before > 0 {
                format!("{anchor}-{before}")
            } else {
                anchor
            });
        }
        anchors
    }

    /// The targets of the links, each with its line.
    pub(crate) fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (number, line) in self.prose() {
            let outside: String = line.split('`').step_by(2).collect();
            for rest in outside.split("](").skip(1) {
                links.push((number, rest.split(')').next().unwrap().to_owned()));
            }
        }
        links
    }

    /// The code between backticks, each with its line.
    pub(crate) fn code(&self) -> Vec<(usize, &str)> {
        let prose = self.prose();
        let spans = prose.iter().flat_map(|(number, line)| {
            line.split('`')
                .skip(1)
                .step_by(2)
                .map(|code| (*number, code))
        });
        spans.collect()
    }
}
