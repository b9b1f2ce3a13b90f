//! Warns about a LimitRange that the agent's container does not meet: the API server refuses the pods.

use crate::checks::{AgentGroup, Object, Objects};
use crate::config::AgentSettings;
use crate::inject::outcome::{Outcome, Remark};
use crate::manifest::quantity::nanos;
use crate::manifest::related::RelatedKind;
use crate::report::{Finding, Reason};
use std::collections::HashMap;

/// The lists of amounts of a container.
const LISTS: [&str; 2] = ["limits", "requests"];

pub(super) fn remarks(agents: &[AgentGroup<'_>], objects: &Objects<'_>) -> Vec<(usize, Remark)> {
    if objects.of(RelatedKind::LimitRange).next().is_none() {
        return Vec::new();
    }
    let mut extremes = HashMap::new();
    for agent in agents {
        add_amounts(&mut extremes, agent);
    }
    let mut remarks = Vec::new();
    for range in objects.of(RelatedKind::LimitRange) {
        remarks.extend(violated(range, &extremes).map(|finding| range.remark(finding)));
    }
    remarks
}

/// A resource in one of the lists of the agents of a namespace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct AmountKey<'o> {
    namespace: Option<&'o str>,
    list: &'static str,
    resource: &'o str,
}

/// The amount of one agent.
#[derive(Clone, Copy)]
struct Amount<'o> {
    nanos: i128,
    text: &'o str,
    outcome: &'o Outcome,
}

/// The least and the greatest amount of several agents.
struct Extremes<'o> {
    least: Amount<'o>,
    greatest: Amount<'o>,
}

fn add_amounts<'o>(extremes: &mut HashMap<AmountKey<'o>, Extremes<'o>>, agent: &AgentGroup<'o>) {
    let AgentGroup {
        namespace,
        needs,
        first: outcome,
    } = *agent;
    for list in LISTS {
        for (resource, value) in needs.resources[list].as_object().into_iter().flatten() {
            let Some(text) = value.as_str() else { continue };
            let Some(nanos) = nanos(text) else { continue };
            let amount = Amount {
                nanos,
                text,
                outcome,
            };
            let key = AmountKey {
                namespace,
                list,
                resource,
            };
            let known = extremes.entry(key).or_insert(Extremes {
                least: amount,
                greatest: amount,
            });
            if amount.nanos < known.least.nanos {
                known.least = amount;
            }
            if amount.nanos > known.greatest.nanos {
                known.greatest = amount;
            }
        }
    }
}

/// Returns the finding about the first bound of a LimitRange that an agent violates.
fn violated(range: &Object, extremes: &HashMap<AmountKey<'_>, Extremes<'_>>) -> Option<Finding> {
    for entry in &range.entries {
        let (bound, resource) = entry.key.split_once('.')?;
        let Some(value) = entry.value.as_deref() else {
            continue;
        };
        let Some(allowed) = nanos(value) else {
            continue;
        };
        for list in LISTS {
            let key = AmountKey {
                namespace: range.namespace.as_deref(),
                list,
                resource,
            };
            let Some(extremes) = extremes.get(&key) else {
                continue;
            };
            let (amount, at) = match bound {
                "max" if extremes.greatest.nanos > allowed => (extremes.greatest, "allows at most"),
                "min" if extremes.least.nanos < allowed => (extremes.least, "requires at least"),
                _ => continue,
            };
            let identity = &amount.outcome.identity;
            let message = format!(
                "the LimitRange {at} `{resource}: {value}`, but the agent container has `{list}.{resource}: {}`; the API server rejects pods of {} {}",
                amount.text, identity.kind, identity.name
            );
            let setting = AgentSettings::resources().part(&[list, resource]);
            let finding = Finding::new(Reason::LimitRange, message, entry.offset, &entry.pointer);
            return Some(finding.with_help(format!("set `{setting}`, or change the LimitRange")));
        }
    }
    None
}
