//! "Did you mean": the nearest name to one that does not exist.

/// Returns the candidate nearest to the word, the first among equals; `None` if none is near.
pub(crate) fn closest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let word = normalize(word);
    let allowed = (word.len() / 3).clamp(1, 4);
    let near = |candidate| Some((edits(allowed, &word, &normalize(candidate))?, candidate));
    candidates
        .into_iter()
        .filter_map(near)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Returns true if no more than `allowed` letters differ.
pub(crate) fn is_within(allowed: usize, word: &str, other: &str) -> bool {
    edits(allowed, &normalize(word), &normalize(other)).is_some()
}

/// Returns how many letters differ, if they are no more than `allowed`. Lengths are compared first: the distance is slow, and a
/// caller of the webhook may send thousands of names.
fn edits(allowed: usize, word: &str, other: &str) -> Option<usize> {
    let can_be_near = word.len().abs_diff(other.len()) <= allowed;
    can_be_near
        .then(|| strsim::damerau_levenshtein(word, other))
        .filter(|edits| *edits <= allowed)
}

/// Removes case and separators: `image_pull_policy` and `ImagePullPolicy` are equal.
pub(crate) fn normalize(name: &str) -> String {
    // A limit, since the distance costs the product of the lengths.
    name.chars()
        .take(80)
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_strangers_are_not() {
        let names = ["image", "imagePullPolicy", "roles", "env"];
        for (word, expected) in [
            ("imag", Some("image")),
            ("image_pull_policy", Some("imagePullPolicy")),
            ("rolse", Some("roles")),
            ("ENV", Some("env")),
            ("replicas", None),
            ("", None),
        ] {
            assert_eq!(closest(word, names), expected, "{word}");
        }
    }
}
