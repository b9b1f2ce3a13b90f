//! Keys that look like annotations of the injector but are none.

use crate::annotations::variable::{OF_AGENT, VariableName};
use crate::annotations::{Annotation, PREFIX, meant_boolean};
use crate::config::{of_variable, variables};
use crate::diagnostic::closest::{closest, is_within, normalize};
use crate::mackerel::annotations::VARIABLE;
use std::borrow::Cow;
use std::cell::Cell;

/// A key that looks like one of the injector's annotations but is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownAnnotation {
    /// The annotation that the user most likely meant.
    pub meant: Option<Annotation>,
    /// True if the name resembles `inject`: with its right name, the annotation would decide about the template.
    pub is_request: bool,
    /// True if the name means the opposite of `inject`, as `skip` does.
    pub is_opposite: bool,
}

impl UnknownAnnotation {
    fn like(meant: Option<Annotation>) -> Self {
        Self {
            meant,
            is_request: false,
            is_opposite: false,
        }
    }

    /// Returns what to write instead of a key: another key, and for `inject` the value that means the same as this one.
    #[must_use]
    pub fn suggestion(&self, key: &str, value: &str) -> Option<String> {
        if self.meant == Some(Annotation::Env) {
            let (_, name) = key.split_once('/')?;
            return Some(format!("{PREFIX}{VARIABLE}{}", variable_like(name)?));
        }
        let key = self.meant?.key();
        let injects = match meant_boolean(value) {
            Some(meant) => Some(meant != self.is_opposite),
            None => self.is_opposite.then_some(false),
        };
        let injects = injects.filter(|_| self.meant == Some(Annotation::Inject));
        Some(injects.map_or_else(|| key.to_owned(), |injects| format!("{key}: \"{injects}\"")))
    }
}

/// Searches for what the keys of one template meant. Each takes a good part of the time that a pod takes, and a review may have
/// hundreds of keys: only the first of them are looked up, the others are unknown without a suggestion. Those whose prefix would have
/// to be looked up count as foreign.
#[derive(Debug)]
pub(crate) struct Lookups(Cell<usize>);

impl Default for Lookups {
    fn default() -> Self {
        Self(Cell::new(MAX_LOOKUPS))
    }
}

impl Lookups {
    /// Returns false if too many keys have been looked up.
    fn take(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left > 0
    }
}

/// Keys of one template that are looked up, and warned about one by one.
pub(crate) const MAX_LOOKUPS: usize = 16;

/// Edits between our prefix and one that was meant to be it.
const PREFIX_EDITS: usize = 3;

/// Edits between `inject` and a name that was meant to be it.
const REQUEST_EDITS: usize = 2;

/// Names that other injectors have for `inject`, and for its opposite; also with it, as `no-inject` and `injection-disabled`.
const OTHER_NAMES: [&str; 2] = ["enable", "enabled"];
const OPPOSITE_NAMES: [&str; 9] = [
    "disable", "disabled", "skip", "exclude", "optout", "no", "un", "dont", "donot",
];

/// Recognises mistyped keys: unknown names with the right prefix, and known names with one that resembles it, is the beginning
/// of it or names Mackerel.
#[must_use]
pub fn unknown(key: &str) -> Option<UnknownAnnotation> {
    unknown_among(key, &Lookups::default())
}

/// Recognises a mistyped key among those of one template.
pub(crate) fn unknown_among(key: &str, lookups: &Lookups) -> Option<UnknownAnnotation> {
    let known = PREFIX.trim_end_matches('/');
    let named = |name: &str| {
        Annotation::ALL
            .iter()
            .copied()
            .find(|meant| meant.names().any(|of| of == name))
    };
    let slash = key.bytes().position(|byte| byte == b'/');
    let Some((prefix, name)) = slash.map(|at| (&key[..at], &key[at + 1..])) else {
        // A dot or a backslash for the slash, or the prefix alone.
        let name = key
            .strip_prefix(known)?
            .trim_start_matches(['.', '-', '_', '\\']);
        return Some(UnknownAnnotation::like(
            named(name).or(name.is_empty().then_some(Annotation::Inject)),
        ));
    };
    let of_variable = variable_like(name).map(|_| Annotation::Env);
    if prefix != known {
        let meant = named(name).or(of_variable)?;
        let is_first_part = known
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with('.'));
        let names_mackerel = prefix.to_ascii_lowercase().contains("mackerel");
        let is_meant = names_mackerel
            || is_first_part
            || (lookups.take() && is_within(PREFIX_EDITS, prefix, known));
        return is_meant.then_some(UnknownAnnotation::like(Some(meant)));
    }
    if Annotation::of(key).is_some() {
        return unknown_variable(Annotation::variable(key)?, lookups);
    }
    let like_inject = like_inject(name);
    if like_inject.is_some() {
        return like_inject;
    }
    let names = Annotation::ALL
        .iter()
        .flat_map(|annotation| annotation.names());
    // `memory` is nearer to `memo` than to `memory-limit`.
    let limit = named(&format!("{name}-limit"));
    let near = || closest(name, names).and_then(named);
    let known = of_variable.or(limit);
    Some(UnknownAnnotation::like(
        known.or_else(|| lookups.take().then(near).flatten()),
    ))
}

/// Recognises a misspelled `inject`, which may be an attempt to opt out.
pub(crate) fn mistyped_request(key: &str) -> Option<UnknownAnnotation> {
    let name = key.strip_prefix(PREFIX)?;
    let unknown = like_inject(name).filter(|unknown| unknown.is_request)?;
    Annotation::of(key).is_none().then_some(unknown)
}

/// Recognises a name that resembles `inject`, or means the same or the opposite.
fn like_inject(name: &str) -> Option<UnknownAnnotation> {
    let inject = Annotation::Inject;
    let word = normalize(name)
        .replace("injection", "")
        .replace("inject", "");
    let is_opposite = OPPOSITE_NAMES.contains(&&*word);
    let is_request = name.to_ascii_lowercase().starts_with(inject.name())
        || is_within(REQUEST_EDITS, name, inject.name());
    let is_like = is_request || is_opposite || OTHER_NAMES.contains(&&*word);
    is_like.then_some(UnknownAnnotation {
        meant: Some(inject),
        is_request,
        is_opposite,
    })
}

/// Returns the name of the variable in a name that resembles `env.NAME`: `ENV.FOO` or `env_FOO` -> `FOO`
fn variable_like(name: &str) -> Option<&str> {
    let (env, variable) = name.split_once(['.', '_', '-', '/'])?;
    let is_variable = VariableName::of(variable) != VariableName::Invalid;
    (env.eq_ignore_ascii_case("env") && is_variable).then_some(variable)
}

/// Recognises a variable of the agent without a setting.
fn unknown_variable(name: &str, lookups: &Lookups) -> Option<UnknownAnnotation> {
    let is_unknown = VariableName::of(name) == VariableName::Unknown;
    let meant = || lookups.take().then(|| meant_by_variable(name)).flatten();
    is_unknown.then(|| UnknownAnnotation::like(meant()))
}

/// Returns the annotation of the setting that gives a variable with nearly this name.
fn meant_by_variable(name: &str) -> Option<Annotation> {
    let in_capitals = name.to_ascii_uppercase();
    let names = variables().filter_map(|(_, variable)| variable.name.strip_prefix(OF_AGENT));
    let meant = closest(in_capitals.strip_prefix(OF_AGENT)?, names)?;
    let (setting, _) = of_variable(&[OF_AGENT, meant].concat())?;
    setting.annotation()
}

/// Recognises `inject` without any prefix, if its value is a boolean.
pub(crate) fn unprefixed_request<'v>(
    key: &str,
    value: impl FnOnce() -> Cow<'v, str>,
) -> Option<UnknownAnnotation> {
    let inject = Annotation::Inject;
    (key == inject.name() && meant_boolean(&value()).is_some())
        .then(|| UnknownAnnotation::like(Some(inject)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_recognised() {
        let meant = |key: &str| unknown(key).map(|unknown| unknown.meant);
        assert_eq!(
            meant("agent-injector.contrib.mackerel.io/injekt"),
            Some(Some(Annotation::Inject))
        );
        assert_eq!(
            meant("agent-injector.contrib.mackerel.io/memory"),
            Some(Some(Annotation::MemoryLimit))
        );
        assert_eq!(
            meant("agent-injector.contrib.mackerel.io/memory_limit"),
            Some(Some(Annotation::MemoryLimit))
        );
        assert_eq!(
            meant("agent-injector.contrib.mackerel.io/mackerel_apikey.secretname"),
            Some(Some(Annotation::ApiKeySecretName))
        );
        assert_eq!(
            meant("agent-injector.contrib.mackerel.io/replicas"),
            Some(None)
        );
        assert_eq!(
            meant("agent-injector.contib.mackerel.io/inject"),
            Some(Some(Annotation::Inject))
        );
        assert_eq!(meant("mackerel.io/inject"), Some(Some(Annotation::Inject)));
        assert_eq!(
            meant("agent-injector/inject"),
            Some(Some(Annotation::Inject))
        );
        assert_eq!(meant("agent/inject"), None);
        assert_eq!(meant("inject"), None);
        assert_eq!(
            meant("agent-injector.contrib.mackerel.io.inject"),
            Some(Some(Annotation::Inject))
        );
        assert_eq!(
            meant("agent-injector.contrib.mackerel.io"),
            Some(Some(Annotation::Inject))
        );
        assert_eq!(
            meant("agent-injector.contrib.mackerel.io.replicas"),
            Some(None)
        );
        assert_eq!(meant("sidecar.istio.io/inject"), None);
        for annotation in Annotation::ALL {
            assert_eq!(meant(annotation.key()), None);
            assert_eq!(Annotation::of(annotation.key()), Some(*annotation));
        }
        assert_eq!(meant("app.kubernetes.io/name"), None);
        assert_eq!(meant("agent-injector.contrib.mackerel.io/env.FOO"), None);
        assert_eq!(meant("example.com/env.FOO"), None);
    }

    #[test]
    fn a_misspelt_variable_is_recognised_with_its_name() {
        for (key, expected) in [
            ("agent-injector.contrib.mackerel.io/ENV.FOO", Some("FOO")),
            ("agent-injector.contrib.mackerel.io/env_FOO", Some("FOO")),
            ("agent-injector.contrib.mackerel.io/env-a", Some("a")),
            ("agent-injector.contrib.mackerel.io/env/FOO", Some("FOO")),
            ("agent-injector.contrib.mackerel.com/env.FOO", Some("FOO")),
            ("mackerel.io/env.FOO", Some("FOO")),
            ("agent-injector.contrib.mackerel.io/ENV.A-B", None),
            ("agent-injector.contrib.mackerel.io/env", None),
        ] {
            let suggestion = unknown(key).and_then(|unknown| unknown.suggestion(key, "x"));
            let expected =
                expected.map(|name| format!("agent-injector.contrib.mackerel.io/env.{name}"));
            assert_eq!(suggestion, expected, "{key}");
        }
    }
}
