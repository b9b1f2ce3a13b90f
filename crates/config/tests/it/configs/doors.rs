//! The ways by which a configuration comes in, and a value of each setting by every one of them.

use super::{from_call, from_yaml};
use config::{API_VERSION, Config, KIND, Origin, annotations};
use configurations::json_schema::schema;
use configurations::{DOORS, from_arguments, values};
use mackerel::annotations::Annotation;
use std::collections::BTreeSet;

#[test]
fn a_setting_means_the_same_by_every_door() {
    for (path, value, in_file, by_annotation) in DOORS {
        let file = format!("apiVersion: {API_VERSION}\nkind: {KIND}\nspec: {in_file}\n");
        let wanted = values(&from_yaml("file.yaml", &file));

        let argument = format!("{path}={value}");
        let given =
            from_arguments(&[&argument]).unwrap_or_else(|errors| panic!("{argument}: {errors:#?}"));
        assert_eq!(values(&given), wanted, "--set {argument}");
        assert_eq!(
            given.origin(path).to_string(),
            "--set #1",
            "--set {argument}"
        );

        let quoted = value.replace('\'', "''");
        let data = format!("apiVersion: v1\nkind: ConfigMap\ndata:\n  {path}: '{quoted}'\n");
        assert_eq!(
            values(&from_yaml("config-map.yaml", &data)),
            wanted,
            "ConfigMap {path}"
        );

        for (door, of_call) in [
            ("functionConfig", &file),
            ("ConfigMap as functionConfig", &data),
        ] {
            assert_eq!(values(&from_call(of_call)), wanted, "{door} {path}");
        }

        if let Some((name, value)) = by_annotation {
            let key = format!("{}{name}", annotations::PREFIX);
            // A key needs a ConfigMap, which another setting names.
            let named = |key: &str| from_yaml("named.yaml", &file.replace("{key: a}", key));
            let (base, wanted) = match *path {
                "agent.config.configMapKeyRef.key" => {
                    (named("{name: b}"), values(&named("{name: b, key: a}")))
                }
                _ => (Config::default(), wanted),
            };
            let annotated = annotations::overlay(&base, &[(&key, value, 7)]).unwrap();
            assert_eq!(values(&annotated), wanted, "annotation {name}");
            let leaf = config::Setting::path_of(Annotation::of(&key).unwrap()).unwrap();
            assert!(
                matches!(annotated.origin(leaf), Origin::Annotation { key: of, offset: 7, .. } if *of == key)
            );
        }
    }
}

#[test]
fn every_setting_is_tried_by_every_door() {
    let default = Config::default();
    let tried = |path: &str| {
        DOORS
            .iter()
            .any(|(door, ..)| *door == path || door.starts_with(&format!("{path}.")))
    };
    let missing: Vec<String> = settings(&schema()["properties"]["spec"], "")
        .into_iter()
        .filter(|path| default.value(path).is_some() && !tried(path))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    // What gives the default by every door shows nothing.
    let changes = |in_file: &str| {
        let file = format!("apiVersion: {API_VERSION}\nkind: {KIND}\nspec: {in_file}\n");
        values(&from_yaml("file.yaml", &file)) != values(&default)
    };
    let paths: BTreeSet<&str> = DOORS.iter().map(|(path, ..)| *path).collect();
    let idle: Vec<&&str> = paths
        .iter()
        .filter(|path| {
            !DOORS
                .iter()
                .any(|(door, _, in_file, _)| door == *path && changes(in_file))
        })
        .collect();
    assert!(idle.is_empty(), "{idle:?}");
    let by_annotation = |annotation: &Annotation| {
        DOORS.iter().any(|(_, _, in_file, door)| {
            door.is_some_and(|(name, _)| name == annotation.name()) && changes(in_file)
        })
    };
    let unasked: Vec<&Annotation> = Annotation::ALL
        .iter()
        .filter(|annotation| {
            config::Setting::path_of(**annotation).is_some() && !by_annotation(annotation)
        })
        .collect();
    assert!(unasked.is_empty(), "{unasked:?}");
}

/// The dotted paths of the settings that a schema describes.
fn settings(schema: &serde_json::Value, inside: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (name, setting) in schema["properties"].as_object().unwrap() {
        let path = format!("{inside}{name}");
        match setting.get("default") {
            Some(_) => found.push(path),
            None => found.extend(settings(setting, &format!("{path}."))),
        }
    }
    found
}
