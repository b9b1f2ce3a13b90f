//! Large and odd pods: the policy costs the API server no time to speak of, and refuses none.

use super::equal::READ;
use super::tally::{Subject, Tally};
use super::{PREFIX, Policy, Settings, agents, plain_pod, reported};
use crate::kubernetes::cluster::{ApiVerdict, Run, SILENT};
use config::Config;
use mackerel::annotations::Annotation;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn annotated(key: &str, value: &str) -> Value {
    let mut pod = plain_pod();
    pod["metadata"]["annotations"] = json!({ key: value });
    pod
}

/// The time of a creation, and the pod.
#[track_caller]
fn timed(policy: &Policy, pod: &Value) -> (Duration, Value) {
    let start = Instant::now();
    match policy.create(pod) {
        ApiVerdict::Accepted { object, .. } => (start.elapsed(), object),
        ApiVerdict::Refused(why) => panic!("{why}"),
    }
}

/// Without a limit on its length, `ignore-warnings` alone would cost some hundred times as much as the same text in another annotation.
#[test]
fn long_values_of_annotations_cost_no_more_than_those_of_others() {
    let Some(policy) = Policy::apply("policy-long", &Settings::default()) else {
        return;
    };
    let values = ["shop:web,", "(a|b)*"].map(|text| text.repeat((240 << 10) / text.len()));
    for value in &values {
        let (usual, _) = timed(&policy, &annotated("example.com/roles", value));
        for annotation in Annotation::ALL {
            let (time, created) = timed(&policy, &annotated(annotation.key(), value));
            assert!(
                time < usual * 10 + Duration::from_millis(500),
                "{}: {time:?} instead of {usual:?}",
                annotation.name()
            );
            assert!(
                agents(&created) == 0 || *annotation == Annotation::Status,
                "{}",
                annotation.name()
            );
        }
    }
}

/// A pod that requires a node by these values of a label.
fn for_nodes(values: &[Value]) -> Value {
    let mut pod = plain_pod();
    pod["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/os", "operator": "In", "values": values}]}]}}});
    pod
}

/// Without a limit on their number, the time of a request grew with the square of it: 18 s for 60,000 variables.
#[test]
fn pods_of_many_names_cost_little_more_than_without_the_policy() {
    let Some(policy) = Policy::apply("policy-many", &Settings::default()) else {
        return;
    };
    let numbers = |count: usize| 0..count;
    let mut annotations = plain_pod();
    for number in numbers(14_000) {
        annotations["metadata"]["annotations"][format!("e.com/{number}")] = "".into();
    }
    let mut variables = plain_pod();
    variables["spec"]["containers"][0]["env"] = numbers(60_000)
        .map(|number| json!({"name": format!("V{number}")}))
        .collect();
    let mut containers = plain_pod();
    containers["spec"]["containers"] = numbers(10_000)
        .map(|number| json!({"name": format!("w{number}"), "image": "web:1"}))
        .collect();
    let env: Vec<Value> = numbers(1000)
        .map(|number| json!({"name": format!("V{number}")}))
        .collect();
    let mut in_all = plain_pod();
    in_all["spec"]["containers"] = numbers(80)
        .map(|number| json!({"name": format!("w{number}"), "image": "web:1", "env": env}))
        .collect();
    let windows = vec![Value::from("windows"); 50_000];
    let expressions: Vec<Value> = numbers(900)
        .map(|_| json!({"key": "kubernetes.io/os", "operator": "NotIn", "values": ["mac"]}))
        .collect();
    let mut terms = for_nodes(&windows[..1]);
    terms["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
        numbers(18)
            .map(|_| json!({"matchExpressions": expressions}))
            .collect();
    let mut words = plain_pod();
    words["spec"]["containers"][0]["command"] = vec![Value::from("web"); 60_000].into();
    for (names, pod) in [
        ("annotations", annotations),
        ("variables", variables),
        ("containers", containers),
        // The expressions about all of them would cost more than the API server allows, and fail in silence.
        ("variables in all", in_all),
        ("values", for_nodes(&windows)),
        ("terms", terms),
        ("words", words),
    ] {
        let start = Instant::now();
        policy.cluster.create(Run::Dry, SILENT, &pod);
        let usual = start.elapsed();
        let start = Instant::now();
        let ApiVerdict::Accepted { object, warnings } = policy.create(&pod) else {
            panic!("{names}: refused")
        };
        let time = start.elapsed();
        assert!(
            time < usual * 3 + Duration::from_millis(500),
            "{names}: {time:?} instead of {usual:?}"
        );
        assert_eq!(agents(&object), 0, "{names}");
        assert_eq!(reported(&warnings), ["undecided"], "{names}");
    }
}

#[test]
fn pods_of_many_containers_and_variables() {
    let Some(policy) = Policy::apply("policy-large", &Settings::default()) else {
        return;
    };
    let variables: Vec<Value> = (0..300)
        .map(|number| json!({"name": format!("VARIABLE_{number}"), "value": "a"}))
        .collect();
    let containers: Vec<Value> = (0..150)
        .map(|number| json!({"name": format!("web-{number}"), "image": "web:1", "env": variables}))
        .collect();
    let mut pod = plain_pod();
    pod["spec"]["containers"] = containers.into();
    let subject = Subject::new("large", &pod, &policy, &Config::default()).unwrap();
    let mut tally = Tally::default();
    tally.add(&policy, &[subject]);
    tally.holds(0);
    assert_eq!(tally.equal, 1, "{tally}");
}

/// Each value of each annotation is taken as the engine takes it, or left alone.
#[test]
fn odd_values_of_annotations() {
    let Some(policy) = Policy::apply("policy-odd", &Settings::default()) else {
        return;
    };
    let values = [
        "",
        " ",
        ",",
        "null",
        "NULL",
        "~",
        "true",
        "TRUE",
        "Falſe",
        "yes",
        "0",
        "-1",
        "1e3",
        "1E3",
        ".5Gi",
        "0.5Gi",
        "64Mi",
        "63.9Mi",
        "67108864",
        "67108863",
        "67108864000m",
        "100M",
        "1Ei",
        "+1Gi",
        "1Gi ",
        "9999999999999999999Gi",
        "500m",
        "aa:bb",
        " aa:bb , cc:dd ",
        "aa:bb,",
        "aa:bb,,cc:dd",
        "aa: bb",
        "a:b",
        "店:網",
        "\u{a0}aa:bb",
        "aa:bb\u{3000}",
        "\t\naa:bb\r",
        "'",
        "\"",
        "\\",
        "a'b\"c\\d",
        "$$",
        "$(HOME)",
        "$(MACKEREL_ROLES)",
        "$",
        "^a$",
        "(",
        "a|b)",
        "\\pN",
        "(?i)a",
        "(?=a)",
        "a{1001}",
        "\u{7f}",
        "\u{2028}",
        "😀",
        "injected",
        "native",
        "mackerel/mackerel-container-agent:latest",
        "a/b@sha256:00",
        "UPPER",
        "-a",
        "a.b",
        "misplaced-annotation",
        "misplaced-annotation, no-such-warning",
        "https://example.com/a.yaml",
        "db:5432",
    ];
    let mut subjects = Vec::new();
    for annotation in Annotation::ALL {
        let is_read = READ.iter().any(|(name, _)| *name == annotation.name());
        // Each other annotation is left alone in the same way.
        for value in values.iter().step_by(if is_read { 1 } else { 6 }) {
            let name = format!("{}: {value:?}", annotation.name());
            let pod = annotated(annotation.key(), value);
            subjects.extend(Subject::new(&name, &pod, &policy, &Config::default()));
        }
    }
    for key in [
        "unknown",
        "inject-agent",
        "INJECT",
        "",
        "env.A B",
        "mackerel_apikey.secret_name",
    ] {
        let pod = annotated(&format!("{PREFIX}{key}"), "a");
        subjects.extend(Subject::new(key, &pod, &policy, &Config::default()));
    }
    let mut tally = Tally::default();
    tally.add(&policy, &subjects);
    tally.holds(100);
    assert!(tally.equal > 50, "{tally}");
}
