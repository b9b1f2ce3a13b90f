//! SARIF 2.1.0 for tools of code review: changes, refusals, warnings and notes as results. Other decisions are left out, since
//! they need no action.
//!
//! Source: Static Analysis Results Interchange Format (SARIF) Version 2.1.0, OASIS Standard.

use injector::{Row, errors_first};
use report::{Class, Reason, Severity};
use serde_json::{Value, json};

/// Returns the rows as a log of SARIF, errors first. Those about the run are notifications of the tool. `mend` is the command that makes
/// the changes.
pub fn sarif(rows: &[Row<'_>], mend: Option<&str>) -> Value {
    let mut results = Vec::new();
    let mut rules: Vec<Reason> = Vec::new();
    let mut notifications = Vec::new();
    let rows = rows.iter().filter(|row| row.finding.reason.is_for_review());
    for row in errors_first(rows) {
        let reason = row.finding.reason;
        let id = reason.problem().id;
        if !row.subject.is_in_text() && row.place_in_file().is_none() {
            let text = row.sentence();
            notifications.push(json!({"level": level(row.severity), "message": {"text": text}, "descriptor": {"id": id}}));
            continue;
        }
        let known = rules.iter().position(|rule| *rule == reason);
        if known.is_none() {
            rules.push(reason);
        }
        results.push(json!({
            "ruleId": id,
            "ruleIndex": known.unwrap_or(rules.len() - 1),
            "level": level(row.severity),
            "message": {"text": row.finding.message_with_help()},
            "locations": [location(row)],
        }));
    }
    let rules: Vec<Value> = rules.into_iter().map(|reason| rule(reason, mend)).collect();
    let mut run = json!({
        "tool": {"driver": {
            "name": env!("CARGO_PKG_NAME"),
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": rules,
        }},
        "columnKind": "unicodeCodePoints",
        "results": results,
    });
    if !notifications.is_empty() {
        let has_errors = notifications
            .iter()
            .any(|notification| notification["level"] == "error");
        run["invocations"] = json!([{
            "executionSuccessful": !has_errors,
            "toolExecutionNotifications": notifications,
        }]);
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// Returns a reason as a rule of the tool.
fn rule(reason: Reason, mend: Option<&str>) -> Value {
    let severity = match reason.class() {
        Class::Refused => Severity::Error,
        Class::Done | Class::Note => Severity::Info,
        Class::Skipped | Class::Warning => Severity::Warning,
    };
    let problem = reason.problem();
    let page = format!(
        "`mackerel-agent-injector explain --reason {}` explains it",
        problem.id
    );
    let help = match (reason.done(), mend) {
        (Some(_), Some(command)) => format!("run `{command}`; {page}"),
        _ => page,
    };
    json!({
        "id": problem.id,
        "shortDescription": {"text": problem.sentence},
        "help": {"text": help},
        "defaultConfiguration": {"level": level(severity)},
    })
}

/// Returns the place of a row in its text, and its resource.
fn location(row: &Row<'_>) -> Value {
    let mut location = json!({"physicalLocation": {"artifactLocation": {"uri": uri(&row.file)}}});
    if let Some(at) = row.place_in_file() {
        location["physicalLocation"]["region"] =
            json!({"startLine": at.line, "startColumn": at.column});
    }
    if let Some(resource) = row.subject.resource() {
        let name = resource.identity.short_name();
        location["logicalLocations"] = json!([{"fullyQualifiedName": name, "kind": "resource"}]);
    }
    location
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
