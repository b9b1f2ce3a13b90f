//! A workload by its form, of a kind that Kubernetes does not have: mistyped, of another API group, or without its kind.
//!
//! Kubernetes refuses it when it is applied. Whoever injects hears it before, and that no agent goes in.

use crate::config::closest;
use crate::decide::{Terms, is_skipped};
use crate::find::{Table, containers, step};
use crate::report::{Finding, Reason};
use crate::resource::Resource;
use crate::yaml::Tree;
use std::collections::BTreeSet;

/// Where the workloads of Kubernetes have their pod template.
const PLACES: [&str; 4] = ["/spec/jobTemplate/spec/template", "/spec/template", "/template", ""];

/// False: a document of which this is known needs not be read for it.
#[must_use]
pub(crate) fn may_be(kind: &str, api_version: Option<&str>) -> bool {
    let is_custom = api_version.is_some_and(|api_version| is_custom(group(api_version)));
    !is_custom && !is_well_known(kind)
}

/// Kinds of Kubernetes that run nothing, and are most of what is not a workload.
pub(crate) fn is_well_known(kind: &str) -> bool {
    matches!(kind, "Service" | "ConfigMap" | "Secret")
}

/// A custom resource's group has a dot; the groups of Kubernetes that have one hold no workloads.
pub(crate) fn is_custom(group: &str) -> bool {
    group.contains('.')
}

/// What is told of a resource in which no pod template is known. Silent where the configuration would pass by a template of
/// it.
#[must_use]
pub(crate) fn no_such_kind(
    tree: &Tree<'_>,
    resource: &Resource,
    table: &Table<'_>,
    terms: Terms<'_>,
) -> Option<Finding> {
    let (api_version, kind) = (&*resource.identity.api_version, &*resource.identity.kind);
    let group = group(api_version);
    let says_nothing = kind.is_empty() && api_version.is_empty();
    let is_known = is_well_known(kind) || table.knows(Some(group), kind) && !api_version.is_empty();
    if says_nothing || is_known || is_custom(group) {
        return None;
    }
    let (pointer, node) = PLACES.into_iter().find_map(|place| {
        let mut steps = place.split('/').skip(1);
        let node = steps.try_fold(resource.node, |node, token| step(tree, node, token))?;
        containers(tree, node).map(|_| (place, node))
    })?;
    if is_skipped(tree, resource, pointer, node, terms) {
        return None;
    }
    let what = match (api_version, kind) {
        (_, "") => "this workload has no `kind`".to_owned(),
        ("", kind) => format!("this {kind} has no `apiVersion`"),
        (api_version, kind) => format!("{api_version} has no kind {kind}"),
    };
    let message = format!("{what}: Kubernetes refuses it, and nothing is put into its pod template");
    let finding = Finding::new(Reason::NoSuchKind, message, tree.span(resource.node).start, "");
    Some(finding.with_help(help(table, api_version, kind)))
}

fn help(table: &Table<'_>, api_version: &str, kind: &str) -> String {
    if kind.is_empty() {
        return "say what it is, for example `kind: Deployment`".to_owned();
    }
    if let Some(group) = group_of(table, kind) {
        let question = if api_version.is_empty() { "" } else { "is its `apiVersion` right? " };
        return format!("{question}a {kind} is of {group}");
    }
    let group = group(api_version);
    let of_group: BTreeSet<&str> = table.kinds().filter(|(of, _)| *of == group).map(|(_, kind)| kind).collect();
    let of_any = table.kinds().map(|(_, kind)| kind);
    match closest(kind, of_group.iter().copied()).or_else(|| closest(kind, of_any)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if group.is_empty() || of_group.is_empty() => {
            "a custom resource has an API group with a dot in its `apiVersion`, such as example.com/v1".to_owned()
        }
        None => format!("the workloads of {group} are {}", of_group.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

/// The API group of an `apiVersion`.
pub(crate) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The API group in which there is a kind of this name, in words.
#[must_use]
pub(crate) fn group_of(table: &Table<'_>, kind: &str) -> Option<String> {
    let (group, _) = table.kinds().find(|(_, known)| *known == kind)?;
    Some(if group.is_empty() { "the core API group, v1".to_owned() } else { format!("the API group {group}") })
}

#[cfg(test)]
mod tests {
    use super::may_be;

    #[test]
    fn most_documents_need_not_be_read() {
        for (kind, api_version, expected) in [
            ("Deploymnet", Some("apps/v1"), true),
            ("Deploymnet", None, true),
            ("Service", Some("v1"), false),
            ("Widget", Some("example.com/v1"), false),
        ] {
            assert_eq!(may_be(kind, api_version), expected, "{kind} {api_version:?}");
        }
    }
}
