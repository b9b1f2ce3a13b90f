//! Dotted paths: `select.podSelector.matchLabels.app\.kubernetes\.io/name`.

use serde_json::Value;

/// Splits a dotted path into its parts; `\.` is a dot within a part, `\\` a backslash.
pub fn parts(path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut characters = path.chars();
    while let Some(character) = characters.next() {
        match character {
            '.' => parts.push(std::mem::take(&mut part)),
            '\\' => part.push(characters.next().unwrap_or('\\')),
            other => part.push(other),
        }
    }
    parts.push(part);
    parts
}

/// Escapes the dots and backslashes of a part.
pub fn escape(part: &str) -> String {
    part.replace('\\', "\\\\").replace('.', "\\.")
}

/// Returns true if the path is `whole`, below it, or an item of it.
pub fn is_at_or_below(path: &str, whole: &str) -> bool {
    path.strip_prefix(whole)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Returns the ends of a path and of all that it is below, the longest first.
pub fn ends(path: &str) -> impl Iterator<Item = usize> {
    let above = path.rmatch_indices(['.', '[']).map(|(end, _)| end);
    std::iter::once(path.len()).chain(above)
}

/// Returns a field by the names of the fields on the way to it: `secretRef.name`
pub fn field<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.')
        .try_fold(value, |value, name| value.get(name))
}

/// Returns a field to change it.
pub fn field_mut<'v>(value: &'v mut Value, path: &str) -> Option<&'v mut Value> {
    path.split('.')
        .try_fold(value, |value, name| value.get_mut(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_below_its_list() {
        for (path, whole, expected) in [
            ("agent.env", "agent.env", true),
            ("agent.env[1]", "agent.env", true),
            ("agent.env[1]", "agent", true),
            ("agent.environment", "agent.env", false),
            ("agent.env", "agent.env[1]", false),
        ] {
            assert_eq!(is_at_or_below(path, whole), expected, "{path} {whole}");
        }
    }

    #[test]
    fn a_backslash_keeps_the_dot() {
        let cases: &[(&str, &[&str])] = &[
            ("agent.image", &["agent", "image"]),
            ("agent.env.a\\.b/c", &["agent", "env", "a.b/c"]),
            ("a\\\\.b", &["a\\", "b"]),
            ("", &[""]),
            ("a.", &["a", ""]),
            ("a\\", &["a\\"]),
        ];
        for (path, expected) in cases {
            assert_eq!(parts(path), *expected, "{path}");
        }
        assert_eq!(parts(&escape("x.y\\z")), ["x.y\\z"]);
    }
}
