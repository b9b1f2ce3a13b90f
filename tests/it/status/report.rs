//! The report: its table, its JSON, and the exit code.

use super::{Living, NONE, list, owner, status, status_of};
use crate::json_schema::broken;
use crate::program::Folder;
use serde_json::{Value, json};

/// A cluster in which something of each state stands.
fn cluster() -> Vec<Living> {
    let second = |pod: Living| {
        let name = pod.0["metadata"]["name"]
            .as_str()
            .unwrap()
            .replace("2xkzq", "9bb4d");
        pod.with("/metadata/name", json!(name))
    };
    let crashing = json!({"ready": false, "restartCount": 7, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"reason": "Error", "exitCode": 1}}});
    let misspelt = json!({"agent-injector.contrib.mackerel.io/inject": "yes"});
    vec![
        Living::of_deployment("shop", "web").injected(&[]),
        second(Living::of_deployment("shop", "web").injected(&[])).agent_status(crashing),
        Living::of_deployment("plain", "old"),
        second(Living::of_deployment("plain", "old")),
        Living::pod("plain", "db-0")
            .owned_by("apps/v1", "StatefulSet", "db")
            .injected(&["agent.roles=[shop:db]"]),
        Living::pod("plain", "debug").with("/metadata/annotations", misspelt),
        Living::pod("kube-system", "kube-proxy-7xv").owned_by("apps/v1", "DaemonSet", "kube-proxy"),
        owner("apps/v1", "ReplicaSet", "web-5d4f9c7b8").owned_by("apps/v1", "Deployment", "web"),
    ]
}

#[test]
fn problems_come_first() {
    let table = "\
plain  Deployment/old  2 pods  missed     kubectl rollout restart deployment/old -n plain
shop   Deployment/web  1 pod   not ready  CrashLoopBackOff: ended with Error, exit code 1; 7 restarts, last: Error  kubectl logs web-5d4f9c7b8-9bb4d -n shop -c mackerel-container-agent
plain  Pod/debug       1 pod   refused    invalid-annotation: annotation `agent-injector.contrib.mackerel.io/inject` must be `true` or `false`, found `yes`; write `\"true\"`, in quotes
plain  StatefulSet/db  1 pod   outdated   settings-changed; if its manifest has the agent, inject it again; else kubectl rollout restart statefulset/db -n plain
shop   Deployment/web  1 pod   ready
";
    let ran = status(&[], cluster());
    assert_eq!((ran.code, &*ran.stderr), (Some(1), ""));
    assert_eq!(ran.stdout, table);
    for page in [
        include_str!("../../../docs/en/status.md"),
        include_str!("../../../docs/ja/status.md"),
    ] {
        assert!(page.contains(&ran.stdout), "the page shows this report");
    }
}

#[test]
fn a_cluster_without_agents_is_one_line() {
    let system = Living::pod("kube-system", "kube-proxy-7xv");
    let ran = status(&[], [system]);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (Some(0), NONE, ""));
}

#[test]
fn missed_and_not_ready_fail_and_strict_fails_for_the_others() {
    let code = |arguments: &[&str], pod: Living| status(arguments, [pod]).code;
    let of = || Living::of_deployment("shop", "web");
    assert_eq!(code(&[], of()), Some(1));
    let waiting = || of().injected(&[]).agent_status(json!({"ready": false}));
    assert_eq!(code(&[], waiting()), Some(1));
    let outdated = || of().injected(&["agent.roles=[shop:db]"]);
    let refused = || {
        of().with(
            "/metadata/annotations",
            json!({"agent-injector.contrib.mackerel.io/roles": "x"}),
        )
    };
    for pods in [[outdated(), outdated()], [refused(), refused()]] {
        let [one, other] = pods;
        assert_eq!(code(&[], one), Some(0));
        assert_eq!(code(&["--strict"], other), Some(1));
    }
    assert_eq!(code(&["--strict"], of().injected(&[])), Some(0));
    let quiet = status(&["-q"], [of()]);
    assert_eq!(
        (quiet.code, &*quiet.stdout, &*quiet.stderr),
        (Some(1), "", "")
    );
}

#[test]
fn the_json_has_every_workload_and_fits_its_schema() {
    let ran = status(&["-o", "json"], cluster());
    assert_eq!((ran.code, &*ran.stderr), (Some(1), ""));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        report["apiVersion"],
        "agent-injector.contrib.mackerel.io/v1alpha1"
    );
    assert_eq!(report["kind"], "StatusReport");
    assert_eq!(
        report["workloads"][0],
        json!({
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "plain", "name": "old"},
            "state": "missed",
            "next": {"command": "kubectl rollout restart deployment/old -n plain"},
            "pods": ["old-5d4f9c7b8-2xkzq", "old-5d4f9c7b8-9bb4d"],
        })
    );
    let states = report["workloads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["state"].as_str().unwrap());
    assert_eq!(
        states.collect::<Vec<_>>(),
        ["missed", "not-ready", "refused", "outdated", "ready"]
    );
    let schema: Value =
        serde_json::from_str(include_str!("../../../docs/status.schema.json")).unwrap();
    assert_eq!(broken(&schema, &report, ""), Vec::<String>::new());
}

#[test]
fn every_form_of_kubectls_output_gives_the_same_report() {
    let json = list(cluster());
    let expected = status_of(&["-o", "json"], &json);
    let value: Value = serde_json::from_str(&json).unwrap();
    let items = value["items"].as_array().unwrap();
    let documents: String = items.iter().map(|item| format!("---\n{item}\n")).collect();
    let yaml = format!(
        "apiVersion: v1\nitems:\n{}kind: List\nmetadata:\n  resourceVersion: \"\"\n",
        items
            .iter()
            .map(|item| format!("- {item}\n"))
            .collect::<String>()
    );
    for (form, text) in [
        ("one line", value.to_string()),
        ("YAML", yaml),
        ("a stream", documents),
    ] {
        assert_eq!(status_of(&["-o", "json"], &text), expected, "{form}");
    }
    let stream: String = items.iter().map(|item| format!("{item:#}\n")).collect();
    assert_eq!(
        status_of(&["-o", "json"], &stream),
        expected,
        "objects as `jq '.items[]'` prints them"
    );
    let (pods, others) = items.split_at(items.len() - 1);
    let untyped: Vec<Value> = pods
        .iter()
        .map(|pod| {
            let mut pod = pod.clone();
            pod.as_object_mut()
                .unwrap()
                .retain(|key, _| key != "kind" && key != "apiVersion");
            pod
        })
        .collect();
    let pod_list = json!({"kind": "PodList", "apiVersion": "v1", "items": untyped}).to_string();
    let folder = Folder::with(&[
        ("pods.json", &pod_list),
        ("sets.yaml", &others[0].to_string()),
    ]);
    let ran = folder.run(&["status", "-o", "json", "pods.json", "sets.yaml"]);
    assert_eq!(ran, expected, "files, whose objects belong together");
}

#[test]
fn a_pod_in_json_may_have_characters_that_yaml_has_not() {
    let strange = json!({"example.com/text": "\u{7f}\u{85}\u{1}"});
    let pod =
        || Living::of_deployment("shop", "web").with("/metadata/annotations", strange.clone());
    let listed = status(&[], [pod()]);
    assert!(listed.stdout.contains("1 pod  missed"));
    assert_eq!(status_of(&[], &pod().0.to_string()), listed);
}

#[test]
fn a_pod_that_the_input_has_twice_counts_once() {
    let twice = || {
        [
            Living::of_deployment("shop", "web"),
            Living::of_deployment("shop", "web"),
        ]
    };
    assert!(status(&[], twice()).stdout.contains("1 pod  missed"));
    let [one, other] = twice();
    let other = other.with("/metadata/uid", json!("of another cluster"));
    assert!(status(&[], [one, other]).stdout.contains("2 pods  missed"));
}

#[test]
fn hostile_names_neither_move_the_cursor_nor_reach_a_shell() {
    let pod =
        Living::pod("shop", "x").owned_by("apps/v1", "Deployment", "a; rm -rf ~\u{1b}[2J\nfake");
    let stdout = status(&[], [pod]).stdout;
    assert_eq!(stdout.lines().count(), 1);
    assert!(stdout.starts_with(
        "shop  Deployment/a; rm -rf ~\u{241b}[2J\u{240a}fake  1 pod  missed  check the input: a name in it is empty, or none that Kubernetes takes"
    ));
    let option = Living::pod("shop", "x").owned_by("apps/v1", "Deployment", "--all");
    assert!(!status(&[], [option]).stdout.contains("kubectl"));
    let long = "a".repeat(10_000);
    let wide = Living::pod("shop", "x").owned_by("apps/v1", "Deployment", &long);
    let short = Living::of_deployment("shop", "web");
    let stdout = status(&[], [wide, short]).stdout;
    assert!(
        stdout
            .lines()
            .any(|line| line.contains("Deployment/web") && line.len() < 200)
    );
}
