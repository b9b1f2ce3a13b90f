//! The text of a string, such that every reader gets that string back.

use std::borrow::Cow;

/// The place of a string, as a value or as a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// In a block mapping or sequence
    Block,
    /// Inside brackets of YAML
    Flow,
    /// Inside brackets of JSON: always in double quotes
    Json,
}

/// Writes `text` plain where every reader of YAML 1.1 and 1.2 agrees that it is this string, else in the double quotes
/// of JSON. Line breaks, control characters and what some reader takes for one are escaped; other text stays readable.
#[must_use]
pub fn quote(text: &str, place: Context) -> Cow<'_, str> {
    let plain = match place {
        Context::Block => is_plain(text),
        Context::Flow => is_plain(text) && !text.contains([',', '[', ']', '{', '}', ':', '?']),
        Context::Json => false,
    };
    if plain {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(quoted(text))
    }
}

/// Writes `text` in single quotes; none where that needs an escape.
pub(crate) fn single_quoted(text: &str) -> Option<String> {
    let has_escape = text
        .chars()
        .any(|one| matches!(one, '\n' | '\r' | '\t') || needs_escape(one));
    (!has_escape).then(|| format!("'{}'", text.replace('\'', "''")))
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if needs_escape(character) => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

/// NEL and the separators are line breaks to YAML 1.1; the rest is refused raw by one reader or another.
pub(crate) fn needs_escape(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    )
}

/// True if each line of the text can stand as it is, with tabs.
pub(crate) fn has_readable_lines(text: &str) -> bool {
    let is_readable = |character| matches!(character, '\n' | '\t') || !needs_escape(character);
    text.chars().all(is_readable)
}

fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    let begins = match first {
        b'-' => bytes.get(1).is_some_and(|next| {
            next.is_ascii_alphanumeric() || matches!(next, b'-' | b'_' | b'/' | b'$')
        }),
        first => !b" ?:,[]{}#&*!|>'\"%@`=".contains(first),
    };
    // Without branches, so that they are compiled to vector instructions.
    let is_printable = |byte: &u8| matches!(byte, b' '..=b'~' | 0x80..);
    let ends = |pair: (&u8, &u8)| matches!(pair, (b':', b' ') | (b' ', b'#'));
    let pairs = bytes.iter().zip(&bytes[1..]);
    begins
        && !matches!(last, b' ' | b':')
        && bytes
            .iter()
            .fold(true, |all, byte| all & is_printable(byte))
        && !pairs.fold(false, |any, pair| any | ends(pair))
        && !text.starts_with("---")
        && !text.starts_with("...")
        && !is_reserved(text)
        && !is_numeric(bytes)
        && (text.is_ascii() || text.chars().all(is_visible))
}

/// True for letters and signs that people see in a plain string, and for the blank.
fn is_visible(character: char) -> bool {
    let is_format =
        matches!(character, '\u{ad}' | '\u{200b}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}');
    character == ' ' || !(needs_escape(character) || character.is_whitespace() || is_format)
}

/// Words that some reader takes for a boolean, a null, a float or a merge key.
fn is_reserved(text: &str) -> bool {
    const WORDS: [&str; 15] = [
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "nan", "inf", "infinity",
        "nil", "<<",
    ];
    let word = text.strip_prefix(['+', '-']).unwrap_or(text);
    let word = word.strip_prefix('.').unwrap_or(word);
    word.len() <= 8 && WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Anything that could be a number, a date or a time in some dialect: `0777_`, `1_000`, `12:30`, `0x1F`, `1e3`,
/// `2024-01-01T00:00:00Z`. `10m`, `64Mi`, `1.2.3` and `1f` are not.
fn is_numeric(bytes: &[u8]) -> bool {
    let begins = matches!(bytes.first(), Some(b'0'..=b'9' | b'+' | b'-' | b'.'));
    let digit = bytes.iter().any(u8::is_ascii_digit);
    begins
        && (digit || bytes.len() == 1)
        && !is_version_or_hash(bytes)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_hexdigit() || b"_.:+-xXoOtTzZ ".contains(byte))
}

/// True for a date, also with a time.
pub(crate) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes, [_, _, _, _, b'-', _, _, b'-', _, ..]) && is_numeric(bytes)
}

/// True for `1.2.3`, `1f` and `24.x`, which look like numbers and which no reader takes for one: floats by the letter of YAML 1.1 may
/// have several points, but no reader's do. Go takes `0_x43_1` for a number, and so nothing with `_` counts.
fn is_version_or_hash(bytes: &[u8]) -> bool {
    let is_word_letter =
        |byte: &u8| matches!(byte.to_ascii_lowercase(), b'a'..=b'd' | b'f' | b'o' | b'x');
    let unsigned = bytes.strip_prefix(b"+").or(bytes.strip_prefix(b"-"));
    let has_base =
        matches!(unsigned.unwrap_or(bytes), [b'0', base, ..] if b"boxBOX".contains(base));
    let several_points = bytes.iter().filter(|byte| **byte == b'.').count() > 1;
    let hash = bytes.iter().any(is_word_letter) && !has_base;
    (several_points || hash) && !bytes.contains(&b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_where_every_reader_agrees() {
        for text in [
            "kubernetes",
            "status.hostIP",
            "mackerel/mackerel-container-agent:v0.13.2-plugins",
            "/var/tmp",
            "10m",
            "64Mi",
            "^mackerel-container-agent$",
            "a b",
            "--flag=x",
            "-v",
            "$(POD)",
            "15s",
            "a#b",
            "a'b",
            "12345678-abcd-efgh",
            "nobody",
            "yess",
            "v1",
            "e",
            "_",
            "10.0.0.1",
            "10.0.0.1:80",
            "0.1.1",
            "1.2.3-beta",
            "1.2.4+5",
            "1f5e00aa",
            "4a1bc0b4df68e583",
            "24.x",
            "2x4",
            "0c1d",
            "<none>",
        ] {
            assert_eq!(quote(text, Context::Block), text);
        }
    }

    #[test]
    fn quoted_where_some_reader_sees_something_else() {
        for text in [
            "",
            " ",
            "a ",
            " a",
            "y",
            "N",
            "yes",
            "On",
            "OFF",
            "True",
            "null",
            "Null",
            "~",
            "nan",
            ".inf",
            "-.INF",
            "+.nan",
            "Infinity",
            "0",
            "0644",
            "0o17",
            "0x1F",
            "0b101",
            "1_000",
            "0777_",
            "089",
            "1e3",
            "1.5",
            "1.",
            ".5",
            ".",
            "-",
            "+",
            "12:30",
            "1:30:00",
            "2024-01-01",
            "2001-12-14t21:59:43.10-05:00",
            "1.10",
            "1.2.3_4",
            "0_x43_1",
            "0b1.1",
            "-0x1F",
            "0o17",
            "4225332e04",
            "<<",
            "=",
            "- a",
            "---",
            "...",
            "--- a",
            "? a",
            ":a",
            "a:",
            "a: b",
            "a #b",
            "#a",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "'a",
            "%a",
            "@a",
            "`a",
            "[a",
            "{a}",
            ",a",
            "]",
            "}",
        ] {
            assert_eq!(quote(text, Context::Block), format!("\"{text}\""));
        }
    }

    #[test]
    fn single_quotes_take_what_needs_no_escape() {
        for (text, expected) in [
            ("it's", Some("'it''s'")),
            ("C:\\dir\\", Some("'C:\\dir\\'")),
            ("a \"b\"", Some("'a \"b\"'")),
            ("a\nb", None),
            ("a\u{feff}", None),
        ] {
            assert_eq!(single_quoted(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn place_and_escapes() {
        assert_eq!(quote("a,b", Context::Block), "a,b");
        assert_eq!(quote("a,b", Context::Flow), "\"a,b\"");
        assert_eq!(quote("a:b", Context::Flow), "\"a:b\"");
        assert_eq!(quote("ab", Context::Flow), "ab");
        assert_eq!(quote("ab", Context::Json), "\"ab\"");
        assert_eq!(quote("日本語 😀", Context::Block), "日本語 😀");
        assert_eq!(quote("grüße\u{a0}x", Context::Block), "\"grüße\u{a0}x\"");
        assert_eq!(
            quote("\u{2028}\u{85}\u{feff}\0\n\t\"\\", Context::Block),
            r#""\u2028\u0085\ufeff\u0000\n\t\"\\""#
        );
    }
}
