//! A pod that the webhook would inject is missed. One that it has injected is up to date, and so is that of an injected manifest.

use super::{AGENT, RECORD};
use crate::admission::pods::sent;
use crate::admission::{answer_of, patched, review};
use crate::kubernetes::injected::{InjectedPair, pairs};
use crate::program::Folder;
use admission::{Hook, Reviewer};
use config::Config;
use laws::cases;
use laws::{INJECT, carries_record};
use serde_json::{Value, json};
use std::sync::Arc;
use support::corpus;

/// The restart policies that the API server accepts.
const POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];

/// The pods of one configuration, each with the state that it must have.
#[derive(Default)]
struct Expected {
    pods: Vec<Value>,
    states: Vec<&'static str>,
}

impl Expected {
    /// Adds the pods of a resource: without an agent, with that of the webhook, and with that of its manifest.
    fn add(&mut self, reviewer: &Reviewer, pair: &InjectedPair) {
        let namespace = pair.before["metadata"]["namespace"].as_str();
        let namespace = namespace.unwrap_or("shop");
        for (mut before, mut after) in pair.pods() {
            // A pod that was stored already shows that it has no token, and the API server rejects one with another policy.
            let policy = before
                .pointer("/spec/restartPolicy")
                .and_then(Value::as_str);
            if before.pointer("/metadata/uid").is_some()
                || policy.is_some_and(|policy| !POLICIES.contains(&policy))
            {
                continue;
            }
            for pod in [&mut before, &mut after] {
                let metadata = pod["metadata"].as_object_mut().unwrap();
                metadata.remove("ownerReferences");
                metadata.insert("namespace".into(), json!(namespace));
            }
            let has_token =
                before.pointer("/spec/automountServiceAccountToken") != Some(&json!(false));
            let before = sent(&before, has_token);
            let (answer, response) = answer_of(reviewer, Hook::Mutate, &review(&before));
            let injected = patched(&before, &response);
            let record = injected["metadata"]["annotations"][RECORD].as_str();
            // The init container that waits may come without an agent.
            if answer.decision != "injected" || !record.unwrap().contains("\"agent\"") {
                continue;
            }
            self.push(with_limit_range(&injected), "ready");
            self.push(injected, "ready");
            self.push(before, "missed");
            // What admission changes in the pod of an injected manifest makes no other agent of it.
            self.push(with_account(&sent(&after, false)), "ready");
            let after = sent(&after, has_token);
            self.push(with_limit_range(&after), "ready");
            self.push(with_limit_range(&with_account(&after)), "ready");
            self.push(with_account(&after), "ready");
            self.push(after, "ready");
        }
    }

    /// Adds a pod as it is stored, its agent ready.
    fn push(&mut self, mut pod: Value, state: &'static str) {
        pod["metadata"]["name"] = json!(format!("pod-{}", self.pods.len()));
        pod["metadata"]["uid"] = json!("0");
        let ready = json!([{"name": AGENT, "ready": true}]);
        pod["status"] =
            json!({"phase": "Running", "containerStatuses": ready, "initContainerStatuses": ready});
        self.pods.push(pod);
        self.states.push(state);
    }

    /// Returns what the report says otherwise.
    fn wrong(&self, arguments: &[&str], folder: &Folder) -> Vec<String> {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": self.pods}).to_string();
        let arguments = [&["status", "-o", "json"], arguments, &["-"]].concat();
        let ran = folder.run_with(&arguments, &list);
        let report: Value = serde_json::from_str(&ran.stdout).expect(&ran.stderr);
        let mut wrong = Vec::new();
        let mut listed = 0;
        for row in report["workloads"].as_array().unwrap() {
            for name in row["pods"].as_array().unwrap() {
                listed += 1;
                let index: usize = name.as_str().unwrap()["pod-".len()..].parse().unwrap();
                if row["state"] != self.states[index] {
                    let pod = &self.pods[index]["metadata"];
                    wrong.push(format!(
                        "{} for {}: {} {pod}",
                        row["state"], self.states[index], row["cause"]
                    ));
                }
            }
        }
        assert_eq!(
            listed,
            self.pods.len(),
            "each of them has or is to have an agent"
        );
        wrong
    }
}

/// A pod with the pull secrets of its ServiceAccount, unless it has some.
fn with_account(pod: &Value) -> Value {
    let mut pod = pod.clone();
    let secrets = &mut pod["spec"]["imagePullSecrets"];
    if secrets.as_array().is_none_or(Vec::is_empty) {
        *secrets = json!([{"name": "of-the-account"}]);
    }
    pod
}

/// A pod whose containers have the requests and limits of a LimitRange, unless they have some.
fn with_limit_range(pod: &Value) -> Value {
    let mut pod = pod.clone();
    for list in ["/spec/containers", "/spec/initContainers"] {
        let containers = pod.pointer_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            // The API server rejects other pods.
            let resources = container["resources"].as_object();
            if resources.is_some_and(|lists| lists.values().any(|list| !list.is_object()))
                || container["resources"].is_array()
            {
                continue;
            }
            for (name, amount) in [("cpu", "500m"), ("memory", "512Mi")] {
                let limit = &mut container["resources"]["limits"][name];
                if limit.is_null() {
                    *limit = json!(amount);
                }
                let limit = limit.clone();
                let request = &mut container["resources"]["requests"][name];
                if request.is_null() {
                    *request = limit;
                }
            }
        }
    }
    pod
}

#[test]
fn the_report_agrees_with_the_webhook_about_each_case() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for case in cases::all() {
        // A pod shows neither its workload nor the annotations of that.
        let hidden = ["select.exclude", "select.kinds", "waitFor.annotations"];
        let mut settings = case.config.explicit();
        let is_hidden =
            settings.any(|(path, _)| hidden.iter().any(|hidden| path.starts_with(hidden)));
        if is_hidden || carries_record(&case.text) || case.options != INJECT {
            continue;
        }
        let reviewer = Reviewer::new(Arc::new(case.config.clone()));
        let mut expected = Expected::default();
        for pair in pairs(&case.text, &case.config, INJECT) {
            expected.add(&reviewer, &pair);
        }
        if expected.pods.is_empty() {
            continue;
        }
        tried += expected.pods.len();
        let folder = Folder::with(&[("c.yaml", case.configuration.as_deref().unwrap_or_default())]);
        let mut arguments = Vec::new();
        if case.configuration.is_some() {
            arguments.extend(["--config", "c.yaml"]);
        }
        for set in &case.sets {
            arguments.extend(["--set", set]);
        }
        for found in expected.wrong(&arguments, &folder) {
            wrong.push(format!("{}: {found}", case.name));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(tried > 500, "only {tried} were tried");
}

#[test]
fn the_report_agrees_with_the_webhook_about_the_corpus() {
    let Some(files) = corpus::manifests("the_report_agrees_with_the_webhook_about_the_corpus")
    else {
        return;
    };
    let config = Config::default();
    let reviewer = Reviewer::new(Arc::new(config.clone()));
    let mut expected = Expected::default();
    for (_, bytes) in files {
        if let Ok(text) = String::from_utf8(bytes) {
            for pair in pairs(&text, &config, INJECT) {
                expected.add(&reviewer, &pair);
            }
        }
    }
    let wrong = expected.wrong(&[], &Folder::with(&[]));
    let tried = expected.pods.len();
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    assert!(tried > 10_000, "only {tried} were tried");
}
