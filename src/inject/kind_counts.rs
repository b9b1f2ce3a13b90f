//! Resources without a pod template, counted by kind.

use crate::manifest::known_kinds::is_not_covered;
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
        // A kind that is known takes no new key.
        match self.0.get_mut(group).and_then(|kinds| kinds.get_mut(kind)) {
            Some(known) => *known += count,
            None => {
                _ = self
                    .0
                    .entry(group.to_owned())
                    .or_default()
                    .insert(kind.to_owned(), count)
            }
        }
    }

    pub(crate) fn has(&self, group: &str, kind: &str) -> bool {
        self.0
            .get(group)
            .is_some_and(|kinds| kinds.contains_key(kind))
    }

    /// Returns true if a resource has a kind.
    pub(crate) fn has_named(&self) -> bool {
        self.each().any(|known| !known.kind.is_empty())
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
        other
            .each()
            .for_each(|KindCount { group, kind, count }| self.add(group, kind, count));
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
        all.sort_by(|one, other| {
            other
                .count
                .cmp(&one.count)
                .then_with(|| one.named().cmp(&other.named()))
        });
        let listed = |counts: Vec<&KindCount<'_>>| {
            let counts: Vec<String> = counts
                .into_iter()
                .map(|count| format!("{} {}", count.count, count.named()))
                .collect();
            (!counts.is_empty()).then(|| counts.join(", "))
        };
        let not_covered = all
            .iter()
            .filter(|count| is_not_covered(count.group, count.kind))
            .collect();
        let without = listed(all.iter().collect())
            .map(|kinds| format!("info: without pod template: {kinds}"));
        let not_covered = listed(not_covered).map(|kinds| {
            format!("info: not covered: {kinds}; their pods get an agent from the webhook only")
        });
        without.into_iter().chain(not_covered).collect()
    }
}

impl KindCount<'_> {
    /// `kafka.strimzi.io/Kafka`, and `ConfigMap` where there is no group.
    fn named(&self) -> String {
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
