//! A ResourceQuota that counts what the agent's container does not say: the API server then refuses the pods.

use crate::config::Config;
use crate::report::{Finding, Outcome, Reason, Remark};
use crate::surroundings::{Object, Objects, Part, Surrounding};
use std::collections::{HashMap, HashSet};

/// What is said of the containers of one namespace.
#[derive(Default)]
struct Namespace<'r> {
    /// What the agents leave open, each with the first template of such an agent.
    open: Vec<(&'r [&'static str], &'r Outcome)>,
    /// What a LimitRange fills in: the list, and the resource.
    filled: HashSet<(&'static str, &'r str)>,
}

pub(super) fn remarks(parts: &[Part<'_>], objects: &Objects<'_>, config: &Config) -> Vec<(usize, Remark)> {
    let mut quotas = objects.of(Surrounding::Quota).peekable();
    if quotas.peek().is_none() {
        return Vec::new();
    }
    let namespaces = namespaces(parts, objects, config);
    quotas.filter_map(|quota| remark(quota, namespaces.get(&quota.namespace.as_deref())?)).collect()
}

fn namespaces<'r>(
    parts: &[Part<'r>],
    objects: &Objects<'r>,
    config: &'r Config,
) -> HashMap<Option<&'r str>, Namespace<'r>> {
    let mut namespaces: HashMap<Option<&str>, Namespace<'_>> = HashMap::new();
    for outcome in parts.iter().flat_map(|part| &part.injection.outcomes) {
        let Some(needs) = &outcome.needs else { continue };
        let open = &mut namespaces.entry(outcome.identity.namespace_in(config).map(String::as_str)).or_default().open;
        if !open.iter().any(|(known, _)| *known == needs.without) {
            open.push((&needs.without, outcome));
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

fn remark(quota: &Object, namespace: &Namespace<'_>) -> Option<(usize, Remark)> {
    let counts = |without: &[&'static str]| -> Vec<&str> {
        let hard = quota.entries.iter().map(|entry| &*entry.key);
        hard.filter(|hard| without.contains(hard) && !namespace.filled.contains(&parts_of(hard))).collect()
    };
    let mut open = namespace.open.iter().map(|(without, outcome)| (counts(without), outcome));
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

/// `limits.cpu` is the limit of cpu, `cpu` the request.
fn parts_of(hard: &str) -> (&str, &str) {
    hard.split_once('.').unwrap_or(("requests", hard))
}

fn setting(hard: &str) -> String {
    let (list, resource) = parts_of(hard);
    format!("`agent.resources.{list}.{resource}`")
}
