//! JSON as JSON: strings with any character, keys of any length, white space of any kind.

use super::{FastReader, MAX_DEPTH};
use crate::tree::{Kind, NONE, Style, Tree, YamlError};
use serde_json::value::RawValue;

/// Reads JSON, also such that is no YAML: U+007F and other characters that YAML wants escaped, keys of more than 1,024 characters,
/// tabs between tokens.
///
/// ```
/// let json: Box<serde_json::value::RawValue> = serde_json::from_str("{\t\"note\": \"it\u{92}s\"}")?;
/// let tree = yaml_json_patch::read_json(&json)?;
/// let note = tree.root().and_then(|root| tree.get(root, "note")).unwrap();
/// assert_eq!(tree.scalar(note).as_deref(), Some("it\u{92}s"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the value nests deeper than 100 levels, or is larger than 4 GiB.
pub fn read_json(json: &RawValue) -> Result<Tree<'_>, YamlError> {
    let text = json.get();
    let bytes = text.as_bytes();
    if text.len() >= NONE as usize {
        return Err(YamlError::new(
            0,
            "the object is larger than 4 GiB".to_owned(),
        ));
    }
    let mut reader = FastReader::new(bytes, Vec::new(), Vec::new());
    let mut at = 0;
    // Its grammar has been checked: what is left to see is where each value begins and ends.
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'"' => string_end(bytes, at + 1),
            _ => {
                at + bytes
                    .iter()
                    .skip(at)
                    .take_while(|byte| is_of_word(**byte))
                    .count()
                    .max(1)
            }
        };
        match byte {
            b'{' | b'[' => {
                let kind = if *byte == b'{' {
                    Kind::Mapping
                } else {
                    Kind::Sequence
                };
                let too_deep = || format!("the object is nested more than {MAX_DEPTH} levels deep");
                reader
                    .begin(kind, Style::Flow, at, 0)
                    .ok_or_else(|| YamlError::new(at, too_deep()))?;
            }
            b'}' | b']' => {
                reader.last_end = end;
                reader.close();
            }
            b'"' => reader.leaf(Style::DoubleQuoted, at, end, NONE),
            _ if is_of_word(*byte) => reader.leaf(Style::Plain, at, end, NONE),
            _ => {}
        }
        at = end;
    }
    Ok(Tree::new(text, reader.nodes, Vec::new()))
}

/// True for the bytes of numbers, `true`, `false` and `null`.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// The end of a string, after its closing quote.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}
