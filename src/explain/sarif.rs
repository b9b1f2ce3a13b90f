//! SARIF 2.1.0 for tools of code review: changes, refusals, warnings and notes as results. Other decisions are left out, since
//! nothing is to be done about them.
//!
//! Source: Static Analysis Results Interchange Format (SARIF) Version 2.1.0, OASIS Standard.

use crate::diagnostic::Severity;
use crate::explain::{Explanation, Problem, ReviewFinding};
use crate::report::Class;
use serde_json::{Map, Value, json};

/// The log as a JSON value.
pub(crate) fn sarif(explanation: &Explanation) -> Value {
    let mut results = Vec::new();
    let mut rules: Vec<Problem> = Vec::new();
    for found in explanation.review_findings() {
        let index = rules
            .iter()
            .position(|known| *known == found.problem)
            .unwrap_or_else(|| {
                rules.push(found.problem);
                rules.len() - 1
            });
        results.push(result(&found, index));
    }
    let rules: Vec<Value> = rules.into_iter().map(rule).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": env!("CARGO_PKG_NAME"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(problem: Problem) -> Value {
    let level = match problem.reason.class() {
        Class::Refused => "error",
        Class::Done | Class::Note => "note",
        Class::Skipped | Class::Warning => "warning",
    };
    json!({
        "id": problem.id,
        "shortDescription": {"text": problem.sentence},
        "defaultConfiguration": {"level": level},
    })
}

fn result(found: &ReviewFinding<'_>, rule: usize) -> Value {
    let level = match found.finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let mut location = Map::new();
    if let Some(place) = found.place {
        let region = json!({"startLine": place.line, "startColumn": place.column});
        let physical = json!({"artifactLocation": {"uri": uri(&place.file)}, "region": region});
        location.insert("physicalLocation".to_owned(), physical);
    }
    if let Some(name) = &found.resource {
        location.insert(
            "logicalLocations".to_owned(),
            json!([{"fullyQualifiedName": name, "kind": "resource"}]),
        );
    }
    let message = json!({"text": found.text()});
    let mut result =
        json!({"ruleId": found.problem.id, "ruleIndex": rule, "level": level, "message": message});
    if !location.is_empty() {
        result["locations"] = json!([location]);
    }
    result
}

/// A path as a relative reference: what a URI does not take as it is becomes `%XX`.
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
