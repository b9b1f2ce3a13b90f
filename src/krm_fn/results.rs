//! What was decided, as the `results` of a ResourceList.

use crate::field_path::field_path;
use crate::inject::Injection;
use crate::report::{Finding, Identity, Reason, Severity, Subject};
use crate::tolerance::Tolerance;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Everything worth a result, in order of the text.
pub(super) fn tell(injection: &Injection, tolerance: Tolerance) -> Vec<(Severity, Value)> {
    let mut told = Vec::new();
    for fault in &injection.faults {
        told.push((Severity::Error, result(Severity::Error, fault, None)));
    }
    for finding in &injection.findings {
        let severity = tolerance.severity(finding);
        told.push((severity, result(severity, finding, None)));
    }
    for outcome in &injection.outcomes {
        let decision = is_worth_telling(outcome.decision.reason).then_some(&outcome.decision);
        for finding in decision.into_iter().chain(&outcome.warnings) {
            let severity = tolerance.severity(finding);
            told.push((severity, result(severity, finding, Some(outcome.subject()))));
        }
    }
    for remark in &injection.remarks {
        let severity = tolerance.severity(&remark.finding);
        told.push((severity, result(severity, &remark.finding, Some(remark.subject()))));
    }
    told
}

/// What nobody asked for and nobody has to know is left out: else a package's every resource would have its line in each
/// render. `unchanged` is left out so that a second run adds nothing to the first.
fn is_worth_telling(reason: Reason) -> bool {
    use Reason::{Disabled, LocalConfig, NotRequested, NotSelected, Unchanged};
    !matches!(reason, Unchanged | NotRequested | NotSelected | Disabled | LocalConfig)
}

/// Whose agent an earlier result says was taken out: such a template is skipped from then on, which is no news.
pub(super) fn removed(earlier: &[Value]) -> HashSet<[Option<&Value>; 2]> {
    earlier.iter().filter(|result| reason(result) == Some(Reason::Removed)).map(subject).collect()
}

/// Whose a result is.
pub(super) fn subject(result: &Value) -> [Option<&Value>; 2] {
    ["resourceRef", "file"].map(|field| result.get(field))
}

/// Why it was told; none for what is not ours.
pub(super) fn reason(result: &Value) -> Option<Reason> {
    let id = result.pointer("/tags/reason")?.as_str()?;
    Reason::ALL.iter().copied().find(|known| known.id() == id)
}

fn result(severity: Severity, finding: &Finding, subject: Option<Subject<'_>>) -> Value {
    let mut result = Map::new();
    let message = match &finding.help {
        Some(help) => format!("{}; {help}", finding.message),
        None => finding.message.clone(),
    };
    result.insert("message".to_owned(), message.into());
    result.insert("severity".to_owned(), severity.name().into());
    if let Some(subject) = subject {
        result.insert("resourceRef".to_owned(), resource_ref(subject.identity));
        let pointer = if finding.pointer.is_empty() { subject.template } else { &finding.pointer };
        let path = field_path(pointer);
        if !path.is_empty() {
            result.insert("field".to_owned(), json!({ "path": path }));
        }
        match subject.file {
            Some((path, Some(index))) => result.insert("file".to_owned(), json!({ "path": path, "index": index })),
            Some((path, None)) => result.insert("file".to_owned(), json!({ "path": path })),
            None => None,
        };
    }
    result.insert("tags".to_owned(), json!({ "reason": finding.reason.id() }));
    Value::Object(result)
}

fn resource_ref(identity: &Identity) -> Value {
    let mut reference = Map::new();
    reference.insert("apiVersion".to_owned(), identity.api_version.clone().into());
    reference.insert("kind".to_owned(), identity.kind.clone().into());
    if let Some(namespace) = &identity.namespace {
        reference.insert("namespace".to_owned(), namespace.clone().into());
    }
    reference.insert("name".to_owned(), identity.name.clone().into());
    Value::Object(reference)
}
