//! Law 5 by the last front end: a pod that goes through the webhook is the pod of a manifest that was injected.

use crate::admission::{answer_of, patched, review};
use crate::kubernetes::injected::{InjectedPair, pairs};
use admission::{Hook, Reviewer};
use config::Config;
use injector::{Direction, ForeignAgents, HandEdits};
use laws::cases;
use laws::{INJECT, carries_record};
use serde_json::Value;
use std::sync::Arc;
use support::corpus;

/// A pod as it is compared: without the part of the record that says which lists were there before, and volumes in order of names.
fn comparable(pod: &Value) -> Value {
    let mut pod = pod.clone();
    if let Some(Value::String(record)) =
        pod.pointer_mut("/metadata/annotations/agent-injector.contrib.mackerel.io~1record")
    {
        *record = laws::without_parents(record);
    }
    if let Some(Value::Array(volumes)) = pod.pointer_mut("/spec/volumes") {
        volumes.sort_by_key(|volume| volume["name"].as_str().unwrap_or_default().to_owned());
    }
    pod
}

/// A pod as the API server sends it: nothing is null, its containers mount a token, and no list is empty.
pub(crate) fn sent(pod: &Value, has_token: bool) -> Value {
    let mut pod = without_null(pod.clone());
    let mount = serde_json::json!({"name": "kube-api-access-x7k2p", "readOnly": true,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"});
    for list in ["/spec/containers", "/spec/initContainers"] {
        for container in pod
            .pointer_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let is_agent = matches!(
                container["name"].as_str(),
                Some("mackerel-container-agent" | "mackerel-wait-for")
            );
            if has_token && !is_agent && container.is_object() {
                match container.get_mut("volumeMounts") {
                    Some(Value::Array(mounts)) => mounts.push(mount.clone()),
                    _ => container["volumeMounts"] = Value::Array(vec![mount.clone()]),
                }
            }
        }
    }
    pod
}

fn without_null(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(without_null).collect(),
        Value::Object(entries) => {
            let entries = entries.into_iter().filter(|(_, value)| !value.is_null());
            entries
                .map(|(key, value)| (key, without_null(value)))
                .collect()
        }
        value => value,
    }
}

/// The pods of which the webhook makes others than the manifest's injection did.
fn differences(
    name: &str,
    reviewer: &Reviewer,
    pair: &InjectedPair,
    wrong: &mut Vec<String>,
) -> usize {
    let mut tried = 0;
    for (mut before, after) in pair.pods() {
        // A workload that has its images filled in on its own way shows them in its pods.
        let has_image = |container: &Value| container["image"].is_string();
        let lists = ["/spec/containers", "/spec/initContainers"].map(|list| before.pointer(list));
        if !lists
            .into_iter()
            .flatten()
            .filter_map(Value::as_array)
            .flatten()
            .all(has_image)
        {
            continue;
        }
        // The API server rejects a pod with any other policy.
        let policy = before
            .pointer("/spec/restartPolicy")
            .and_then(Value::as_str);
        if policy.is_some_and(|policy| !["Always", "OnFailure", "Never"].contains(&policy)) {
            continue;
        }
        before["metadata"]["namespace"] = pair.before["metadata"]["namespace"]
            .as_str()
            .unwrap_or("shop")
            .into();
        // A stored pod shows itself whether it has a token.
        let is_stored = before.pointer("/metadata/uid").is_some();
        let has_token = !is_stored
            && before.pointer("/spec/automountServiceAccountToken") != Some(&Value::Bool(false));
        let before = sent(&before, has_token);
        let (answer, response) = answer_of(reviewer, Hook::Mutate, &review(&before));
        let mut after = sent(&after, has_token);
        after["metadata"]["namespace"] = before["metadata"]["namespace"].clone();
        let mut compared = [after, patched(&before, &response)].map(|pod| comparable(&pod));
        tried += 1;
        if compared[0] != compared[1] {
            compared.iter_mut().for_each(Value::sort_all_objects);
            let [expected, seen] = compared.map(|pod| format!("{pod:#}"));
            let diff = similar::TextDiff::from_lines(&expected, &seen);
            let diff = diff.unified_diff().context_radius(2).to_string();
            wrong.push(format!(
                "== {name} {}: {}\n{diff}",
                answer.decision, answer.message
            ));
        }
    }
    tried
}

#[test]
fn the_webhook_makes_the_pods_of_each_case() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for case in cases::all() {
        let options = case.options;
        let is_plain = options.direction == Direction::Inject
            && options.foreign_agents == ForeignAgents::Respect
            && options.hand_edits == HandEdits::Respect;
        // A pod shows neither its workload nor the annotations of that.
        let spec = case
            .config
            .explicit()
            .map(|(path, _)| path.to_owned())
            .collect::<Vec<_>>();
        let hidden = ["select.exclude", "select.kinds", "waitFor.annotations"];
        let shows = !spec
            .iter()
            .any(|path| hidden.iter().any(|hidden| path.starts_with(hidden)));
        // An agent that tools have moved or renamed is not added anew.
        if !is_plain || !shows || carries_record(&case.text) {
            continue;
        }
        let reviewer = Reviewer::new(Arc::new(case.config.clone()));
        for pair in pairs(&case.text, &case.config, options) {
            tried += differences(&case.name, &reviewer, &pair, &mut wrong);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(tried > 250, "only {tried} were tried");
}

#[test]
fn the_webhook_makes_the_pods_of_the_corpus() {
    let Some(files) = corpus::manifests("the_webhook_makes_the_pods_of_the_corpus") else {
        return;
    };
    let config = Arc::new(Config::default());
    let reviewer = Reviewer::new(Arc::clone(&config));
    let mut wrong = Vec::new();
    let mut tried = 0;
    for (name, bytes) in files {
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        for pair in pairs(&text, &config, INJECT) {
            tried += differences(&name, &reviewer, &pair, &mut wrong);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.iter().take(20).cloned().collect::<String>()
    );
    assert!(tried > 5_000, "only {tried} were tried");
}
