//! The number of hosts that the agents make in Mackerel: one for each pod.

use crate::checks::ProcessedText;
use crate::inject::Outcome;
use serde::Serialize;

/// Hosts of the templates that have an agent after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostCount {
    /// Hosts of the templates whose replicas the manifests have.
    pub(crate) hosts: u64,
    /// True if the input has autoscalers, which change the number of replicas.
    pub(crate) has_autoscalers: bool,
    /// Templates without a number of replicas.
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
        // An autoscaler may also take replicas away.
        let is_minimum = self.unknown_templates > 0 && !self.has_autoscalers;
        let at_least = if is_minimum { "at least " } else { "" };
        let scaled = if self.has_autoscalers {
            "; the autoscalers of the input may change that number"
        } else {
            ""
        };
        let known = (self.hosts > 0)
            .then(|| format!("{at_least}{}, one for each replica{scaled}", self.hosts));
        let unknown = match self.unknown_templates {
            0 => None,
            1 => Some("unknown for 1 template without a number of replicas".to_owned()),
            more => Some(format!(
                "unknown for {more} templates without a number of replicas"
            )),
        };
        let parts: Vec<String> = known.into_iter().chain(unknown).collect();
        (!parts.is_empty()).then(|| format!("Mackerel hosts: {}", parts.join("; ")))
    }
}

fn has_autoscalers(text: &ProcessedText<'_>) -> bool {
    let kinds = &text.injection.kinds_without_template;
    AUTOSCALERS
        .iter()
        .any(|(group, kind)| kinds.has(group, kind))
}
