//! Resources without a pod template, counted by kind.

use crate::manifest::known_kinds::is_not_covered;

/// The number of resources of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KindCounts(Vec<KindCount>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct KindCount {
    group: String,
    kind: String,
    count: usize,
}

impl KindCounts {
    pub(crate) fn add(&mut self, group: &str, kind: &str, count: usize) {
        // Few kinds: a search costs less than a key.
        match self.0.iter_mut().find(|known| known.kind == kind && known.group == group) {
            Some(known) => known.count += count,
            None => self.0.push(KindCount { group: group.to_owned(), kind: kind.to_owned(), count }),
        }
    }

    pub(crate) fn has(&self, group: &str, kind: &str) -> bool {
        self.0.iter().any(|known| known.kind == kind && known.group == group)
    }

    /// Returns true if a resource has a kind.
    pub(crate) fn has_named(&self) -> bool {
        self.0.iter().any(|known| !known.kind.is_empty())
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
        other.0.iter().for_each(|KindCount { group, kind, count }| self.add(group, kind, *count));
    }

    /// Returns the lines of a report, each kind with its count, the most frequent first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut all: Vec<&KindCount> = self.0.iter().collect();
        all.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.named().cmp(&other.named())));
        let listed = |counts: Vec<&KindCount>| {
            let counts: Vec<String> =
                counts.into_iter().map(|count| format!("{} {}", count.count, count.named())).collect();
            (!counts.is_empty()).then(|| counts.join(", "))
        };
        let not_covered = all.iter().copied().filter(|count| is_not_covered(&count.group, &count.kind)).collect();
        let without = listed(all).map(|kinds| format!("info: without pod template: {kinds}"));
        let not_covered = listed(not_covered)
            .map(|kinds| format!("info: not covered: {kinds}; their pods get an agent from the webhook only"));
        without.into_iter().chain(not_covered).collect()
    }
}

impl KindCount {
    /// `kafka.strimzi.io/Kafka`, and `ConfigMap` where there is no group.
    fn named(&self) -> String {
        match (&*self.group, &*self.kind) {
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
        for (group, kind) in [("", "Service"), ("kafka.strimzi.io", "Kafka"), ("", "ConfigMap"), ("", "ConfigMap")] {
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
