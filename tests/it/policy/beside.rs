//! The policy beside injected manifests, the webhook and a second binding: a pod never has two agents.

use super::{PREFIX, Policy, Settings, agents, plain_pod, until};
use crate::kubernetes::cluster::{ApiVerdict, Run, SILENT, without_identity};
use crate::kubernetes::injected::comparable;
#[cfg(feature = "webhook")]
use crate::webhook::api_server::Webhook;
use injector::inject;
use serde_json::{Value, json};
use support::parallel::for_each;
use yaml_json_patch::edit;

/// Pods of different shapes; the policy leaves the last one alone.
fn shapes() -> Vec<Value> {
    let mut native = plain_pod();
    native["spec"]["restartPolicy"] = "Never".into();
    let mut tokenless = plain_pod();
    tokenless["spec"]["automountServiceAccountToken"] = false.into();
    let mut resources = plain_pod();
    resources["spec"]["resources"] = json!({"limits": {"memory": "1Gi"}});
    let mut left_alone = plain_pod();
    left_alone["metadata"]["annotations"][&format!("{PREFIX}roles")] = "shop:web".into();
    vec![plain_pod(), native, tokenless, resources, left_alone]
}

#[track_caller]
fn created(policy: &Policy, pod: &Value) -> Value {
    match policy.create(pod) {
        ApiVerdict::Accepted { object, .. } => object,
        ApiVerdict::Refused(why) => panic!("{why}"),
    }
}

/// A pod of an injected manifest.
fn injected(pod: &Value, sets: &[&str]) -> Value {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let config = laws::configuration(None, &sets, None);
    let text = pod.to_string();
    let edits = inject(&text, &config, laws::INJECT).edits;
    serde_json::from_str(&edit::apply(&text, &edits)).unwrap()
}

#[test]
fn pods_of_injected_manifests_stay_as_they_are() {
    let Some(policy) = Policy::apply("policy-files", &Settings::default()) else {
        return;
    };
    for sets in [
        &[][..],
        &[
            "agent.image=example/mackerel-container-agent:2",
            "sidecar=native",
        ],
    ] {
        for pod in shapes() {
            let pod = injected(&pod, sets);
            let expected = policy.cluster.create(Run::Dry, SILENT, &pod);
            let ApiVerdict::Accepted {
                object: expected, ..
            } = expected
            else {
                panic!("{expected:?}")
            };
            let ApiVerdict::Accepted { object, warnings } = policy.create(&pod) else {
                panic!("refused")
            };
            assert_eq!(agents(&object), 1);
            assert_eq!(comparable(&object), comparable(&expected));
            assert!(warnings.is_empty(), "{warnings:?}");
        }
    }
}

#[test]
fn a_second_binding_and_a_second_policy_add_no_agent() {
    let settings = Settings::default();
    let Some(policy) = Policy::apply("policy-twice", &settings) else {
        return;
    };
    let alone: Vec<String> = shapes()
        .iter()
        .map(|pod| comparable(&created(&policy, pod)))
        .collect();
    let mut binding = policy.documents[1].clone();
    binding["metadata"]["name"] = "policy-twice-again".into();
    policy.cluster.apply(&binding);
    let other = Settings::of_sets(&["agent.image=example/mackerel-container-agent:2"])
        .print("policy-twice-other", "policy-twice")
        .unwrap();
    for document in &other {
        policy.cluster.apply(document);
    }
    // A policy that is applied later shows that the API server knows of these.
    drop(Policy::apply("policy-twice-last", &settings));
    for (pod, alone) in shapes().iter().zip(alone) {
        let object = created(&policy, pod);
        assert!(agents(&object) <= 1, "{object:#}");
        let one_or_other = comparable(&object);
        assert!(
            one_or_other == alone || one_or_other.contains("example/mackerel-container-agent:2")
        );
    }
    for document in other.iter().chain([&binding]) {
        policy.cluster.delete(document);
    }
}

/// The pod that the API server makes without a policy or webhook, but for its identity and the order of volumes. The record is
/// whole, unlike that of [`comparable`].
#[cfg(feature = "webhook")]
fn exact(pod: &Value) -> String {
    let mut pod = without_identity(pod);
    if let Some(Value::Array(volumes)) = pod.pointer_mut("/spec/volumes") {
        volumes.sort_by_key(|volume| volume["name"].to_string());
    }
    pod.sort_all_objects();
    format!("{pod:#}")
}

#[cfg(feature = "webhook")]
fn labelled(policy: &Policy, name: &str, labels: &Value) {
    policy.cluster.apply(
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}),
    );
}

/// A webhook that serves a namespace of its own, and a policy for another one.
#[cfg(feature = "webhook")]
#[test]
fn pods_of_the_policy_are_those_of_the_webhook() {
    let Some(webhook) = Webhook::register("policy-webhook") else {
        return;
    };
    let server = webhook.server(&["--set=onError=skip"], &[]);
    webhook.balancer.set(vec![server.address]);
    webhook.wait();
    let Some(policy) = Policy::apply("policy-no-webhook", &Settings::default()) else {
        return;
    };
    for namespace in [&webhook.namespace, &policy.namespace] {
        policy.cluster.apply(
            &json!({"apiVersion": "v1", "kind": "ServiceAccount", "automountServiceAccountToken": false,
            "metadata": {"name": "tokenless", "namespace": namespace}}),
        );
    }
    let mut pods = shapes();
    pods.pop();
    let mut tokenless = plain_pod();
    tokenless["spec"]["serviceAccountName"] = "tokenless".into();
    pods.push(tokenless);
    let mut bare = plain_pod();
    bare["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("annotations");
    bare["spec"]["automountServiceAccountToken"] = false.into();
    bare["spec"]["restartPolicy"] = "OnFailure".into();
    pods.push(bare);
    for pod in &pods {
        let ApiVerdict::Accepted {
            object: expected, ..
        } = webhook.create(pod)
        else {
            panic!("refused")
        };
        let seen = created(&policy, pod);
        assert_eq!(agents(&seen), 1);
        assert_eq!(exact(&seen), exact(&expected));
    }
    // What a LimitRange adds to containers, it adds to the agent of both.
    for namespace in [&webhook.namespace, &policy.namespace] {
        policy.cluster.apply(
            &json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits", "namespace": namespace},
            "spec": {"limits": [{"type": "Container", "default": {"cpu": "500m", "memory": "1Gi"},
                "defaultRequest": {"cpu": "100m", "memory": "32Mi"}}]}}),
        );
    }
    until("the LimitRange has an effect", || {
        let ApiVerdict::Accepted { object, .. } = webhook.create(&plain_pod()) else {
            panic!("refused")
        };
        [object, created(&policy, &plain_pod())]
            .iter()
            .all(|pod| pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "500m")
    });
    let ApiVerdict::Accepted {
        object: expected, ..
    } = webhook.create(&plain_pod())
    else {
        panic!("refused")
    };
    assert_eq!(
        comparable(&created(&policy, &plain_pod())),
        comparable(&expected)
    );
}

/// The API server evaluates policies before it calls webhooks, and with `IfNeeded` both again.
#[cfg(feature = "webhook")]
#[test]
fn policy_and_webhook_together_give_one_agent() {
    let name = "policy-and-webhook";
    let Some(webhook) = Webhook::register(name) else {
        return;
    };
    let server = webhook.server(&["--set=onError=skip"], &[]);
    webhook.balancer.set(vec![server.address]);
    webhook.wait();
    let through_webhook: Vec<String> = for_each(&shapes(), |pod| match webhook.create(pod) {
        ApiVerdict::Accepted { object, .. } => comparable(&object),
        ApiVerdict::Refused(why) => panic!("{why}"),
    });
    let printed = Settings::default().print(name, name).unwrap();
    for reinvocation in ["Never", "IfNeeded"] {
        let mut documents = printed.clone();
        documents[0]["spec"]["reinvocationPolicy"] = reinvocation.into();
        webhook.reinvoke(reinvocation);
        let Some(policy) = Policy::of_documents(name, documents) else {
            return;
        };
        labelled(&policy, name, &json!({"policy": name, "webhook": name}));
        // A policy that is applied later shows that the API server knows of this one.
        drop(Policy::apply(
            &format!("{name}-last-{}", reinvocation.to_lowercase()),
            &Settings::default(),
        ));
        for (pod, expected) in shapes().iter().zip(&through_webhook) {
            let ApiVerdict::Accepted { object, warnings } = policy.create(pod) else {
                panic!("refused")
            };
            // The webhook injects a pod that the policy left alone.
            assert_eq!(agents(&object), 1, "{reinvocation}: {object:#}");
            assert!(warnings.is_empty(), "{warnings:?}");
            assert_eq!(&comparable(&object), expected, "{reinvocation}");
        }
    }
}
