//! Warns about a ResourceQuota on requests or limits that the agent's container lacks: the API server refuses the pods.

use crate::agent::prerequisites::Prerequisites;
use crate::checks::{AgentGroup, Object, Objects};
use crate::config::AgentSettings;
use crate::inject::outcome::{Outcome, Remark};
use crate::manifest::related::RelatedKind;
use crate::report::{Finding, Reason};
use std::collections::{HashMap, HashSet};

pub(super) fn remarks(agents: &[AgentGroup<'_>], objects: &Objects<'_>) -> Vec<(usize, Remark)> {
    if objects.of(RelatedKind::Quota).next().is_none() {
        return Vec::new();
    }
    // For each namespace, the first template of those whose agents lack the same resources.
    let mut lacking: HashMap<Option<&str>, Vec<&AgentGroup<'_>>> = HashMap::new();
    for agent in agents {
        let known = lacking.entry(agent.namespace).or_default();
        let mut same = known.iter();
        if !same.any(|known| known.needs.without == agent.needs.without) {
            known.push(agent);
        }
    }
    // A LimitRange may set defaults for the agent's container.
    let ranges: HashSet<Option<&str>> = objects
        .of(RelatedKind::LimitRange)
        .map(|range| range.namespace.as_deref())
        .collect();
    let remark = |quota: &Object| {
        let namespace = quota.namespace.as_deref();
        let mut agents = lacking
            .get(&namespace)
            .filter(|_| !ranges.contains(&namespace))?
            .iter();
        agents.find_map(|agent| uncounted(quota, agent.needs, agent.first))
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
