//! The injector as the page "Try it" of both books calls it. It runs in the browser: texts in, JSON or text out.

mod pod_review;

use admission::{Hook, Reviewer};
use config::{Config, ConfigReader, LabelSelector, Sources, load};
use injector::{Direction, ForeignAgents, Injection, Options, Patches, Row, Tense, errors_first};
use mackerel_agent_injector::{ChangedLines, patches, unified};
use policy::{PolicyRequest, policies};
use report::{Diagnostic, LineCounter, Medium, Severity};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use wasm_bindgen::prelude::wasm_bindgen;
use yaml_json_patch::Editor;

const MANIFEST: &str = "manifest.yaml";
const CONFIGURATION: &str = "agent-injector.yaml";
const UNINJECT: Options = Options::new(Direction::Uninject);

/// Returns what a command does with a manifest: `inject`, `adopt` (inject and adopt) or `uninject`. There is no `result` after an error.
#[wasm_bindgen]
#[must_use]
pub fn run(command: &str, manifest: &str, configuration: &str) -> String {
    under(configuration, ConfigReader::Manifests, |config| {
        let mut options = match command {
            "uninject" => UNINJECT,
            _ => Options::default(),
        };
        if command == "adopt" {
            options.foreign_agents = ForeignAgents::Adopt;
        }
        options.patches = Patches::Keep;
        options.tense = Tense::Conditional;
        let injection = injector::inject(manifest, &config, options);
        Some(report(manifest, &injection, &config).to_string())
    })
}

/// Returns the webhook's answer for a Pod made of one of the templates, which are counted from 0: an AdmissionReview.
#[wasm_bindgen]
#[must_use]
pub fn answer(manifest: &str, configuration: &str, template: usize) -> String {
    under(configuration, ConfigReader::Webhook, |config| {
        let injection = injector::inject(manifest, &config, Options::default());
        let review = pod_review::review(manifest, injection.outcomes.get(template)?, &config)?;
        let reviewer = Reviewer::new(Arc::new(config));
        let answer = reviewer.answer(Hook::Mutate, review.to_string().as_bytes());
        String::from_utf8(answer.ok()?.body).ok()
    })
}

/// Returns the admission policy for a configuration as `text`, with `notes` about it.
#[wasm_bindgen]
#[must_use]
pub fn policy(configuration: &str) -> String {
    under(configuration, ConfigReader::Policy, |config| {
        let request = PolicyRequest {
            name: "mackerel-agent-injector-policy".to_owned(),
            namespace_selector: LabelSelector::default(),
            object_selector: LabelSelector::default(),
        };
        Some(match policies(&config, &request) {
            Ok(policies) => json!({"text": policies.text, "notes": policies.notes}).to_string(),
            Err(error) => refused(&[Diagnostic::error(error.to_string())]),
        })
    })
}

/// Returns a value of a configuration by its JSON Pointer, as JSON; null where it is not set, or the text cannot be read.
#[wasm_bindgen]
#[must_use]
pub fn setting(configuration: &str, path: &str) -> String {
    let value = || Editor::new(configuration).ok()?.get(path).ok()?;
    value().unwrap_or(Value::Null).to_string()
}

/// Returns the configuration with a value, which is JSON; null removes it. Nothing where the text cannot be edited.
#[wasm_bindgen]
#[must_use]
pub fn set(configuration: &str, path: &str, value: &str) -> Option<String> {
    let mut editor = Editor::new(configuration).ok()?;
    match serde_json::from_str(value).ok()? {
        Value::Null => _ = editor.remove(path).ok()?,
        value => _ = editor.set(path, value).ok()?,
    }
    Some(editor.finish())
}

/// Returns what is done under a configuration, or the findings of one that has errors. An empty one has the defaults.
fn under(text: &str, reader: ConfigReader, act: impl FnOnce(Config) -> Option<String>) -> String {
    let config = match text.trim() {
        "" => Ok(Config::default()),
        _ => load(&Sources {
            reader,
            ..Sources::of_text(CONFIGURATION, text)
        }),
    };
    match config {
        Ok(config) => act(config).unwrap_or_else(|| refused(&[])),
        Err(errors) => refused(&errors),
    }
}

fn report(manifest: &str, injection: &Injection, config: &Config) -> Value {
    let templates: Vec<Value> = injection
        .outcomes
        .iter()
        .map(|outcome| {
            json!({
                "name": outcome.identity.short_name(),
                "template": outcome.template,
                "decision": outcome.decision.reason.id(),
                "patch": outcome.patch,
            })
        })
        .collect();
    let result = injection.apply(manifest).ok();
    // A change that an error holds back has not been made.
    let rows = injection.rows(MANIFEST, manifest);
    let rows: Vec<Row<'_>> = rows
        .filter(|row| result.is_some() || !row.is_change())
        .collect();
    let findings: Vec<Value> = errors_first(&rows).into_iter().map(of_manifest).collect();
    let mut report = json!({"templates": templates, "findings": findings});
    if let Some(result) = result {
        let edits = &injection.edits;
        let mut lines = ChangedLines::default();
        report["diff"] = unified(Path::new(MANIFEST), manifest, edits, &mut lines).into();
        report["patch"] = patches(injection).unwrap_or_default().into();
        // The bytes that each removes and inserts.
        report["edits"] = edits
            .iter()
            .map(|edit| json!([edit.range.len(), edit.text.len()]))
            .collect();
        report["wayBack"] = way_back(manifest, &result, config).into();
        report["result"] = result.into();
    }
    report
}

/// Returns what `uninject` makes of the result, by comparison: `manifest`; `rest`, which it makes of the manifest too; nothing else.
fn way_back(manifest: &str, result: &str, config: &Config) -> Option<&'static str> {
    let uninject = |text: &str| {
        let injection = injector::inject(text, config, UNINJECT);
        injection.apply(text).ok()
    };
    let back = uninject(result)?;
    if back == manifest {
        return Some("manifest");
    }
    (back == uninject(manifest)?).then_some("rest")
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

/// Returns the errors of a configuration as findings, each with an excerpt.
fn refused(errors: &[Diagnostic<'_>]) -> String {
    let findings: Vec<Value> = errors.iter().map(of_configuration).collect();
    json!({"templates": [], "findings": findings}).to_string()
}

fn of_configuration(error: &Diagnostic<'_>) -> Value {
    let place = error.place.as_ref();
    let line = place
        .filter(|place| place.medium == Medium::Lines)
        .map(|place| {
            LineCounter::new(place.text)
                .position(place.range.start)
                .line
        });
    json!({"severity": Severity::Error.name(), "line": line, "text": error.to_string()})
}
