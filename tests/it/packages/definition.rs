//! `krm-fn/definition.yaml`: the function as catalogs describe it, with the OpenAPI schema of the configuration. The text
//! above the schema is written by hand; `UPDATE_EXPECTED=1 cargo test definition` writes the schema anew.

use super::published;
use crate::kubernetes::cluster::{ApiVerdict, cluster};
use config::{API_VERSION, KIND};
use configurations::json_schema::{broken, schema};
use serde_json::{Map, Value, json};
use std::fs;
use support::root;

/// The line above the schema.
const HEAD: &str = "        openAPIV3Schema:\n";

/// The JSON Schema in the words of OpenAPI 3.0, which knows neither `const` nor lists of types.
fn open_api(json_schema: &Value) -> Value {
    let Value::Object(keywords) = json_schema else {
        return json_schema.clone();
    };
    let mut schema = Map::new();
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("$schema", _) => {}
            ("const", value) => {
                schema.insert("type".to_owned(), json!("string"));
                schema.insert("enum".to_owned(), json!([value]));
            }
            ("enum", values) => {
                schema.insert("type".to_owned(), json!("string"));
                if values.as_array().unwrap().contains(&Value::Null) {
                    schema.insert("nullable".to_owned(), true.into());
                }
                schema.insert("enum".to_owned(), values.clone());
            }
            ("type", Value::Array(types)) => {
                let (null, types): (Vec<_>, Vec<_>) =
                    types.iter().partition(|name| **name == "null");
                match types[..] {
                    [only] => schema.insert("type".to_owned(), only.clone()),
                    _ => {
                        let any: Vec<Value> =
                            types.iter().map(|name| json!({"type": name})).collect();
                        schema.insert("anyOf".to_owned(), any.into())
                    }
                };
                if !null.is_empty() {
                    schema.insert("nullable".to_owned(), true.into());
                }
            }
            // The injector reads null as absent, and a default of null means nothing to catalogs.
            ("default", Value::Null) => {}
            ("properties", Value::Object(properties)) => {
                let properties: Map<_, _> = properties
                    .iter()
                    .map(|(name, property)| (name.clone(), open_api(property)))
                    .collect();
                schema.insert(keyword.clone(), properties.into());
            }
            ("items" | "additionalProperties", inner) => {
                schema.insert(keyword.clone(), open_api(inner));
            }
            _ => {
                schema.insert(keyword.clone(), value.clone());
            }
        }
    }
    schema.into()
}

fn definition() -> (String, Value) {
    let text = fs::read_to_string(root().join("krm-fn/definition.yaml")).unwrap();
    let value = serde_yaml::from_str(&text).unwrap();
    (text, value)
}

#[test]
fn the_schema_is_that_of_the_configuration() {
    let (text, _) = definition();
    let (head, _) = text.split_once(HEAD).unwrap();
    let lines = serde_yaml::to_string(&open_api(&schema())).unwrap();
    let lines: String = lines
        .lines()
        .map(|line| format!("          {line}\n"))
        .collect();
    let expected = [head, HEAD, &lines].concat();
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(root().join("krm-fn/definition.yaml"), &expected).unwrap();
    }
    let (text, _) = definition();
    assert!(
        text == expected,
        "krm-fn/definition.yaml: `UPDATE_EXPECTED=1 cargo test definition` writes it anew"
    );
}

/// Both schemas find the same fault with each configuration of the tests, or none.
#[test]
fn the_schema_judges_as_that_of_config_schema() {
    let (_, definition) = definition();
    let open_api = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let (json_schema, mut faulty) = (schema(), 0);
    let folders = ["valid", "invalid"].map(|folder| root().join("tests/configs").join(folder));
    for path in folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
    {
        let text = fs::read_to_string(&path).unwrap();
        let Ok(value) = serde_yaml::from_str::<Value>(&text) else {
            continue;
        };
        let places = |schema: &Value| {
            let mut places: Vec<String> = broken(schema, &value, "")
                .iter()
                .map(|said| place(said))
                .collect();
            places.sort();
            places.dedup();
            places
        };
        assert_eq!(places(open_api), places(&json_schema), "{}", path.display());
        faulty += usize::from(!places(open_api).is_empty());
    }
    assert!(faulty > 10);
}

/// The place of an error, without its message.
fn place(said: &str) -> String {
    said.split_once(": ").unwrap().0.to_owned()
}

/// A schema without what only Kubernetes' own definitions may not say.
fn structural(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            if keywords.get("additionalProperties") == Some(&Value::Bool(false)) {
                keywords.remove("additionalProperties");
            }
            // All that is of several types is a quantity, a number or a text.
            if keywords.remove("anyOf").is_some() {
                keywords.insert("x-kubernetes-int-or-string".to_owned(), true.into());
            }
            keywords.values_mut().for_each(structural);
        }
        Value::Array(list) => list.iter_mut().for_each(structural),
        _ => {}
    }
}

/// The API server reads it as that of a custom resource: types, patterns, defaults.
#[test]
fn kubernetes_takes_the_schema() {
    let Some(cluster) = cluster() else { return };
    let (_, definition) = definition();
    let mut schema = definition["spec"]["versions"][0]["schema"].clone();
    structural(&mut schema["openAPIV3Schema"]);
    // Of that Kubernetes has its own schema.
    schema["openAPIV3Schema"]["properties"]["metadata"] = json!({"type": "object"});
    let group = &definition["spec"]["group"];
    let custom_resource = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("agentinjectors.{}", group.as_str().unwrap())},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": KIND, "plural": "agentinjectors"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true, "schema": schema}],
        },
    });
    let collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let verdict = cluster.create_text(collection, "", &custom_resource.to_string());
    assert!(
        matches!(verdict, ApiVerdict::Accepted { .. }),
        "{verdict:?}"
    );
}

#[test]
fn it_names_what_is_shipped() {
    let (_, definition) = definition();
    let spec = &definition["spec"];
    let (group, version) = API_VERSION.split_once('/').unwrap();
    assert_eq!(
        (&definition["apiVersion"], &definition["kind"]),
        (
            &json!("config.kubernetes.io/v1alpha1"),
            &json!("KRMFunctionDefinition")
        )
    );
    assert_eq!(
        (&spec["group"], &spec["names"]["kind"]),
        (&json!(group), &json!(KIND))
    );
    let only = &spec["versions"][0];
    assert_eq!(only["name"], version);
    assert_eq!(only["license"], env!("CARGO_PKG_LICENSE"));
    let image = published::image();
    assert_eq!(only["runtime"]["container"]["image"], image);
    let program = &only["runtime"]["exec"]["path"];
    assert_eq!(program, "mackerel-agent-injector");
    let sample = fs::read_to_string(root().join("krm-fn/agent-injector.yaml")).unwrap();
    for function in [
        format!("      exec:\n        path: {}\n", program.as_str().unwrap()),
        format!("      # container:\n      #   image: {image}\n"),
    ] {
        assert!(sample.contains(&function), "{function}");
    }
    let pages: Vec<&Value> = only["examples"]
        .as_array()
        .unwrap()
        .iter()
        .chain([&only["usage"]])
        .collect();
    for page in &pages {
        assert!(root().join(page.as_str().unwrap()).is_file(), "{page}");
    }
    assert_eq!(pages.len(), 6);
}
