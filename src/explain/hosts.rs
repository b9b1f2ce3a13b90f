//! The number of hosts in Mackerel: each pod with an agent is one.

use crate::checks::ProcessedText;
use crate::config::Config;
use crate::inject::Outcome;
use crate::inject::totals::plural;
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// The number of hosts of the templates that have an agent after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostCount {
    /// Hosts of templates whose number of replicas is in the manifests; the least with autoscalers.
    pub min: u64,
    /// The most hosts of these templates.
    pub max: u64,
    /// True if the input has autoscalers whose workload or range is unknown.
    pub has_autoscalers: bool,
    /// Templates whose number of replicas is unknown.
    pub unknown_templates: usize,
}

/// The least and most hosts of one template.
#[derive(Clone, Copy)]
struct HostRange {
    min: u64,
    max: u64,
}

/// A workload, by the fields that an autoscaler names it with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Workload<'w> {
    namespace: Option<&'w str>,
    kind: &'w str,
    name: &'w str,
}

impl<'w> Workload<'w> {
    fn of(outcome: &'w Outcome, config: &'w Config) -> Self {
        let identity = &outcome.identity;
        let namespace = identity.namespace_or(config.spec.namespace.as_deref());
        Workload {
            namespace: namespace.map(String::as_str),
            kind: &identity.kind,
            name: &identity.name,
        }
    }
}

impl HostCount {
    pub(super) fn of(outcomes: &[&Outcome], texts: &[ProcessedText<'_>], config: &Config) -> Self {
        let mut ranges: HashMap<Workload<'_>, HostRange> = HashMap::new();
        let all = texts.iter().flat_map(|text| &text.injection.outcomes);
        let workloads: HashSet<Workload<'_>> =
            all.map(|outcome| Workload::of(outcome, config)).collect();
        let mut count = Self {
            min: 0,
            max: 0,
            has_autoscalers: false,
            unknown_templates: 0,
        };
        for scaling in texts.iter().flat_map(|text| &text.injection.scalings) {
            let target = Workload {
                namespace: scaling.namespace.as_deref(),
                kind: &scaling.kind,
                name: &scaling.name,
            };
            match scaling.max {
                Some(max) if workloads.contains(&target) => {
                    ranges.insert(
                        target,
                        HostRange {
                            min: scaling.min,
                            max,
                        },
                    );
                }
                _ => count.has_autoscalers = true,
            }
        }
        for outcome in outcomes.iter().filter(|outcome| outcome.agent().is_some()) {
            let range = ranges.get(&Workload::of(outcome, config)).copied();
            let fixed = outcome.replicas.map(|replicas| HostRange {
                min: replicas,
                max: replicas,
            });
            match range.or(fixed) {
                Some(HostRange { min, max }) => {
                    count.min = count.min.saturating_add(min);
                    count.max = count.max.saturating_add(max);
                }
                None => count.unknown_templates += 1,
            }
        }
        count
    }

    /// `Mackerel hosts: at least 5, one for each replica; unknown for 1 template without a number of replicas`
    pub(super) fn line(self) -> Option<String> {
        // With an autoscaler of unknown range the number is no minimum, since it may also remove replicas.
        let is_minimum =
            self.unknown_templates > 0 && !self.has_autoscalers && self.min == self.max;
        let at_least = if is_minimum { "at least " } else { "" };
        let scaled = if self.has_autoscalers {
            "; the autoscalers of the input may change that number"
        } else {
            ""
        };
        let mut parts = Vec::new();
        if self.max > 0 {
            let range = match (self.min, self.max) {
                (min, max) if min == max => min.to_string(),
                (min, max) => format!("{min} to {max}"),
            };
            parts.push(format!("{at_least}{range}, one for each replica{scaled}"));
        }
        if self.unknown_templates > 0 {
            let templates = plural(self.unknown_templates, "template");
            parts.push(format!(
                "unknown for {templates} without a number of replicas"
            ));
        }
        if parts.is_empty() {
            return None;
        }
        Some(format!("Mackerel hosts: {}", parts.join("; ")))
    }
}
