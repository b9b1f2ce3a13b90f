//! Law 4 over injected workloads as `kubectl get` prints them: without the agent, each is as the API server stores the workload
//! that was never injected.

use super::accepts::{kinds_of_sidecar, to_be_accepted};
use super::cluster::{ApiVerdict, Cluster, Run, cluster, collection, without_identity};
use super::injected::{completed, pairs};
use config::Config;
use injector::inject;
use laws::UNINJECT;
use report::Reason;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use support::parallel::for_each;
use yaml_json_patch::edit;

/// The kinds that the cluster has, as kubectl takes them.
const KINDS: &str = "pods,podtemplates,replicationcontrollers,deployments,statefulsets,daemonsets,replicasets,jobs,cronjobs";

/// The List that `kubectl get -o yaml` prints for a namespace.
fn printed(cluster: &Cluster, namespace: &str) -> String {
    let (succeeded, text, said) = cluster.kubectl(
        &["get", KINDS, "--namespace", namespace, "--output", "yaml"],
        "",
    );
    assert!(succeeded, "{said}");
    text
}

/// The items of a List by kind and name.
fn objects(text: &str) -> BTreeMap<String, Value> {
    let list: Value = serde_yaml::from_str(text).unwrap();
    let object = |item: &Value| {
        let name = format!(
            "{}/{}",
            item["kind"].as_str().unwrap(),
            item["metadata"]["name"].as_str().unwrap()
        );
        (
            name,
            without_empty(without_identity(item)).unwrap_or(Value::Null),
        )
    };
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(object)
        .collect()
}

/// Absent, null and empty are one.
fn without_empty(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => Some(
            items
                .into_iter()
                .map(|item| without_empty(item).unwrap_or(Value::Null))
                .collect(),
        ),
        Value::Object(entries) => {
            let entries: Map<String, Value> = entries
                .into_iter()
                .filter_map(|(key, value)| Some((key, without_empty(value)?)))
                .collect();
            (!entries.is_empty()).then_some(Value::Object(entries))
        }
        value => Some(value),
    }
}

#[test]
fn kubernetes_gives_back_what_uninject_understands() {
    let Some(cluster) = cluster() else { return };
    let mut workloads = Vec::new();
    for case in to_be_accepted() {
        let mut seen = Vec::new();
        for (_, config) in kinds_of_sidecar(&case) {
            for pair in pairs(&case.text, &config, case.options)
                .into_iter()
                .filter(|pair| collection(&pair.after).is_some())
            {
                // The kind that is configured is one of the two.
                if seen.contains(&pair.after) {
                    continue;
                }
                seen.push(pair.after.clone());
                let name: String = case.name.replace('/', "-").chars().take(40).collect();
                let name = format!("{}-{name}", workloads.len());
                let name = name.trim_end_matches('-');
                workloads.push([completed(&pair.before, name), completed(&pair.after, name)]);
            }
        }
    }
    let [never, injected] = ["never-injected", "injected"];
    [never, injected]
        .into_iter()
        .for_each(|namespace| cluster.namespace(namespace, &json!({})));
    let created = for_each(&workloads, |[before, after]| {
        let create = |namespace: &str, object: &Value| {
            matches!(
                cluster.create(Run::Wet, namespace, object),
                ApiVerdict::Accepted { .. }
            )
        };
        create(never, before) && {
            assert!(create(injected, after), "{after:#}");
            true
        }
    });
    let created = created.into_iter().filter(|created| *created).count();

    let stored = printed(cluster, injected);
    // Defaults and another order of keys do not count as edits by hand.
    let removal = inject(&stored, &Config::default(), UNINJECT);
    let others: Vec<String> = removal
        .outcomes
        .iter()
        .filter(|outcome| outcome.decision.reason != Reason::Removed)
        .map(|outcome| format!("{}: {}", outcome.identity.name, outcome.decision.message))
        .collect();
    assert!(
        others.is_empty() && laws::fault(&removal).is_none(),
        "{}\n{:?}",
        others.join("\n"),
        removal.findings
    );
    let removed = objects(&edit::apply(&stored, &removal.edits));
    let expected = objects(&printed(cluster, never));
    assert_eq!(removed.len(), created);
    let mut wrong = Vec::new();
    for (name, expected) in &expected {
        match removed.get(name) {
            Some(removed) if removed == expected => {}
            Some(removed) => {
                let [expected, removed] = [expected, removed].map(|value| format!("{value:#}"));
                let diff = similar::TextDiff::from_lines(&expected, &removed);
                wrong.push(format!(
                    "== {name}\n{}",
                    diff.unified_diff().context_radius(3)
                ));
            }
            None => wrong.push(format!("== {name} is missing")),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {created} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let kinds: BTreeSet<&str> = expected
        .keys()
        .filter_map(|name| name.split('/').next())
        .collect();
    assert_eq!(kinds.len(), KINDS.split(',').count(), "{kinds:?}");
    assert!(created > 300, "only {created} were created");
}
