//! Objects that must exist before the injected pods start and are not in the input, as the last lines of a report.

use crate::agent::prerequisites::{Permission, Presence, Requirement};
use crate::explain::text::{UNNAMED, UNNAMED_BESIDE_OTHERS};
use std::collections::HashMap;

/// Namespaces that one line names.
const NAMED: usize = 5;

/// One line for all namespaces: the command `rbac` names the accounts.
const PERMISSIONS: &str =
    "required: RBAC for the agents; `mackerel-agent-injector rbac PATH...` prints it";

/// `required in shop, blog: Secret mackerel-container-agent with the key MACKEREL_APIKEY (not in the input)`
pub(crate) fn lines(requirements: &[Requirement], permission: Permission) -> Vec<String> {
    let is_missing =
        |requirement: &&Requirement| !matches!(requirement.presence, Presence::Present { .. });
    let mut groups: Vec<(&Requirement, Vec<&str>, usize)> = Vec::new();
    let mut known = HashMap::new();
    for requirement in requirements.iter().filter(is_missing) {
        let group = *known
            .entry((&requirement.need, requirement.presence.words()))
            .or_insert(groups.len());
        if group == groups.len() {
            groups.push((requirement, Vec::new(), 0));
        }
        let Some((_, named, unnamed)) = groups.get_mut(group) else {
            continue;
        };
        match &requirement.namespace {
            Some(namespace) => named.push(namespace),
            None => *unnamed += 1,
        }
    }
    let line = |(Requirement { need, presence, .. }, named, unnamed): &(
        &Requirement,
        Vec<&str>,
        usize,
    )| {
        format!(
            "required in {}: {need} ({})",
            places(named, *unnamed),
            presence.words()
        )
    };
    let permissions = match permission {
        Permission::Generated => None,
        Permission::Manual => Some(PERMISSIONS.to_owned()),
    };
    groups.iter().map(line).chain(permissions).collect()
}

fn places(named: &[&str], unnamed: usize) -> String {
    let mut places: Vec<String> = named
        .iter()
        .take(NAMED)
        .map(|name| (*name).to_owned())
        .collect();
    if named.len() > NAMED {
        places.push(format!("{} more", named.len() - NAMED));
    }
    if unnamed > 0 {
        places.push(
            if named.is_empty() {
                UNNAMED
            } else {
                UNNAMED_BESIDE_OTHERS
            }
            .to_owned(),
        );
    }
    match places.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => places.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::prerequisites::KeyRef;
    use crate::manifest::related::Source;

    #[test]
    fn one_line_for_what_is_needed_alike() {
        let need = KeyRef {
            source: Source::Secret,
            name: "agent".into(),
            key: Some("KEY".into()),
        };
        let of = |namespace: Option<&str>, presence| Requirement {
            namespace: namespace.map(Into::into),
            need: need.clone(),
            presence,
        };
        let there = Presence::Present { part: 0, offset: 0 };
        let several = ["a", "b", "c", "d", "e", "f"].map(|name| of(Some(name), Presence::Absent));
        let lines =
            |requirements: &[Requirement]| super::lines(requirements, Permission::Generated);
        assert_eq!(lines(&[]), [""; 0]);
        assert_eq!(super::lines(&[], Permission::Manual), [PERMISSIONS]);
        assert_eq!(
            lines(&[of(None, Presence::Absent), of(Some("a"), there)]),
            [
                "required in the namespace of the pods: Secret agent with the key KEY (not in the input)"
            ]
        );
        assert_eq!(
            lines(&[of(None, Presence::Absent), of(Some("a"), Presence::Absent)]),
            [
                "required in a and the namespace of the other pods: Secret agent with the key KEY (not in the input)"
            ]
        );
        assert_eq!(
            lines(&several),
            [
                "required in a, b, c, d, e and 1 more: Secret agent with the key KEY (not in the input)"
            ]
        );
    }
}
