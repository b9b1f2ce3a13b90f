//! Warns about a ResourceQuota on requests or limits that the agent's container lacks: the API server refuses the pods.

use crate::agent::prerequisites::Prerequisites;
use crate::checks::{Object, Objects, ProcessedText};
use crate::config::{AgentSettings, Config};
use crate::inject::outcome::{Outcome, Remark};
use crate::manifest::related::RelatedKind;
use crate::report::{Finding, Reason};
use std::collections::{HashMap, HashSet};

pub(super) fn remarks(
    inputs: &[ProcessedText<'_>],
    objects: &Objects<'_>,
    config: &Config,
) -> Vec<(usize, Remark)> {
    if objects.of(RelatedKind::Quota).next().is_none() {
        return Vec::new();
    }
    // For each namespace, the first template of those whose agents lack the same resources.
    let mut agents: HashMap<Option<&str>, Vec<(&Prerequisites, &Outcome)>> = HashMap::new();
    for outcome in inputs.iter().flat_map(|input| &input.injection.outcomes) {
        let Some(needs) = outcome.needs() else {
            continue;
        };
        let known = agents
            .entry(
                outcome
                    .identity
                    .namespace_or(config.spec.namespace.as_ref())
                    .map(String::as_str),
            )
            .or_default();
        if !known
            .iter()
            .any(|(known, _)| known.without == needs.without)
        {
            known.push((needs, outcome));
        }
    }
    // A LimitRange may set defaults for the agent's container.
    let ranges: HashSet<Option<&str>> = objects
        .of(RelatedKind::LimitRange)
        .map(|range| range.namespace.as_deref())
        .collect();
    let remark = |quota: &Object| {
        let namespace = quota.namespace.as_deref();
        let agents = agents
            .get(&namespace)
            .filter(|_| !ranges.contains(&namespace))?;
        agents
            .iter()
            .find_map(|(needs, outcome)| uncounted(quota, needs, outcome))
    };
    objects.of(RelatedKind::Quota).filter_map(remark).collect()
}

fn uncounted(quota: &Object, needs: &Prerequisites, outcome: &Outcome) -> Option<(usize, Remark)> {
    let open: Vec<_> = quota
        .entries
        .iter()
        .filter(|entry| needs.without.contains(&&*entry.key))
        .collect();
    let first = open.first()?;
    let listed = |show: &dyn Fn(&str) -> String| {
        open.iter()
            .map(|entry| show(&entry.key))
            .collect::<Vec<_>>()
            .join(" and ")
    };
    let message = format!(
        "the quota requires {}, but the agent container does not set it; the API server rejects pods of {} {}",
        listed(&|hard| format!("`{hard}`")),
        outcome.identity.kind,
        outcome.identity.name,
    );
    let help = listed(&|hard| {
        let (list, resource) = parts_of(hard);
        format!("`{}`", AgentSettings::resources().part(&[list, resource]))
    });
    let finding = Finding::new(Reason::Quota, message, first.offset, &first.pointer);
    Some(quota.remark(finding.with_help(format!("set {help}"))))
}

/// Splits `limits.cpu` into list and resource; `cpu` alone is the request.
fn parts_of(hard: &str) -> (&str, &str) {
    hard.split_once('.').unwrap_or(("requests", hard))
}
