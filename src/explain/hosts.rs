//! The number of hosts that the agents make in Mackerel: one for each pod.

use crate::inject::Outcome;
use serde::Serialize;

/// Hosts of the templates that have an agent after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostCount {
    /// Hosts of the templates whose replicas the manifests have.
    pub(crate) hosts: u64,
    /// Templates without a number of replicas.
    pub(crate) unknown_templates: usize,
}

impl HostCount {
    pub(super) fn of(outcomes: &[&Outcome]) -> Self {
        let with_agent = || outcomes.iter().filter(|outcome| outcome.needs.is_some());
        Self {
            hosts: with_agent().filter_map(|outcome| outcome.replicas).sum(),
            unknown_templates: with_agent().filter(|outcome| outcome.replicas.is_none()).count(),
        }
    }

    /// `Mackerel hosts: 5, one for each replica; unknown for 1 template without a number of replicas`
    pub(super) fn line(self) -> Option<String> {
        let known = (self.hosts > 0).then(|| format!("{}, one for each replica", self.hosts));
        let unknown = match self.unknown_templates {
            0 => None,
            1 => Some("unknown for 1 template without a number of replicas".to_owned()),
            more => Some(format!("unknown for {more} templates without a number of replicas")),
        };
        let parts: Vec<String> = known.into_iter().chain(unknown).collect();
        (!parts.is_empty()).then(|| format!("Mackerel hosts: {}", parts.join("; ")))
    }
}
