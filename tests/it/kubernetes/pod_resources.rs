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

        let apply = |manifest: &str| {
            let arguments = ["apply", "--dry-run=server", "--namespace", "pod-resources", "--filename", "-"];
            let (succeeded, _, said) = cluster.kubectl(&arguments, manifest);
            if succeeded { Ok(()) } else { Err(said) }
        };
        let said = apply(&edit::apply(&pod, &injection.edits));
        assert_eq!(said.is_err(), refuses, "{of_pod} {of_main} {settings:?}: {said:?}");
        assert_eq!(apply(&pod), Ok(()), "{of_pod} {of_main}: it is the agent that is refused");
    }
}
