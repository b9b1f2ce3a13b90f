//! Law 5: a pod that is created through the webhook is the pod of a manifest that was injected.

use super::{Webhook, has_agent, plain_pod};
use crate::kubernetes::cluster::{ApiVerdict, Run, SILENT};
use crate::kubernetes::injected::{comparable, pairs};
use crate::webhook::server::{scaled, until};
use config::Config;
use injector::Options;
use laws::cases;
use laws::{INJECT, carries_record};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::corpus;
use support::parallel::for_each;

/// The name of a case or file, and one of its pods without the agent and with it.
type Twice = (String, Value, Value);

/// Creates pods through the webhook, and the pods of the injected manifest without it. Returns the differences, and the number of
/// compared pods.
fn compare(webhook: &Webhook, pods: &[Twice]) -> (Vec<String>, usize) {
    let compared = for_each(pods, |(name, before, after)| {
        let past = webhook.cluster.create(Run::Dry, SILENT, after);
        let through = webhook.create(before);
        match (through, past) {
            (
                ApiVerdict::Accepted {
                    object: through, ..
                },
                ApiVerdict::Accepted { object: past, .. },
            ) => {
                let [expected, seen] = [past, through].map(|pod| comparable(&pod));
                if expected == seen {
                    return Some(None);
                }
                let diff = similar::TextDiff::from_lines(&expected, &seen)
                    .unified_diff()
                    .context_radius(2)
                    .to_string();
                Some(Some(format!("== {name}\n{diff}")))
            }
            (ApiVerdict::Refused(_), ApiVerdict::Refused(_)) => None,
            (through, past) => Some(Some(format!(
                "== {name}\nthrough the webhook: {through:?}\npast it: {past:?}"
            ))),
        }
    });
    let all: Vec<Option<String>> = compared.into_iter().flatten().collect();
    let count = all.len();
    (all.into_iter().flatten().collect(), count)
}

fn pods(name: &str, text: &str, config: &Config, options: Options) -> Vec<Twice> {
    let pairs = pairs(text, config, options);
    pairs
        .iter()
        .flat_map(|pair| pair.pods())
        .map(|(before, after)| (name.to_owned(), before, after))
        .collect()
}

#[test]
fn the_api_server_makes_the_pods_of_each_case() {
    let Some(webhook) = Webhook::register("law5-cases") else {
        return;
    };
    // One server for each configuration.
    let mut by_configuration: BTreeMap<(String, Vec<String>), Vec<Twice>> = BTreeMap::new();
    for case in cases::all() {
        let explicit = case.config.explicit().map(|(path, _)| path.to_owned());
        // A pod shows neither its workload nor that one's annotations.
        let hides = explicit
            .into_iter()
            .any(|path| path.starts_with("select.") || path.starts_with("waitFor.annotations"));
        // The pods are created in a namespace with a longer name.
        let is_elsewhere = case.name == "roles/namespace-of-one-letter";
        if case.options != INJECT || hides || is_elsewhere || carries_record(&case.text) {
            continue;
        }
        let key = (
            case.configuration.clone().unwrap_or_default(),
            case.sets.clone(),
        );
        by_configuration.entry(key).or_default().extend(pods(
            &case.name,
            &case.text,
            &case.config,
            INJECT,
        ));
    }
    by_configuration.retain(|_, pods| !pods.is_empty());
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for ((configuration, sets), pods) in by_configuration {
        let files: &[(&str, &str)] = if configuration.is_empty() {
            &[]
        } else {
            &[("config.yaml", &configuration)]
        };
        let mut arguments: Vec<String> = sets.iter().map(|set| format!("--set={set}")).collect();
        arguments.extend((!configuration.is_empty()).then(|| "--config=config.yaml".to_owned()));
        arguments.push("--drain=10ms".to_owned());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut server = webhook.server(&arguments, files);
        webhook.balancer.set(vec![server.address]);
        if compared == 0 {
            webhook.wait();
        }
        let (differences, count) = compare(&webhook, &pods);
        wrong.extend(differences);
        compared += count;
        webhook.balancer.set(Vec::new());
        server.signal("TERM");
        server.ended();
    }
    assert!(
        wrong.is_empty(),
        "{} of {compared}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(compared > 200, "only {compared} were compared");
}

#[test]
fn the_api_server_makes_the_pods_of_the_corpus() {
    let Some(files) = corpus::manifests("the_api_server_makes_the_pods_of_the_corpus") else {
        return;
    };
    let Some(webhook) = Webhook::register("law5-corpus") else {
        return;
    };
    let server = webhook.server(&[], &[]);
    webhook.balancer.set(vec![server.address]);
    webhook.wait();
    let config = Config::default();
    let wanted = scaled(1_000);
    let (mut wrong, mut compared) = (Vec::new(), 0);
    let mut some = Vec::new();
    // Each repository has many files of one kind, one after the other.
    for (name, bytes) in
        files.filter(|(name, _)| name.bytes().map(usize::from).sum::<usize>() % 7 == 0)
    {
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        some.extend(pods(&name, &text, &config, INJECT));
        if some.len() >= 100 {
            let (differences, count) = compare(&webhook, &some);
            wrong.extend(differences);
            compared += count;
            some.clear();
        }
        if compared >= wanted {
            break;
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {compared}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(compared >= wanted, "only {compared} were compared");
}

#[test]
fn a_limit_range_leaves_the_agent_as_it_is() {
    let Some(webhook) = Webhook::register("law5-defaults") else {
        return;
    };
    let server = webhook.server(&[], &[]);
    webhook.balancer.set(vec![server.address]);
    webhook.wait();
    let past = "law5-defaults-past";
    webhook.cluster.namespace(past, &json!({}));
    let config = Config::default();
    let manifest = plain_pod().to_string();
    let [(name, before, after)] = &pods("plain", &manifest, &config, INJECT)[..] else {
        panic!("one pod")
    };
    for namespace in [&*webhook.namespace, past] {
        webhook.cluster.apply(
            &json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits", "namespace": namespace},
            "spec": {"limits": [{"type": "Container", "default": {"cpu": "500m", "memory": "1Gi"},
                "defaultRequest": {"cpu": "100m", "memory": "32Mi"}}]}}),
        );
    }
    let object = |namespace: &str, pod: &Value| object(&webhook, namespace, pod);
    let cpu = |pod: &Value| {
        pod.pointer("/spec/containers/1/resources/limits/cpu")
            .cloned()
    };
    until("the LimitRange has an effect", || {
        [&*webhook.namespace, past]
            .iter()
            .all(|namespace| cpu(&object(namespace, after)) == Some("500m".into()))
    });
    let [through, brought, expected] = [
        object(&webhook.namespace, before),
        object(&webhook.namespace, after),
        object(past, after),
    ]
    .map(|pod| comparable(&pod));
    assert!(
        through == expected && brought == expected,
        "{name}\n{through}\n{brought}\n{expected}"
    );
}

/// A pod as it would be stored in a namespace.
#[track_caller]
fn object(webhook: &Webhook, namespace: &str, pod: &Value) -> Value {
    match webhook.cluster.create(Run::Dry, namespace, pod) {
        ApiVerdict::Accepted { object, .. } => object,
        ApiVerdict::Refused(why) => panic!("{why}"),
    }
}

/// The variable of [`other_webhook`].
const VARIABLE: &str = "ZONE";

/// Applies a policy that sets a variable in each container of these namespaces, as another webhook would. The API server
/// evaluates it before the webhook of the test, and with `IfNeeded` also after it.
fn other_webhook(webhook: &Webhook, reinvocation: &str, namespaces: [&str; 2]) {
    let name = namespaces[0];
    let selector = json!({"matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": namespaces},
    ]});
    let list = |list: &str, from: &str| {
        format!(
            "{list}: {from}.map(c, Object.spec.{list}{{name: c.name, \
             env: [Object.spec.{list}.env{{name: '{VARIABLE}', value: 'a'}}]}})"
        )
    };
    let lists = [
        list("containers", "object.spec.containers"),
        list("initContainers", "object.spec.?initContainers.orValue([])"),
    ];
    let policy = |kind: &str, spec: Value| {
        let kind = format!("MutatingAdmissionPolicy{kind}");
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
    };
    webhook.cluster.apply(&policy(
        "",
        json!({
            "reinvocationPolicy": reinvocation,
            "matchConstraints": {"namespaceSelector": selector, "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
            ]},
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {
                "expression": format!("Object{{spec: Object.spec{{{}}}}}", lists.join(", ")),
            }}],
        }),
    ));
    webhook
        .cluster
        .apply(&policy("Binding", json!({"policyName": name})));
}

/// Removes the variable from the containers with such names. Returns the number of those that had it.
fn take_variable(pod: &mut Value, is_of: impl Fn(&str) -> bool) -> usize {
    let mut taken = 0;
    for list in ["containers", "initContainers"] {
        for container in pod["spec"]
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let name = container["name"].as_str().unwrap().to_owned();
            if let (true, Some(env)) = (
                is_of(&name),
                container.get_mut("env").and_then(Value::as_array_mut),
            ) {
                let before = env.len();
                env.retain(|variable| variable["name"] != VARIABLE);
                taken += before - env.len();
            }
        }
    }
    taken
}

#[test]
fn another_webhook_that_sets_a_variable_in_each_container() {
    for (name, reinvocation) in [("law5-again", "IfNeeded"), ("law5-before", "Never")] {
        let Some(webhook) = Webhook::register(name) else {
            return;
        };
        let server = webhook.server(&[], &[]);
        webhook.balancer.set(vec![server.address]);
        webhook.wait();
        let past = format!("{name}-past");
        webhook.cluster.namespace(&past, &json!({}));
        other_webhook(&webhook, reinvocation, [name, &past]);
        let mut native = plain_pod();
        native["spec"]["restartPolicy"] = "Never".into();
        for pod in [plain_pod(), native] {
            let [(_, before, after)] =
                &pods(name, &pod.to_string(), &Config::default(), INJECT)[..]
            else {
                panic!("one pod")
            };
            let is_set = |namespace: &str| {
                take_variable(&mut object(&webhook, namespace, before), |_| true) > 0
            };
            until("the policy has an effect", || {
                is_set(&webhook.namespace) && is_set(&past)
            });
            let [through, brought, mut expected] = [
                (&*webhook.namespace, before),
                (&*webhook.namespace, after),
                (&*past, after),
            ]
            .map(|(namespace, pod)| object(&webhook, namespace, pod));
            assert_eq!(
                comparable(&brought),
                comparable(&expected),
                "a pod that brings the agent"
            );
            if reinvocation == "Never" {
                // The agent was not there when the policy was evaluated.
                assert_eq!(
                    take_variable(&mut expected, |name| name == "mackerel-container-agent"),
                    1
                );
            }
            assert_eq!(
                comparable(&through),
                comparable(&expected),
                "{reinvocation}"
            );
        }
    }
}

#[test]
fn a_service_account_that_mounts_no_token_leaves_the_agent_with_one() {
    let Some(webhook) = Webhook::register("law5-automount") else {
        return;
    };
    let server = webhook.server(&[], &[]);
    webhook.balancer.set(vec![server.address]);
    webhook.wait();
    webhook.cluster.apply(
        &json!({"apiVersion": "v1", "kind": "ServiceAccount", "automountServiceAccountToken": false,
        "metadata": {"name": "tokenless", "namespace": webhook.namespace}}),
    );
    let mut pod = plain_pod();
    pod["spec"]["serviceAccountName"] = "tokenless".into();
    let ApiVerdict::Accepted { object, .. } = webhook.create(&pod) else {
        panic!("refused")
    };
    assert!(has_agent(&object));
    let volumes = object["spec"]["volumes"].to_string();
    assert!(
        volumes.contains("mackerel-agent-token") && !volumes.contains("kube-api-access"),
        "{volumes}"
    );
}
