//! The differences between two containers or volumes in canonical form.

use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Display;
use yaml_json_patch::pointer::escape;

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DifferenceKind {
    /// Only the old value exists.
    Gone,
    /// Only the new value exists.
    New,
    /// Both exist, and are not equal.
    Changed,
}

/// A value that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) kind: DifferenceKind,
    /// JSON Pointer into the old value; to the list if the item is absent there.
    pub(crate) old: String,
    /// The same for the new value.
    pub(crate) new: String,
}

/// Returns every value that differs, as deep as possible. List items are matched by `mountPath` or `name`, or else by index if the
/// lists are of the same length.
pub(crate) fn differences(old: &Value, new: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(old, new, &Place::default(), &mut found);
    found
}

/// The JSON Pointers of two values that are compared.
#[derive(Clone, Default)]
struct Place {
    old: String,
    new: String,
}

impl Place {
    fn below(&self, old: impl Display, new: impl Display) -> Self {
        Self {
            old: format!("{}/{old}", self.old),
            new: format!("{}/{new}", self.new),
        }
    }

    fn differs(self, kind: DifferenceKind) -> Difference {
        let Self { old, new } = self;
        Difference { kind, old, new }
    }
}

fn compare(old: &Value, new: &Value, at: &Place, found: &mut Vec<Difference>) {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, old) in before {
                let place = at.below(escape(key), escape(key));
                match after.get(key) {
                    Some(new) => compare(old, new, &place, found),
                    None => found.push(place.differs(DifferenceKind::Gone)),
                }
            }
            for key in after.keys().filter(|key| !before.contains_key(*key)) {
                let place = at.below(escape(key), escape(key));
                found.push(place.differs(DifferenceKind::New));
            }
        }
        (Value::Array(before), Value::Array(after)) if have_names(before) && have_names(after) => {
            let (old_indices, new_indices) = (indices_by_name(before), indices_by_name(after));
            for (index, old) in before.iter().enumerate() {
                let same = name(old).and_then(|name| new_indices.get(name)).copied();
                if let Some((same, new)) = same.and_then(|same| Some((same, after.get(same)?))) {
                    compare(old, new, &at.below(index, same), found);
                } else {
                    let new = at.new.clone();
                    let place = Place {
                        new,
                        ..at.below(index, "")
                    };
                    found.push(place.differs(DifferenceKind::Gone));
                }
            }
            for (index, new) in after.iter().enumerate() {
                if name(new).is_none_or(|name| !old_indices.contains_key(name)) {
                    let old = at.old.clone();
                    let place = Place {
                        old,
                        ..at.below("", index)
                    };
                    found.push(place.differs(DifferenceKind::New));
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (old, new)) in before.iter().zip(after).enumerate() {
                compare(old, new, &at.below(index, index), found);
            }
        }
        _ if old != new => found.push(at.clone().differs(DifferenceKind::Changed)),
        _ => {}
    }
}

fn have_names(items: &[Value]) -> bool {
    items.iter().all(|item| name(item).is_some())
}

/// Returns the index of the first item of each name.
fn indices_by_name(items: &[Value]) -> HashMap<&str, usize> {
    let mut indices = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        if let Some(name) = name(item) {
            indices.entry(name).or_insert(index);
        }
    }
    indices
}

/// Returns the key of a list item.
fn name(item: &Value) -> Option<&str> {
    item.get("mountPath").or_else(|| item.get("name"))?.as_str()
}

#[cfg(test)]
mod tests {
    use super::{DifferenceKind, differences};
    use serde_json::json;

    #[test]
    fn items_are_the_same_where_their_names_are() {
        let old = json!({"a": [{"name": "b", "c": 1}, {"name": "d"}], "e": ["f"], "g": {"h/i": 1}, "k": [1, 2]});
        let new = json!({"a": [{"name": "x"}, {"name": "b", "c": 2}], "e": ["f", "g"], "j": 1, "g": {}, "k": [1, 3]});
        let found: Vec<_> = differences(&old, &new)
            .into_iter()
            .map(|one| (one.kind, one.old, one.new))
            .collect();
        let expected = [
            (DifferenceKind::Changed, "/a/0/c", "/a/1/c"),
            (DifferenceKind::Gone, "/a/1", "/a"),
            (DifferenceKind::New, "/a", "/a/0"),
            (DifferenceKind::Changed, "/e", "/e"),
            (DifferenceKind::Gone, "/g/h~1i", "/g/h~1i"),
            (DifferenceKind::Changed, "/k/1", "/k/1"),
            (DifferenceKind::New, "/j", "/j"),
        ];
        assert_eq!(
            found,
            expected.map(|(kind, old, new)| (kind, old.to_owned(), new.to_owned()))
        );
        assert_eq!(differences(&old, &old), []);
    }
}
