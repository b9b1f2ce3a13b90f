//! The edit of an agent whose configuration has changed, or is not known: the record has a digest of what was injected, so one edited
//! field is found by undoing each difference from the plan of today alone.

use crate::agent::Component;
use crate::agent::canonical::{Digest, canonicalize};
use crate::agent::difference::{Difference, DifferenceKind, differences};
use crate::agent::existing::ExistingComponent;
use serde_json::Value;
use yaml_json_patch::pointer::unescape;

/// The most attempts, each of which reads the whole component. People edit one field, and a program may write thousands.
const MAX_ATTEMPTS: usize = 32;

/// Returns the difference from the plan of today without which the component would be as it was injected. There is none if several
/// fields were edited, or if the configuration of the injection gave the field another value than that of today.
pub(super) fn only_edit(existing: &ExistingComponent, wanted: &Component) -> Option<Difference> {
    let recorded = existing.record.as_ref()?.value;
    let current = existing.value()?;
    let wanted = wanted.canonical();
    let differences = differences(&wanted, current);
    if differences.len() > MAX_ATTEMPTS {
        return None;
    }
    for difference in differences {
        for undone in undone(&difference, &wanted, current).unwrap_or_default() {
            let undone = undone.as_array()?.iter().map(canonicalize);
            let undone: Value = undone.collect();
            if Digest::of(&undone.to_string()) == recorded {
                return Some(difference);
            }
        }
    }
    None
}

/// Returns the values that the component may have had before the edit: several, since the place of a list item that is gone is not
/// known.
fn undone(difference: &Difference, wanted: &Value, current: &Value) -> Option<Vec<Value>> {
    let Difference { kind, old, new } = difference;
    let mut undone = current.clone();
    let (parent, key) = new.rsplit_once('/')?;
    match kind {
        DifferenceKind::Changed => *undone.pointer_mut(new)? = wanted.pointer(old)?.clone(),
        DifferenceKind::New => match undone.pointer_mut(parent)? {
            Value::Array(items) => {
                let index = key.parse().ok().filter(|index| *index < items.len())?;
                items.remove(index);
            }
            fields => {
                fields.as_object_mut()?.shift_remove(&*unescape(key));
            }
        },
        DifferenceKind::Gone => {
            let before = wanted.pointer(old)?;
            if let Some(Value::Array(items)) = current.pointer(new) {
                if items.len() > MAX_ATTEMPTS {
                    return None;
                }
                let mut all = Vec::new();
                for index in 0..=items.len() {
                    let mut undone = current.clone();
                    let items = undone.pointer_mut(new)?.as_array_mut()?;
                    items.insert(index, before.clone());
                    all.push(undone);
                }
                return Some(all);
            }
            let fields = undone.pointer_mut(parent)?.as_object_mut()?;
            fields.insert(unescape(key).into_owned(), before.clone());
        }
    }
    Some(vec![undone])
}

#[cfg(test)]
mod tests {
    use super::undone;
    use crate::agent::difference::differences;
    use serde_json::{Value, json};

    #[test]
    fn each_difference_is_undone_alone() {
        let wanted =
            json!([{"a/b": 1, "env": [{"name": "x", "value": 1}, {"name": "y"}], "gone": {}}]);
        let current = json!([{"a/b": 2, "env": [{"name": "new"}, {"name": "y"}], "n/ew": 1}]);
        let mut shown = Vec::new();
        for difference in differences(&wanted, &current) {
            shown.extend(undone(&difference, &wanted, &current).unwrap());
        }
        let (x, y, new) = (
            json!({"name": "x", "value": 1}),
            json!({"name": "y"}),
            json!({"name": "new"}),
        );
        let with_env = |env: &[&Value]| json!([{"a/b": 2, "env": env, "n/ew": 1}]);
        let expected = [
            json!([{"a/b": 1, "env": [new, y], "n/ew": 1}]),
            with_env(&[&x, &new, &y]),
            with_env(&[&new, &x, &y]),
            with_env(&[&new, &y, &x]),
            with_env(&[&y]),
            json!([{"a/b": 2, "env": [new, y], "n/ew": 1, "gone": {}}]),
            json!([{"a/b": 2, "env": [new, y]}]),
        ];
        assert_eq!(shown, expected);
    }
}
