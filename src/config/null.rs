//! The effect of `null`, in any layer:
//!
//! ```yaml
//! agent:
//!   proxy: null # the default of the setting
//!   resources:
//!     limits: null # nothing, though the default has limits
//!   roles: [null] # an error, as for a label: nothing has a default there
//! apiKey: null # an error: it looks as if the agent needed no Secret
//! ```
//!
//! Empty text in `--set` and ConfigMaps, and in a file for an optional value, is a null of its setting (`layers`, `load`).

use crate::config::kubernetes::pointer;
use crate::config::{agent, spec};
use serde_json::{Value as Json, json};
use serde_path_to_error::Segment;

/// A setting of a Kubernetes type that is merged with its default field by field. Null removes what the default has.
pub(super) struct Merged {
    pub(super) path: &'static str,
    pub(super) default: fn() -> Json,
}

impl Merged {
    fn of<'j>(&self, values: &'j mut Json) -> Option<&'j mut Json> {
        values.pointer_mut(&pointer(self.path))
    }
}

pub(super) const MERGED: [Merged; 3] = [
    Merged {
        path: "agent.resources",
        default: || json!(agent::default_resources()),
    },
    Merged {
        path: "agent.securityContext",
        default: || json!(agent::default_security_context()),
    },
    Merged {
        path: "waitFor.resources",
        default: || json!(spec::default_resources()),
    },
];

/// The effect of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removed {
    Nothing,
    Something,
}

/// Removes the nulls of [`MERGED`] that its types do not take: that of the whole, and those of amounts.
pub(super) fn remove_given(values: &mut Json) {
    for merged in MERGED {
        let Some(value) = merged.of(values) else {
            continue;
        };
        if value.is_null() {
            *value = json!({});
        }
        for list in ["limits", "requests"] {
            if let Some(amounts) = value.get_mut(list).and_then(Json::as_object_mut) {
                amounts.retain(|_, amount| !amount.is_null());
            }
        }
    }
}

/// Removes the other nulls of [`MERGED`], and mappings that are empty without them. Only values that were read without an error may come
/// here: an unknown field with null must be an error.
pub(super) fn remove_read(values: &mut Json) -> Removed {
    let mut is_changed = false;
    for merged in MERGED {
        is_changed |= merged.of(values).is_some_and(prune);
    }
    if is_changed {
        Removed::Something
    } else {
        Removed::Nothing
    }
}

fn prune(value: &mut Json) -> bool {
    let Some(members) = value.as_object_mut() else {
        return false;
    };
    let mut is_changed = false;
    for member in members.values_mut() {
        is_changed |= prune(member);
    }
    let before = members.len();
    members.retain(|_, member| !member.is_null() && *member != json!({}));
    is_changed || members.len() < before
}

/// Removes the null of a field, which gives it its default. So it does in every item of the lists above: one at a time, many would take
/// long.
pub(super) fn reset(values: &mut Json, steps: &[Segment]) {
    match (steps, values) {
        ([Segment::Seq { .. }, rest @ ..], Json::Array(items)) => {
            items.iter_mut().for_each(|item| reset(item, rest));
        }
        ([Segment::Map { key }], Json::Object(members)) => {
            if members.get(key).is_some_and(Json::is_null) {
                members.shift_remove(key);
            }
        }
        ([Segment::Map { key }, rest @ ..], Json::Object(members)) => {
            if let Some(member) = members.get_mut(key) {
                reset(member, rest);
            }
        }
        ([_, rest @ ..], values) => reset(values, rest),
        ([], values) => *values = json!({}),
    }
}

/// Writes null where a configuration needs it: `{}` would be merged with the default.
pub(super) fn write(values: &mut Json) {
    for merged in MERGED {
        if let Some(value) = merged.of(values).filter(|value| **value == json!({})) {
            *value = Json::Null;
        }
    }
}
