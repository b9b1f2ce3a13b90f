//! A ResourceQuota that counts what the agent's container does not say: the API server then refuses the pods.

use crate::config::Config;
use crate::report::{Finding, Outcome, Reason, Remark};
use crate::surroundings::{Object, Part, Surrounding};

pub(super) fn remarks(parts: &[Part<'_>], objects: &[Object], config: &Config) -> Vec<(usize, Remark)> {
    let of = |surrounding| objects.iter().filter(move |object| object.surrounding == surrounding);
    let mut remarks = Vec::new();
    for quota in of(Surrounding::Quota) {
        let ranges: Vec<&Object> =
            of(Surrounding::LimitRange).filter(|range| range.namespace == quota.namespace).collect();
        let mut outcomes = parts.iter().flat_map(|part| &part.injection.outcomes);
        let refused = outcomes.find_map(|outcome| {
            let missing = missing(quota, outcome, config).filter(|hard| !ranges.iter().any(|range| gives(range, hard)));
            Some((outcome, missing.map(str::to_owned).collect::<Vec<_>>())).filter(|(_, missing)| !missing.is_empty())
        });
        let Some((outcome, missing)) = refused else { continue };
        let counts: Vec<String> = missing.iter().map(|hard| format!("`{hard}`")).collect();
        let message = format!(
            "it counts {}, which the agent's container does not say: pods of {} {} would be refused",
            counts.join(" and "),
            outcome.identity.kind,
            outcome.identity.name,
        );
        let entry = quota.entries.iter().find(|entry| Some(&entry.key) == missing.first());
        let (offset, pointer) = entry.map_or((quota.offset, ""), |entry| (entry.offset, &*entry.pointer));
        let settings: Vec<String> = missing.iter().map(|hard| setting(hard)).collect();
        let help = format!("set {}", settings.join(" and "));
        remarks.push(quota.remark(Finding::new(Reason::Quota, message, offset, pointer).with_help(help)));
    }
    remarks
}

/// What the quota counts and the agent of this template lacks.
fn missing<'q>(quota: &'q Object, outcome: &'q Outcome, config: &Config) -> impl Iterator<Item = &'q str> {
    let namespace = outcome.identity.namespace_in(config);
    let without = match &outcome.needs {
        Some(needs) if quota.namespace.as_ref() == namespace => needs.without.as_slice(),
        _ => &[],
    };
    quota.entries.iter().map(|entry| &*entry.key).filter(|hard| without.contains(hard))
}

/// True where a LimitRange fills in what the agent leaves open.
fn gives(range: &Object, hard: &str) -> bool {
    let (list, resource) = parts_of(hard);
    range.entries.iter().any(|entry| {
        // A maximum is a default limit, and any default limit a default request.
        let field = entry.pointer.split('/').nth(4).unwrap_or_default();
        let fills =
            matches!(field, "default" | "max") || (list == "requests" && matches!(field, "defaultRequest" | "min"));
        fills && entry.key == resource
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
