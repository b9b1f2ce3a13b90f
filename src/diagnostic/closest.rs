//! "Did you mean": the nearest name to one that does not exist.

/// Returns the candidate nearest to the word, the first among equals; `None` if none is near.
pub(crate) fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word = normalize(word);
    let allowed = (word.chars().count() / 3).clamp(1, 4);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let distance = strsim::damerau_levenshtein(&word, &normalize(candidate));
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns true if no more than `edits` letters differ.
pub(crate) fn is_within(edits: usize, word: &str, other: &str) -> bool {
    strsim::damerau_levenshtein(&normalize(word), &normalize(other)) <= edits
}

/// Removes case and separators: `image_pull_policy` and `ImagePullPolicy` are equal.
pub(crate) fn normalize(name: &str) -> String {
    // A limit, since the distance costs the product of the lengths.
    name.chars().take(80).filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
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
