//! An explanation as text: a table for each file, findings, required objects and permissions, totals.

use crate::agent::kubelet_access::{KubeletAccess, LESS, NODES_PROXY, PERMITS};
use crate::diagnostic::{Severity, visible};
use crate::explain::required::{self, UNNAMED, UNNAMED_BESIDE_OTHERS};
use crate::explain::{CauseView, ContainerSettings, Explanation, PermissionView, TemplateView};
use crate::inject::{ReportedFinding, Subject};
use crate::options::Tense;
use crate::report::{Finding, Reason};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// Returns the explanation as text.
pub(crate) fn text(explanation: &Explanation<'_>) -> String {
    let mut writer = TextWriter::default();
    writer.templates(&explanation.templates);
    for located in &explanation.findings {
        // A repeated finding is one line, directly below the others.
        if !writer.has_printed(located.reported.finding) {
            writer.gap();
        }
        let place = located.place.as_ref().map(ToString::to_string);
        writer.finding(located.reported, "", place);
    }
    if !explanation.needed.is_empty() {
        writer.gap();
        writer.line(
            "required before the pods start; without them the agent does not start or exits, and its pod is not ready:",
        );
        for line in required::lines(&explanation.needed, usize::MAX) {
            writer.line(&format!("  {line}"));
        }
    }
    writer.permissions(&explanation.permissions);
    let totals = totals(explanation);
    if !totals.is_empty() {
        writer.gap();
        writer.line(&totals.join(", "));
    }
    if let Some(hosts) = explanation.hosts.line() {
        writer.line(&hosts);
    }
    writer.text
}

/// `3 would be injected`, `1 skipped (opted-out)`, `12 without pod template`
fn totals(explanation: &Explanation<'_>) -> Vec<String> {
    let mut counts: BTreeMap<Reason, usize> = BTreeMap::new();
    let decisions = explanation.templates.iter();
    let decisions = decisions.map(|template| &template.decision);
    for located in decisions.chain(&explanation.findings) {
        let reported = &located.reported;
        if reported.is_in_summary() {
            *counts.entry(reported.finding.reason).or_default() += 1;
        }
    }
    let mut totals = Tense::Conditional.decisions(&counts);
    if explanation.without_pod_template > 0 {
        totals.push(format!(
            "{} without pod template",
            explanation.without_pod_template
        ));
    }
    totals
}

/// Writes an explanation.
#[derive(Default)]
struct TextWriter<'e> {
    text: String,
    /// Reasons and messages that were printed: each is printed once.
    printed: HashSet<(Reason, &'e str)>,
    /// Helps that were printed.
    printed_helps: HashSet<&'e str>,
}

impl<'e> TextWriter<'e> {
    /// Adds a line, without spaces at its end.
    fn line(&mut self, line: &str) {
        self.text.push_str(&visible(line.trim_end()));
        self.text.push('\n');
    }

    fn has_printed(&self, finding: &Finding) -> bool {
        self.printed.contains(&(finding.reason, &*finding.message))
    }

    /// Adds an empty line, except at the beginning.
    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// Adds the table of the pod templates.
    fn templates(&mut self, templates: &[TemplateView<'e>]) {
        let rows: Vec<Row> = templates.iter().map(Row::of).collect();
        let width = |column: fn(&Row) -> &str| {
            let widths = rows.iter().map(|row| column(row).chars().count());
            widths.max().unwrap_or_default()
        };
        let place_width = width(|row| &row.place);
        let resource_width = width(|row| &row.resource);
        let decision_width = width(|row| &row.decision);
        let mut file = None;
        for (template, row) in templates.iter().zip(&rows) {
            if file != Some(template.place.file) {
                self.gap();
                self.line(template.place.file);
                file = Some(template.place.file);
            }
            let Row {
                place,
                resource,
                decision,
                because,
            } = row;
            self.line(&format!(
                "  {place:place_width$}  {resource:resource_width$}  {decision:decision_width$}  {because}"
            ));
            self.details(template);
        }
    }

    /// Adds the findings and settings of a template below its row.
    fn details(&mut self, template: &TemplateView<'e>) {
        let decision = template.decision.reported;
        let is_shown = decision.severity == Severity::Error || decision.finding.has_details;
        let decision = is_shown.then_some(&template.decision);
        for located in decision.into_iter().chain(&template.warnings) {
            let place = located
                .place
                .map(|place| format!("line {}:{}", place.line, place.column));
            self.finding(located.reported, "      ", place);
        }
        if let Some(agent) = &template.agent {
            self.settings("the agent", agent);
        }
        if let Some(wait_for) = &template.wait_for {
            self.settings("wait-for", wait_for);
        }
    }

    /// ```text
    /// warning[qos-changed]: the agent changes the pod's QoS class
    ///   --> line 12:5
    ///   = help: to keep it, set `qos: keep`
    /// ```
    ///
    /// A later one with the same message is the line `warning[qos-changed] at line 30:5`, unless it is an error.
    fn finding(&mut self, reported: ReportedFinding<'e>, indent: &str, place: Option<String>) {
        let ReportedFinding {
            finding, severity, ..
        } = reported;
        let title = format!("{indent}{}[{}]", severity.name(), finding.reason.id());
        let is_new = self.printed.insert((finding.reason, &finding.message));
        if let Some(place) = &place
            && !is_new
            && severity != Severity::Error
        {
            self.line(&format!("{title} at {place}"));
            return;
        }
        match reported.subject {
            Subject::Resource(remark) => {
                let name = remark.identity.short_name();
                self.line(&format!("{title}: {name}: {}", finding.message));
            }
            // The table names the resource of a pod template.
            Subject::Text | Subject::PodTemplate(_) => {
                self.line(&format!("{title}: {}", finding.message));
            }
        }
        if let Some(place) = place {
            self.line(&format!("{indent}  --> {place}"));
        }
        if let Some(help) = &finding.help
            && self.printed_helps.insert(help)
        {
            self.line(&format!("{indent}  = help: {help}"));
        }
    }

    /// Adds a table of the settings of a container.
    fn settings(&mut self, subject: &str, container: &ContainerSettings) {
        let list = &container.list;
        self.gap();
        self.line(&format!("      settings of {subject} in {list}:"));
        let values: Vec<String> = container
            .settings
            .iter()
            .map(|setting| value_text(&setting.value))
            .collect();
        let paths = container
            .settings
            .iter()
            .map(|setting| setting.path.chars().count());
        let path_width = paths.max().unwrap_or_default();
        // A long value does not widen the column.
        let lengths = values.iter().map(|value| value.chars().count());
        let lengths = lengths.filter(|length| *length <= 50);
        let value_width = lengths.max().unwrap_or_default();
        for (setting, value) in container.settings.iter().zip(&values) {
            let path = &setting.path;
            let origin = &setting.origin;
            self.line(&format!(
                "        {path:path_width$}  {value:value_width$}  {origin}"
            ));
        }
    }

    /// Adds the permissions that the agents need; those of pods without a namespace come last.
    fn permissions(&mut self, permissions: &[PermissionView]) {
        let Some(first) = permissions.first() else {
            return;
        };
        let written = first.written;
        self.gap();
        self.line(&format!(
            "required permissions ({written} them); without them the agent reports nothing, although its pod is ready:"
        ));
        let mut permissions: Vec<&PermissionView> = permissions.iter().collect();
        permissions.sort_by_key(|permission| permission.namespace.is_none());
        let are_named = permissions
            .iter()
            .any(|permission| permission.namespace.is_some());
        let unnamed = if are_named {
            UNNAMED_BESIDE_OTHERS
        } else {
            UNNAMED
        };
        let mut needs_nodes_proxy = false;
        let mut can_need_less = false;
        for permission in permissions {
            let plural = if permission.service_accounts.len() == 1 {
                ""
            } else {
                "s"
            };
            let accounts = Vec::from_iter(permission.service_accounts.iter().map(|name| &**name));
            let accounts = accounts.join(", ");
            let resources = permission.get.join(" and ");
            let namespace = permission.namespace.as_deref().unwrap_or(unnamed);
            self.line(&format!(
                "  get {resources}: ServiceAccount{plural} {accounts} in {namespace}"
            ));
            if permission.get.contains(&NODES_PROXY) {
                needs_nodes_proxy = true;
                // At the kubelet's own port, a newer Kubernetes needs less.
                can_need_less |= permission.access == KubeletAccess::Kubelet;
            }
        }
        if needs_nodes_proxy {
            let less = if can_need_less {
                format!("; {LESS}")
            } else {
                String::new()
            };
            self.line(&format!("  {NODES_PROXY}: {PERMITS}{less}"));
        }
    }
}

/// A row of the table of templates.
struct Row {
    place: String,
    /// The resource and the path of its template.
    resource: String,
    decision: String,
    because: String,
}

impl Row {
    fn of(template: &TemplateView<'_>) -> Self {
        let reason = template.decision.reported.finding.reason;
        Row {
            place: format!("line {}", template.place.line),
            resource: format!("{} {}", template.resource.short_name(), template.template)
                .trim_end()
                .to_owned(),
            decision: match reason.done() {
                Some(_) => format!("would be {}", reason.id()),
                None => reason.id().to_owned(),
            },
            because: template.because.as_ref().map(because).unwrap_or_default(),
        }
    }
}

/// `injection: always (default)`
fn because(cause: &CauseView) -> String {
    let CauseView {
        rule,
        value,
        origin,
    } = cause;
    match value {
        Some(value) => format!("{rule}: {} ({origin})", shortened(value)),
        None => format!("{rule} ({origin})"),
    }
}

/// Returns the beginning of a value. `explain --resource` shows all of it.
fn shortened(value: &Value) -> String {
    const MAX_CHARACTERS: usize = 40;
    let text = value_text(value);
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns a value as text.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "not set".to_owned(),
        other => other.to_string(),
    }
}
