//! The order in which a person writes the fields of a container. k8s-openapi serialises them alphabetically,
//! which puts `image` behind `env` and `name` in the middle.

use serde_json::{Map, Value};

/// Fields that come first, in this order; all others follow as they are. `path` is the chain of keys above, lists left out.
const ORDER: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "name",
            "image",
            "command",
            "args",
            "imagePullPolicy",
            "restartPolicy",
            "env",
            "resources",
            "securityContext",
            "volumeMounts",
        ],
    ),
    ("env", &["name", "value", "valueFrom"]),
    ("env.valueFrom.secretKeyRef", &["name", "key", "optional"]),
    ("env.valueFrom.configMapKeyRef", &["name", "key", "optional"]),
    ("resources", &["requests", "limits"]),
    ("volumeMounts", &["name", "mountPath", "subPath", "readOnly"]),
];

/// Puts the fields of a container, and of everything in it, into their order.
#[must_use]
pub fn ordered(container: Value) -> Value {
    arrange(container, "")
}

fn arrange(value: Value, path: &str) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(|item| arrange(item, path)).collect()),
        Value::Object(mut fields) => {
            let first = ORDER.iter().find(|(at, _)| *at == path).map_or(&[][..], |(_, keys)| keys);
            let mut arranged = Map::with_capacity(fields.len());
            for key in first {
                if let Some(field) = fields.shift_remove(*key) {
                    arranged.insert((*key).to_owned(), field);
                }
            }
            arranged.extend(fields);
            let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            let arranged = arranged.into_iter().map(|(key, field)| {
                let field = arrange(field, &below(&key));
                (key, field)
            });
            Value::Object(arranged.collect())
        }
        scalar => scalar,
    }
}

#[cfg(test)]
mod tests {
    use super::ordered;
    use serde_json::json;

    #[test]
    fn known_fields_come_first_and_others_keep_their_place() {
        let container =
            json!({"env": [{"value": "1", "name": "A"}], "image": "i", "name": "n", "tty": true, "stdin": true});
        assert_eq!(
            ordered(container).to_string(),
            r#"{"name":"n","image":"i","env":[{"name":"A","value":"1"}],"tty":true,"stdin":true}"#
        );
    }
}
