//! An explanation as text: a table by file, findings, objects that must exist.

use crate::agent::kubelet_access::{KubeletAccess, LESS, NODES_PROXY, PERMITS};
use crate::diagnostic::{Severity, visible};
use crate::explain::required::{self, UNNAMED, UNNAMED_BESIDE_OTHERS};
use crate::explain::{CauseView, ContainerSettings, Explanation, PermissionView, TemplateView};
use crate::inject::{ReportedFinding, Subject};
use crate::options::Tense;
use crate::report::{Finding, Reason};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// The explanation as text; lines end with a line feed.
pub(crate) fn text(explanation: &Explanation<'_>) -> String {
    let mut writer = TextWriter::default();
    writer.templates(&explanation.templates);
    for found in &explanation.findings {
        // A further place of an earlier finding takes one line.
        if !writer.has_printed(found.reported.finding) {
            writer.gap();
        }
        let place = found.place.as_ref().map(ToString::to_string);
        writer.finding(found.reported, "", place);
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
    if let Some(hosts) = explanation.mackerel.line() {
        writer.line(&hosts);
    }
    writer.text
}

/// `3 would be injected`, `1 skipped (opted-out)`, `12 without pod template`
fn totals(explanation: &Explanation<'_>) -> Vec<String> {
    let mut counts: BTreeMap<Reason, usize> = BTreeMap::new();
    for template in &explanation.templates {
        *counts
            .entry(template.decision.reported.finding.reason)
            .or_default() += 1;
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

#[derive(Default)]
struct TextWriter<'e> {
    text: String,
    /// Findings that were printed: each sentence is printed once.
    printed: HashSet<(Reason, &'e str)>,
    /// Help that was printed.
    helped: HashSet<&'e str>,
}

impl<'e> TextWriter<'e> {
    fn line(&mut self, line: &str) {
        for part in line.split('\n') {
            self.text.push_str(visible(part.trim_end()).as_ref());
            self.text.push('\n');
        }
    }

    fn has_printed(&self, finding: &Finding) -> bool {
        self.printed.contains(&(finding.reason, &*finding.message))
    }

    /// Adds an empty line, unless the text begins here.
    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

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
            self.below(template);
        }
    }

    /// Adds the findings and settings of a template below its row.
    fn below(&mut self, template: &TemplateView<'e>) {
        let decision = template.decision.reported;
        let is_shown = decision.severity == Severity::Error || decision.finding.has_details;
        let decision = is_shown.then_some(&template.decision);
        for found in decision.into_iter().chain(&template.warnings) {
            let place = found
                .place
                .map(|place| format!("line {}:{}", place.line, place.column));
            self.finding(found.reported, "      ", place);
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
    /// Later ones with the same sentence are `warning[qos-changed] at line 30:5`. Errors have their sentence always.
    fn finding(&mut self, reported: ReportedFinding<'e>, indent: &str, place: Option<String>) {
        let ReportedFinding {
            finding, severity, ..
        } = reported;
        let title = format!("{indent}{}[{}]", severity.name(), finding.reason.id());
        let is_new = self.printed.insert((finding.reason, &finding.message));
        let place = match place {
            Some(place) if !is_new && severity != Severity::Error => {
                self.line(&format!("{title} at {place}"));
                return;
            }
            place => place,
        };
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
            && self.helped.insert(help)
        {
            self.line(&format!("{indent}  = help: {help}"));
        }
    }

    fn settings(&mut self, subject: &str, container: &ContainerSettings) {
        let list = &container.list;
        self.line(&format!("\n      settings of {subject} in {list}:"));
        let values: Vec<String> = container
            .settings
            .iter()
            .map(|setting| plain(&setting.value))
            .collect();
        let paths = container
            .settings
            .iter()
            .map(|setting| setting.path.chars().count());
        let path_width = paths.max().unwrap_or_default();
        // One long value does not push all origins out of sight.
        let lengths = values.iter().map(|value| value.chars().count());
        let value_width = lengths
            .filter(|length| *length <= 50)
            .max()
            .unwrap_or_default();
        for (setting, value) in container.settings.iter().zip(&values) {
            let path = &setting.path;
            let origin = &setting.origin;
            self.line(&format!(
                "        {path:path_width$}  {value:value_width$}  {origin}"
            ));
        }
    }

    fn permissions(&mut self, permissions: &[PermissionView]) {
        let Some(first) = permissions.first() else {
            return;
        };
        let written = first.written;
        self.line(&format!(
            "\nrequired permissions ({written} them); without them the agent reports nothing, although its pod is ready:"
        ));
        let (named, unnamed): (Vec<_>, Vec<_>) = permissions
            .iter()
            .partition(|permission| permission.namespace.is_some());
        let no_name = if named.is_empty() {
            UNNAMED
        } else {
            UNNAMED_BESIDE_OTHERS
        };
        for permission in named.into_iter().chain(unnamed) {
            let accounts: Vec<&str> = permission
                .service_accounts
                .iter()
                .map(|name| &**name)
                .collect();
            let plural = if accounts.len() == 1 { "" } else { "s" };
            let accounts = accounts.join(", ");
            let resources = permission.get.join(" and ");
            let namespace = permission.namespace.as_deref().unwrap_or(no_name);
            self.line(&format!(
                "  get {resources}: ServiceAccount{plural} {accounts} in {namespace}"
            ));
        }
        let mut accesses = permissions
            .iter()
            .filter(|permission| permission.get.contains(&NODES_PROXY))
            .map(|permission| permission.access)
            .peekable();
        if accesses.peek().is_some() {
            // With the kubelet's own port a newer version needs less.
            let less = if accesses.any(|access| access == KubeletAccess::Kubelet) {
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
    /// With the path of its template.
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

fn because(cause: &CauseView) -> String {
    let CauseView {
        rule,
        value,
        origin,
    } = cause;
    match value {
        Some(value) => format!("{rule}: {} ({origin})", short(value)),
        None => format!("{rule} ({origin})"),
    }
}

/// Long values are shown where one resource is asked about.
fn short(value: &Value) -> String {
    const MOST: usize = 40;
    let text = plain(value);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "not set".to_owned(),
        other => other.to_string(),
    }
}
