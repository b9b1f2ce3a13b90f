//! The report of `--output json`, and its schema.

use super::{explained, folder};
use crate::program::{Folder, Ran, WEB};
use configurations::json_schema::broken;
use laws::cases::{self, Case};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The schema without references. A field that it does not name violates it, although readers have to ignore one.
fn strict_schema() -> Value {
    let schema: Value =
        serde_json::from_str(include_str!("../../../docs/report.schema.json")).unwrap();
    let mut strict = resolved(&schema, &schema["$defs"]);
    strict.as_object_mut().unwrap().remove("$defs");
    strict
}

fn resolved(schema: &Value, definitions: &Value) -> Value {
    match schema {
        Value::Object(keywords) => {
            let mut resolved_keywords = serde_json::Map::new();
            for (keyword, value) in keywords {
                if let ("$ref", Some(reference)) = (&**keyword, value.as_str()) {
                    let name = reference.strip_prefix("#/$defs/").unwrap();
                    let definition = resolved(&definitions[name], definitions);
                    resolved_keywords.extend(definition.as_object().unwrap().clone());
                } else {
                    resolved_keywords.insert(keyword.clone(), resolved(value, definitions));
                }
            }
            if keywords.contains_key("properties") && keywords.contains_key("required") {
                resolved_keywords.insert("additionalProperties".into(), json!(false));
            }
            Value::Object(resolved_keywords)
        }
        Value::Array(items) => items
            .iter()
            .map(|item| resolved(item, definitions))
            .collect(),
        other => other.clone(),
    }
}

/// Returns the report of a run, which keeps the schema.
fn report(ran: &Ran) -> Value {
    let report: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    assert_eq!(
        broken(&strict_schema(), &report, "report"),
        [""; 0],
        "{}",
        ran.stdout
    );
    report
}

/// The name of a field with that of the object around it. The objects of one definition have many paths.
fn short_path(path: &str) -> String {
    let names: Vec<&str> = path.rsplit('/').take(2).collect();
    names.join(" in ")
}

/// Adds the fields of a value.
fn add_fields(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    for (name, member) in value.as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        add_fields(member, &path, found);
        found.insert(short_path(&path));
    }
    for item in value.as_array().into_iter().flatten() {
        add_fields(item, path, found);
    }
}

/// Adds the fields that a schema names.
fn add_named_fields(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        add_named_fields(property, &path, found);
        found.insert(short_path(&path));
    }
    if let Some(items) = schema.get("items") {
        add_named_fields(items, path, found);
    }
}

/// The arguments of a case that both commands have.
fn arguments(case: &Case) -> Vec<&str> {
    let mut arguments: Vec<&str> = case.command.split_whitespace().collect();
    arguments.retain(|word| !["uninject", "--adopt", "--force"].contains(word));
    match case.configuration {
        Some(_) => arguments.extend(["--config", "config.yaml"]),
        None => arguments.push("--no-config"),
    }
    arguments.push(&case.file);
    arguments
}

#[test]
fn every_report_keeps_the_published_schema() {
    let mut seen = BTreeSet::new();
    for case in cases::all() {
        let folder = Folder::with(&[(&*case.file, &*case.text)]);
        if let Some(configuration) = &case.configuration {
            folder.write("config.yaml", configuration);
        }
        let arguments = arguments(&case);
        for command in [
            &["inject", "--check"][..],
            &["uninject", "--check"],
            &["explain"],
        ] {
            let ran = folder.run(&[command, &["-o", "json"], &*arguments].concat());
            if ran.stdout.is_empty() {
                // Wrong usage, such as `uninject --adopt`.
                assert_eq!(ran.code, Some(2), "{}: {ran:?}", case.name);
                continue;
            }
            let report = report(&ran);
            let summary = &report["summary"];
            let has_errors = summary["errors"] != 0;
            assert_eq!(has_errors, ran.code == Some(2), "{}: {ran:?}", case.name);
            if command != ["explain"] && !has_errors && summary["wouldChange"] != 0 {
                assert_eq!(ran.code, Some(1), "{}: {ran:?}", case.name);
            }
            add_fields(&report, "", &mut seen);
        }
    }

    let folder = folder();
    folder.write("none/README.md", "");
    let one = explained(&folder, &["deploy", "-o", "json", "--resource", "web"]);
    add_fields(&report(&one), "", &mut seen);
    let waits = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {agent-injector.contrib.mackerel.io/wait-for: 'db:1'}}\nspec: {containers: [{name: web, image: web}]}\n";
    let set = ["--set", "waitFor.image=w", "-n", "shop"];
    let check = folder.run_with(
        &[&["explain", "-o", "json", "--resource", "web"][..], &set].concat(),
        waits,
    );
    add_fields(&report(&check), "", &mut seen);
    let check = folder.run_with(
        &[&["inject", "--check", "-o", "json"][..], &set].concat(),
        waits,
    );
    add_fields(&report(&check), "", &mut seen);
    for path in ["none", "no.yaml"] {
        let none = folder.run(&["inject", "--check", "-o", "json", path]);
        add_fields(&report(&none), "", &mut seen);
    }
    let mut named = BTreeSet::new();
    add_named_fields(&strict_schema(), "", &mut named);
    let unseen: Vec<&String> = named.difference(&seen).collect();
    assert!(unseen.is_empty(), "no report has {unseen:#?}");
}

#[test]
fn a_check_reports_what_would_change_and_what_was_found() {
    let folder = Folder::with(&[("web.yaml", WEB), ("none/README.md", "")]);
    let check = |args: &[&str]| folder.run(&[args, &["--check", "-o", "json"]].concat());
    let missing = check(&["inject", "web.yaml", "none"]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    let missing = report(&missing);
    assert_eq!(
        missing["summary"],
        json!({"decisions": {"injected": 1}, "wouldChange": 1, "errors": 0, "warnings": 1, "withoutPodTemplate": 0})
    );
    assert_eq!(
        missing["templates"],
        json!([{
            "place": {"file": "web.yaml", "line": 1, "column": 1},
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "template": "spec.template",
            "wouldChange": true,
            "decision": {
                "id": "injected",
                "class": "done",
                "severity": "info",
                "message": "the agent would be added",
                "place": {"file": "web.yaml", "line": 8, "column": 5},
            },
            "because": {"rule": "injection", "value": "always", "origin": "default"},
            "findings": [],
        }])
    );
    assert_eq!(
        missing["findings"],
        json!([{
            "id": "no-resources",
            "severity": "warning",
            "message": "the directory has no *.yaml, *.yml or *.json files, except hidden or ignored ones",
            "help": "name the directory of the manifests; a chart is injected as it is rendered: `helm template DIR | mackerel-agent-injector inject -`",
            "about": "none",
        }])
    );

    assert_eq!(folder.run(&["inject", "-i", "web.yaml"]).code, Some(0));
    let present = check(&["inject", "web.yaml"]);
    assert_eq!(present.code, Some(0), "{present:?}");
    assert_eq!(report(&present)["templates"][0]["wouldChange"], false);
    let unwanted = check(&["uninject", "web.yaml"]);
    assert_eq!(unwanted.code, Some(1), "{unwanted:?}");
    assert_eq!(
        report(&unwanted)["templates"][0]["decision"]["id"],
        "removed"
    );

    let without_check = folder.run(&["inject", "-o", "json", "web.yaml"]);
    assert_eq!(without_check.code, Some(2));
    assert!(
        without_check.stderr.contains("--check"),
        "{without_check:?}"
    );
}

/// A name is data, whatever characters it has.
#[test]
fn names_are_written_exactly() {
    let name = "a\"b\\\u{1}\n\u{1b}[31m\u{2028}\u{202e}名";
    let web = WEB.replace("name: web\nspec", &format!("name: {}\nspec", json!(name)));
    let file = "a \"b\" {\u{7f}}名.yaml";
    let folder = Folder::with(&[(file, &web)]);
    for command in [&["inject", "--check"][..], &["explain"]] {
        let ran = folder.run(&[command, &["-o", "json", file]].concat());
        let report = report(&ran);
        let template = &report["templates"][0];
        assert_eq!(template["resource"]["name"], name);
        assert_eq!(template["place"]["file"], file);
    }
}
