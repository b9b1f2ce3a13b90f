//! Resources without a pod template, counted by kind.

use crate::manifest::known_kinds::is_not_covered;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The number of resources of each kind, by group and kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KindCounts(BTreeMap<String, BTreeMap<String, usize>>);

struct KindCount<'c> {
    group: &'c str,
    kind: &'c str,
    count: usize,
}

impl KindCounts {
    pub(crate) fn add(&mut self, group: &str, kind: &str, count: usize) {
        // A known kind needs no new key.
        match self.0.get_mut(group).and_then(|kinds| kinds.get_mut(kind)) {
            Some(known) => *known += count,
            None => {
                let kinds = self.0.entry(group.to_owned()).or_default();
                kinds.insert(kind.to_owned(), count);
            }
        }
    }

    pub(crate) fn has(&self, group: &str, kind: &str) -> bool {
        let kinds = self.0.get(group);
        kinds.is_some_and(|kinds| kinds.contains_key(kind))
    }

    /// Returns true if a resource has a kind.
    pub(crate) fn has_named(&self) -> bool {
        self.each().any(|known| !known.kind.is_empty())
    }

    /// Returns the number of all resources.
    pub(crate) fn total(&self) -> usize {
        self.each().map(|known| known.count).sum()
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
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

    /// Returns the lines of a report, each kind with its count, the most frequent first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut all: Vec<KindCount<'_>> = self.each().collect();
        all.sort_by_cached_key(|count| (Reverse(count.count), count.name()));
        let mut kinds = Vec::new();
        let mut not_covered = Vec::new();
        for count in all {
            let line = format!("{} {}", count.count, count.name());
            if is_not_covered(count.group, count.kind) {
                not_covered.push(line.clone());
            }
            kinds.push(line);
        }
        let mut lines = Vec::new();
        if !kinds.is_empty() {
            lines.push(format!("info: without pod template: {}", kinds.join(", ")));
        }
        if !not_covered.is_empty() {
            let kinds = not_covered.join(", ");
            lines.push(format!(
                "info: not covered: {kinds}; their pods get an agent from the webhook only"
            ));
        }
        lines
    }
}

impl KindCount<'_> {
    /// Returns `kafka.strimzi.io/Kafka`, or `ConfigMap` where there is no group.
    fn name(&self) -> String {
        match (self.group, self.kind) {
            (_, "") => "without a kind".to_owned(),
            ("", kind) => kind.to_owned(),
            (group, kind) => format!("{group}/{kind}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_named_once_and_those_with_pods_again() {
        let mut counts = KindCounts::default();
        let mut more = KindCounts::default();
        for (group, kind) in [
            ("", "Service"),
            ("kafka.strimzi.io", "Kafka"),
            ("", "ConfigMap"),
            ("", "ConfigMap"),
        ] {
            more.add(group, kind, 1);
        }
        counts.absorb(&more);
        counts.absorb(&more);
        let lines = [
            "info: without pod template: 4 ConfigMap, 2 Service, 2 kafka.strimzi.io/Kafka",
            "info: not covered: 2 kafka.strimzi.io/Kafka; their pods get an agent from the webhook only",
        ];
        assert_eq!(counts.lines(), lines);
        assert!(KindCounts::default().lines().is_empty());
    }
}
