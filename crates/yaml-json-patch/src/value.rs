//! The value of a scalar, as Kubernetes reads it: YAML 1.1 as sigs.k8s.io/yaml (go.yaml.in/yaml v2) reads it.
//!
//! | written plain | read as |
//! |---|---|
//! | `yes` `no` `on` `off` `y` `n` `true` `false`, in three spellings of case | boolean |
//! | nothing, `~`, `null` `Null` `NULL` | null |
//! | `0644` `0o644` `0x1F` `0b101` `1_000` | 420, 420, 31, 5, 1000 |
//! | `089` `1e3` `.5` `.inf` | float: 89, 1000, 0.5, infinity |
//! | `12:30` `2024-01-01` `1e400` | string |

use crate::tag;
use crate::tree::{Kind, NodeId, Style, Tree, YamlError};
use std::borrow::Cow;

/// The value of a scalar.
#[derive(Debug, Clone, PartialEq)]
pub enum ScalarValue<'t> {
    /// Also the empty scalar
    Null,
    /// `true`, `yes`, `on`, …
    Bool(bool),
    /// From `-2^63` to `2^64 - 1`; beyond, go-yaml reads a float
    Int(i128),
    /// Also infinity and not-a-number, which JSON cannot hold
    Float(f64),
    /// Everything else
    Str(Cow<'t, str>),
}

impl ScalarValue<'_> {
    /// The name of a key with this value; none for null, a float, or an integer beyond `2^63 - 1`.
    pub(crate) fn into_name(self) -> Option<String> {
        match self {
            ScalarValue::Str(text) => Some(text.into_owned()),
            ScalarValue::Bool(value) => Some(value.to_string()),
            ScalarValue::Int(value) => i64::try_from(value).ok().map(|value| value.to_string()),
            ScalarValue::Null | ScalarValue::Float(_) => None,
        }
    }
}

/// Returns the value of the scalar `id`, or of the one that the alias `id` refers to.
///
/// ```
/// use yaml_json_patch::{ScalarValue, read, scalar_value};
///
/// let tree = read("mode: 0644")?;
/// let mode = tree.root().and_then(|root| tree.get(root, "mode")).unwrap();
/// assert_eq!(scalar_value(&tree, mode)?, ScalarValue::Int(420));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the node is no scalar, when an explicit tag does not fit the text (`!!int abc`), or when `!!binary` is not base64.
pub fn scalar_value<'t>(tree: &Tree<'t>, id: NodeId) -> Result<ScalarValue<'t>, YamlError> {
    let id = tree.alias_target(id);
    if tree.kind(id) != Kind::Scalar {
        return Err(YamlError::new(
            tree.span(id).start,
            "expected a scalar".to_owned(),
        ));
    }
    let style = tree.style(id);
    let text = crate::scalar::decode(tree, id);
    match tag::of(tree, id) {
        None if style == Style::Plain => Ok(untagged(text)),
        None => Ok(ScalarValue::Str(text)),
        Some(full) => tagged(&full, text).ok_or_else(|| YamlError {
            offset: tree.span(id).start,
            message: format!(
                "this value does not match its tag `{}`",
                tree.tag(id).unwrap_or_default()
            ),
        }),
    }
}

fn tagged<'t>(full: &str, text: Cow<'t, str>) -> Option<ScalarValue<'t>> {
    let Some(core) = full.strip_prefix(tag::CORE) else {
        return Some(ScalarValue::Str(text));
    };
    match core {
        "str" => Some(ScalarValue::Str(text)),
        "binary" => Some(ScalarValue::Str(Cow::Owned(base64(&text)?))),
        "null" => (known(&text) == Some(ScalarValue::Null)).then_some(ScalarValue::Null),
        "bool" | "int" | "float" => match (core, untagged(text)) {
            ("bool", value @ ScalarValue::Bool(_))
            | ("int", value @ ScalarValue::Int(_))
            | ("float", value @ ScalarValue::Float(_)) => Some(value),
            #[expect(clippy::cast_precision_loss, reason = "as go-yaml converts")]
            ("float", ScalarValue::Int(int)) => i64::try_from(int)
                .ok()
                .map(|int| ScalarValue::Float(int as f64)),
            _ => None,
        },
        // A !!timestamp reaches Kubernetes as a string; whether it is one is not asked here.
        _ => Some(ScalarValue::Str(text)),
    }
}

/// The value of a plain scalar without a tag.
fn untagged(text: Cow<'_, str>) -> ScalarValue<'_> {
    let value = match text.as_bytes().first() {
        None => Some(ScalarValue::Null),
        Some(b'0'..=b'9' | b'+' | b'-') => known(&text).or_else(|| number(&text)),
        Some(b'.') => known(&text).or_else(|| point_first(&text).map(ScalarValue::Float)),
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            known(&text)
        }
        _ => None,
    };
    value.unwrap_or(ScalarValue::Str(text))
}

/// True for plain text that, on one line, means itself whatever it says: a word that is no boolean and not null.
pub(crate) fn is_word(text: &str) -> bool {
    let Some(first) = text.as_bytes().first() else {
        return false;
    };
    let may_be_known = || matches!(first.to_ascii_lowercase(), b'y' | b'n' | b't' | b'f' | b'o');
    first.is_ascii_alphabetic() && !(may_be_known() && known(text).is_some())
}

/// The name that a key written like this has, if it is another one: `true` for `on`.
pub(crate) fn other_name(text: &str) -> Option<String> {
    if is_word(text) {
        return None;
    }
    let name = untagged(Cow::Borrowed(text)).into_name()?;
    (name != text).then_some(name)
}

/// The words with a meaning of their own.
fn known(text: &str) -> Option<ScalarValue<'static>> {
    // No word is longer: most strings leave here.
    if text.len() > 5 {
        return None;
    }
    Some(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            ScalarValue::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            ScalarValue::Bool(false)
        }
        "" | "~" | "null" | "Null" | "NULL" => ScalarValue::Null,
        ".nan" | ".NaN" | ".NAN" => ScalarValue::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => ScalarValue::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => ScalarValue::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

fn number(text: &str) -> Option<ScalarValue<'static>> {
    let digits: Cow<'_, str> = if text.contains('_') {
        Cow::Owned(text.replace('_', ""))
    } else {
        Cow::Borrowed(text)
    };
    if let Some(int) = int(&digits) {
        return Some(ScalarValue::Int(int));
    }
    if let Some(float) = float(&digits) {
        return Some(ScalarValue::Float(float));
    }
    // go-yaml reads the digits after `0b` once more, now with a sign of their own: `0b-1` is -1.
    let (negative, binary) = match digits.strip_prefix("-0b") {
        Some(rest) => (true, rest),
        None => (false, digits.strip_prefix("0b")?),
    };
    if negative && binary.starts_with(['+', '-']) {
        return None;
    }
    let value = i128::from(i64::from_str_radix(binary, 2).ok()?);
    Some(ScalarValue::Int(if negative { -value } else { value }))
}

/// Go's `strconv.ParseInt(text, 0, 64)`, then `ParseUint`.
fn int(text: &str) -> Option<i128> {
    let (sign, body) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (0, text),
    };
    let (radix, digits) = match body.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &body[2..]),
        [b'0', b'b' | b'B', ..] => (2, &body[2..]),
        [b'0', b'o' | b'O', ..] => (8, &body[2..]),
        [b'0', _, ..] => (8, &body[1..]),
        _ => (10, body),
    };
    if !digits.bytes().all(|byte| char::from(byte).is_digit(radix)) {
        return None;
    }
    let magnitude = i128::from(u64::from_str_radix(digits, radix).ok()?);
    let value = if sign < 0 { -magnitude } else { magnitude };
    // Unsigned numbers beyond i64 are integers only without a sign.
    (sign == 0 || i64::try_from(value).is_ok()).then_some(value)
}

/// go-yaml leaves the underscores of a number that begins with a point to Go, which wants digits around each of them.
fn point_first(text: &str) -> Option<f64> {
    if !text.contains('_') {
        return float(text);
    }
    let digit = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_digit());
    let separates = text
        .split('_')
        .zip(text.split('_').skip(1))
        .all(|(before, after)| digit(before.bytes().last()) && digit(after.bytes().next()));
    if separates {
        float(&text.replace('_', ""))
    } else {
        None
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`; one that overflows stays a string.
fn float(text: &str) -> Option<f64> {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match body.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        ),
        None => (body, None),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let well_formed = digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent));
    if !well_formed {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Standard base64 with padding, line breaks ignored, as Go decodes it. Each byte that is not UTF-8 becomes U+FFFD, as in Go's
/// JSON.
fn base64(text: &str) -> Option<String> {
    let clean: Vec<u8> = text
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    let mut out = Vec::with_capacity(clean.len() / 4 * 3);
    let groups = clean.len() / 4;
    if !clean.len().is_multiple_of(4) {
        return None;
    }
    for (index, group) in clean.chunks_exact(4).enumerate() {
        let padding = group.iter().rev().take_while(|byte| **byte == b'=').count();
        if padding > 2 || (padding > 0 && index + 1 != groups) {
            return None;
        }
        let mut bits = 0_u32;
        for byte in &group[..4 - padding] {
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        bits <<= 6 * padding;
        out.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    let mut string = String::with_capacity(out.len());
    for chunk in out.utf8_chunks() {
        string.push_str(chunk.valid());
        string.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Some(string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<ScalarValue<'_>, YamlError> {
        let tree = crate::read::read_complete(text)?;
        scalar_value(&tree, tree.root().unwrap())
    }

    /// Each line was read by sigs.k8s.io/yaml 1.6.0; so were 200,000 generated ones, once.
    #[test]
    fn plain_scalars_are_what_kubernetes_reads() {
        let int = |value| ScalarValue::Int(value);
        let text = |value: &'static str| ScalarValue::Str(Cow::Borrowed(value));
        let cases = [
            ("yes", ScalarValue::Bool(true)),
            ("On", ScalarValue::Bool(true)),
            ("y", ScalarValue::Bool(true)),
            ("yEs", text("yEs")),
            ("n", ScalarValue::Bool(false)),
            ("OFF", ScalarValue::Bool(false)),
            ("null", ScalarValue::Null),
            ("~", ScalarValue::Null),
            ("nULL", text("nULL")),
            ("0644", int(420)),
            ("0o17", int(15)),
            ("0x1F", int(31)),
            ("-0X1f", int(-31)),
            ("0b101", int(5)),
            ("0b-1", int(-1)),
            ("-0b+1", text("-0b+1")),
            ("1_000", int(1000)),
            ("+_1", int(1)),
            ("_1", text("_1")),
            ("0_8", ScalarValue::Float(8.0)),
            ("089", ScalarValue::Float(89.0)),
            ("1e3", ScalarValue::Float(1000.0)),
            ("1.", ScalarValue::Float(1.0)),
            (".5_0", ScalarValue::Float(0.5)),
            ("._5", text("._5")),
            ("1e400", text("1e400")),
            ("0x", text("0x")),
            (".", text(".")),
            (".inf", ScalarValue::Float(f64::INFINITY)),
            ("-.Inf", ScalarValue::Float(f64::NEG_INFINITY)),
            ("12:30", text("12:30")),
            ("2024-01-01", text("2024-01-01")),
            ("<<", text("<<")),
            ("9223372036854775808", int(9_223_372_036_854_775_808)),
            (
                "+9223372036854775808",
                ScalarValue::Float(9_223_372_036_854_775_808.0),
            ),
            (
                "18446744073709551616",
                ScalarValue::Float(18_446_744_073_709_551_616.0),
            ),
            ("\"yes\"", text("yes")),
            ("! yes", text("yes")),
            ("!!str 0644", text("0644")),
            ("!!int \"12\"", int(12)),
            ("!!float 1", ScalarValue::Float(1.0)),
            ("!!null ''", ScalarValue::Null),
            ("!!binary aGVsbG8=", text("hello")),
            ("!own 1", text("1")),
            ("%TAG !e! tag:yaml.org,2002:\n---\n!e!int 12", int(12)),
        ];
        for (written, expected) in cases {
            assert_eq!(value(written), Ok(expected), "{written}");
        }
        for refused in [
            "!!int abc",
            "!!bool 1",
            "!!null x",
            "!!float 18446744073709551615",
            "!!binary aGVsbG8",
        ] {
            assert!(value(refused).is_err(), "{refused}");
        }
    }
}
