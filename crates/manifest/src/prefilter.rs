//! Skips documents that cannot hold a pod template, without parsing them.
//!
//! If the root is a block mapping at column 0, every key of the root begins a line. So the lines without indentation are
//! enough to find its `kind`, as long as each of them is simple: blank, a comment, `key:`, `- ` or a marker. Any other line
//! (a quote, a bracket, `? `, `<<`, a directive, a tag …) may hide another `kind`, and then the document must be parsed.
//!
//! A scalar of several lines can put text at column 0, too, and such a line may look like `kind: …`. But then the real
//! `kind` is a second one, so a document without exactly one `kind` line must be parsed as well.

use crate::lines::{Flush, ends_with_line_feeds, flush, flush_lines, is_nothing, lines};

/// The result of the prefilter for one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefilter<'t> {
    /// The document, if it is valid YAML, is a resource of this kind and holds no pod template.
    Skip {
        /// The resource's kind.
        kind: &'t str,
        /// Its `apiVersion`, if exactly one line without indentation has it as one word. Less certain than the kind: the
        /// line may be text of a scalar.
        api_version: Option<&'t str>,
    },
    /// The document must be parsed.
    Parse {
        /// The resource's kind, if it is as certain as in [`Prefilter::Skip`].
        kind: Option<&'t str>,
    },
}

/// Classifies one document by its lines without indentation. `holds` returns true for a kind that can hold a pod template in
/// the API group of this `apiVersion`, or in any without one; kinds that end in `List` are always parsed.
///
/// A scalar may hold a line that begins with `apiVersion:`. The document then has no `apiVersion` of its own, and no kind without
/// one has a template.
pub fn prefilter(document: &str, holds: impl Fn(&str, Option<&str>) -> bool) -> Prefilter<'_> {
    match only_type(document) {
        Some((kind, api_version)) if !kind.ends_with("List") && !holds(kind, api_version) => {
            Prefilter::Skip { kind, api_version }
        }
        found => Prefilter::Parse {
            kind: found.map(|(kind, _)| kind),
        },
    }
}

/// Classifies a document that cannot be read, such as one in JSON or with a template in it. Its kind is not certain, so no kind in its text may
/// hold a pod template.
pub fn prefilter_unreadable(
    document: &str,
    holds: impl Fn(&str, Option<&str>) -> bool,
) -> Prefilter<'_> {
    let (kinds, versions) = (words(document, "kind"), words(document, "apiVersion"));
    let api_version = versions.first().copied().filter(|_| versions.len() == 1);
    let may_hold =
        |kind: &&str| kind.is_empty() || kind.ends_with("List") || holds(kind, api_version);
    match kinds.first() {
        Some(kind) if !has_odd_characters(document) && !kinds.iter().any(may_hold) => {
            Prefilter::Skip { kind, api_version }
        }
        _ => prefilter(document, holds),
    }
}

/// Returns the words behind a key in any place, with or without quotes; an empty one for any other value.
fn words<'t>(document: &'t str, key: &str) -> Vec<&'t str> {
    let quotes = ['"', '\''];
    let mut words = Vec::new();
    for behind in document.split(key).skip(1) {
        let Some(value) = behind
            .trim_start_matches(quotes)
            .trim_start()
            .strip_prefix(':')
        else {
            continue;
        };
        let value = value.trim_start().trim_start_matches(quotes);
        let is_other = |c: char| !c.is_ascii_alphanumeric() && !"./-".contains(c);
        let (word, rest) = value.split_at(value.find(is_other).unwrap_or(value.len()));
        let is_part = rest.starts_with(['\\', '{', '$']);
        words.push(if is_part { "" } else { word });
    }
    words
}

/// Returns true for a document of only blank lines, comments and markers.
pub fn is_empty(document: &str) -> bool {
    // The first line with content decides about nearly every text.
    content_lines(document).all(|line| flush(line) == Flush::Marker)
        && ends_with_line_feeds(document)
        && !has_odd_characters(document)
}

/// The only `kind`, and the `apiVersion` if it is as simple.
fn only_type(document: &str) -> Option<(&str, Option<&str>)> {
    if !ends_with_line_feeds(document) || has_odd_characters(document) {
        return None;
    }
    let mut kind = None;
    let (mut api_version, mut api_versions) = (None, 0);
    let mut has_begun = false;
    for line in flush_lines(document) {
        let content = flush(&document[line.clone()]);
        if !has_begun && !matches!(content, Flush::Nothing | Flush::Marker) {
            has_begun = true;
            if has_indented(&document[..line.start]) {
                return None;
            }
        }
        match content {
            Flush::Key("kind", value) => {
                if kind.is_some() || continues_below(document, line.end) {
                    return None;
                }
                kind = Some(word(value, b"")?);
            }
            Flush::Key("apiVersion", value) => {
                api_version = word(value, b".-/");
                api_versions += 1;
            }
            Flush::Nothing | Flush::Marker | Flush::Dash | Flush::Key(..) => {}
            Flush::Other => return None,
        }
    }
    Some((kind?, api_version.filter(|_| api_versions == 1)))
}

/// Returns true if a line above the first one at column 0 has content: the root is indented, and that line is text within quotes.
fn has_indented(head: &str) -> bool {
    lines(head).any(|line| {
        let line = &head[line];
        line.starts_with(' ') && !is_nothing(line)
    })
}

/// Returns true if the document has control characters, which YAML forbids in comments, too, or characters that end a line, and so a
/// comment, only in YAML 1.1: NEL, LS, PS.
fn has_odd_characters(document: &str) -> bool {
    let bytes = document.as_bytes();
    // Without a branch, so that it is compiled to vector instructions.
    let has_control = bytes.iter().fold(false, |has, byte| {
        has | ((*byte < b' ') & !matches!(byte, b'\n' | b'\r' | b'\t')) | (*byte == 0x7f)
    });
    has_control
        || memchr::memchr2_iter(0xc2, 0xe2, bytes).any(|at| {
            matches!(
                bytes.get(at..),
                Some([0xc2, 0x85, ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..])
            )
        })
}

/// Returns true if an indented line continues the value of the line that ends at `end`.
fn continues_below(document: &str, end: usize) -> bool {
    let below = document[end..].split_once('\n').map(|(_, below)| below);
    below
        .and_then(|below| content_lines(below).next())
        .is_some_and(|line| line.starts_with(' '))
}

/// The lines with more than white space and a comment.
fn content_lines(text: &str) -> impl Iterator<Item = &str> {
    lines(text)
        .map(|line| &text[line])
        .filter(|line| !is_nothing(line) && flush(line) != Flush::Nothing)
}

/// Returns the only word of a value, perhaps before a comment: a letter, then letters, digits and bytes of `others`.
fn word<'v>(value: &'v str, others: &[u8]) -> Option<&'v str> {
    let is_other = |byte: u8| !byte.is_ascii_alphanumeric() && !others.contains(&byte);
    let (word, rest) = value.split_at(value.bytes().position(is_other).unwrap_or(value.len()));
    let begins_with_letter = word.starts_with(|first: char| first.is_ascii_alphabetic());
    (begins_with_letter && is_nothing(rest)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(document: &str) -> Option<&str> {
        match prefilter(document, |kind, _| kind == "Pod") {
            Prefilter::Skip { kind, .. } => Some(kind),
            Prefilter::Parse { .. } => None,
        }
    }

    #[test]
    fn gives_the_api_version_of_a_simple_line() {
        for (head, expected) in [
            (
                "apiVersion: apps/v1 # see https://kubernetes.io\n",
                Some("apps/v1"),
            ),
            (
                "# apiVersion: example.com/v1\napiVersion: v1\r\n",
                Some("v1"),
            ),
            (
                "metadata:\n  ownerReferences:\n    - apiVersion: example.com/v1\napiVersion: apps/v1\n",
                Some("apps/v1"),
            ),
            (
                "apiVersion: networking.k8s.io/v1\n",
                Some("networking.k8s.io/v1"),
            ),
            ("apiVersion: example.com/v1\napiVersion: v1\n", None),
            ("apiVersion: \"v1\"\n", None),
            ("apiVersion:\n  v1\n", None),
            ("", None),
        ] {
            let document = format!("{head}kind: ConfigMap\n");
            let expected = Prefilter::Skip {
                kind: "ConfigMap",
                api_version: expected,
            };
            assert_eq!(prefilter(&document, |_, _| false), expected, "{document:?}");
        }
    }

    #[test]
    fn comments_alone_are_empty() {
        for document in [
            "",
            "\u{feff}---\r\n# c\r\n\r\n",
            "--- # c\n  # d\n\t\n...\n",
            "# c",
        ] {
            assert!(is_empty(document), "{document:?}");
        }
        for document in [
            "--- a",
            "a",
            "# c\rkind: Pod\n",
            "# c\u{2028}kind: Pod\n",
            "# \u{1a}\n",
            "%YAML 1.1\n---\n",
            "  a\n",
            "-\n",
        ] {
            assert!(!is_empty(document), "{document:?}");
        }
    }

    #[test]
    fn skips_simple_documents() {
        for document in [
            "kind: ConfigMap\n",
            "---\n# Source: x\napiVersion: v1\nkind: ConfigMap # c\ndata:\n  x: |\n    kind: Pod\n",
            "--- # c\r\nkind: ConfigMap\r\n\r\na:\r\n- b\r\n-\r\n  c\r\n...\r\n",
            "\u{feff}kind: ConfigMap",
            "kind: ConfigMap\n\n  # a comment\ndata: {x: \"kind\"}\n",
        ] {
            assert_eq!(skipped(document), Some("ConfigMap"), "{document:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_skipped_by_every_kind_in_it() {
        for (document, expected) in [
            (
                r#"{"apiVersion": "v1", "kind": "A", "data": {"a": 1"#,
                Some("A"),
            ),
            (
                "{\n  \"kind\" : \"A\", \"roleRef\": {\"kind\": \"Role\",}",
                Some("A"),
            ),
            (
                r#"{"kind": "A", "data": {"a": "\"kind\": \"Pod\""},}"#,
                Some("A"),
            ),
            (
                r#"{"kind": "A", "properties": {"kind": {"type": "string"}},}"#,
                None,
            ),
            ("kind: \"A\"\ndata: [\n", Some("A")),
            ("kind: 'A' # b\ndata: [\n", Some("A")),
            ("{{ if .a }}\nkind: A\n{{ end }}\n", Some("A")),
            ("kind: A\ndata:\n  a: |\n    kind: Pod\n b\n", Some("A")),
            ("kind: \"A\"\na: [\nkind: Pod\n", None),
            ("kind: {{ .kind }}\n", None),
            ("kind:\n  Pod\na: [\n", None),
            (
                "apiVersion: example.com/v1\nkind: 'Pod'\na: [\n",
                Some("Pod"),
            ),
            (r#"{"kind": "AList", "items": [}"#, None),
            ("kind: 'A' # \u{1}\n", None),
            (r#"{"kind": "P\u006fd",}"#, None),
            ("a: [\n", None),
        ] {
            let holds = |kind: &str, version: Option<&str>| {
                kind == "Pod" && version.is_none_or(|version| version == "v1")
            };
            let found = match prefilter_unreadable(document, holds) {
                Prefilter::Skip { kind, .. } => Some(kind),
                Prefilter::Parse { .. } => None,
            };
            assert_eq!(found, expected, "{document}");
        }
    }

    #[test]
    fn anything_else_must_be_parsed() {
        for document in [
            "",
            "# c\n",
            "kind: Pod\n",
            "kind: PodList\n",
            "kind: List\n",
            "kind: ConfigMap\nkind: Pod\n",
            " {kind: Pod, a: \"\nkind: ConfigMap\nb: \"}\n",
            "---\n# c\n\n  kind: Pod\n  a: \"\nkind: ConfigMap\nb: \"\n",
            "# c\u{2028}kind: Pod\nkind: ConfigMap\n",
            "# \u{1a}\nkind: ConfigMap\n",
            "kind: ConfigMap\ndata: {a: \"\u{7}\"}\n",
            "kind: \"ConfigMap\"\n",
            "kind:\n  ConfigMap\n",
            "kind: Config\n  Map\n",
            "kind: Config\n\n  Map\n",
            "kind: !!str ConfigMap\n",
            "kind: ConfigMap#\n",
            "kind : Pod\nx: y\n",
            "kind: ConfigMap\n\"kind\": Pod\n",
            "kind: ConfigMap\n? kind\n: Pod\n",
            "kind: ConfigMap\n<<: *x\n",
            "kind: ConfigMap\n\tkind: Pod\n",
            "kind: ConfigMap\rkind: Pod\n",
            "  kind: ConfigMap\n",
            "- kind: ConfigMap\n",
            "{kind: ConfigMap}\n",
            "--- {kind: ConfigMap}\n",
            "--- |\nkind: ConfigMap\n",
            "%YAML 1.1\n---\nkind: ConfigMap\n",
            "kind: ConfigMap\na: {\n}\n",
            "a: {\nkind: ConfigMap\n  }\n",
        ] {
            assert_eq!(skipped(document), None, "{document:?}");
        }
    }
}
