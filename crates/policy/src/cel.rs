//! CEL as text: literals, and lists and mappings on several lines where one would be long.

use std::fmt::Display;

/// An expression with its name: a match condition, or a variable.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) expression: String,
}

impl Named {
    pub(super) fn new(name: &str, expression: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            expression: expression.into(),
        }
    }
}

/// Characters of a list or mapping on one line.
const LINE: usize = 100;

/// Returns texts between brackets, each on its own line if they do not fit on one.
pub(super) fn collection(open: &str, items: &[String], close: &str) -> String {
    let line = format!("{open}{}{close}", items.join(", "));
    if line.len() <= LINE && !line.contains('\n') {
        return line;
    }
    let items = items.join(",\n").replace('\n', "\n  ");
    format!("{open}\n  {items}\n{close}")
}

/// Returns a list of strings.
pub(super) fn strings<T: Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(|item| string(&item.to_string())).collect();
    collection("[", &items, "]")
}

/// Returns the literal of a string.
pub(super) fn string(text: &str) -> String {
    let mut literal = String::from("'");
    for character in text.chars() {
        match character {
            '\'' | '\\' => literal.extend(['\\', character]),
            _ => literal += &printable(character),
        }
    }
    literal + "'"
}

/// Returns the character, or its escape if a reader of YAML may take it for a line break, or refuse it.
pub(super) fn printable(character: char) -> String {
    if matches!(character, ' '..='~') || character.is_alphanumeric() {
        return character.to_string();
    }
    match u32::from(character) {
        code @ 0..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::string;

    #[test]
    fn a_hostile_text_is_one_line_between_quotes() {
        for (text, expected) in [
            ("it's", r"'it\'s'"),
            (r"a\n", r"'a\\n'"),
            ("a\nb\r\t\0", r"'a\u000ab\u000d\u0009\u0000'"),
            ("$(A) \"x\" ${{", "'$(A) \"x\" ${{'"),
            ("監視", "'監視'"),
            (
                "\u{85}\u{2028}\u{feff}\u{1f41f}",
                r"'\u0085\u2028\ufeff\U0001f41f'",
            ),
        ] {
            assert_eq!(string(text), expected);
        }
    }
}
