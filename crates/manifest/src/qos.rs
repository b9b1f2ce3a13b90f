//! The QoS class of a pod. The kubelet evicts Guaranteed pods last and may give them exclusive CPUs. The class depends on
//! every container, so an agent without limits would take it away.

use crate::pod_template::PodTemplate;
use crate::quantity::nanos;
use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use std::collections::BTreeMap;
use yaml_json_patch::Tree;

/// The resources that decide the class.
const DECISIVE: [&str; 2] = ["cpu", "memory"];

/// The CPU limit of an agent that must have one.
const CPU: &str = "100m";
/// Its memory limit.
const MEMORY: &str = "128Mi";

/// Returns true if the containers make the pod Guaranteed: each has limits, and requests that are equal or absent.
/// Resources at the pod level decide the class alone; then no container can change it.
pub fn is_guaranteed(tree: &Tree<'_>, template: &PodTemplate) -> bool {
    let mut containers = template.own_containers().peekable();
    !template.pod_resources
        && containers.peek().is_some()
        && containers.all(|container| {
            let amount = |list: &str, name: &str| {
                nanos(&tree.text_of(tree.member_at(container.node, ["resources", list, name])?)?)
            };
            DECISIVE
                .iter()
                .all(|name| is_guaranteed_amount(amount("requests", name), amount("limits", name)))
        })
}

/// Returns true if a pod stays Guaranteed with a container of these resources.
pub fn keeps_guaranteed(resources: &ResourceRequirements) -> bool {
    let amount =
        |list: &Option<BTreeMap<String, Quantity>>, name: &str| nanos(&list.as_ref()?.get(name)?.0);
    DECISIVE.iter().all(|name| {
        let request = amount(&resources.requests, name);
        is_guaranteed_amount(request, amount(&resources.limits, name))
    })
}

/// Returns true for a limit with an equal or absent request.
fn is_guaranteed_amount(request: Option<i128>, limit: Option<i128>) -> bool {
    limit.is_some_and(|limit| limit > 0 && request.is_none_or(|request| request == limit))
}

/// Raises requests to the limits. A missing limit is the agent's default, or the request if that is higher.
pub fn guaranteed(mut resources: ResourceRequirements) -> ResourceRequirements {
    let mut requests = resources.requests.take().unwrap_or_default();
    let mut limits = resources.limits.take().unwrap_or_default();
    for (name, least) in DECISIVE.into_iter().zip([CPU, MEMORY]) {
        let limit = limits.entry(name.to_owned()).or_insert_with(|| {
            requests
                .get(name)
                .filter(|request| nanos(&request.0) > nanos(least))
                .cloned()
                .unwrap_or_else(|| Quantity(least.to_owned()))
        });
        requests.insert(name.to_owned(), limit.clone());
    }
    ResourceRequirements {
        requests: Some(requests),
        limits: Some(limits),
        ..resources
    }
}

#[cfg(test)]
mod tests {
    use super::{guaranteed, is_guaranteed, keeps_guaranteed};
    use crate::pod_template::PodTemplate;
    use serde_json::json;

    #[test]
    fn limits_of_every_container_make_a_pod_guaranteed() {
        let full = "resources: {limits: {cpu: 1, memory: 1Gi}}";
        let equal =
            "resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 1000m, memory: 1024Mi}}";
        for (containers, init, pod, expected) in [
            (&[full][..], &[][..], "", true),
            (&[equal, full], &[full], "", true),
            (&[full, ""], &[], "", false),
            (&[full], &[""], "", false),
            (&["resources: {limits: {cpu: 1}}"], &[], "", false),
            (
                &["resources: {limits: {cpu: 0, memory: 1Gi}}"],
                &[],
                "",
                false,
            ),
            (
                &["resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 0.5}}"],
                &[],
                "",
                false,
            ),
            (
                &["resources: {limits: {cpu: 1, memory: lots}}"],
                &[],
                "",
                false,
            ),
            (&["resources: null"], &[], "", false),
            (&[], &[], "", false),
            (
                &[full],
                &[],
                "resources: {limits: {cpu: 2, memory: 2Gi}}, ",
                false,
            ),
            (&[full], &[], "resources: {}, ", true),
        ] {
            let list = |items: &[&str]| {
                items
                    .iter()
                    .map(|item| format!("{{name: a, {item}}}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let text = format!(
                "{{spec: {{{pod}containers: [{}], initContainers: [{}]}}}}",
                list(containers),
                list(init)
            );
            let tree = yaml_json_patch::read(&text).unwrap();
            let template = PodTemplate::view(&tree, tree.root().unwrap());
            assert_eq!(is_guaranteed(&tree, &template), expected, "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_added_and_what_is_lower_is_raised() {
        for (given, expected) in [
            (
                json!({}),
                json!({"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "100m", "memory": "128Mi"}}),
            ),
            (
                json!({"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "200Mi"}}),
                json!({"requests": {"cpu": "100m", "memory": "200Mi"}, "limits": {"cpu": "100m", "memory": "200Mi"}}),
            ),
            (
                json!({"requests": {"cpu": "0.2", "memory": "1Gi", "a/b": "1"}, "limits": {"a/b": "1"}}),
                json!({"requests": {"cpu": "0.2", "memory": "1Gi", "a/b": "1"}, "limits": {"cpu": "0.2", "memory": "1Gi", "a/b": "1"}}),
            ),
        ] {
            let raised = guaranteed(serde_json::from_value(given.clone()).unwrap());
            assert!(keeps_guaranteed(&raised));
            assert_eq!(json!(raised), expected, "{given}");
        }
    }
}
