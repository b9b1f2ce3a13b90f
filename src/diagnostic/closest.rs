//! "Did you mean": the nearest name to one that does not exist.

/// The candidate that the word was most likely meant to be; the first of equals.
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

/// Names differ by case and separators only too often: `image_pull_policy`, `ImagePullPolicy`.
pub(crate) fn normalize(name: &str) -> String {
    // What is longer than any name is not compared in full: the distance costs the product of the lengths.
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
