//! The configuration's JSON Schema, built from the table of settings.

use crate::config::setting::{Shaped as _, describe};
use crate::config::spec::Spec;
use crate::config::{API_VERSION, KIND};
use serde_json::{Value as Json, json};

/// Returns the JSON Schema (2020-12) of the configuration object: every setting with its description and default.
#[must_use]
pub fn schema() -> Json {
    let mut spec = Spec::SHAPE.schema();
    describe(&mut spec, "The settings. Each has a default.", None);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": KIND,
        "type": "object",
        "required": ["apiVersion", "kind"],
        "additionalProperties": false,
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "metadata": {
                "type": "object",
                "description": "Kubernetes object metadata. Only the name is used.",
                "properties": {"name": {"type": "string"}},
            },
            "spec": spec,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rows;

    #[test]
    fn each_doc_comment_tells_the_default_that_the_table_has() {
        for row in rows() {
            if !row.members().is_empty() {
                continue;
            }
            let path = row.path;
            let description = row.description();
            let (_, default) = description
                .split_once("Default: ")
                .unwrap_or_else(|| panic!("{path} tells no default"));
            let value = (row.default)();
            match default
                .strip_prefix('`')
                .and_then(|rest| rest.split_once('`'))
            {
                Some((written, _)) => {
                    assert_eq!(
                        serde_yaml::from_str::<Json>(written).unwrap(),
                        value,
                        "{path}"
                    );
                }
                None if path == "agent.securityContext" => {}
                None => assert!(
                    value.is_null() || value == json!([]) || value == json!({}),
                    "{path} has {value}"
                ),
            }
        }
    }
}
