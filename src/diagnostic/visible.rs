//! Escapes characters that move the cursor of a terminal, hide text or change its direction.

use std::borrow::Cow;

/// Replaces such characters by visible ones.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
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

/// Returns the replacement of a character; none if it can be shown.
pub(super) fn substitute(character: char) -> Option<Cow<'static, str>> {
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
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => Some(Cow::Owned(format!("<U+{:04X}>", u32::from(character)))),
        _ => None,
    }
}
