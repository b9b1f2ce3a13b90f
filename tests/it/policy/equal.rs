//! Law 5: a pod that is created through the policy is the pod that the engine gives.

use super::tally::{Subject, Tally};
use super::{PREFIX, Policy, Settings, plain_pod, until};
use crate::kubernetes::cluster::{ApiVerdict, RESTRICTED};
use crate::kubernetes::injected::{hardened, templates};
use config::Config;
use laws::cases;
use laws::generators::{self, Tape};
use laws::{INJECT, configuration};
use proptest::prelude::{Strategy as _, any, prop};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use support::corpus;

/// The name of a file or case, and one of its pods.
pub(super) type NamedPod = (String, Value);

/// The number of pods of the corpus, and that of generated ones, unless all are wanted.
const SAMPLE: usize = 500;

/// True for the whole corpus.
fn is_long() -> bool {
    std::env::var_os("MACKEREL_LONG_TESTS").is_some_and(|value| !value.is_empty())
}

/// Pods of the corpus, no spec twice, some of each repository.
pub(super) fn corpus_pods(test: &str, count: usize) -> Option<Vec<NamedPod>> {
    let files = corpus::manifests(test)?;
    let config = Config::default();
    let (mut pods, mut seen) = (Vec::new(), BTreeSet::new());
    for (name, bytes) in files {
        // Each repository has many files of one kind, one after the other.
        let is_sampled = name.bytes().map(usize::from).sum::<usize>() % 7 == 0;
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        if !is_sampled && !is_long() {
            continue;
        }
        for pod in templates(&text, &config) {
            if seen.insert(pod.to_string()) {
                pods.push((name.clone(), pod));
            }
        }
        if pods.len() >= count {
            break;
        }
    }
    Some(pods)
}

/// Pods of generated manifests, the same ones each time.
pub(super) fn generated_pods(count: usize) -> Vec<NamedPod> {
    let config = Config::default();
    let mut runner = TestRunner::deterministic();
    let tapes = prop::collection::vec(any::<u8>(), 0..600);
    let mut pods = Vec::new();
    while pods.len() < count {
        let tape = tapes.new_tree(&mut runner).unwrap().current();
        let text = generators::stream(&mut Tape::new(&tape));
        for pod in templates(&text, &config) {
            pods.push((format!("generated {}", pods.len()), pod));
        }
    }
    pods
}

pub(super) fn subjects(pods: &[NamedPod], policy: &Policy, config: &Config) -> Vec<Subject> {
    let subject = |(name, pod): &NamedPod| Subject::new(name, pod, policy, config);
    pods.iter().filter_map(subject).collect()
}

#[test]
fn pods_of_the_corpus() {
    let count = if is_long() { usize::MAX } else { SAMPLE };
    let Some(pods) = corpus_pods("policy::pods_of_the_corpus", count) else {
        return;
    };
    let Some(policy) = Policy::apply("policy-corpus", &Settings::default()) else {
        return;
    };
    let mut tally = Tally::default();
    tally.add(&policy, &subjects(&pods, &policy, &Config::default()));
    tally.holds(1);
    assert!(tally.equal > SAMPLE / 2, "{tally}");
}

#[test]
fn generated_pods_are_equal() {
    let Some(policy) = Policy::apply("policy-generated", &Settings::default()) else {
        return;
    };
    let count = if is_long() { 10 * SAMPLE } else { SAMPLE };
    let mut tally = Tally::default();
    tally.add(
        &policy,
        &subjects(&generated_pods(count), &policy, &Config::default()),
    );
    // With an annotation that changes the agent, or requests wait-for where that has an image, a pod is left alone.
    tally.holds(20);
    assert!(tally.equal > SAMPLE / 3, "{tally}");
}

#[test]
fn pods_of_each_case_under_its_configuration() {
    let mut by_settings: BTreeMap<Settings, (Config, Vec<NamedPod>)> = BTreeMap::new();
    for case in cases::all() {
        // No cluster that is too old for native sidecars has policies.
        let is_too_old = case.name == "wait-for/where-native-is-not-supported";
        if case.options != INJECT || is_too_old {
            continue;
        }
        let settings = Settings {
            file: case.configuration.clone(),
            sets: case.sets.clone(),
        };
        let entry = by_settings.entry(settings);
        let (config, pods) = entry.or_insert_with(|| (case.config.clone(), Vec::new()));
        for pod in templates(&case.text, config) {
            pods.push((case.name.clone(), pod));
        }
    }
    let (settings, cases): (Vec<_>, Vec<_>) = by_settings.into_iter().unzip();
    let Some(policies) = Policy::apply_all("policy-case", &settings) else {
        return;
    };
    let (mut tally, mut without_policy) = (Tally::default(), Vec::new());
    for (policy, (config, pods)) in policies.iter().zip(&cases) {
        match policy {
            Ok(policy) => tally.add(policy, &subjects(pods, policy, config)),
            Err(why) => without_policy.push(why.as_str()),
        }
    }
    for why in &without_policy {
        let is_about_workloads = why.contains("a policy does not support `select.");
        assert!(is_about_workloads || why.contains("is `disabled`"), "{why}");
    }
    assert!(
        without_policy.len() * 5 < policies.len(),
        "{without_policy:#?}"
    );
    // Many cases are about annotations that the policy does not read.
    tally.holds(30);
    assert!(tally.equal > 100, "{tally}");
}

/// The annotations that the policy reads, with values that it takes.
pub(super) const READ: [(&str, &[&str]); 3] = [
    ("inject", &["true", "TRUE"]),
    ("status", &["injected", "kept"]),
    ("ignore-warnings", &["host-network", " , host-network,"]),
];

/// Pods of all shapes with the annotations that the policy reads.
#[test]
fn shapes_together() {
    let mut runner = TestRunner::deterministic();
    let tapes = prop::collection::vec(any::<usize>(), READ.len() + 4);
    let mut pods = Vec::new();
    for number in 0..150 {
        let mut tape = tapes.new_tree(&mut runner).unwrap().current().into_iter();
        let mut choice = |count: usize| tape.next().unwrap() % count;
        let mut pod = plain_pod();
        for (name, values) in READ {
            if let Some(value) = values.get(choice(values.len() + 2)) {
                pod["metadata"]["annotations"][format!("{PREFIX}{name}")] = (*value).into();
            }
        }
        if choice(2) == 0 {
            pod["spec"]["restartPolicy"] = "OnFailure".into();
        }
        if choice(2) == 0 {
            pod["spec"]["automountServiceAccountToken"] = false.into();
        }
        if choice(2) == 0 {
            pod["spec"]["resources"] = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
        }
        if choice(2) == 0 {
            pod["spec"]["initContainers"] = json!([{"name": "init", "image": "init:1"}]);
        }
        pods.push((format!("shape {number}"), pod));
    }
    for (name, sets) in [
        ("policy-together", &[][..]),
        (
            "policy-together-settings",
            &[
                "agent.roles=[ee:ff]",
                "agent.ignoreContainer=b",
                "kubernetesVersion=1.36",
                "agent.memo=a",
                "apiKey.secretKeyRef.name=own",
            ],
        ),
    ] {
        let settings = Settings::of_sets(sets);
        let Some(policy) = Policy::apply(name, &settings) else {
            return;
        };
        let config = configuration(None, &settings.sets, None);
        let mut tally = Tally::default();
        tally.add(&policy, &subjects(&pods, &policy, &config));
        tally.holds(0);
        assert!(tally.equal > 100, "{tally}");
    }
}

/// The agent has what the Pod Security standard "restricted" demands.
#[test]
fn pods_that_comply_with_restricted_do_so_with_the_agent() {
    let Some(policy) = Policy::apply("policy-restricted", &Settings::default()) else {
        return;
    };
    let mut pods = Vec::new();
    for (name, pod) in generated_pods(300) {
        let pod = hardened(&pod);
        if policy.cluster.would_take(RESTRICTED, &pod).is_ok() {
            pods.push((name, pod));
        }
    }
    policy.cluster.apply(
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": policy.namespace,
            "labels": {"policy": policy.namespace, "pod-security.kubernetes.io/enforce": "restricted"}}}),
    );
    let mut refused = plain_pod();
    refused["spec"]["hostNetwork"] = true.into();
    until("restricted is enforced", || {
        matches!(policy.create(&refused), ApiVerdict::Refused(_))
    });
    let mut tally = Tally::default();
    tally.add(&policy, &subjects(&pods, &policy, &Config::default()));
    tally.holds(20);
    assert!(tally.equal > 50, "{tally}");
}
