//! `nothing-selected`: namespaces of `select` that match no pod template of the input. A misspelt name would select nothing in silence.
//! A directory and a build also tell which kinds and exclusions of `select` match nothing.

use crate::checks::{ProcessedText, namespace_of};
use crate::inject::outcome::Outcome;
use config::{Config, InjectionMode};
use report::{Cause, Finding, Reason, is_one_edit};
use std::collections::{BTreeSet, HashSet};

/// A part of `select` that matches nothing.
#[derive(Debug)]
pub struct Unmatched {
    /// Its place: `agent-injector.yaml:5:12`.
    pub origin: String,
    /// A note, unless the input has a namespace that resembles one of the list.
    pub finding: Finding,
}

/// Returns the namespaces of `select`, if none of them is that of a pod template.
pub fn unmatched_namespaces(texts: &[ProcessedText<'_>], config: &Config) -> Option<Unmatched> {
    let patterns = &config.spec.select.namespaces;
    if patterns.is_empty() {
        return None;
    }
    // It may be any namespace where one is unknown.
    let namespaces = selectable(texts, config)
        .map(|outcome| namespace_of(outcome, config))
        .collect::<Option<BTreeSet<&str>>>()
        .filter(|namespaces| !namespaces.is_empty())?;
    let is_selected = |name: &&str| patterns.iter().any(|pattern| pattern.matches(name));
    if namespaces.iter().any(is_selected) {
        return None;
    }
    let near = patterns
        .iter()
        .find_map(|pattern| namespaces.iter().find(|name| is_misspelt(&pattern.0, name)));
    let mut unmatched = unmatched("select.namespaces", "matches", config);
    if let Some(name) = near {
        unmatched.finding = unmatched
            .finding
            .with_help(format!("did you mean `{name}`?"))
            .note_if(false);
    }
    Some(unmatched)
}

/// Returns the kinds of `select` if they match no pod template, and the exclusions that leave out none.
pub fn idle_selection(texts: &[ProcessedText<'_>], config: &Config) -> Vec<Unmatched> {
    let select = &config.spec.select;
    let mut templates = selectable(texts, config).peekable();
    if templates.peek().is_none() || select.kinds.is_empty() && select.exclude.is_empty() {
        return Vec::new();
    }
    let (mut has_kind, mut settings) = (select.kinds.is_empty(), HashSet::new());
    for Outcome {
        identity, cause, ..
    } in templates
    {
        let group = identity
            .api_version
            .rsplit_once('/')
            .map_or("", |(group, _)| group);
        has_kind = has_kind
            || select
                .kinds
                .iter()
                .any(|kind| kind.matches(group, &identity.kind));
        if let Some(Cause::Setting(setting)) = cause {
            settings.insert(&**setting);
        }
    }
    let kinds = (!has_kind).then(|| unmatched("select.kinds", "matches", config));
    let exclusions = (0..select.exclude.len())
        .map(|index| format!("select.exclude[{index}]"))
        .filter(|exclusion| !settings.contains(&**exclusion))
        .map(|exclusion| unmatched(&exclusion, "leaves out", config));
    kinds.into_iter().chain(exclusions).collect()
}

/// Returns the pod templates, unless nothing is to be selected.
fn selectable<'r>(
    texts: &[ProcessedText<'r>],
    config: &Config,
) -> impl Iterator<Item = &'r Outcome> {
    let is_disabled = config.spec.injection == InjectionMode::Disabled;
    texts
        .iter()
        .filter(move |_| !is_disabled)
        .flat_map(|text| &text.injection.outcomes)
}

fn unmatched(path: &str, verb: &str, config: &Config) -> Unmatched {
    let message = format!("`{path}` {verb} no pod template of the input");
    Unmatched {
        origin: config.origin(path).to_string(),
        finding: Finding::about_input(Reason::NothingSelected, message).note_if(true),
    }
}

/// Returns true if a name may be meant by another one. With two edits, `prod-eu` would be `prod-us`.
fn is_misspelt(name: &str, other: &str) -> bool {
    is_one_edit(name, other) && stem(name) != stem(other)
}

/// Returns a name without digits and parts of one letter: `team-a` and `team-b`, `shop1` and `shop2` are alike on purpose.
fn stem(name: &str) -> Vec<String> {
    name.split('-')
        .map(|part| part.replace(|c: char| c.is_ascii_digit(), ""))
        .filter(|part| part.len() > 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::is_misspelt;

    #[test]
    fn names_that_count_enumerate_or_differ_in_a_word_are_no_slips() {
        for (one, other, expected) in [
            ("team-a", "team-b", false),
            ("shop1", "shop2", false),
            ("shop-1", "shop", false),
            ("prod-eu", "prod-us", false),
            ("shop-prod", "shop-prod-eu", false),
            ("shop-prod", "shop-prd", true),
            ("shop", "shpo", true),
            ("shop", "shoop", true),
            ("shop", "shop", false),
            ("shop", "sjpo", false),
        ] {
            assert_eq!(is_misspelt(one, other), expected, "{one} {other}");
        }
    }
}
