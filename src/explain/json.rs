//! The report of `--output json` under a versioned schema, `docs/report.schema.json`. A change of it that readers may not expect needs
//! another API version.

use crate::explain::{Explanation, PlaceView};
use config::API_VERSION;
use injector::{Outcome, Row, Subject};
use manifest::field_path;
use report::{Class, Position, Reason, Severity};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Returns the rows as a report, those about a pod template together.
pub fn json(explanation: &Explanation<'_>) -> Value {
    let mut decisions: BTreeMap<Reason, usize> = BTreeMap::new();
    let mut templates: Vec<Value> = Vec::new();
    let (mut findings, mut errors) = (Vec::new(), Vec::new());
    let mut would_change = 0;
    for row in &explanation.rows {
        match row.subject {
            Subject::PodTemplate(outcome) if row.is_decision() => {
                *decisions.entry(row.finding.reason).or_default() += 1;
                would_change += usize::from(row.is_change());
                templates.push(explanation.template(row, outcome));
            }
            Subject::PodTemplate(_) => {
                if let Some(template) = templates.last_mut()
                    && let Value::Array(findings) = &mut template["findings"]
                {
                    findings.push(finding(row));
                }
            }
            Subject::Run if row.severity == Severity::Error => {
                errors.push(json!({"id": row.finding.reason, "message": row.sentence()}));
            }
            _ => findings.push(finding(row)),
        }
    }
    let count = |severity| {
        explanation
            .rows
            .iter()
            .filter(|row| row.severity == severity)
            .count()
    };
    json!({
        "apiVersion": API_VERSION,
        "kind": "Report",
        "summary": {
            "decisions": decisions,
            "wouldChange": would_change,
            "errors": count(Severity::Error),
            "warnings": count(Severity::Warning),
            "withoutPodTemplate": explanation.without_pod_template,
        },
        "templates": templates,
        "findings": findings,
        "errors": errors,
        "needed": explanation.needed,
        "permissions": explanation.permissions,
    })
}

impl Explanation<'_> {
    /// Returns a pod template with its decision.
    fn template(&self, row: &Row<'_>, outcome: &Outcome) -> Value {
        let mut template = json!({
            "place": place(row, row.resource_place),
            "resource": outcome.identity,
            "template": field_path(&outcome.template),
            "wouldChange": row.is_change(),
            "decision": finding(row),
        });
        if let Some(cause) = &outcome.cause {
            template["because"] = json!(self.because(row, cause));
        }
        template["findings"] = json!([]);
        for container in self.containers(row, outcome) {
            template[container.key] = json!(container);
        }
        template
    }
}

/// Returns a finding. It names the resource only if it is not inside a pod template, which has it.
fn finding(row: &Row<'_>) -> Value {
    let finding = &row.finding;
    let mut map = Map::new();
    let mut add = |name: &str, value: Value| map.insert(name.to_owned(), value);
    add("id", json!(finding.reason));
    if row.is_decision() {
        add("class", json!(finding.reason.class()));
    }
    add("severity", json!(row.severity));
    add("message", json!(finding.message));
    if let Some(help) = &finding.help {
        add("help", json!(help));
    }
    if row.is_acknowledged {
        add("acknowledged", json!(true));
    }
    if !row.subject.is_in_text() {
        add("about", json!(row.file));
    }
    if row.place.is_some() {
        add("place", place(row, row.place));
    }
    if let Subject::Resource(remark) = row.subject {
        add("resource", json!(remark.identity));
    }
    let field = field_path(&finding.pointer);
    if !field.is_empty() && finding.reason.class() != Class::Done {
        add("field", json!(field));
    }
    Value::Object(map)
}

fn place(row: &Row<'_>, at: Option<Position>) -> Value {
    json!(at.map(|at| PlaceView::new(&row.file, at)))
}
