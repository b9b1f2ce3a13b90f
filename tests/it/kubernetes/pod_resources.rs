//! What a pod's own requests and limits do to injected pods, and that our report says so before.

use super::cluster::cluster;
use crate::laws::{INJECT, configuration};
use mackerel_agent_injector::edit;
use mackerel_agent_injector::inject::inject;
use mackerel_agent_injector::report::Reason;
use serde_json::json;

#[test]
fn kubernetes_refuses_the_pods_whose_own_resources_are_warned_of() {
    let Some(cluster) = cluster() else { return };
    cluster.namespace("pod-resources", &json!({}));
    let none: &[&str] = &[];
    for (number, (of_pod, of_main, settings, refuses)) in [
        ("limits: {memory: 100Mi}", "{}", none, false),
        ("limits: {memory: 100Mi}", "{}", &["agent.resources.limits.memory=101Mi"][..], true),
        ("limits: {memory: 100Mi}", "{}", &["agent.resources.limits.memory=100Mi"], false),
        ("limits: {memory: 150Mi}", "{limits: {memory: 90Mi}}", &["agent.resources.limits.memory=70Mi"], true),
        ("limits: {memory: 150Mi}", "{limits: {memory: 80Mi}}", &["agent.resources.limits.memory=70Mi"], false),
        ("requests: {memory: 50Mi}", "{}", &["agent.resources.requests.memory=64Mi"], true),
        ("requests: {memory: 64Mi}", "{}", &["agent.resources.requests.memory=64Mi"], false),
        ("requests: {memory: 64Mi}", "{requests: {memory: 1Mi}}", &["agent.resources.requests.memory=64Mi"], true),
        ("requests: {memory: 64Mi}", "{}", &["agent.resources.limits.memory=65Mi"], true),
        ("limits: {memory: 64Mi}", "{}", &["agent.resources.requests.memory=65Mi"], true),
        ("limits: {cpu: 1}", "{requests: {cpu: 900m}}", &["agent.resources.requests.cpu=100m"], false),
        ("limits: {cpu: 1}", "{requests: {cpu: 900m}}", &["agent.resources.requests.cpu=101m"], true),
        ("limits: {cpu: 1}", "{}", &["agent.resources.limits.memory=1Gi"], false),
        ("limits: {cpu: 1}", "{}", &["agent.resources.requests.cpu=2", "sidecar=native"], true),
    ]
    .into_iter()
    .enumerate()
    {
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: one-{number}}}\nspec:\n  resources: {{{of_pod}}}\n  containers:\n    \
             - {{name: main, image: \"main:1\", resources: {of_main}}}\n"
        );
        let injection = inject(
            &pod,
            &configuration(None, &settings.iter().map(ToString::to_string).collect::<Vec<_>>(), None),
            INJECT,
        );
        let warned = injection.outcomes.iter().flat_map(|outcome| &outcome.warnings);
        let warned = warned.filter(|warning| warning.reason == Reason::PodResources).count();
        assert_eq!(warned > 0, refuses, "{of_pod} {of_main} {settings:?}: {warned}");

        let refused = |manifest: &str| cluster.why_refused("pod-resources", manifest);
        let why = refused(&edit::apply(&pod, &injection.edits));
        assert_eq!(why.is_some(), refuses, "{of_pod} {of_main} {settings:?}: {why:?}");
        let is_about_amounts =
            |why: &String| ["must be less than or equal to", "aggregate"].iter().any(|s| why.contains(s));
        assert!(why.as_ref().is_none_or(is_about_amounts), "{why:?}");
        assert_eq!(refused(&pod), None, "{of_pod} {of_main}: it is the agent that is refused");
    }
}
