//! SARIF 2.1.0 for tools of code review: refusals, warnings and notes as results. Other decisions are left out: they would
//! annotate every workload of a pull request.
//!
//! Source: Static Analysis Results Interchange Format (SARIF) Version 2.1.0, OASIS Standard.

use crate::diagnostic::Severity;
use crate::explain::{Explanation, FindingView, PlaceView};
use crate::manifest::identity::Identity;
use crate::report::{Class, Reason};
use serde_json::{Map, Value, json};

/// The log as a JSON value.
pub(crate) fn sarif(explanation: &Explanation) -> Value {
    let mut results = Vec::new();
    let mut rules: Vec<Reason> = Vec::new();
    for (finding, template) in explanation.findings() {
        let Some(reason) = Reason::ALL.iter().copied().find(|reason| reason.id() == finding.id) else { continue };
        if matches!(reason.class(), Class::Done | Class::Skipped) {
            continue;
        }
        let index = rules.iter().position(|known| *known == reason).unwrap_or_else(|| {
            rules.push(reason);
            rules.len() - 1
        });
        let resource = finding.resource.as_ref().or(template.map(|template| &template.resource));
        let place = finding.place.as_ref().or(template.map(|template| &template.place));
        results.push(result(finding, index, resource, place));
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

fn rule(reason: Reason) -> Value {
    let level = match reason.class() {
        Class::Refused => "error",
        Class::Note => "note",
        Class::Done | Class::Skipped | Class::Warning => "warning",
    };
    json!({
        "id": reason.id(),
        "shortDescription": {"text": reason.sentence()},
        "defaultConfiguration": {"level": level},
    })
}

fn result(finding: &FindingView, rule: usize, resource: Option<&Identity>, place: Option<&PlaceView>) -> Value {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let text = match &finding.help {
        Some(help) => format!("{}; {help}", finding.message),
        None => finding.message.clone(),
    };
    let mut location = Map::new();
    if let Some(place) = place {
        let region = json!({"startLine": place.line, "startColumn": place.column});
        let physical = json!({"artifactLocation": {"uri": uri(&place.file)}, "region": region});
        location.insert("physicalLocation".to_owned(), physical);
    }
    if let Some(Identity { kind, namespace, name, .. }) = resource {
        let parts = [Some(kind), namespace.as_ref(), Some(name)];
        let name = parts.into_iter().flatten().cloned().collect::<Vec<_>>().join("/");
        location.insert("logicalLocations".to_owned(), json!([{"fullyQualifiedName": name, "kind": "resource"}]));
    }
    let mut result = json!({"ruleId": finding.id, "ruleIndex": rule, "level": level, "message": {"text": text}});
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
        for (path, expected) in
            [("./a b/ä.yaml", "a%20b/%C3%A4.yaml"), ("deploy/web.yaml", "deploy/web.yaml"), ("<stdin>", "%3Cstdin%3E")]
        {
            assert_eq!(uri(path), expected);
        }
    }
}
