//! Findings as the `results` of a ResourceList.

use injector::{Row, Subject};
use manifest::field_path;
use report::{Reason, visible};
use serde_json::Value;
use yaml_json_patch::{self as yaml, Context, quote, to_json};

/// Returns false for acknowledged warnings, and for decisions that leave a template as it is: otherwise each run would list every
/// resource of a package. Without `unchanged`, a second run adds no results to the first.
pub(super) fn becomes_result(row: &Row<'_>) -> bool {
    use Reason::{Disabled, LocalConfig, NotRequested, NotSelected, Unchanged};
    let is_quiet = matches!(
        row.finding.reason,
        Unchanged | NotRequested | NotSelected | Disabled | LocalConfig
    );
    !is_quiet && !row.is_acknowledged
}

fn message(row: &Row<'_>) -> String {
    match row.subject {
        Subject::Run => row.sentence(),
        _ => row.finding.message_with_help(),
    }
}

/// Returns the pointer of the field, or of the pod template.
fn pointer<'r>(row: &'r Row<'_>) -> &'r str {
    let template = row
        .subject
        .outcome()
        .map_or("", |outcome| &*outcome.template);
    match &*row.finding.pointer {
        "" => template,
        pointer => pointer,
    }
}

/// Returns the result as JSON, as it is compared with earlier ones and added to them.
pub(super) fn value(row: &Row<'_>) -> Value {
    let lines = lines(row, "");
    yaml::read(&lines)
        .ok()
        .and_then(|tree| to_json(&tree, tree.items(tree.root()?).next()?).ok())
        .unwrap_or_default()
}

/// Returns the lines of a result in block style; `indent` precedes its dash.
pub(super) fn lines(row: &Row<'_>, indent: &str) -> String {
    // The orchestrator prints it.
    let scalar = |text: &str| format!(" {}", quote(&visible(text), Context::Block));
    let mut lines = String::new();
    let mut add = |key: &str, value: &str| lines.extend([indent, key, ":", value, "\n"]);
    add("- message", &scalar(&message(row)));
    add("  severity", &scalar(row.severity.name()));
    if let Some(resource) = row.subject.resource() {
        let identity = resource.identity;
        add("  resourceRef", "");
        add("    apiVersion", &scalar(&identity.api_version));
        add("    kind", &scalar(&identity.kind));
        if let Some(namespace) = &identity.namespace {
            add("    namespace", &scalar(namespace));
        }
        add("    name", &scalar(&identity.name));
        let path = field_path(pointer(row));
        if !path.is_empty() {
            add("  field", "");
            add("    path", &scalar(&path));
        }
        if let Some((path, index)) = resource.file {
            add("  file", "");
            add("    path", &scalar(path));
            if let Some(index) = index {
                add("    index", &format!(" {index}"));
            }
        }
    }
    if row.finding.reason != Reason::Error {
        add("  tags", "");
        add("    reason", &scalar(row.finding.reason.id()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use injector::{Remark, SeverityPolicy};
    use manifest::Identity;
    use report::Finding;
    use serde_json::json;
    use std::borrow::Cow;

    #[test]
    fn lines_say_what_the_results_say() {
        let finding = Finding::new(Reason::QosChanged, "no:\n\"quote\"", 0, "/spec/0");
        let remark = Remark {
            identity: Identity {
                api_version: "v1".into(),
                kind: "Pod".into(),
                namespace: None,
                name: "0x1".into(),
                is_generated: false,
            },
            offset: 0,
            file: Some(("a: b.yaml".to_owned(), Some(12))),
            finding: finding.with_help("do #this"),
            workloads: Vec::new(),
        };
        let row = |finding| SeverityPolicy::default().row("", Cow::Borrowed(finding));
        let about_pod = Row {
            subject: Subject::Resource(&remark),
            ..row(&remark.finding)
        };
        let error = Finding::about_input(Reason::Error, "null");
        let results = [&about_pod, &row(&error)];
        let values = json!([
            {
                "message": "no:␊\"quote\"; do #this",
                "severity": "warning",
                "resourceRef": {"apiVersion": "v1", "kind": "Pod", "name": "0x1"},
                "field": {"path": "spec[0]"},
                "file": {"path": "a: b.yaml", "index": 12},
                "tags": {"reason": "qos-changed"},
            },
            {"message": "null", "severity": "error"},
        ]);
        for indent in ["", "   "] {
            let text = results.map(|row| lines(row, indent)).concat();
            let tree = yaml::read(&text).unwrap();
            assert_eq!(
                to_json(&tree, tree.root().unwrap()).as_ref(),
                Ok(&values),
                "{text}"
            );
        }
        for (result, expected) in results.iter().zip(values.as_array().unwrap()) {
            assert_eq!(value(result), *expected);
        }
    }
}
