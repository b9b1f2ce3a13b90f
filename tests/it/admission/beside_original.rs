//! From the original injector's webhook to this one, as docs/en/migration.md tells: each pod that asks has one agent at every step.

use crate::admission::{answer, patched, review};
use admission::Hook;
use config::Config;
use laws::of_spec;
use serde_json::{Value, json};

const AGENT: &str = "mackerel-container-agent";
const PREFIX: &str = "agent-injector.contrib.mackerel.io/";

/// The original's webhook, as its source has it. It writes each pod anew by types of Kubernetes 1.23, which know no `restartPolicy`
/// of a container.
fn original(pod: &Value) -> Value {
    let mut pod = pod.clone();
    for container in pod["spec"]["initContainers"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        container.as_object_mut().unwrap().remove("restartPolicy");
    }
    let is = |key: &str, value: &str| {
        let annotation = pod["metadata"]["annotations"][format!("{PREFIX}{key}")].as_str();
        annotation.is_some_and(|given| given.eq_ignore_ascii_case(value))
    };
    if is("inject", "true") && !is("status", "injected") {
        pod["metadata"]["annotations"][format!("{PREFIX}status")] = "injected".into();
        let agent = json!({"name": AGENT, "image": "mackerel/mackerel-container-agent:plugins"});
        pod["spec"]["containers"]
            .as_array_mut()
            .unwrap()
            .push(agent);
    }
    pod
}

fn this(pod: &Value, config: &Config) -> Value {
    let (_, response) = answer(Hook::Mutate, &review(pod), config);
    assert_eq!(response["allowed"], true);
    patched(pod, &response)
}

/// The agents of a pod: by the list that holds them, and by their `restartPolicy`.
fn agents(pod: &Value) -> Vec<(&str, Option<&str>)> {
    let of_list = |list| {
        let containers = pod["spec"][list].as_array().into_iter().flatten();
        let agents = containers.filter(|container| container["name"] == AGENT);
        agents.map(move |agent| (list, agent["restartPolicy"].as_str()))
    };
    ["initContainers", "containers"]
        .into_iter()
        .flat_map(of_list)
        .collect()
}

/// A pod that asks for the agent; of a Job, if it is to complete.
fn pod(completes: bool) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": "web-", "annotations": {format!("{PREFIX}inject"): "true"}},
        "spec": {"restartPolicy": if completes { "Never" } else { "Always" }, "containers": [{"name": "web", "image": "web:1"}]}})
}

#[test]
fn each_pod_has_one_agent_at_every_step() {
    let beside = of_spec("{injection: annotated, onError: skip, sidecar: container}");
    let alone = of_spec("{injection: annotated, onError: skip}");
    for completes in [false, true] {
        let pod = pod(completes);
        let ordinary = [("containers", None)];
        assert_eq!(agents(&original(&pod)), ordinary);
        // The API server calls them in the order of names, which those who install them choose.
        assert_eq!(agents(&original(&this(&pod, &beside))), ordinary);
        assert_eq!(agents(&this(&original(&pod), &beside)), ordinary);
        // The original is gone, then `sidecar: container`.
        assert_eq!(agents(&this(&pod, &beside)), ordinary);
        let native = [("initContainers", Some("Always"))];
        assert_eq!(
            agents(&this(&pod, &alone)),
            if completes { native } else { ordinary }
        );
    }
}

/// The reason for `sidecar: container`: without it the agent would be an init container that never ends.
#[test]
fn the_original_makes_an_ordinary_init_container_of_a_native_sidecar() {
    let injected = this(&pod(true), &of_spec("{injection: annotated}"));
    assert_eq!(agents(&original(&injected)), [("initContainers", None)]);
}
