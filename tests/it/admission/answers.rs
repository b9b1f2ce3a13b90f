//! The answers, one by one.

use crate::admission::{answer, patched, review};
use admission::{Hook, Reviewer, fault};
use config::Config;
use injector::{Options, inject};
use laws::of_spec;
use report::Reason;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn pod(metadata: Value, spec: Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-", "namespace": "shop"},
        "spec": {"containers": [{"name": "web", "image": "web:1", "volumeMounts": [
            {"name": "kube-api-access-x7k2p", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]}]}});
    for (holder, fields) in [("metadata", metadata), ("spec", spec)] {
        for (key, value) in fields.as_object().unwrap() {
            pod[holder][key] = value.clone();
        }
    }
    pod
}

pub(super) fn annotated(key: &str, value: &str) -> Value {
    json!({"annotations": {format!("agent-injector.contrib.mackerel.io/{key}"): value}})
}

pub(super) fn containers(pod: &Value) -> Vec<&str> {
    let lists = ["/spec/initContainers", "/spec/containers"]
        .map(|list| pod.pointer(list).and_then(Value::as_array));
    lists
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|container| container["name"].as_str())
        .collect()
}

#[test]
fn a_pod_gets_the_agent() {
    let pod = pod(json!({}), json!({}));
    let (answer, response) = answer(Hook::Mutate, &review(&pod), &Config::default());
    assert_eq!(
        (answer.decision, response["allowed"].as_bool()),
        ("injected", Some(true))
    );
    assert_eq!(answer.subject.to_string(), "Pod shop/web-");
    assert_eq!(
        containers(&patched(&pod, &response)),
        ["web", "mackerel-container-agent"]
    );
}

#[test]
fn a_pod_that_brings_the_agent_stays_as_it_is_whatever_others_did_to_it() {
    let before = pod(json!({}), json!({}));
    let (_, response) = answer(Hook::Mutate, &review(&before), &Config::default());
    let mut brought = patched(&before, &response);
    // As a LimitRange does.
    brought["spec"]["containers"][1]["resources"]["limits"]["cpu"] = "500m".into();
    for config in [
        Config::default(),
        of_spec("sidecar: native"),
        of_spec("agent: {logLevel: DEBUG}"),
    ] {
        let (answer, response) = answer(Hook::Mutate, &review(&brought), &config);
        assert_eq!(
            (answer.decision, response.get("patch")),
            ("unchanged", None)
        );
    }
}

#[test]
fn a_pod_whose_containers_mount_no_token_gets_a_token_for_the_agent() {
    let mut pod = pod(json!({}), json!({}));
    pod["spec"]["containers"][0]
        .as_object_mut()
        .unwrap()
        .remove("volumeMounts");
    let (_, response) = answer(Hook::Mutate, &review(&pod), &Config::default());
    let volumes = patched(&pod, &response)["spec"]["volumes"].to_string();
    assert!(volumes.contains("mackerel-agent-token"), "{volumes}");
}

/// As `kubectl get pods -o json` shows it, the check of docs/en/webhook-operate.md finds nothing to update.
#[test]
fn a_stored_pod_that_the_webhook_injected_is_unchanged_for_the_check() {
    let with_token = pod(json!({}), json!({}));
    let mut without_token = with_token.clone();
    without_token["spec"]["containers"][0]
        .as_object_mut()
        .unwrap()
        .remove("volumeMounts");
    for before in [with_token, without_token] {
        let (_, response) = answer(Hook::Mutate, &review(&before), &Config::default());
        let mut stored = patched(&before, &response);
        // The plugin runs once more, after the webhooks.
        if let Some(mounts) = before["spec"]["containers"][0]["volumeMounts"].as_array() {
            let agents = stored["spec"]["containers"][1]["volumeMounts"]
                .as_array_mut()
                .unwrap();
            agents.extend(mounts.iter().cloned());
        }
        stored["metadata"]["uid"] = "705ab4f5-6393-11e8-b7cc-42010a800002".into();
        let outcome = inject(&stored.to_string(), &Config::default(), Options::default())
            .outcomes
            .remove(0);
        assert_eq!(
            outcome.decision.reason,
            Reason::Unchanged,
            "{}",
            outcome.decision.message
        );
        // One that was missed gets what the webhook would have added.
        let mut missed = before.clone();
        missed["metadata"]["uid"] = stored["metadata"]["uid"].clone();
        let injected = inject(&missed.to_string(), &Config::default(), Options::default());
        let injected: Value =
            serde_json::from_str(&injected.apply(&missed.to_string()).unwrap()).unwrap();
        let has_own_token = |pod: &Value| pod.to_string().contains("mackerel-agent-token");
        assert_eq!(has_own_token(&injected), has_own_token(&stored));
    }
}

/// The scheduler and kubelet compare labels exactly, and so does the policy of the chart: no node is `Windows`.
#[test]
fn a_pod_is_for_windows_where_the_scheduler_says_so() {
    for (spec, decision) in [
        (
            json!({"nodeSelector": {"kubernetes.io/os": "windows"}}),
            "windows",
        ),
        (
            json!({"nodeSelector": {"beta.kubernetes.io/os": "windows"}}),
            "windows",
        ),
        (
            json!({"nodeSelector": {"kubernetes.io/os": "Windows"}}),
            "injected",
        ),
        (json!({"os": {"name": "windows"}}), "windows"),
    ] {
        let review = review(&pod(json!({}), spec.clone()));
        assert_eq!(
            answer(Hook::Mutate, &review, &Config::default()).0.decision,
            decision,
            "{spec}"
        );
    }
}

#[test]
fn the_request_names_the_namespace() {
    let mut review = review(&pod(json!({}), json!({})));
    review["request"]["object"]["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("namespace");
    review["request"]["namespace"] = "kube-system".into();
    assert_eq!(
        answer(Hook::Mutate, &review, &Config::default()).0.decision,
        "namespace-excluded"
    );
}

#[test]
fn only_pods_that_are_created_are_changed() {
    let create = review(&pod(json!({}), json!({})));
    let with = |key: &str, value: Value| {
        let mut review = create.clone();
        review["request"][key] = value;
        review
    };
    for review in [
        with("operation", "UPDATE".into()),
        with("operation", "DELETE".into()),
        with("operation", "CONNECT".into()),
        with("subResource", "ephemeralcontainers".into()),
        with("object", Value::Null),
        with(
            "resource",
            json!({"group": "apps", "version": "v1", "resource": "deployments"}),
        ),
    ] {
        let (answer, response) = answer(Hook::Mutate, &review, &Config::default());
        assert_eq!(
            (answer.decision, response["allowed"].as_bool()),
            ("not-selected", Some(true)),
            "{review}"
        );
        assert_eq!(response.get("patch"), None);
    }
}

#[test]
fn the_kind_pod_means_pods_without_a_controller() {
    let owner = |is_controller: bool| {
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6d4b9c7f5", "uid": "7", "controller": is_controller});
        pod(
            json!({"ownerReferences": [owner], "labels": {"app": "web"}}),
            json!({}),
        )
    };
    for (exclusion, of_workload) in [
        ("{kind: Pod}", "injected"),
        ("{group: ''}", "injected"),
        (
            "{kind: Pod, podSelector: {matchLabels: {app: web}}}",
            "injected",
        ),
        ("{podSelector: {matchLabels: {app: web}}}", "not-selected"),
        ("{namespace: shop}", "not-selected"),
    ] {
        let config = of_spec(&format!("{{select: {{exclude: [{exclusion}]}}}}"));
        let decided = |pod: &Value| answer(Hook::Mutate, &review(pod), &config).0.decision;
        assert_eq!(
            (decided(&owner(true)), decided(&owner(false))),
            (of_workload, "not-selected"),
            "{exclusion}"
        );
    }
}

#[test]
fn a_job_gets_the_init_container_only_when_it_is_created() {
    let mut job = deployment(
        json!({}),
        annotated("wait-for", "db:5432"),
        json!({"restartPolicy": "Never"}),
    );
    job["apiVersion"] = "batch/v1".into();
    job["kind"] = "Job".into();
    job["spec"].as_object_mut().unwrap().remove("selector");
    let config = of_spec("waitFor: {image: wait:1}");
    let mut review = review(&job);
    assert_eq!(
        answer(Hook::WaitFor, &review, &config).0.decision,
        "injected"
    );
    review["request"]["operation"] = "UPDATE".into();
    let (updated, response) = answer(Hook::WaitFor, &review, &config);
    assert_eq!(
        (updated.decision, response.get("patch")),
        ("not-selected", None)
    );
}

#[test]
fn a_record_without_its_agent_is_an_opt_out_with_a_warning() {
    let record = r#"v1{"agent":{"list":"containers","plan":"9c169ab9","value":"f4d75fcf","names":{"image":"224712f3","secret":"ad864de1"},"volumes":["tmp"]}}"#;
    for record in [record, "v9;anything", "broken"] {
        for injection in ["always", "annotated"] {
            let spec = format!("{{injection: {injection}, onError: fail}}");
            let (pod_answer, response) = answer(
                Hook::Mutate,
                &review(&pod(annotated("record", record), json!({}))),
                &of_spec(&spec),
            );
            assert_eq!(
                (pod_answer.decision, response["allowed"].as_bool()),
                ("hand-edited", Some(true)),
                "{record}"
            );
            assert_eq!(response.get("patch"), None);
            let warning = response["warnings"][0].as_str().unwrap();
            assert!(
                warning.starts_with("hand-edited: ") && warning.contains("/record"),
                "{warning}"
            );
            // The person who applies the workload sees it too.
            let workload = deployment(json!({}), annotated("record", record), json!({}));
            let (workload_answer, response) =
                answer(Hook::Warn, &review(&workload), &of_spec(&spec));
            assert_eq!(
                (workload_answer.decision, &response["warnings"][0]),
                ("hand-edited", &json!(warning)),
                "{record}"
            );
        }
    }
}

#[test]
fn a_fault_allows_the_pod() {
    let review = review(&pod(json!({}), json!({})));
    let answer = fault(review.to_string().as_bytes(), "planted".to_owned()).unwrap();
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.decision, answer.is_fault), ("internal-error", true));
    assert_eq!(
        (
            body["response"]["allowed"].as_bool(),
            body["response"].get("patch")
        ),
        (Some(true), None)
    );
}

#[test]
fn a_body_that_is_no_review_is_malformed() {
    let reviewer = Reviewer::new(Arc::new(Config::default()));
    for body in [
        "",
        "{",
        "null",
        "[]",
        "{}",
        r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#,
        r#"{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":null}"#,
        r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":7}}"#,
    ] {
        assert!(
            reviewer.answer(Hook::Mutate, body.as_bytes()).is_err(),
            "{body}"
        );
    }
}

pub(super) fn deployment(metadata: Value, template: Value, spec: Value) -> Value {
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]}}}});
    for (pointer, fields) in [
        ("/metadata", metadata),
        ("/spec/template/metadata", template),
        ("/spec/template/spec", spec),
    ] {
        for (key, value) in fields.as_object().unwrap() {
            object.pointer_mut(pointer).unwrap()[key] = value.clone();
        }
    }
    object
}

#[test]
fn the_init_container_comes_with_the_workload_and_the_agent_with_the_pod() {
    for spec in [
        "waitFor: {image: wait:1}",
        "{waitFor: {image: wait:1, position: first}, sidecar: native}",
    ] {
        let config = of_spec(spec);
        let init = json!({"initContainers": [{"name": "migrate", "image": "web:1"}]});
        let asks = annotated("wait-for", "db:5432");
        let before = deployment(json!({}), asks, init);
        let (first, response) = answer(Hook::WaitFor, &review(&before), &config);
        assert_eq!(first.decision, "injected");
        let workload = patched(&before, &response);
        assert_eq!(
            workload["spec"]["template"]["spec"]["containers"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
        // The next update finds it there.
        let (_, response) = answer(Hook::WaitFor, &review(&workload), &config);
        assert_eq!(response.get("patch"), None);

        let pod = |template: &Value| {
            let mut pod = pod(json!({}), json!({}));
            pod["metadata"] = template["metadata"].clone();
            pod["spec"]["initContainers"] = template["spec"]["initContainers"].clone();
            pod
        };
        let [asked, waits] = [&before, &workload].map(|object| pod(&object["spec"]["template"]));
        let at_once = answer(Hook::Mutate, &review(&asked), &config).1;
        let afterwards = answer(Hook::Mutate, &review(&waits), &config).1;
        let (at_once, afterwards) = (patched(&asked, &at_once), patched(&waits, &afterwards));
        assert_eq!(containers(&at_once), containers(&afterwards));
        assert_eq!(at_once["spec"], afterwards["spec"]);
        assert!(containers(&at_once).contains(&"mackerel-container-agent"));
        // And stays as it is from then on.
        assert_eq!(
            answer(Hook::Mutate, &review(&afterwards), &config)
                .0
                .decision,
            "unchanged"
        );
        let record = |pod: &Value| {
            pod["metadata"]["annotations"]["agent-injector.contrib.mackerel.io/record"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(record(&at_once), record(&afterwards));
    }
}
