//! Objects that must exist before the injected pods start.

use crate::explain::PlaceView;
use config::Namespace;
use injector::{KeyRef, Presence, Requirement};
use report::{BOLD, Colour, enumeration, visible};
use serde::{Serialize, Serializer};
use std::collections::HashMap;
use std::fmt;

/// The namespace of pods whose namespace is unknown.
const UNNAMED: &str = "the namespace of the pods";
/// The same in a list with known namespaces.
const UNNAMED_BESIDE_OTHERS: &str = "the namespace of the other pods";

/// An object that must exist.
#[derive(Debug, Clone, Serialize)]
pub struct Needed<'i> {
    /// The namespace of the pods; none if neither manifest nor configuration has it, or only a placeholder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<&'i str>,
    /// The object.
    #[serde(flatten)]
    pub need: &'i KeyRef,
    /// Its presence in the input.
    #[serde(serialize_with = "serialize_presence")]
    pub presence: Presence,
    /// Place of the object, if it has the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceView<'i>>,
}

fn serialize_presence<S: Serializer>(
    presence: &Presence,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(presence.id())
}

impl<'i> Needed<'i> {
    pub fn new(requirement: &'i Requirement, place: Option<PlaceView<'i>>) -> Self {
        let namespace = requirement.namespace.as_deref();
        Self {
            namespace: namespace.filter(|name| name.parse::<Namespace>().is_ok()),
            need: &requirement.need,
            presence: requirement.presence,
            place,
        }
    }
}

/// `Secret agent with the key KEY (not in the input)`
impl fmt::Display for Needed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{} ({place})", self.need),
            None => write!(f, "{} ({})", self.need, self.presence.words()),
        }
    }
}

/// Returns the lines below a head; nothing if there are none.
pub fn block(lines: Vec<String>, colour: Colour) -> Vec<String> {
    let head = colour.paint("before you deploy:", BOLD).into_owned();
    (!lines.is_empty())
        .then_some(head)
        .into_iter()
        .chain(lines.iter().map(|line| format!("  {line}")))
        .collect()
}

/// Returns one line for each object with the namespaces that need it, of which `limit` are named:
/// `in shop and blog: Secret agent with the key KEY (not in the input)`; and one for the command that applies missing permissions.
pub fn lines(requirements: &[Needed<'_>], limit: usize, rbac: Option<&str>) -> Vec<String> {
    let mut objects = Vec::new();
    let mut namespaces: HashMap<String, Vec<Option<&str>>> = HashMap::new();
    for requirement in requirements {
        let object = requirement.to_string();
        let of_object = namespaces.entry(object.clone()).or_default();
        if of_object.is_empty() {
            objects.push(object);
        }
        of_object.push(requirement.namespace);
    }
    let mut lines: Vec<String> = objects
        .iter()
        .map(|object| format!("in {}: {object}", enumerated(&namespaces[object], limit)))
        .collect();
    lines.extend(rbac.map(|rbac| format!("RBAC for the agents: `{rbac}`")));
    lines
        .iter()
        .map(|line| visible(line).into_owned())
        .collect()
}

/// `a, b and the namespace of the other pods`
fn enumerated(namespaces: &[Option<&str>], limit: usize) -> String {
    let named: Vec<&str> = namespaces.iter().copied().flatten().collect();
    let mut names: Vec<String> = named.iter().take(limit).map(|&name| name.into()).collect();
    if named.len() > limit {
        names.push(format!("{} more", named.len() - limit));
    }
    if named.is_empty() {
        names.push(UNNAMED.into());
    } else if named.len() < namespaces.len() {
        names.push(UNNAMED_BESIDE_OTHERS.into());
    }
    enumeration(&names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::Source;

    fn requirements(namespaces: &[Option<&str>]) -> Vec<Requirement> {
        let requirement = |namespace: &Option<&str>| Requirement {
            namespace: namespace.map(Into::into),
            need: KeyRef {
                source: Source::Secret,
                name: "agent".into(),
                key: Some("KEY".into()),
            },
            presence: Presence::Absent,
        };
        namespaces.iter().map(requirement).collect()
    }

    fn lines_of(requirements: &[Requirement]) -> Vec<String> {
        let views = requirements
            .iter()
            .map(|requirement| Needed::new(requirement, None));
        lines(&views.collect::<Vec<_>>(), 2, None)
    }

    #[test]
    fn one_line_for_the_namespaces_that_need_the_same_object() {
        let object = "Secret agent with the key KEY (not in the input)";
        for (namespaces, place) in [
            (&[None][..], "the namespace of the pods"),
            (&[None, Some("a")], "a and the namespace of the other pods"),
            (&[Some("a"), Some("b")], "a and b"),
            (
                &[Some("a"), Some("b"), Some("c"), Some("d")],
                "a, b and 2 more",
            ),
        ] {
            let lines = lines_of(&requirements(namespaces));
            assert_eq!(lines, [format!("in {place}: {object}")]);
        }
        assert_eq!(lines_of(&[]), [""; 0]);
    }
}
