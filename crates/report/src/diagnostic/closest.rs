//! "Did you mean": the nearest name to one that does not exist.

/// Returns the candidate with the fewest edits, the first of several; `None` if all need too many.
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word = normalize(word);
    let allowed = (word.len() / 3).clamp(1, 4);
    let edits = |candidate: &str| {
        let candidate = normalize(candidate);
        // The distance is slow, and a request to the webhook may have thousands of names.
        let is_near = word.len().abs_diff(candidate.len()) <= allowed;
        is_near.then(|| strsim::damerau_levenshtein(&word, &candidate))
    };
    candidates
        .into_iter()
        .filter_map(|candidate| Some((edits(candidate)?, candidate)))
        .min_by_key(|(edits, _)| *edits)
        .filter(|(edits, _)| *edits <= allowed)
        .map(|(_, candidate)| candidate)
}

/// Returns true if one letter more, less or other, or two swapped ones, make the difference. It takes no longer than to read both, so
/// that many names may be compared with many.
pub fn is_one_edit(word: &str, other: &str) -> bool {
    let (word, other) = (word.as_bytes(), other.as_bytes());
    let alike = |(one, other): &(&u8, &u8)| one == other;
    let start = word.iter().zip(other).take_while(alike).count();
    let (word, other) = (&word[start..], &other[start..]);
    let end = word
        .iter()
        .rev()
        .zip(other.iter().rev())
        .take_while(alike)
        .count();
    match (&word[..word.len() - end], &other[..other.len() - end]) {
        ([a, b], [c, d]) => (a, b) == (d, c),
        (one, other) => one.len().max(other.len()) == 1,
    }
}

/// Removes case and separators: `image_pull_policy` and `ImagePullPolicy` are equal.
pub fn normalize(name: &str) -> String {
    // The length is limited, since the time of the distance grows with the product of the lengths.
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
