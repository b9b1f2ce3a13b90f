//! The number of hosts in Mackerel: each pod with an agent is one.

use crate::checks::ProcessedText;
use crate::inject::Outcome;
use serde::Serialize;

/// The number of hosts of the templates that have an agent after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostCount {
    /// Hosts of templates whose number of replicas is in the manifests.
    pub(crate) hosts: u64,
    /// True if the input has resources that change the number of replicas.
    pub(crate) has_autoscalers: bool,
    /// Templates whose number of replicas is unknown.
    pub(crate) unknown_templates: usize,
}

/// Group and kind of resources that change the number of replicas.
const AUTOSCALERS: [(&str, &str); 2] = [
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("keda.sh", "ScaledObject"),
];

impl HostCount {
    pub(super) fn of(outcomes: &[&Outcome], texts: &[ProcessedText<'_>]) -> Self {
        let mut count = Self {
            hosts: 0,
            has_autoscalers: texts.iter().any(has_autoscalers),
            unknown_templates: 0,
        };
        for outcome in outcomes.iter().filter(|outcome| outcome.agent().is_some()) {
            match outcome.replicas {
                Some(replicas) => count.hosts = count.hosts.saturating_add(replicas),
                None => count.unknown_templates += 1,
            }
        }
        count
    }

    /// `Mackerel hosts: at least 5, one for each replica; unknown for 1 template without a number of replicas`
    pub(super) fn line(self) -> Option<String> {
        // With an autoscaler the number is no minimum, since it may also remove replicas.
        let is_minimum = self.unknown_templates > 0 && !self.has_autoscalers;
        let at_least = if is_minimum { "at least " } else { "" };
        let scaled = if self.has_autoscalers {
            "; the autoscalers of the input may change that number"
        } else {
            ""
        };
        let mut parts = Vec::new();
        if self.hosts > 0 {
            let hosts = self.hosts;
            parts.push(format!("{at_least}{hosts}, one for each replica{scaled}"));
        }
        if self.unknown_templates > 0 {
            let plural = if self.unknown_templates == 1 { "" } else { "s" };
            parts.push(format!(
                "unknown for {} template{plural} without a number of replicas",
                self.unknown_templates
            ));
        }
        if parts.is_empty() {
            return None;
        }
        Some(format!("Mackerel hosts: {}", parts.join("; ")))
    }
}

fn has_autoscalers(text: &ProcessedText<'_>) -> bool {
    let kinds = &text.injection.kinds_without_template;
    AUTOSCALERS
        .iter()
        .any(|(group, kind)| kinds.has(group, kind))
}
