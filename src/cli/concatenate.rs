//! Joins several texts to one stream of documents. It adds missing separators, and removes the byte order mark of every text but
//! the first, since a stream may only begin with one.

use yaml_json_patch as yaml;
use yaml_json_patch::ends_in_open_block_scalar;

/// Returns the separator before each text; empty where none is missing.
pub fn separators(texts: &[&str]) -> Vec<String> {
    let has_document = |text: &&&str| first_line(text).is_some();
    let are_several = texts.iter().filter(has_document).count() > 1;
    let (mut has_started, mut last) = (false, "");
    let mut separators = Vec::with_capacity(texts.len());
    for text in texts {
        let mut separator = String::new();
        let line_break = if last.ends_with("\r\n") { "\r\n" } else { "\n" };
        let needs_marker = has_started && !last.trim_end().ends_with("\n---");
        if !text.is_empty() {
            if !last.is_empty() && !last.ends_with('\n') {
                separator.push_str(line_break);
            }
            last = text;
        }
        if let Some(first) = first_line(text) {
            let marker = match first {
                first if is_separator(first) => None,
                // A directive is valid at the beginning of the stream and after `...`.
                first if first.starts_with('%') => has_started.then_some("..."),
                // kubectl reads a stream that begins with `{` as JSON to its end.
                first if are_several && !has_started && first.starts_with('{') => Some("---"),
                _ => needs_marker.then_some("---"),
            };
            if let Some(marker) = marker {
                separator.extend([marker, line_break]);
            }
            has_started = true;
        }
        separators.push(separator);
    }
    separators
}

/// Returns true for a text that ends inside a block scalar without a line break. The line break before a next text would become
/// a part of the value.
pub fn must_be_last(text: &str) -> bool {
    if text.ends_with('\n') {
        return false;
    }
    yaml::documents(text)
        .last()
        .and_then(|document| text.get(document.span))
        .and_then(|last| yaml::read(last).ok())
        .is_some_and(|tree| ends_in_open_block_scalar(&tree))
}

/// Returns the pieces of a text for the stream; `index` is the number of texts before it.
pub fn joined<'t>(
    index: usize,
    pieces: impl Iterator<Item = &'t str>,
) -> impl Iterator<Item = &'t str> {
    let without_mark = move |(number, piece): (usize, &'t str)| match number {
        0 if index > 0 => piece.strip_prefix(BYTE_ORDER_MARK).unwrap_or(piece),
        _ => piece,
    };
    pieces.enumerate().map(without_mark)
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns the first line that is neither blank nor a comment.
fn first_line(text: &str) -> Option<&str> {
    text.strip_prefix(BYTE_ORDER_MARK)
        .unwrap_or(text)
        .lines()
        .find(|line| !matches!(line.trim_start().as_bytes(), [] | [b'#', ..]))
}

/// Returns true for `---`, alone or before a document. `...` does not count, since tools that split streams by lines ignore it.
fn is_separator(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::{must_be_last, separators};
    use yaml_json_patch as yaml;

    fn joined(texts: &[&str]) -> String {
        let separated = separators(texts).into_iter().zip(texts).enumerate();
        let parts = separated.map(|(index, (separator, text))| {
            separator + &super::joined(index, std::iter::once(*text)).collect::<String>()
        });
        parts.collect()
    }

    /// Values of the documents that are not empty.
    fn says(text: &str) -> Vec<serde_json::Value> {
        let value = |span| {
            let tree = yaml::read(&text[span])
                .unwrap_or_else(|error| panic!("{text:?}: {}", error.message));
            tree.root()
                .map(|root| yaml::to_json(&tree, root).unwrap())
                .unwrap_or_default()
        };
        let values = yaml_json_patch::documents(text).map(|document| value(document.span));
        values.filter(|value| !value.is_null()).collect()
    }

    #[test]
    fn the_stream_says_what_the_texts_say() {
        const TEXTS: [&str; 21] = [
            "",
            "\n",
            "# c\n",
            "# c",
            "a: 1\n",
            "b: 2",
            "---\nc: 3\n",
            "--- {d: 4}\n",
            "---\n",
            "---",
            "e: 5\n---\n",
            "f: 6\n...\n",
            "...\n",
            "%YAML 1.1\n---\ng: 7\n",
            "# c\n%YAML 1.1\n---\nh: 8\n...\n",
            "\u{feff}i: 9\n",
            "\u{feff}---\nj: 10\n",
            "\u{feff}",
            "{\"k\": 11}",
            "l: |\n  12\n",
            "m: 13\r\n---\r\nn: 14\r\n",
        ];
        for first in TEXTS {
            for second in TEXTS {
                for third in TEXTS {
                    let texts = [first, second, third];
                    let stream = joined(&texts);
                    let expected: Vec<_> = texts.iter().flat_map(|text| says(text)).collect();
                    assert_eq!(says(&stream), expected, "{texts:?}: {stream:?}");
                }
            }
        }
    }

    #[test]
    fn a_separator_comes_only_where_one_is_missing() {
        let cases: &[(&[&str], &str)] = &[
            (&["a: 1\n"], "a: 1\n"),
            (&["a: 1\n", "b: 2\n"], "a: 1\n---\nb: 2\n"),
            (&["a: 1\n", "---\nb: 2\n"], "a: 1\n---\nb: 2\n"),
            (
                &["a: 1\n", "# licence\n\n---\nb: 2\n"],
                "a: 1\n# licence\n\n---\nb: 2\n",
            ),
            (&["a: 1\n---\n", "b: 2\n"], "a: 1\n---\nb: 2\n"),
            (&["a: 1\n...\n", "b: 2\n"], "a: 1\n...\n---\nb: 2\n"),
            (&["--- {a: 1}\n", "b: 2\n"], "--- {a: 1}\n---\nb: 2\n"),
            (&["a: 1", "b: 2"], "a: 1\n---\nb: 2"),
            (&["a: 1\r\n", "b: 2\r\n"], "a: 1\r\n---\r\nb: 2\r\n"),
            (
                &["a: 1\n", "--- # next\nb: 2\n"],
                "a: 1\n--- # next\nb: 2\n",
            ),
            (
                &["a: 1\n", "%YAML 1.1\n---\nb: 2\n"],
                "a: 1\n...\n%YAML 1.1\n---\nb: 2\n",
            ),
        ];
        for (texts, expected) in cases {
            assert_eq!(joined(texts), *expected, "{texts:?}");
        }
    }

    #[test]
    fn behind_an_open_block_scalar_nothing_can_stand() {
        for (text, expected) in [
            ("a: |\n  b", true),
            ("a: >+\n  b", true),
            ("a: 1\n---\na:\n- |\n  b\n ", true),
            ("a: |\n  b\n", false),
            ("a: |-\n  b", false),
            ("a: |\n  b\nc: d", false),
            ("a: 'b", false),
            ("", false),
        ] {
            assert_eq!(must_be_last(text), expected, "{text:?}");
        }
    }

    #[test]
    fn texts_without_a_document_need_none() {
        let cases: &[(&[&str], &str)] = &[
            (&["", "a: 1\n", "", "b: 2\n"], "a: 1\n---\nb: 2\n"),
            (&["# only comments\n", "a: 1\n"], "# only comments\na: 1\n"),
            (
                &["a: 1", "# only comments", "b: 2"],
                "a: 1\n# only comments\n---\nb: 2",
            ),
        ];
        for (texts, expected) in cases {
            assert_eq!(joined(texts), *expected, "{texts:?}");
        }
    }

    #[test]
    fn json_beside_yaml_is_read_as_yaml() {
        assert_eq!(joined(&["{\"a\": 1}\n"]), "{\"a\": 1}\n");
        assert_eq!(
            joined(&["{\"a\": 1}", "{\"b\": 2}\n"]),
            "---\n{\"a\": 1}\n---\n{\"b\": 2}\n"
        );
        assert_eq!(
            joined(&["a: 1\n", "{\"b\": 2}\n"]),
            "a: 1\n---\n{\"b\": 2}\n"
        );
    }
}
