//! The usual order of a container's fields. k8s-openapi serialises them alphabetically, with `image` after `env` and `name` in
//! the middle.

use serde_json::Value;

/// The fields of the agent's container, in the usual order.
const FIELDS: &[&str] = &[
    "name",
    "image",
    "command",
    "args",
    "imagePullPolicy",
    "restartPolicy",
    "envFrom",
    "env",
    "startupProbe",
    "readinessProbe",
    "livenessProbe",
    "lifecycle",
    "resources",
    "securityContext",
    "volumeMounts",
];

/// The first fields of the mapping at each path (keys without list indices); all others follow as they are.
const ORDER: &[(&str, &[&str])] = &[
    ("", FIELDS),
    ("env", &["name", "value", "valueFrom"]),
    ("env.valueFrom.secretKeyRef", &["name", "key", "optional"]),
    (
        "env.valueFrom.configMapKeyRef",
        &["name", "key", "optional"],
    ),
    ("resources", &["requests", "limits"]),
    (
        "volumeMounts",
        &["name", "mountPath", "subPath", "readOnly"],
    ),
];

/// Puts the fields of a container into the usual order.
pub fn ordered(container: Value) -> Value {
    arrange(container, ORDER)
}

/// Puts the fields of an object into the order of a table like [`ORDER`].
pub fn arrange(mut object: Value, order: &[(&str, &[&str])]) -> Value {
    for (path, keys) in order {
        arrange_at(&mut object, path, keys);
    }
    object
}

/// Arranges the mappings at `path`, in every item of the lists on the way.
fn arrange_at(value: &mut Value, path: &str, keys: &[&str]) {
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| arrange_at(item, path, keys)),
        Value::Object(fields) if path.is_empty() => {
            let place = |field: &String| keys.iter().position(|key| key == field);
            if fields
                .keys()
                .map(|field| place(field).unwrap_or(keys.len()))
                .is_sorted()
            {
                return;
            }
            let first = keys
                .iter()
                .filter_map(|key| fields.shift_remove_entry(*key))
                .collect::<Vec<_>>();
            let others = std::mem::take(fields);
            fields.extend(first.into_iter().chain(others));
        }
        Value::Object(fields) => {
            let (key, below) = path.split_once('.').unwrap_or((path, ""));
            if let Some(field) = fields.get_mut(key) {
                arrange_at(field, below, keys);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::ordered;
    use serde_json::json;

    #[test]
    fn known_fields_come_first_and_others_keep_their_place() {
        let container = json!({"env": [{"value": "1", "name": "A"}], "image": "i", "name": "n", "tty": true, "stdin": true});
        assert_eq!(
            ordered(container).to_string(),
            r#"{"name":"n","image":"i","env":[{"name":"A","value":"1"}],"tty":true,"stdin":true}"#
        );
    }
}
