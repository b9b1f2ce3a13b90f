//! An explanation as text: each finding, the rules behind the decisions, what the pods need, totals.

use crate::explain::required;
use crate::explain::settings::ContainerView;
use crate::explain::{Because, Explanation};
use injector::{Row, Tense, totals};
use report::{Class, Colour, visible};
use serde_json::Value;

/// Returns the explanation as text. `rbac` is the command for its permissions; `last` are the lines below the totals.
pub fn text(
    explanation: &Explanation<'_>,
    rbac: &str,
    last: impl IntoIterator<Item = String>,
) -> String {
    let needs_rbac = !explanation.permissions.is_empty() && !explanation.has_permissions;
    let rbac = needs_rbac.then_some(rbac);
    let needs = required::block(
        required::lines(&explanation.needed, usize::MAX, rbac),
        Colour::Never,
    );
    let is_about_texts = explanation.without_pod_template > 0
        || explanation.rows.iter().any(|row| row.subject.is_in_text());
    let totals = is_about_texts.then(|| {
        totals(
            explanation.rows.iter(),
            explanation.without_pod_template,
            Tense::Conditional,
        )
    });
    // The messages on stderr have the findings about the run.
    let rows = explanation
        .rows
        .iter()
        .filter(|row| row.subject.is_in_text())
        .flat_map(|row| lines(explanation, row))
        .collect();
    let mut parts = Vec::new();
    for lines in [rows, needs, Vec::from_iter(totals.into_iter().chain(last))] {
        let part: String = lines
            .iter()
            .filter(|line| !line.is_empty())
            .map(|line| format!("{}\n", visible(line)))
            .collect();
        if !part.is_empty() {
            parts.push(part);
        }
    }
    parts.join("\n")
}

/// ```text
/// web.yaml:3:1: info[injected]: apps/v1/Deployment/prod/web spec.template: the agent would be added
///   because of injection: always (default)
/// ```
fn lines(explanation: &Explanation<'_>, row: &Row<'_>) -> Vec<String> {
    let mut lines = vec![row.line()];
    if let Some(outcome) = row.subject.outcome().filter(|_| row.is_decision()) {
        if let Some(cause) = &outcome.cause {
            let rule = rule(&explanation.because(row, cause));
            lines.push(format!("  because of {rule}"));
        }
        for container in explanation.containers(row, outcome) {
            lines.extend(settings(&container));
        }
    }
    lines
}

/// Returns what made a decision, in a few words; nothing for a change that the defaults make.
pub fn why(explanation: &Explanation<'_>, row: &Row<'_>) -> String {
    if matches!(row.finding.reason.class(), Class::Skipped | Class::Refused) {
        return row.finding.reason.id().to_owned();
    }
    let cause = row
        .subject
        .outcome()
        .and_then(|outcome| outcome.cause.as_ref());
    let because = cause.map(|cause| explanation.because(row, cause));
    because
        .filter(|because| because.origin != "default")
        .map_or_else(String::new, |because| rule(&because))
}

/// `injection: always (default)`, `annotation inject (web.yaml:9:52)`
fn rule(because: &Because) -> String {
    let Because {
        rule,
        value,
        origin,
    } = because;
    match value {
        Some(value) => format!("{rule}: {} ({origin})", shortened(value)),
        None => format!("{rule} ({origin})"),
    }
}

/// Returns the settings of a container that are set, then the container.
fn settings(view: &ContainerView<'_>) -> Vec<String> {
    let mut lines = vec![format!("  {} in {}:", view.subject, view.list)];
    for setting in &view.settings {
        lines.push(format!("    # {}", rule(setting)));
    }
    for line in view.yaml().lines() {
        lines.push(format!("    {line}"));
    }
    lines
}

/// Returns the beginning of a value.
fn shortened(value: &Value) -> String {
    const MAX_CHARACTERS: usize = 40;
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => "not set".to_owned(),
        other => other.to_string(),
    };
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
