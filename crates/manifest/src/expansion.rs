//! The kubelet's expansion of a variable's value: `$(A)` is the variable A, and `$$` is `$`.

/// Returns a text that the kubelet expands to this one. References to the variables `kept` stay references.
pub fn literal(text: &str, kept: &[&str]) -> String {
    let is_kept = |rest: &str| {
        rest.strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .is_some_and(|(name, _)| kept.contains(&name))
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out = out + before + "$";
        rest = after;
        // The kubelet takes the first byte behind a dollar sign for a character.
        let is_expanded = |next: char| matches!(next, '$' | '(') || !next.is_ascii();
        if after.starts_with(is_expanded) && !is_kept(after) {
            out.push('$');
        }
    }
    out + rest
}

/// Returns the names that a text refers to: `a-$(B)-$$(C)` -> `B`
pub fn references(text: &str) -> Vec<String> {
    text.replace("$$", "")
        .split("$(")
        .skip(1)
        .filter_map(|start| Some(start.split_once(')')?.0.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{literal, references};

    #[test]
    fn what_the_kubelet_expands_are_references() {
        for (text, expected) in [
            ("", &[][..]),
            ("$(A)-$(label:b/c) $(", &["A", "label:b/c"]),
            ("$$(A) $$$(B) $C (D)", &["B"]),
        ] {
            assert_eq!(references(text), expected, "{text}");
        }
    }

    #[test]
    fn the_kubelet_gives_the_text_back() {
        for (text, expected) in [
            ("", ""),
            ("5 $", "5 $"),
            ("^a$|b$c", "^a$|b$c"),
            ("$(A)", "$$(A)"),
            ("$$(A)", "$$$$(A)"),
            ("$$", "$$$"),
            ("$(A", "$$(A"),
            ("$監", "$$監"),
            ("$(POD) $(PODS) $(POD", "$(POD) $$(PODS) $$(POD"),
            ("$$(POD)", "$$$(POD)"),
            ("$(A$(POD))", "$$(A$(POD))"),
        ] {
            assert_eq!(literal(text, &["POD"]), expected, "{text}");
        }
    }
}
