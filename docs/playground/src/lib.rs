//! The injector as the page "Try it" of both books calls it. It runs in the browser: texts in, JSON out.

use config::{Config, Sources, load};
use injector::{Direction, Options, Row, errors_first};
use mackerel_agent_injector::unified;
use report::{Diagnostic, Severity};
use serde_json::{Value, json};
use std::path::Path;
use wasm_bindgen::prelude::wasm_bindgen;

const MANIFEST: &str = "manifest.yaml";
const CONFIGURATION: &str = "agent-injector.yaml";

/// Returns the manifests to begin with, by name.
#[wasm_bindgen]
#[must_use]
pub fn examples() -> String {
    let examples = json!({
        "deployment": include_str!("../../../examples/files/deployment.yaml"),
        "cronjob": include_str!("../../../examples/files/cronjob.yaml"),
        "list": include_str!("../../../tests/cases/lists/list/input.yaml"),
        "refused": include_str!("../../../tests/cases/yaml/alias-as-containers/input.yaml"),
    });
    examples.to_string()
}

/// Returns what `inject` does with a manifest: `result`, none after an error, its `diff`, and the `findings`.
#[wasm_bindgen]
#[must_use]
pub fn inject(manifest: &str, configuration: &str) -> String {
    run(manifest, configuration, Direction::Inject).to_string()
}

/// Returns what `uninject` does with a manifest.
#[wasm_bindgen]
#[must_use]
pub fn uninject(manifest: &str, configuration: &str) -> String {
    run(manifest, configuration, Direction::Uninject).to_string()
}

fn run(manifest: &str, configuration: &str, direction: Direction) -> Value {
    let config = match configuration.trim() {
        "" => Ok(Config::default()),
        _ => load(&Sources::of_text(CONFIGURATION, configuration)),
    };
    let config = match config {
        Ok(config) => config,
        Err(errors) => {
            let findings: Vec<Value> = errors.iter().map(of_configuration).collect();
            return json!({"result": null, "diff": "", "findings": findings});
        }
    };
    let injection = injector::inject(manifest, &config, Options::new(direction));
    let result = injection.apply(manifest).ok();
    let diff = match &result {
        Some(_) => unified(Path::new(MANIFEST), manifest, &injection.edits),
        None => String::new(),
    };
    // A change that an error holds back has not been made.
    let rows = injection.rows(MANIFEST, manifest);
    let rows: Vec<Row<'_>> = rows
        .filter(|row| result.is_some() || !row.is_change())
        .collect();
    let findings: Vec<Value> = errors_first(&rows).into_iter().map(of_manifest).collect();
    json!({"result": result, "diff": diff, "findings": findings})
}

/// Returns a finding with the place in the manifest and the id of its section in the page about decisions and warnings.
fn of_manifest(row: &Row<'_>) -> Value {
    let place = row.place.or(row.resource_place);
    json!({
        "severity": row.severity.name(),
        "id": row.finding.reason.id(),
        "line": place.map(|place| place.line),
        "text": row.sentence(),
    })
}

/// Returns an error of the configuration with an excerpt.
fn of_configuration(error: &Diagnostic<'_>) -> Value {
    json!({"severity": Severity::Error.name(), "text": error.to_string()})
}
