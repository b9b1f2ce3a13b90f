//! The report of `--output json`: an explanation under a versioned schema, `docs/report.schema.json`.

use crate::config::API_VERSION;
use crate::diagnostic::Severity;
use crate::explain::{
    Explanation, HostCount, LocatedFinding, PermissionView, RequirementView, RunError, TemplateView,
};
use crate::report::Reason;
use serde::Serialize;
use std::collections::BTreeMap;

/// A report. A change of its schema that readers may not expect needs another API version.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report<'e> {
    api_version: &'static str,
    kind: &'static str,
    summary: Summary,
    /// The pod templates, in the order of the inputs.
    templates: &'e [TemplateView<'e>],
    /// Findings about no pod template: those about an input as a whole come first.
    findings: Vec<&'e LocatedFinding<'e>>,
    /// Errors about paths or the run as a whole.
    errors: &'e [RunError],
    needed: &'e [RequirementView<'e>],
    permissions: &'e [PermissionView],
    hosts: HostCount,
}

/// Numbers of a report.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    /// Pod templates by decision.
    decisions: BTreeMap<Reason, usize>,
    /// Pod templates that would change.
    would_change: usize,
    errors: usize,
    warnings: usize,
    /// Resources without a pod template.
    without_pod_template: usize,
}

impl<'e> Report<'e> {
    pub(crate) fn of(explanation: &'e Explanation<'e>) -> Self {
        let mut summary = Summary {
            errors: explanation.errors.len(),
            without_pod_template: explanation.without_pod_template,
            ..Summary::default()
        };
        for template in &explanation.templates {
            let decision = template.decision.reported.finding.reason;
            *summary.decisions.entry(decision).or_default() += 1;
            summary.would_change += usize::from(template.would_change);
        }
        let of_inputs = explanation.input_findings.iter();
        for located in explanation.findings().chain(of_inputs) {
            match located.reported.severity {
                Severity::Error => summary.errors += 1,
                Severity::Warning => summary.warnings += 1,
                Severity::Info => {}
            }
        }
        Self {
            api_version: API_VERSION,
            kind: "Report",
            summary,
            templates: &explanation.templates,
            findings: (explanation.input_findings.iter())
                .chain(&explanation.findings)
                .collect(),
            errors: explanation.errors,
            needed: &explanation.needed,
            permissions: &explanation.permissions,
            hosts: explanation.hosts,
        }
    }
}
