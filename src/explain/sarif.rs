//! SARIF 2.1.0 for tools of code review: changes, refusals, warnings and notes as results. Other decisions are left out, since
//! they need no action.
//!
//! Source: Static Analysis Results Interchange Format (SARIF) Version 2.1.0, OASIS Standard.

use crate::diagnostic::Severity;
use crate::explain::{Explanation, LocatedFinding, RunError};
use crate::report::{Class, Reason};
use serde_json::{Value, json};

/// Returns the explanation as a log of SARIF.
pub(crate) fn sarif(explanation: &Explanation<'_>) -> Value {
    let mut results = Vec::new();
    let mut rules: Vec<Reason> = Vec::new();
    for located in explanation.review_findings() {
        let reason = located.reported.finding.reason;
        let index = rules.iter().position(|rule| *rule == reason);
        let index = index.unwrap_or_else(|| {
            rules.push(reason);
            rules.len() - 1
        });
        results.push(result(located, index));
    }
    let rules: Vec<Value> = rules.into_iter().map(rule).collect();
    let mut run = json!({
        "tool": {"driver": {
            "name": env!("CARGO_PKG_NAME"),
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": rules,
        }},
        "columnKind": "unicodeCodePoints",
        "results": results,
    });
    if !explanation.errors.is_empty() {
        let notifications: Vec<Value> = explanation.errors.iter().map(notification).collect();
        run["invocations"] = json!([{
            "executionSuccessful": false,
            "toolExecutionNotifications": notifications,
        }]);
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    })
}

/// Returns an error of the run as a notification of the tool.
fn notification(error: &RunError) -> Value {
    let mut notification = json!({"level": "error", "message": {"text": error.message}});
    if let Some(reason) = error.reason {
        notification["descriptor"] = json!({"id": reason.id()});
    }
    notification
}

/// Returns a reason as a rule of the tool.
fn rule(reason: Reason) -> Value {
    let level = match reason.class() {
        Class::Refused => "error",
        Class::Done | Class::Note => "note",
        Class::Skipped | Class::Warning => "warning",
    };
    let problem = reason.problem();
    json!({
        "id": problem.id,
        "shortDescription": {"text": problem.sentence},
        "defaultConfiguration": {"level": level},
    })
}

/// Returns a finding as a result; `rule` is the index of its rule.
fn result(located: &LocatedFinding<'_>, rule: usize) -> Value {
    let reported = located.reported;
    let level = match reported.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let mut location = json!({});
    if let Some(place) = located.review_place {
        let region = json!({"startLine": place.line, "startColumn": place.column});
        location["physicalLocation"] =
            json!({"artifactLocation": {"uri": uri(place.file)}, "region": region});
    }
    if let Some(resource) = reported.subject.resource() {
        let name = resource.identity.short_name();
        location["logicalLocations"] = json!([{"fullyQualifiedName": name, "kind": "resource"}]);
    }
    let id = reported.finding.reason.problem().id;
    let message = json!({"text": reported.finding.message_with_help()});
    let mut result = json!({"ruleId": id, "ruleIndex": rule, "level": level, "message": message});
    if location != json!({}) {
        result["locations"] = json!([location]);
    }
    result
}

/// Returns a path as a relative reference of a URI, with other characters as `%XX`.
fn uri(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path).replace('\\', "/");
    let mut uri = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri += &format!("%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_become_references() {
        for (path, expected) in [
            ("./a b/ä.yaml", "a%20b/%C3%A4.yaml"),
            ("deploy/web.yaml", "deploy/web.yaml"),
            ("<stdin>", "%3Cstdin%3E"),
        ] {
            assert_eq!(uri(path), expected);
        }
    }
}
