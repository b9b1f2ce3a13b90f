//! Mackerel roles.
//!
//! Mackerel allows names of services of 2 to 63 letters, digits, hyphens and underscores that begin with a letter or digit
//! (<https://mackerel.io/api-docs/entry/services>). Its API documentation gives no rule for the names of roles: they are taken to
//! follow the same one.

use crate::checked::{MetadataName, texts};
#[cfg(test)]
use crate::tests::patterns;
use crate::violation::Violation;
use manifest::expansion::references;
use std::fmt;
use std::str::FromStr;

/// A role within a service, written `service:role`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role(String);

/// The beginning of a reference to the value of a label of the pod, within `$(…)`.
pub const LABEL: &str = "label:";

/// The reference to the namespace of the pod, within `$(…)`.
pub const NAMESPACE: &str = "namespace";

/// Returns the key of the label in a reference: `label:app` -> `app`
pub fn label(reference: &str) -> Option<MetadataName> {
    reference.strip_prefix(LABEL)?.parse().ok()
}

/// Returns the keys of the labels that a setting refers to.
pub fn labels(text: &str) -> impl Iterator<Item = String> {
    references(text)
        .into_iter()
        .filter_map(|reference| Some(label(&reference)?.to_string()))
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

texts! { Role: "pattern" = patterns::of("Role"); }

impl Role {
    /// Returns the keys of the labels that it refers to.
    pub fn labels(&self) -> impl Iterator<Item = String> {
        labels(&self.0)
    }

    /// Returns true if it refers to the namespace.
    pub fn names_namespace(&self) -> bool {
        references(&self.0).iter().any(|name| name == NAMESPACE)
    }

    /// Returns true for a name that Mackerel takes. The API refuses others, and the agent then exits.
    pub fn is_name(name: &str) -> bool {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (2..=63).contains(&name.len())
            && name.bytes().all(is_allowed)
            && !name.starts_with(['-', '_'])
    }
}

/// Returns true for a service and a role.
fn is_role(text: &str) -> bool {
    text.match_indices(':').any(|(colon, _)| {
        let (service, role) = text.split_at(colon);
        is_part(service) && is_part(&role[1..])
    })
}

fn is_part(text: &str) -> bool {
    let reference = text
        .strip_prefix("$(")
        .and_then(|text| text.strip_suffix(')'));
    reference.map_or_else(
        || Role::is_name(text),
        |reference| reference == NAMESPACE || label(reference).is_some(),
    )
}

impl FromStr for Role {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        let help = match text.split_once(':') {
            _ if is_role(text) => return Ok(Role(text.to_owned())),
            _ if text.contains('$') => {
                "`$(namespace)` and `$(label:KEY)` stand for a whole service or role, as in `$(namespace):$(label:app)`"
            }
            _ if text.contains(['[', ']', '"']) => {
                "write `service:role`, without brackets and inner quotes"
            }
            Some((service, role)) if !service.is_empty() && !role.is_empty() => {
                "Mackerel allows 2 to 63 letters, digits, `-` and `_` on each side of the colon; the first is a letter or digit"
            }
            _ => "write it as `service:role`",
        };
        Err(Violation::found("a role", text).with_help(help))
    }
}

#[cfg(test)]
mod tests {
    use super::Role;

    #[test]
    fn parts_of_a_role_may_stand_for_properties_of_the_pod() {
        for (text, is_role) in [
            ("shop:web", true),
            ("$(namespace):$(label:app.kubernetes.io/name)", true),
            ("$(label:team):web", true),
            ("$(namespace)", false),
            ("$(namespace)-x:web", false),
            ("$(label:a b):web", false),
            ("$(name):web", false),
            ("$(label:a:web", false),
        ] {
            let role = text.parse::<Role>();
            assert_eq!(
                role.as_ref().map(ToString::to_string).ok(),
                is_role.then(|| text.to_owned())
            );
        }
    }
}
