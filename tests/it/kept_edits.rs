//! `hand-edited` names settings that keep an edit. With them the next run accepts it, for each field that an injected agent has and
//! each variable that it can have. If the configuration has changed too, `--force` with them keeps the value.

use crate::laws::{INJECT, applied};
use mackerel_agent_injector::config::{Config, Sources, load};
use mackerel_agent_injector::engine::inject;
use mackerel_agent_injector::options::HandEdits;
use mackerel_agent_injector::report::{Finding, Reason};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const CONFIGURATIONS: [&[&str]; 6] = [
    &[],
    &["annotations.allow=[memo, log-level]"],
    &["kubelet.readOnlyPort=10255", "sidecar=native"],
    &[
        "platform=eks-fargate",
        "agent.config.location=https://example.com/agent.conf",
    ],
    &[
        "kubelet.port=10260",
        "kubelet.insecureTLS=true",
        "agent.config.configMapKeyRef.name=agent",
        "agent.config.pollingMinutes=5",
        "agent.token.mount=always",
        "agent.env=[{name: HTTPS_PROXY, value: 'http://proxy:3128'}, {name: TEAM, valueFrom: {secretKeyRef: {name: a, key: b}}}]",
    ],
    &[
        "agent.apiBase=https://api.example.com",
        "agent.roles=['shop:web', 'shop:api']",
        "agent.displayName=web",
        "agent.memo=a memo",
        "agent.hostStatusOnStart=working",
        "agent.hostIdStore=memory",
        "agent.ignoreContainer=istio-.*",
        "agent.logLevel=DEBUG",
    ],
];

/// Every variable that the agent reads, each with a value.
const VARIABLES: [(&str, &str); 23] = [
    ("MACKEREL_CONTAINER_PLATFORM", "eks_fargate"),
    ("MACKEREL_KUBERNETES_KUBELET_HOST", "10.0.0.1"),
    ("MACKEREL_KUBERNETES_NODE_NAME", "node"),
    ("MACKEREL_KUBERNETES_NAMESPACE", "shop"),
    ("MACKEREL_KUBERNETES_POD_NAME", "web"),
    ("MACKEREL_KUBERNETES_KUBELET_READ_ONLY_PORT", "10355"),
    ("MACKEREL_KUBERNETES_KUBELET_PORT", "10350"),
    ("MACKEREL_KUBERNETES_KUBELET_INSECURE_TLS", "true"),
    ("MACKEREL_APIKEY", "secret"),
    ("MACKEREL_APIBASE", "https://kcps.example.com"),
    ("MACKEREL_ROLES", "shop:db,shop:queue"),
    ("MACKEREL_DISPLAY_NAME", "another"),
    ("MACKEREL_MEMO", "another memo"),
    ("MACKEREL_AGENT_CONFIG", "s3://bucket/agent.conf"),
    ("MACKEREL_AGENT_CONFIG_POLLING_DURATION_MINUTES", "7"),
    ("MACKEREL_HOST_STATUS_ON_START", "standby"),
    ("MACKEREL_HOST_ID_STORE", "memory"),
    (
        "MACKEREL_IGNORE_CONTAINER",
        "^mackerel-container-agent$|envoy",
    ),
    ("MACKEREL_LOG_LEVEL", "TRACE"),
    ("TMPDIR", "/data"),
    ("HTTPS_PROXY", "http://other:3128"),
    ("NO_PROXY", "example.com"),
    ("TEAM", "shop"),
];

const POD: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}"#;

fn config(sets: &[String]) -> Result<Config, String> {
    load(&Sources::default().with_set(sets)).map_err(|errors| errors[0].message.clone())
}

fn decision(pod: &Value, config: &Config) -> Finding {
    let text = serde_json::to_string_pretty(pod).unwrap();
    inject(&text, config, INJECT).outcomes.remove(0).decision
}

/// Pointers to the agent's container and to its scratch volume.
fn injected(pod: &Value) -> (String, String) {
    let at = |list: &str, name: &str| {
        let items = pod.pointer(list).and_then(Value::as_array)?;
        Some(format!(
            "{list}/{}",
            items.iter().position(|item| item["name"] == name)?
        ))
    };
    let agent = ["/spec/containers", "/spec/initContainers"];
    let agent = agent
        .iter()
        .find_map(|list| at(list, "mackerel-container-agent"))
        .unwrap();
    (agent, at("/spec/volumes", "mackerel-agent-tmp").unwrap())
}

/// Pods with one edit each: another value for each field, no value, and variables that are not there.
fn edits(pod: &Value) -> Vec<(String, Value)> {
    fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => fields
                .iter()
                .for_each(|(key, field)| leaves(field, &format!("{at}/{key}"), found)),
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(index, item)| leaves(item, &format!("{at}/{index}"), found));
            }
            _ => found.push(at.to_owned()),
        }
    }
    let (agent, tmp) = injected(pod);
    let mut pointers = Vec::new();
    for at in [&agent, &tmp] {
        leaves(pod.pointer(at).unwrap(), at, &mut pointers);
    }
    let mut edited: Vec<(String, Value)> = Vec::new();
    let mut edit = |what: String, change: &dyn Fn(&mut Value)| {
        let mut pod = pod.clone();
        change(&mut pod);
        edited.push((what, pod));
    };
    for pointer in pointers
        .iter()
        .filter(|pointer| !pointer.ends_with("/name"))
    {
        let values = match pod.pointer(pointer).unwrap() {
            Value::Bool(set) => vec![json!(!set)],
            Value::Number(_) => vec![json!(0), json!(1000)],
            _ => vec![
                json!("other"),
                json!("Always"),
                json!("200Mi"),
                json!("500m"),
                json!(1),
            ],
        };
        for value in values {
            edit(format!("{pointer}: {value}"), &|pod| {
                *pod.pointer_mut(pointer).unwrap() = value.clone()
            });
        }
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        edit(
            format!("no {pointer}"),
            &|pod| match pod.pointer_mut(parent).unwrap() {
                Value::Object(fields) => drop(fields.remove(key)),
                Value::Array(items) => drop(items.remove(key.parse().unwrap())),
                _ => unreachable!("it has children"),
            },
        );
    }
    let from = json!({"configMapKeyRef": {"name": "a", "key": "b"}});
    for (name, value) in VARIABLES {
        for (variable, in_front) in [
            (json!({"name": name, "value": value}), false),
            (json!({"name": name, "value": value}), true),
            (json!({"name": name, "value": "0"}), false),
            (json!({"name": name, "value": ""}), false),
            (json!({"name": name, "valueFrom": from}), false),
        ] {
            edit(format!("{variable}, in front: {in_front}"), &|pod| {
                let env = pod
                    .pointer_mut(&format!("{agent}/env"))
                    .unwrap()
                    .as_array_mut()
                    .unwrap();
                match env.iter_mut().find(|other| other["name"] == name) {
                    Some(other) => *other = variable.clone(),
                    None if in_front => env.insert(0, variable.clone()),
                    None => env.push(variable.clone()),
                }
            });
        }
    }
    let requests = format!("{agent}/resources/requests");
    edit("both requests".to_owned(), &|pod| {
        *pod.pointer_mut(&requests).unwrap() = json!({"cpu": "20m", "memory": "96Mi"})
    });
    edited
}

/// Does what the advice says: returns the settings, and the pod with the annotations.
fn followed(advice: &str, edited: &Value, at: &str, sets: &[String]) -> (Vec<String>, Value) {
    let (mut sets, mut pod) = (sets.to_vec(), edited.clone());
    let (agent, _) = injected(edited);
    let variable = |name: &str| {
        let env = edited
            .pointer(&format!("{agent}/env"))
            .unwrap()
            .as_array()
            .unwrap();
        env.iter()
            .find(|variable| variable["name"] == name)
            .unwrap()
    };
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    // The place of the message has the value: of a variable, or in a list that is set as a whole.
    let here = || match (edited.pointer(at).unwrap(), at.rsplit_once('/').unwrap()) {
        (Value::Object(variable), _) => &variable["value"],
        (_, (list, index)) if index.parse::<usize>().is_ok() => edited.pointer(list).unwrap(),
        (value, _) => value,
    };
    for step in advice
        .split(", and ")
        .flat_map(|steps| steps.split(", or "))
    {
        let what = step
            .strip_prefix("set ")
            .and_then(|step| step.strip_suffix(" to the same value"))
            .unwrap();
        if let Some(key) = what
            .strip_prefix("annotation `")
            .and_then(|key| key.strip_suffix('`'))
        {
            let name = key.rsplit('/').next().unwrap();
            let value = match name.split_once('-') {
                Some((resource @ ("cpu" | "memory"), kind)) => edited
                    .pointer(&format!("{agent}/resources/{kind}s/{resource}"))
                    .unwrap(),
                _ => here(),
            };
            pod["metadata"]["annotations"][key] = text(value).into();
        } else if let Some(name) = what.strip_suffix(" in `agent.env` of the configuration") {
            let base = config(&sets).unwrap();
            let mut env = base.value("agent.env").unwrap().as_array().unwrap().clone();
            env.retain(|other| other["name"] != name);
            let at = base
                .value("agent.env")
                .unwrap()
                .as_array()
                .unwrap()
                .iter()
                .position(|other| other["name"] == name);
            env.insert(at.unwrap_or(env.len()), variable(name).clone());
            sets.push(format!("agent.env={}", Value::Array(env)));
        } else {
            let setting = what
                .strip_prefix('`')
                .and_then(|what| what.strip_suffix("` in the configuration"))
                .unwrap();
            let value = match setting.strip_prefix("agent.resources.") {
                Some(amount) => text(
                    edited
                        .pointer(&format!("{agent}/resources/{}", amount.replace('.', "/")))
                        .unwrap(),
                ),
                None if setting == "agent.roles" => format!("[{}]", text(here())),
                None => text(here()),
            };
            sets.push(format!("{setting}={value}"));
        }
    }
    (sets, pod)
}

#[test]
fn with_the_settings_that_it_names_the_edit_is_accepted() {
    let mut kept = BTreeSet::new();
    let mut wrong = Vec::new();
    for sets in CONFIGURATIONS {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let first = config(&sets).unwrap();
        let whole: Value =
            serde_json::from_str(&applied(POD, &inject(POD, &first, INJECT).edits).unwrap())
                .unwrap();
        for (what, edited) in edits(&whole) {
            let finding = decision(&edited, &first);
            let help = finding.help.unwrap_or_default();
            let Some((advice, _)) = help
                .strip_prefix("to keep the edit, ")
                .and_then(|help| help.split_once("; "))
            else {
                continue;
            };
            assert_eq!(finding.reason, Reason::HandEdited, "{what}");
            let (sets, pod) = followed(advice, &edited, &finding.pointer, &sets);
            match config(&sets).map(|config| decision(&pod, &config).reason) {
                Ok(Reason::Updated | Reason::Unchanged) => {}
                other => wrong.push(format!("{sets:?}: {what}: {advice}: {other:?}")),
            }
            kept.insert(advice.to_owned());
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert!(kept.len() > 40, "{kept:#?}");
}

#[test]
fn after_another_configuration_the_value_is_kept_by_force() {
    let mut force = INJECT;
    force.hand_edits = HandEdits::Overwrite;
    let (mut kept, mut wrong) = (BTreeSet::new(), Vec::new());
    // The last one sets the memo already.
    for sets in &CONFIGURATIONS[..5] {
        let mut sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let first = inject(POD, &config(&sets).unwrap(), INJECT);
        let whole: Value = serde_json::from_str(&applied(POD, &first.edits).unwrap()).unwrap();
        sets.push("agent.memo=another".to_owned());
        let second = config(&sets).unwrap();
        for (what, edited) in edits(&whole) {
            let finding = decision(&edited, &second);
            let help = finding.help.unwrap_or_default();
            let Some((advice, _)) = help
                .strip_prefix("to keep a value, ")
                .and_then(|help| help.split_once("; "))
            else {
                continue;
            };
            // The place of another value is the edited one.
            if advice.ends_with("to `true`") {
                continue;
            }
            let (sets, pod) = followed(advice, &edited, &finding.pointer, &sets);
            let text = pod.to_string();
            let config = config(&sets).unwrap();
            let forced = inject(&text, &config, force);
            let mut forced: Value =
                serde_json::from_str(&applied(&text, &forced.edits).unwrap()).unwrap();
            // With the edited agent and the memo in its place, nothing is a hand edit.
            let ((agent, tmp), (old_agent, old_tmp)) = (injected(&forced), injected(&edited));
            let added = forced.pointer_mut(&agent).unwrap();
            let memo = added["env"]
                .as_array()
                .unwrap()
                .iter()
                .find(|it| it["name"] == "MACKEREL_MEMO")
                .unwrap()
                .clone();
            *added = edited.pointer(&old_agent).unwrap().clone();
            added["env"].as_array_mut().unwrap().push(memo);
            *forced.pointer_mut(&tmp).unwrap() = edited.pointer(&old_tmp).unwrap().clone();
            match decision(&forced, &config).reason {
                Reason::Updated | Reason::Unchanged => {}
                other => wrong.push(format!("{sets:?}: {what}: {advice}: {other:?}")),
            }
            kept.insert(advice.to_owned());
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert!(kept.len() > 30, "{kept:#?}");
}
