//! Names and other text of an input, as a message or a command may contain it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns a line for people. Replaces characters that move the cursor of a terminal, hide text or change its direction, and marks
/// that a forge or a CI system takes for a command in its log: `::error::` at the start of a line, `##[error]` anywhere.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.trim_start().starts_with("::") {
        return Cow::Owned(visible_part(&text.replacen("::", "<U+003A>:", 1)).into_owned());
    }
    visible_part(text)
}

/// Returns a part of a line for people, which is not at its start.
pub(super) fn visible_part(text: &str) -> Cow<'_, str> {
    if text.contains("##") {
        return Cow::Owned(visible_part(&text.replace("##", "#<U+0023>")).into_owned());
    }
    // Nearly every text is printable ASCII.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match substitute(character) {
            Some(replacement) => escaped.push_str(&replacement),
            None => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// Escapes such characters and marks in a JSON text, where only strings have them.
pub fn visible_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '\n' || substitute(character).is_none() {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped.replace("##", "\\u0023\\u0023")
}

/// Returns the name of a file or folder as one word of a shell, for a command that the user may copy.
pub fn shell_word(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if name.starts_with('-') {
        return Cow::Owned(shell_word(&format!("./{name}")).into_owned());
    }
    if !name.is_empty() && name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(format!("'{}'", name.replace('\'', r"'\''")))
}

/// Returns an option as a word of a shell.
pub fn shell_argument(argument: &str) -> String {
    let name = argument.trim_start_matches('-');
    let hyphens = &argument[..argument.len() - name.len()];
    format!("{hyphens}{}", shell_word(name))
}

/// Returns the replacement of a character; none if it can be shown.
fn substitute(character: char) -> Option<Cow<'static, str>> {
    match character {
        '\t' => Some(Cow::Borrowed("    ")),
        // The control pictures have the order of the control characters.
        '\0'..='\x1f' => {
            char::from_u32(0x2400 + u32::from(character)).map(|picture| picture.to_string().into())
        }
        '\x7f' => Some(Cow::Borrowed("\u{2421}")),
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => {
            Some(Cow::Owned(format!("<U+{:04X}>", u32::from(character))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_a_command_of_a_forge() {
        for (text, shown) in [
            ("::error::x", "<U+003A>:error::x"),
            (" \u{1b}::x", " ␛::x"),
            ("\n ::x", "␊ <U+003A>:x"),
            ("a::b", "a::b"),
            ("a ##[error]x", "a #<U+0023>[error]x"),
            ("###vso[x]", "#<U+0023>#vso[x]"),
            ("a # b", "a # b"),
            ("a\u{202e}\u{e0041}日", "a<U+202E><U+E0041>日"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn json_keeps_its_value() {
        let value =
            serde_json::json!({"a\u{9b}\u{7f}": ["\u{202e}日\u{e0041}\n", "\u{1b}", "##vso[x]"]});
        let shown = visible_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!shown.contains("##"));
        assert!(!shown.contains(['\u{9b}', '\u{7f}', '\u{202e}', '\u{e0041}', '\u{1b}']));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
    }

    #[test]
    fn an_option_for_kustomize_stays_an_option() {
        for (argument, expected) in [
            ("-e", "-e"),
            ("--enable-helm", "--enable-helm"),
            ("--env=a b", "--'env=a b'"),
            ("a;b", "'a;b'"),
        ] {
            assert_eq!(shell_argument(argument), expected);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_reads_the_word_as_the_name() {
        for (name, word) in [
            ("deploy/日本.yaml", "deploy/日本.yaml"),
            ("-x", "./-x"),
            ("a b", "'a b'"),
            ("~/it's", r"'~/it'\''s'"),
            ("`id`;$(id)|\n\"\\*", "'`id`;$(id)|\n\"\\*'"),
            ("-; x", "'./-; x'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(name), word);
            let mut shell = std::process::Command::new("sh");
            let output = shell.args(["-c", &format!("printf %s {word}")]).output();
            let read = String::from_utf8(output.unwrap().stdout).unwrap();
            assert!(read == name || read == format!("./{name}"), "{read}");
        }
    }
}
