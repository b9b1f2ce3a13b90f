//! kustomize, kubectl, kpt, Helm 3 and Helm 4 run on `examples/`, once with the injector and once with `cat` in its place:
//! the results are equal but for the injection.

mod calls;
mod helm;
mod kpt;
mod kustomize;
mod user;

pub(crate) use user::{Said, User, copy};

use serde_yaml::{Mapping, Value};
use std::io::Write as _;
use std::process::{Command, Stdio};

pub(crate) const PROGRAM: &str = "mackerel-agent-injector";
pub(crate) const SHOP_CHART_INJECTED: [&str; 6] = [
    "CronJob/shop-report initContainers",
    "Deployment/shop-mailer containers",
    "Deployment/shop-search containers",
    "Deployment/shop-web containers",
    "Job/shop-import-1 initContainers",
    "StatefulSet/shop-cart containers",
];

/// The text that the injector's `inject` or `uninject` prints.
#[track_caller]
pub(crate) fn ours(command: &str, text: &str) -> String {
    let mut ours = Command::new(env!("CARGO_BIN_EXE_mackerel-agent-injector"));
    ours.args([command, "-q", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut ours = ours.spawn().unwrap();
    ours.stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = ours.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Panics unless `with` equals `without`, once the agents are removed from it and also after `uninject`. `injected` are the
/// workloads of `with` that have one agent each, as `Kind/name` and the list with the agent, sorted.
#[track_caller]
pub(crate) fn same_but_for_the_agent(with: &str, without: &str, injected: &[&str]) {
    let expected = documents(without);
    let mut actual = documents(with);
    let mut agents = Vec::new();
    for document in &mut actual {
        take_agents_out(document, "", &mut agents);
    }
    agents.sort();
    assert_eq!(agents, injected, "agents in:\n{with}");
    assert_eq!(actual, expected, "without what we add, of:\n{with}");
    assert_eq!(
        documents(&ours("uninject", with)),
        expected,
        "after uninject, of:\n{with}"
    );
}

pub(crate) fn documents(text: &str) -> Vec<Value> {
    use serde::Deserialize as _;
    let documents = serde_yaml::Deserializer::from_str(text)
        .map(|document| Value::deserialize(document).unwrap());
    documents.filter(|document| !document.is_null()).collect()
}

/// Removes every part of an injection, with a list or map that holds nothing else. Does not read the record.
fn take_agents_out(value: &mut Value, owner: &str, agents: &mut Vec<String>) {
    match value {
        Value::Mapping(map) => {
            let text = |map: &Mapping, key| Some(map.get(key)?.as_str()?.to_owned());
            let name = map
                .get("metadata")
                .and_then(|metadata| text(metadata.as_mapping()?, "name"));
            let owner = match (text(map, "kind"), name) {
                (Some(kind), Some(name)) => format!("{kind}/{name}"),
                _ => owner.to_owned(),
            };
            for list in ["containers", "initContainers", "volumes"] {
                let Some(entries) = map.get_mut(list).and_then(Value::as_sequence_mut) else {
                    continue;
                };
                let before = entries.len();
                entries.retain(|entry| {
                    let name = entry
                        .get("name")
                        .and_then(Value::as_str)
                        .unwrap_or_default();
                    if name == "mackerel-container-agent" {
                        agents.push(format!("{owner} {list}"));
                    }
                    !matches!(name, "mackerel-container-agent" | "mackerel-agent-tmp")
                });
                if entries.is_empty() && before > 0 {
                    map.remove(list);
                }
            }
            if let Some(annotations) = map.get_mut("annotations").and_then(Value::as_mapping_mut) {
                let ours = ["status", "record"]
                    .map(|name| format!("agent-injector.contrib.mackerel.io/{name}"));
                let removed = ours
                    .iter()
                    .filter(|name| annotations.remove(name.as_str()).is_some())
                    .count();
                if annotations.is_empty() && removed > 0 {
                    map.remove("annotations");
                }
            }
            map.retain(|_, value| {
                let empty = |value: &Value| value.as_mapping().is_some_and(Mapping::is_empty);
                let was_empty = empty(value);
                take_agents_out(value, &owner, agents);
                was_empty || !empty(value)
            });
        }
        Value::Sequence(list) => list
            .iter_mut()
            .for_each(|value| take_agents_out(value, owner, agents)),
        _ => {}
    }
}
