//! A LimitRange whose bounds the agent's container does not keep: the API server then refuses the pods.

use super::agents::Agents;
use crate::config::quantity::nanos;
use crate::needs::Needs;
use crate::report::{Finding, Identity, Reason, Remark};
use crate::surroundings::{Entry, Object, Objects, Surrounding};
use std::collections::{HashMap, HashSet};

/// By namespace, what is filled in where a container does not say it: the list, and the resource.
pub(super) fn filled<'o>(objects: &Objects<'o>) -> HashMap<Option<&'o str>, HashSet<(&'static str, &'o str)>> {
    let mut filled: HashMap<Option<&str>, HashSet<(&str, &str)>> = HashMap::new();
    for range in objects.of(Surrounding::LimitRange) {
        for entry in &range.entries {
            // A maximum is a default limit, and any default limit a default request.
            let lists: &[&str] = match field(entry) {
                "default" | "max" => &["limits", "requests"],
                "defaultRequest" | "min" => &["requests"],
                _ => &[],
            };
            let of_namespace = filled.entry(range.namespace.as_deref()).or_default();
            of_namespace.extend(lists.iter().map(|list| (*list, &*entry.key)));
        }
    }
    filled
}

/// The field of the limit: `/spec/limits/0/max/memory`.
fn field(entry: &Entry) -> &str {
    entry.pointer.split('/').nth(4).unwrap_or_default()
}

pub(super) fn remarks(objects: &Objects<'_>, agents: &Agents<'_>) -> Vec<(usize, Remark)> {
    let of_namespaces =
        objects.of(Surrounding::LimitRange).filter_map(|range| Some((range, agents.get(&range.namespace.as_deref())?)));
    of_namespaces
        .flat_map(|(range, agents)| {
            let of_containers = range.entries.iter().map(|entry| (entry, Bounded::Container));
            let of_pods = range.of_pods.iter().map(|entry| (entry, Bounded::Pod));
            let bounds = of_containers.chain(of_pods);
            bounds.filter_map(move |(entry, bounded)| {
                agents
                    .iter()
                    .find_map(|(needs, outcome)| out_of_bounds(range, entry, bounded, needs, &outcome.identity))
            })
        })
        .collect()
}

/// What is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bounded {
    /// Each container.
    Container,
    /// All containers of a pod together.
    Pod,
}

#[cold]
fn out_of_bounds(
    range: &Object,
    entry: &Entry,
    bounded: Bounded,
    needs: &Needs,
    of: &Identity,
) -> Option<(usize, Remark)> {
    let (bound, resource) = (entry.value.as_deref()?, &entry.key);
    let taken = |list: &'static str| {
        let (_, amount) = needs.takes.iter().find(|(hard, _)| hard.split_once('.') == Some((list, resource)))?;
        Some((list, amount))
    };
    let is_more = |one: &str, other: &str| nanos(one).zip(nanos(other)).is_some_and(|(one, other)| one > other);
    let who = format!("the agent of {} {}", of.kind, of.name);
    let (what, (list, amount), help) = match (field(entry), bounded) {
        ("max", _) => {
            let over =
                ["limits", "requests"].into_iter().filter_map(taken).find(|(_, amount)| is_more(amount, bound))?;
            let what = match bounded {
                Bounded::Container => format!("`max` allows a container {bound} of {resource}, and {who} has"),
                Bounded::Pod => {
                    format!("`max` allows the containers of a pod {bound} of {resource} together, and {who} alone has")
                }
            };
            (what, over, "raise it, or lower")
        }
        // What other containers of the pod take counts for it.
        ("min", Bounded::Container) => {
            let under = taken("requests").filter(|(_, amount)| is_more(bound, amount))?;
            (format!("`min` demands {bound} of {resource} of a container, and {who} has"), under, "lower it, or raise")
        }
        // A request must not be above its limit, which this becomes.
        ("default", Bounded::Container) if taken("limits").is_none() => {
            let over = taken("requests").filter(|(_, amount)| is_more(amount, bound))?;
            let what = format!("`default` limits a container without a limit to {bound} of {resource}, and {who} has");
            (what, over, "raise it, or lower")
        }
        _ => return None,
    };
    let word = if list == "limits" { "limit" } else { "request" };
    let message = format!("{what} a {word} of {amount}: its pods would be refused");
    let finding = Finding::new(Reason::Quota, message, entry.offset, &entry.pointer);
    Some(range.remark(finding.with_help(format!("{help} `agent.resources.{list}.{resource}`"))))
}
