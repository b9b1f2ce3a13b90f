//! An explanation as text: each finding, the rules behind the decisions, required objects and permissions, totals.

use crate::explain::required::{self, UNNAMED, UNNAMED_BESIDE_OTHERS};
use crate::explain::settings::ContainerView;
use crate::explain::{Because, Explanation, PermissionView};
use injector::{KubeletAccess, LESS, NODES_PROXY, PERMITS, Row, Tense, totals};
use report::{Class, visible};
use serde_json::Value;

/// Returns the explanation as text. `next` is the command for its changes.
pub fn text(explanation: &Explanation<'_>, next: Option<&str>) -> String {
    let mut required = required::lines(&explanation.needed, usize::MAX);
    if !required.is_empty() {
        for line in &mut required {
            line.insert_str(0, "  ");
        }
        required.insert(0, "required before the pods start; without them the agent does not start or exits, and its pod is not ready:".to_owned());
    }
    let totals = totals(
        explanation.rows.iter(),
        explanation.without_pod_template,
        Tense::Conditional,
    );
    // The messages on stderr have the findings about the run.
    let rows = explanation
        .rows
        .iter()
        .filter(|row| row.subject.is_in_text())
        .flat_map(|row| lines(explanation, row))
        .collect();
    let mut parts = Vec::new();
    for lines in [
        rows,
        required,
        permissions(&explanation.permissions),
        Vec::from_iter(std::iter::once(totals).chain(next.map(|next| format!("next: {next}")))),
    ] {
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

/// Returns the permissions that the agents need; those of pods without a namespace come last.
fn permissions(permissions: &[PermissionView]) -> Vec<String> {
    let Some(first) = permissions.first() else {
        return Vec::new();
    };
    let mut lines = vec![format!(
        "required permissions ({} them); without them the agent reports nothing, although its pod is ready:",
        first.written
    )];
    let mut permissions: Vec<&PermissionView> = permissions.iter().collect();
    permissions.sort_by_key(|permission| permission.namespace.is_none());
    let named = permissions
        .iter()
        .any(|permission| permission.namespace.is_some());
    let unnamed = if named {
        UNNAMED_BESIDE_OTHERS
    } else {
        UNNAMED
    };
    for permission in &permissions {
        let accounts = Vec::from_iter(permission.service_accounts.iter().map(|name| &**name));
        let plural = if accounts.len() == 1 { "" } else { "s" };
        let (accounts, resources) = (accounts.join(", "), permission.get.join(" and "));
        let namespace = permission.namespace.as_deref().unwrap_or(unnamed);
        lines.push(format!(
            "  get {resources}: ServiceAccount{plural} {accounts} in {namespace}"
        ));
    }
    let mut with_proxy = permissions
        .iter()
        .filter(|permission| permission.get.contains(&NODES_PROXY))
        .peekable();
    if with_proxy.peek().is_some() {
        // At the kubelet's own port, a newer Kubernetes needs less.
        let less = if with_proxy.any(|permission| permission.access == KubeletAccess::Kubelet) {
            format!("; {LESS}")
        } else {
            String::new()
        };
        lines.push(format!("  {NODES_PROXY}: {PERMITS}{less}"));
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
