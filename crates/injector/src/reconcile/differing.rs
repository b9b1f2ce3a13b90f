//! The fields in which two agents differ, by name: what a hand edit, an update and an adoption change. A message never shows their
//! values, since a variable may hold a secret.

use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The most names in a message about an update.
const MAX_NAMES: usize = 5;

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// `env: TZ`, `image`, `resources.limits.memory`, `mackerel-agent-tmp.emptyDir`
    pub name: String,
    pub side: Side,
}

/// The side that has a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Old,
    New,
    /// Both, with different values.
    Both,
}

/// Fields by name. The names of those below another field are without its own.
type Fields<'v> = BTreeMap<Cow<'v, str>, &'v Value>;

/// Compares two components, each a container and its volumes in canonical form. The order of variables and mounts does not count.
pub fn differing(old: &Value, new: &Value) -> Vec<Differing> {
    let mut found = Vec::new();
    compare("", &fields(old), &fields(new), &mut found);
    found
}

fn compare(prefix: &str, old: &Fields<'_>, new: &Fields<'_>, found: &mut Vec<Differing>) {
    let names: BTreeSet<&Cow<'_, str>> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (old, new) = (old.get(name), new.get(name));
        if old == new {
            continue;
        }
        let name = [prefix, name].concat();
        let side = match (old, new) {
            (Some(_), None) => Side::Old,
            (None, _) => Side::New,
            (Some(old), Some(new)) => match (below(&name, old), below(&name, new)) {
                (Some((prefix, old)), Some((_, new))) => {
                    compare(&prefix, &old, &new, found);
                    continue;
                }
                _ => Side::Both,
            },
        };
        found.push(Differing { name, side });
    }
}

/// Returns the fields of a container and its volumes. A component is found by its name, so that is none of them.
fn fields(component: &Value) -> Fields<'_> {
    let mut fields = Fields::new();
    for (index, part) in component.as_array().into_iter().flatten().enumerate() {
        for (field, value) in part.as_object().into_iter().flatten() {
            match index {
                _ if field == "name" => None,
                0 => fields.insert(field.into(), value),
                _ => fields.insert(format!("{}.{field}", item_name(part)).into(), value),
            };
        }
    }
    fields
}

/// Returns the fields below one whose members people edit one by one, and what their names begin with.
fn below<'v>(name: &str, value: &'v Value) -> Option<(String, Fields<'v>)> {
    match (name, value) {
        ("env" | "volumeMounts", Value::Array(items)) => {
            let named = items.iter().map(|item| (item_name(item).into(), item));
            Some((format!("{name}: "), named.collect()))
        }
        (
            "resources" | "resources.limits" | "resources.requests" | "securityContext",
            Value::Object(members),
        ) => {
            let named = members.iter().map(|(member, value)| (member.into(), value));
            Some((format!("{name}."), named.collect()))
        }
        _ => None,
    }
}

/// Returns the key of a list's item: the path of a mount, the name of anything else.
fn item_name(item: &Value) -> &str {
    item.get("mountPath")
        .or_else(|| item.get("name"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Lists all names, of what is lost or refused: `` `env: TZ`, `image` ``
pub fn listed(names: &[String]) -> String {
    format!("`{}`", names.join("`, `"))
}

/// Lists the first names, of what an update changes: `` `env: TZ`, `image` and 2 more``
pub fn listed_in_short(names: &[String]) -> String {
    match names.split_at_checked(MAX_NAMES) {
        Some((shown, more @ [_, ..])) => format!("{} and {} more", listed(shown), more.len()),
        _ => listed(names),
    }
}

#[cfg(test)]
mod tests {
    use super::{Differing, Side, differing, listed_in_short};
    use serde_json::json;

    #[test]
    fn a_field_is_named_down_to_what_people_edit() {
        let old = json!([{
            "name": "agent", "image": "a:1", "args": ["x"],
            "env": [{"name": "A", "value": "1"}, {"name": "TZ", "value": "UTC"}],
            "volumeMounts": [{"name": "logs", "mountPath": "/logs"}],
            "resources": {"limits": {"memory": "1"}},
            "securityContext": {"privileged": true},
        }, {"name": "tmp", "emptyDir": {"medium": "Memory"}}]);
        let new = json!([{
            "name": "agent", "image": "a:2", "args": ["x"],
            "env": [{"name": "TZ", "value": "UTC"}, {"name": "A", "value": "2"}],
            "volumeMounts": [{"name": "logs", "mountPath": "/log"}],
            "resources": {"limits": {"memory": "2", "cpu": "1"}},
        }, {"name": "tmp", "emptyDir": {}}]);
        let found = differing(&old, &new);
        let found: Vec<_> = found
            .iter()
            .map(|Differing { name, side }| (&**name, *side))
            .collect();
        let expected = [
            ("env: A", Side::Both),
            ("image", Side::Both),
            ("resources.limits.cpu", Side::New),
            ("resources.limits.memory", Side::Both),
            ("securityContext", Side::Old),
            ("tmp.emptyDir", Side::Both),
            ("volumeMounts: /log", Side::New),
            ("volumeMounts: /logs", Side::Old),
        ];
        assert_eq!(found, expected);
        assert_eq!(differing(&old, &old), []);
    }

    #[test]
    fn an_update_names_five_fields() {
        let names: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
        assert_eq!(listed_in_short(&names[..2]), "`a`, `b`");
        assert_eq!(
            listed_in_short(&names),
            "`a`, `b`, `c`, `d`, `e` and 1 more"
        );
    }
}
