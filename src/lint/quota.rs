//! A ResourceQuota that counts what the agent's container does not say, or leaves less than that container takes alone: the
//! API server then refuses the pods.

use crate::config::Config;
use crate::config::quantity::nanos;
use crate::needs::Needs;
use crate::report::{Finding, Identity, Outcome, Reason, Remark};
use crate::surroundings::{Object, Objects, Part, Surrounding};
use std::collections::{HashMap, HashSet};

/// What is said of the containers of one namespace.
#[derive(Default)]
struct Namespace<'r> {
    /// What the agents leave open and take, each with the first template of such an agent.
    agents: Vec<(&'r Needs, &'r Outcome)>,
    /// What a LimitRange fills in: the list, and the resource.
    filled: HashSet<(&'static str, &'r str)>,
}

pub(super) fn remarks(parts: &[Part<'_>], objects: &Objects<'_>, config: &Config) -> Vec<(usize, Remark)> {
    let mut quotas = objects.of(Surrounding::Quota).peekable();
    if quotas.peek().is_none() {
        return Vec::new();
    }
    let namespaces = namespaces(parts, objects, config);
    let of_namespaces = quotas.filter_map(|quota| Some((quota, namespaces.get(&quota.namespace.as_deref())?)));
    of_namespaces
        .flat_map(|(quota, namespace)| [uncounted(quota, namespace), too_small(quota, namespace)])
        .flatten()
        .collect()
}

fn namespaces<'r>(
    parts: &[Part<'r>],
    objects: &Objects<'r>,
    config: &'r Config,
) -> HashMap<Option<&'r str>, Namespace<'r>> {
    let mut namespaces: HashMap<Option<&str>, Namespace<'_>> = HashMap::new();
    for outcome in parts.iter().flat_map(|part| &part.injection.outcomes) {
        let Some(needs) = &outcome.needs else { continue };
        let agents =
            &mut namespaces.entry(outcome.identity.namespace_in(config).map(String::as_str)).or_default().agents;
        if !agents.iter().any(|(known, _)| known.without == needs.without && known.takes == needs.takes) {
            agents.push((needs, outcome));
        }
    }
    for range in objects.of(Surrounding::LimitRange) {
        let Some(namespace) = namespaces.get_mut(&range.namespace.as_deref()) else { continue };
        for entry in &range.entries {
            // A maximum is a default limit, and any default limit a default request.
            let lists: &[&str] = match entry.pointer.split('/').nth(4).unwrap_or_default() {
                "default" | "max" => &["limits", "requests"],
                "defaultRequest" | "min" => &["requests"],
                _ => &[],
            };
            namespace.filled.extend(lists.iter().map(|list| (*list, &*entry.key)));
        }
    }
    namespaces
}

/// It counts what an agent leaves open.
fn uncounted(quota: &Object, namespace: &Namespace<'_>) -> Option<(usize, Remark)> {
    let counts = |without: &[&'static str]| -> Vec<&str> {
        let hard = quota.entries.iter().map(|entry| &*entry.key);
        hard.filter(|hard| without.contains(hard) && !namespace.filled.contains(&parts_of(hard))).collect()
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

/// It leaves less for all pods of the namespace than one agent takes.
fn too_small(quota: &Object, namespace: &Namespace<'_>) -> Option<(usize, Remark)> {
    let is_more = |amount: &str, left: &str| nanos(amount).zip(nanos(left)).is_some_and(|(amount, left)| amount > left);
    let (entry, left, amount, outcome) = namespace.agents.iter().find_map(|(needs, outcome)| {
        quota.entries.iter().find_map(|entry| {
            let left = entry.value.as_deref()?;
            let (_, amount) = needs.takes.iter().find(|(hard, amount)| *hard == entry.key && is_more(amount, left))?;
            Some((entry, left, amount, outcome))
        })
    })?;
    let (hard, Identity { kind, name, .. }) = (&entry.key, &outcome.identity);
    let message = format!(
        "`{hard}` leaves {left} for all pods, and the agent of {kind} {name} alone takes {amount}: its pods would be refused"
    );
    let help = format!("raise it, or lower {}", setting(hard));
    let finding = Finding::new(Reason::Quota, message, entry.offset, &entry.pointer);
    Some(quota.remark(finding.with_help(help)))
}

/// `limits.cpu` is the limit of cpu, `cpu` the request.
fn parts_of(hard: &str) -> (&str, &str) {
    hard.split_once('.').unwrap_or(("requests", hard))
}

fn setting(hard: &str) -> String {
    let (list, resource) = parts_of(hard);
    format!("`agent.resources.{list}.{resource}`")
}
