//! Documents of a stream, which is cut at each `---` or `...` at the beginning of a line: no scalar holds one there.

use crate::block_scalar::line_end;
use memchr::memmem;
use std::ops::Range;

/// One document of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its range of bytes in the stream: comments, directives and `---` before it and `...` after it included, so that the spans
    /// of all documents together are the stream.
    pub span: Range<usize>,
}

/// The documents of a stream, in order; see [`documents()`].
#[derive(Debug)]
pub struct Documents<'t> {
    text: &'t str,
    at: usize,
    starts: StartMarkers<'t>,
    ends: EndMarkers<'t>,
}

/// Cuts a stream into documents, in one pass and without looking at what they hold.
///
/// Comments, blank lines and directives before the first `---` of the stream, and before the first one after a `...`,
/// belong to the document that it opens. A document may be empty, or hold nothing but comments.
///
/// ```
/// let stream = "# first\na: 1\n---\nb: 2\n";
/// let documents: Vec<&str> = yaml_json_patch::documents(stream).map(|document| &stream[document.span]).collect();
/// assert_eq!(documents, ["# first\na: 1\n", "---\nb: 2\n"]);
/// ```
#[must_use]
pub fn documents(text: &str) -> Documents<'_> {
    Documents {
        text,
        at: 0,
        starts: StartMarkers::new(text),
        ends: EndMarkers {
            text,
            finder: memmem::Finder::new("..."),
            found: None,
            searched: 0,
        },
    }
}

impl Iterator for Documents<'_> {
    type Item = Document;

    fn next(&mut self) -> Option<Document> {
        let begin = self.at;
        if begin >= self.text.len() {
            return None;
        }
        let mut opened = false;
        let end = loop {
            let start = self.starts.next;
            match (start, self.ends.peek(start.unwrap_or(self.text.len()))) {
                (Some(start), None) => {
                    if start == begin || (!opened && is_prefix(&self.text[begin..start])) {
                        opened = true;
                        self.starts.step();
                    } else {
                        break start;
                    }
                }
                (_, Some(end)) => {
                    self.ends.step();
                    break line_end(self.text.as_bytes(), end).1;
                }
                (None, None) => break self.text.len(),
            }
        };
        self.at = end;
        Some(Document { span: begin..end })
    }
}

/// The places of `---`.
#[derive(Debug)]
struct StartMarkers<'t> {
    text: &'t str,
    finds: memmem::FindIter<'t, 'static>,
    next: Option<usize>,
}

impl<'t> StartMarkers<'t> {
    fn new(text: &'t str) -> Self {
        let mut markers = Self {
            text,
            finds: memmem::find_iter(text.as_bytes(), "---"),
            next: None,
        };
        markers.step();
        markers
    }

    fn step(&mut self) {
        // In a longer run of dashes only its beginning can be a marker, and that is what is found first.
        self.next = self.finds.find(|at| is_marker(self.text, *at));
    }
}

/// The places of `...`. They are looked for in one document after the other: most texts have none, and often only the first
/// document is asked for.
#[derive(Debug)]
struct EndMarkers<'t> {
    text: &'t str,
    finder: memmem::Finder<'static>,
    found: Option<usize>,
    searched: usize,
}

impl EndMarkers<'_> {
    /// The next one before a place at which a line begins, or the text ends.
    fn peek(&mut self, limit: usize) -> Option<usize> {
        if self.found.is_none() && self.searched < limit {
            let within = self.text.as_bytes().get(self.searched..limit)?;
            self.found = self
                .finder
                .find_iter(within)
                .map(|at| self.searched + at)
                .find(|at| is_marker(self.text, *at));
            self.searched = self.found.map_or(limit, |found| found + 3);
        }
        self.found
    }

    fn step(&mut self) {
        self.found = None;
    }
}

/// True when the three characters at `at` begin a line and end a word.
fn is_marker(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let begins = at == 0
        || matches!(bytes.get(at - 1), Some(b'\n' | b'\r'))
        || (at == 3 && text.starts_with('\u{feff}'));
    begins && matches!(bytes.get(at + 3), None | Some(b' ' | b'\t' | b'\n' | b'\r'))
}

/// True when the text holds nothing but blank lines, comments and directives.
pub(crate) fn is_prefix(text: &str) -> bool {
    text.strip_prefix('\u{feff}')
        .unwrap_or(text)
        .split(['\n', '\r'])
        .all(|line| {
            line.starts_with('%')
                || line.trim_start_matches([' ', '\t']).starts_with('#')
                || line.trim_matches([' ', '\t']).is_empty()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        documents(text)
            .map(|document| &text[document.span])
            .collect()
    }

    #[test]
    fn documents_by_situation() {
        let cases: &[(&str, &str, &[&str])] = &[
            ("nothing", "", &[]),
            ("no marker", "a: 1\n", &["a: 1\n"]),
            ("marker first", "---\na: 1\n", &["---\na: 1\n"]),
            ("two", "a: 1\n---\nb: 2", &["a: 1\n", "---\nb: 2"]),
            (
                "content on the marker's line",
                "--- {a: 1}\n--- |\n x\n",
                &["--- {a: 1}\n", "--- |\n x\n"],
            ),
            (
                "comments before the first marker are its",
                "# c\n\n---\na: 1\n",
                &["# c\n\n---\na: 1\n"],
            ),
            (
                "directives",
                "%YAML 1.2\n---\na: 1\n...\n%YAML 1.2\n---\nb",
                &["%YAML 1.2\n---\na: 1\n...\n", "%YAML 1.2\n---\nb"],
            ),
            (
                "a percent sign that is no directive",
                "a:\n%b: 1\n---\nc",
                &["a:\n%b: 1\n", "---\nc"],
            ),
            (
                "empty documents",
                "---\n---\n# c\n---\n",
                &["---\n", "---\n# c\n", "---\n"],
            ),
            (
                "end marker",
                "a: 1\n... # c\nb: 2\n",
                &["a: 1\n... # c\n", "b: 2\n"],
            ),
            (
                "end before start",
                "a: 1\n...\n---\nb: 2\n",
                &["a: 1\n...\n", "---\nb: 2\n"],
            ),
            ("end markers alone", "...\n...\n", &["...\n", "...\n"]),
            (
                "byte order mark",
                "\u{feff}---\na: 1\n",
                &["\u{feff}---\na: 1\n"],
            ),
            (
                "byte order mark, comment",
                "\u{feff}# c\n---\na: 1\n",
                &["\u{feff}# c\n---\na: 1\n"],
            ),
            (
                "CRLF",
                "---\r\na: 1\r\n---\r\nb: 2\r\n...\r\n",
                &["---\r\na: 1\r\n", "---\r\nb: 2\r\n...\r\n"],
            ),
            ("bare CR", "a: 1\r---\rb: 2\r", &["a: 1\r", "---\rb: 2\r"]),
            (
                "trailing blank and tab",
                "a\n--- \nb\n---\t\nc",
                &["a\n", "--- \nb\n", "---\t\nc"],
            ),
            (
                "not markers",
                "a\n----\n---b\n --- \n....\n -...\n# ---\n",
                &["a\n----\n---b\n --- \n....\n -...\n# ---\n"],
            ),
            (
                "a bar of dashes, then a marker",
                "# -----\n---\na\n---",
                &["# -----\n---\na\n", "---"],
            ),
        ];
        for (name, text, expected) in cases {
            assert_eq!(&cut(text), expected, "{name}");
        }
    }
}
