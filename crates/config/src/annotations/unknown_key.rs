//! Keys that look like annotations of the injector but are none.

use crate::annotations::variable::VariableName;
use crate::annotations::{Annotation, PREFIX};
use report::{closest, is_one_edit, normalize};

/// End of the prefixes under which people write the injector's names by mistake.
const DOMAIN: &str = "mackerel.io";

/// Returns true for an unknown name with the injector's prefix, and for a known one with another prefix of Mackerel.
#[must_use]
pub fn is_unknown(key: &str) -> bool {
    if !key.starts_with(PREFIX) {
        return with_own_prefix(key).is_some();
    }
    match Annotation::variable(key) {
        Some(name) => VariableName::of(name) == VariableName::Unknown,
        None => Annotation::of(key).is_none(),
    }
}

/// Returns the key that the user most likely meant by an unknown one. A search takes long: one review may have hundreds of keys.
#[must_use]
pub fn meant(key: &str) -> Option<String> {
    let Some(name) = key.strip_prefix(PREFIX) else {
        return with_own_prefix(key);
    };
    let names = || Annotation::ALL.iter().flat_map(|one| one.names());
    // `memory` is nearer to `memo` than to `memory-limit`.
    let limit = format!("{name}-limit");
    let nearest = names()
        .find(|known| *known == limit)
        .or_else(|| closest(name, names()))?;
    Annotation::of(&[PREFIX, nearest].concat()).map(|meant| meant.key().to_owned())
}

/// Returns true for a misspelt `inject`, which may be an attempt to opt out.
pub fn is_misspelt_request(key: &str) -> bool {
    let inject = Annotation::Inject.name();
    let resembles = |name: String| name.contains(inject) || is_one_edit(&name, inject);
    let name = key.strip_prefix(PREFIX).map(normalize);
    Annotation::of(key).is_none() && name.is_some_and(resembles)
}

/// Returns the key of an annotation that has another prefix: `mackerel.io/inject` -> `agent-injector.contrib.mackerel.io/inject`
fn with_own_prefix(key: &str) -> Option<String> {
    let (prefix, name) = key.split_once('/')?;
    let own = prefix.ends_with(DOMAIN).then(|| [PREFIX, name].concat())?;
    Annotation::of(&own).map(|_| own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_recognised_with_the_nearest_name() {
        for (key, expected) in [
            (
                "agent-injector.contrib.mackerel.io/injekt",
                Some(Annotation::Inject),
            ),
            (
                "agent-injector.contrib.mackerel.io/memory",
                Some(Annotation::MemoryLimit),
            ),
            (
                "agent-injector.contrib.mackerel.io/memory_limit",
                Some(Annotation::MemoryLimit),
            ),
            (
                "agent-injector.contrib.mackerel.io/mackerel_apikey.secretname",
                Some(Annotation::ApiKeySecretName),
            ),
            ("agent-injector.contrib.mackerel.io/replicas", None),
            (
                "agent-injector.contrib.mackerel.io/env.MACKEREL_RETRIES",
                None,
            ),
            ("mackerel.io/inject", Some(Annotation::Inject)),
            ("agent-injector.mackerel.io/memo", Some(Annotation::Memo)),
        ] {
            assert!(is_unknown(key), "{key}");
            let expected = expected.map(|annotation| annotation.key().to_owned());
            assert_eq!(meant(key), expected, "{key}");
        }
        let variable = "agent-injector.contrib.mackerel.io/env.LANG";
        assert_eq!(
            meant("agent-injector.mackerel.io/env.LANG").as_deref(),
            Some(variable)
        );
    }

    #[test]
    fn known_keys_and_those_of_others_are_not_unknown() {
        for annotation in Annotation::ALL {
            assert!(!is_unknown(annotation.key()), "{annotation:?}");
            assert_eq!(Annotation::of(annotation.key()), Some(*annotation));
        }
        for key in [
            "agent-injector.contrib.mackerel.io/env.FOO",
            "example.com/env.FOO",
            "sidecar.istio.io/inject",
            "mackerel.io/team",
            "inject",
        ] {
            assert!(!is_unknown(key), "{key}");
        }
    }
}
