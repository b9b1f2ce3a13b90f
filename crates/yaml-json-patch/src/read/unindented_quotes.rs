//! Quoted text of several lines that are not indented, as users paste JSON into annotations:
//!
//! ```yaml
//! config: '{
//!   "cniVersion": "0.3.1"
//! }'
//! ```
//!
//! YAML 1.2 asks for indentation there and granit insists on it; libyaml and go-yaml, and so Kubernetes, do not. Line
//! breaks inside quotes say nothing about structure, so granit is shown a text in which they are blanks: as long, to the
//! byte, and with every node in its place. What the scalar says is read from the text as it is.

use crate::block_scalar;

/// Upper bound of such scalars in a document. Each has it read once more.
pub(super) const MAX_SCALARS: usize = 32;

/// The text without the line breaks of the quoted scalar around `inside`, which is the first one from `from` on. None where
/// there is no such scalar, or where libyaml would not read it either.
pub(super) fn joined(text: &str, from: usize, inside: usize) -> Option<String> {
    let open = opening_quote(text, from)?;
    let close = closing_quote(text, open)?;
    let scalar = text
        .get(open..close)
        .filter(|_| open < inside && inside <= close)?;
    let has_marker = scalar
        .split(['\n', '\r'])
        .skip(1)
        .any(|line| block_scalar::is_marker(line.as_bytes()));
    if has_marker {
        return None;
    }
    // A key must be on one line. Other text is an error, which needs no second reading.
    if rest_of_text(text, close)?.starts_with(':') || is_followed_by_text(text, open) {
        return None;
    }
    Some(
        [
            text.get(..open)?,
            &scalar.replace(['\n', '\r'], " "),
            text.get(close..)?,
        ]
        .concat(),
    )
}

/// True if text follows the quoted scalar in the line of its closing quote: as a rule, that is the opening quote of another
/// scalar, and this one was never closed.
pub(super) fn is_followed_by_text(text: &str, open: usize) -> bool {
    closing_quote(text, open)
        .and_then(|close| rest_of_text(text, close))
        .is_some_and(|rest| {
            !rest.is_empty() && !rest.starts_with([':', '\n', '\r', '#', ',', ']', '}'])
        })
}

fn rest_of_text(text: &str, close: usize) -> Option<&str> {
    Some(text.get(close + 1..)?.trim_start_matches([' ', '\t']))
}

/// Steps over comments and signs before a value.
fn opening_quote(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b' ' | b'\t' | b'\n' | b'\r' | b'-' | b'?' | b':' => at += 1,
            b'#' => at = block_scalar::line_end(bytes, at).1,
            b'&' | b'!' => at += bytes.get(at..)?.iter().position(u8::is_ascii_whitespace)?,
            b'\'' | b'"' => return Some(at),
            _ => return None,
        }
    }
}

fn closing_quote(text: &str, open: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.get(open)?;
    let mut at = open + 1;
    loop {
        match *bytes.get(at)? {
            b'\\' if quote == b'"' => at += 2,
            byte if byte != quote => at += 1,
            _ if quote == b'\'' && bytes.get(at + 1) == Some(&quote) => at += 2,
            _ => return Some(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::json::to_json;
    use crate::read::read;

    /// Each was read by sigs.k8s.io/yaml.
    #[test]
    fn they_say_what_kubernetes_reads() {
        for (text, json) in [
            (
                "a:\n  b: '{\n}'\nc: 1\n",
                Some(r#"{"a":{"b":"{ }"},"c":1}"#),
            ),
            ("a:\n  b: \"x\ny\"\n", Some(r#"{"a":{"b":"x y"}}"#)),
            ("a:\n  b: \"x\\\ny\"\n", Some(r#"{"a":{"b":"xy"}}"#)),
            ("a: 'x\ny'\n", Some(r#"{"a":"x y"}"#)),
            ("- 'x\ny'\n", Some(r#"["x y"]"#)),
            ("- - 'x\n y'\n", Some(r#"[["x y"]]"#)),
            (
                "a: &x !!str 'it''s\n# y'\nb: *x\n",
                Some(r#"{"a":"it's # y","b":"it's # y"}"#),
            ),
            (
                "---\na:\n  b: '{\n\n\n}' # c\n  d: \"\n\\\"\"\n",
                Some("{\"a\":{\"b\":\"{\\n\\n}\",\"d\":\" \\\"\"}}"),
            ),
            (
                "a:\n  b: # c\n    'x\r\ny'\r\n",
                Some(r#"{"a":{"b":"x y"}}"#),
            ),
            ("a:\n  'x\ny': 1\n", None),
            ("a:\n  b: 'x\n--- \ny'\n", None),
            ("a:\n  b: 'x\n...\ny'\n", None),
            ("a:\n  b: 'x\ny\n", None),
            ("a:\n  b: 'x\ny' z\n", None),
        ] {
            let tree = read(text);
            let value = tree
                .as_ref()
                .ok()
                .map(|tree| to_json(tree, tree.root().unwrap()).unwrap().to_string());
            assert_eq!(value.as_deref(), json, "{text}");
        }
    }
}
