//! Law 4 where a tool has printed the manifest again in between: uninject takes the agent out all the same, up to absent =
//! null = empty.
//!
//! Here the tools are imitated: libyaml's emitter, the same with sorted keys (kustomize, `kubectl get -o yaml`), and JSON.
//! `uninject_after_reprint_by_tools` has the real ones.

use config::Config;
use injector::{Outcome, inject};
use laws::reprinted::bare;
use laws::{cases, configuration, independent_reader};
use report::{Class, Reason};
use serde_json::Value;
use std::collections::BTreeMap;
use support::corpus;
use yaml_json_patch::edit;

#[derive(Debug, Clone, Copy)]
enum Tool {
    Libyaml,
    SortedKeys,
    Json,
}

impl Tool {
    const ALL: [Tool; 3] = [Tool::Libyaml, Tool::SortedKeys, Tool::Json];

    /// Reads all documents and prints them. None where one cannot be read.
    fn print(self, text: &str) -> Option<String> {
        let mut printed = String::new();
        for document in independent_reader::documents(text.strip_prefix('\u{feff}').unwrap_or(text))
        {
            let value = independent_reader::read(document)?;
            if value.is_null() {
                continue;
            }
            printed.push_str("---\n");
            printed.push_str(&match self {
                Tool::Libyaml => serde_yaml::to_string(&value).unwrap(),
                Tool::SortedKeys => serde_yaml::to_string(&sorted(&value)).unwrap(),
                Tool::Json => serde_json::to_string_pretty(&value).unwrap() + "\n",
            });
        }
        Some(printed)
    }
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(entries) => {
            let entries: BTreeMap<&String, Value> = entries
                .iter()
                .map(|(key, value)| (key, sorted(value)))
                .collect();
            entries
                .into_iter()
                .map(|(key, value)| (key.clone(), value))
                .collect()
        }
        other => other.clone(),
    }
}

/// The documents that say something.
fn said(text: &str) -> Vec<Value> {
    independent_reader::documents(text)
        .into_iter()
        .filter_map(|document| bare(independent_reader::read(document)?))
        .collect()
}

/// Checks law 4 for every tool. Returns the number of tools that can print the text.
///
/// # Errors
/// Describes the difference if another text came back.
pub(crate) fn comes_back(text: &str, config: &Config) -> Result<usize, String> {
    let injection = inject(text, config, laws::INJECT);
    let injected = edit::apply(text, &injection.edits);
    // A template that is refused for its layout may be edited in another layout.
    let uneditable: Vec<&Outcome> = injection
        .outcomes
        .iter()
        .filter(|outcome| outcome.decision.reason == Reason::Uneditable)
        .collect();
    let was_refused = |outcome: &Outcome| {
        uneditable.iter().any(|other| {
            (&other.identity, &other.template) == (&outcome.identity, &outcome.template)
        })
    };
    let mut tried = 0;
    if injected == text || laws::carries_record(text) {
        return Ok(tried);
    }
    for tool in Tool::ALL {
        let (Some(printed), Some(expected)) = (tool.print(&injected), tool.print(text)) else {
            continue;
        };
        let uninjection = inject(&printed, config, laws::UNINJECT);
        let refused = uninjection
            .outcomes
            .iter()
            .find(|outcome| outcome.decision.reason.class() == Class::Refused);
        if let Some(outcome) = refused {
            return Err(format!(
                "law 4: {tool:?}: {}\n{printed}",
                outcome.decision.message
            ));
        }
        if let Some(fault) = laws::fault(&uninjection) {
            return Err(format!(
                "fault after {tool:?}: {}\n{printed}",
                fault.message
            ));
        }
        let back = edit::apply(&printed, &uninjection.edits);
        if said(&back) != said(&expected) {
            return Err(format!(
                "law 4: after {tool:?} uninject gives\n{back}\ninstead of\n{expected}"
            ));
        }
        let again = inject(&printed, config, laws::INJECT);
        let done = again
            .outcomes
            .iter()
            .filter(|outcome| outcome.decision.reason.class() == Class::Done);
        let changed: Vec<&Outcome> = done
            .filter(|outcome| outcome.decision.reason != Reason::Unchanged)
            .collect();
        if !again.edits.is_empty()
            && (changed.is_empty() || !changed.iter().all(|outcome| was_refused(outcome)))
        {
            let twice = edit::apply(&printed, &again.edits);
            return Err(format!(
                "law 2: {tool:?} changes style only, but inject gives\n{twice}\nafter\n{printed}"
            ));
        }
        tried += 1;
    }
    Ok(tried)
}

#[test]
fn each_case_comes_back_after_other_tools() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for case in cases::all() {
        match comes_back(&case.text, &case.config) {
            Ok(count) => tried += count,
            Err(what) => wrong.push(format!("== {}: {what}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 200, "only {tried} were tried");
}

/// Every tenth file, since printing takes its time.
#[test]
fn manifests_of_the_corpus_come_back_after_other_tools() {
    let Some(files) = corpus::manifests("reprint") else {
        return;
    };
    let config = configuration(None, &[], None);
    let mut wrong = Vec::new();
    let mut tried = 0;
    for (name, bytes) in files.step_by(10) {
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        match comes_back(&text, &config) {
            Ok(count) => tried += count,
            Err(what) => wrong.push(format!("== {name}: {what}")),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.iter().take(5).cloned().collect::<Vec<_>>().join("\n")
    );
    assert!(tried > 1000, "only {tried} were tried");
}
