//! A ResourceQuota that counts what the agent's container does not say, or leaves less than that container takes alone: the
//! API server then refuses the pods.

use super::agents::Agents;
use super::limit_range::filled;
use crate::config::quantity::nanos;
use crate::needs::Needs;
use crate::report::{Finding, Identity, Outcome, Reason, Remark};
use crate::surroundings::{Object, Objects, Surrounding};
use std::collections::HashSet;

/// What is said of the containers of one namespace.
struct Namespace<'a> {
    /// What the agents leave open and take, each with the first template of such an agent.
    agents: &'a [(&'a Needs, &'a Outcome)],
    /// What a LimitRange fills in: the list, and the resource.
    filled: Option<&'a HashSet<(&'static str, &'a str)>>,
}

pub(super) fn remarks(objects: &Objects<'_>, agents: &Agents<'_>) -> Vec<(usize, Remark)> {
    let filled = filled(objects);
    let mut remarks = Vec::new();
    for quota in objects.of(Surrounding::Quota) {
        let name = quota.namespace.as_deref();
        let Some(agents) = agents.get(&name) else { continue };
        let namespace = Namespace { agents, filled: filled.get(&name) };
        remarks.extend(uncounted(quota, &namespace));
        remarks.extend(too_small(quota, &namespace));
    }
    remarks
}

/// It counts what an agent leaves open.
fn uncounted(quota: &Object, namespace: &Namespace<'_>) -> Option<(usize, Remark)> {
    let counts = |without: &[&'static str]| -> Vec<&str> {
        let hard = quota.entries.iter().map(|entry| &*entry.key);
        let is_filled = |hard: &str| namespace.filled.is_some_and(|filled| filled.contains(&parts_of(hard)));
        hard.filter(|hard| without.contains(hard) && !is_filled(hard)).collect()
    };
    let mut open = namespace.agents.iter().map(|(needs, outcome)| (counts(&needs.without), outcome));
    let (missing, outcome) = open.find(|(missing, _)| !missing.is_empty())?;
    let counted: Vec<String> = missing.iter().map(|hard| format!("`{hard}`")).collect();
    let message = format!(
        "it counts {}, which the agent's container does not say: pods of {} {} would be refused",
        counted.join(" and "),
        outcome.identity.kind,
        outcome.identity.name,
    );
    let entry = quota.entries.iter().find(|entry| missing.first() == Some(&&*entry.key));
    let (offset, pointer) = entry.map_or((quota.offset, ""), |entry| (entry.offset, &*entry.pointer));
    let settings: Vec<String> = missing.iter().map(|hard| setting(hard)).collect();
    let help = format!("set {}", settings.join(" and "));
    Some(quota.remark(Finding::new(Reason::Quota, message, offset, pointer).with_help(help)))
}

/// It leaves less for all pods of the namespace than one agent takes: each amount is told with the first template of such an
/// agent.
fn too_small<'a>(quota: &'a Object, namespace: &'a Namespace<'_>) -> impl Iterator<Item = (usize, Remark)> {
    let is_more = |amount: &str, left: &str| nanos(amount).zip(nanos(left)).is_some_and(|(amount, left)| amount > left);
    quota.entries.iter().filter_map(move |entry| {
        let (hard, left) = (&entry.key, entry.value.as_deref()?);
        let (amount, outcome) = namespace.agents.iter().find_map(|(needs, outcome)| {
            let (_, amount) = needs.takes.iter().find(|(taken, amount)| taken == hard && is_more(amount, left))?;
            Some((amount, outcome))
        })?;
        let Identity { kind, name, .. } = &outcome.identity;
        let message = format!(
            "`{hard}` leaves {left} for all pods, and the agent of {kind} {name} alone takes {amount}: its pods would be refused"
        );
        let help = format!("raise it, or lower {}", setting(hard));
        let finding = Finding::new(Reason::Quota, message, entry.offset, &entry.pointer);
        Some(quota.remark(finding.with_help(help)))
    })
}

/// `limits.cpu` is the limit of cpu, `cpu` the request.
fn parts_of(hard: &str) -> (&str, &str) {
    hard.split_once('.').unwrap_or(("requests", hard))
}

fn setting(hard: &str) -> String {
    let (list, resource) = parts_of(hard);
    format!("`agent.resources.{list}.{resource}`")
}
