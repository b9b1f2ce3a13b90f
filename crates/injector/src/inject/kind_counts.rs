//! Resources without a pod template, counted by kind.

use manifest::Gap;
use report::visible;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The number of resources of each kind, by group and kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindCounts(BTreeMap<String, BTreeMap<String, usize>>);

struct KindCount<'c> {
    group: &'c str,
    kind: &'c str,
    count: usize,
}

impl KindCounts {
    pub fn add(&mut self, group: &str, kind: &str, count: usize) {
        // A known kind needs no new key.
        match self.0.get_mut(group).and_then(|kinds| kinds.get_mut(kind)) {
            Some(known) => *known += count,
            None => {
                self.0
                    .entry(group.to_owned())
                    .or_default()
                    .insert(kind.to_owned(), count);
            }
        }
    }

    /// Returns true if there is not even a document without a kind.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a resource has this kind.
    pub fn has(&self, kind: &str) -> bool {
        self.each().any(|known| known.kind == kind)
    }

    /// Returns the number of resources; a document without a kind is none.
    pub fn total(&self) -> usize {
        self.each()
            .filter(|known| !known.kind.is_empty())
            .map(|known| known.count)
            .sum()
    }

    pub fn absorb(&mut self, other: &Self) {
        for KindCount { group, kind, count } in other.each() {
            self.add(group, kind, count);
        }
    }

    fn each(&self) -> impl Iterator<Item = KindCount<'_>> {
        self.0.iter().flat_map(|(group, kinds)| {
            kinds.iter().map(move |(kind, count)| KindCount {
                group,
                kind,
                count: *count,
            })
        })
    }

    /// Returns the line about all kinds with their counts, the most frequent first; none without resources.
    pub fn line(&self) -> Option<String> {
        let kinds: Vec<String> = self
            .by_frequency()
            .iter()
            .map(|kind| format!("{} {}", kind.count, kind.name()))
            .collect();
        (!kinds.is_empty()).then(|| format!("info: without pod template: {}", kinds.join(", ")))
    }

    /// Returns a line for each remedy of kinds that lead to pods without an agent.
    pub fn gap_lines(&self) -> Vec<String> {
        let kinds = self.by_frequency();
        [
            (
                Gap::WebhookOnly,
                "not covered",
                "their pods get an agent from the webhook or the policy only",
            ),
            (
                Gap::RenderedElsewhere,
                "rendered elsewhere",
                "inject the rendered manifests, or use the webhook",
            ),
            (
                Gap::Template,
                "rendered elsewhere",
                "use `oc process -f FILE | mackerel-agent-injector inject -`",
            ),
        ]
        .into_iter()
        .filter_map(|(gap, what, remedy)| {
            let of_gap: Vec<String> = kinds
                .iter()
                .filter(|kind| Gap::of(kind.group, kind.kind) == Some(gap))
                .map(|kind| format!("{} {}", kind.count, kind.name()))
                .collect();
            (!of_gap.is_empty()).then(|| format!("info: {what}: {}; {remedy}", of_gap.join(", ")))
        })
        .collect()
    }

    fn by_frequency(&self) -> Vec<KindCount<'_>> {
        let mut all: Vec<KindCount<'_>> = self.each().collect();
        all.sort_by_cached_key(|count| (Reverse(count.count), count.name()));
        all
    }
}

impl KindCount<'_> {
    /// Returns `kafka.strimzi.io/Kafka`, or `ConfigMap` where there is no group.
    fn name(&self) -> String {
        let name = match (self.group, self.kind) {
            (_, "") => "without a kind".to_owned(),
            ("", kind) => kind.to_owned(),
            (group, kind) => format!("{group}/{kind}"),
        };
        visible(&name).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_named_once_and_those_that_lead_to_pods_again() {
        let mut counts = KindCounts::default();
        let mut more = KindCounts::default();
        for (group, kind) in [
            ("", "Service"),
            ("kafka.strimzi.io", "Kafka"),
            ("", "ConfigMap"),
            ("", "ConfigMap"),
            ("argoproj.io", "Application"),
            ("template.openshift.io", "Template"),
        ] {
            more.add(group, kind, 1);
        }
        counts.absorb(&more);
        counts.absorb(&more);
        let line = "info: without pod template: 4 ConfigMap, 2 Service, 2 argoproj.io/Application, 2 kafka.strimzi.io/Kafka, 2 template.openshift.io/Template";
        assert_eq!(counts.line().as_deref(), Some(line));
        let lines = [
            "info: not covered: 2 kafka.strimzi.io/Kafka; their pods get an agent from the webhook or the policy only",
            "info: rendered elsewhere: 2 argoproj.io/Application; inject the rendered manifests, or use the webhook",
            "info: rendered elsewhere: 2 template.openshift.io/Template; use `oc process -f FILE | mackerel-agent-injector inject -`",
        ];
        assert_eq!(counts.gap_lines(), lines);
        assert_eq!(KindCounts::default().line(), None);
    }
}
