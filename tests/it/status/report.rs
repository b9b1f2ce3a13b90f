//! The report: its table, its JSON, and the exit code.

use super::{Living, NONE, list, owner, status, status_of};
use crate::program::Folder;
use configurations::json_schema::broken;
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

workloads: 1 missed, 1 not ready, 1 refused, 1 outdated, 1 ready; pods with a running agent: 2
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
        report["summary"],
        json!({
            "workloads": {"missed": 1, "not-ready": 1, "refused": 1, "outdated": 1, "ready": 1},
            "podsWithRunningAgent": 2,
        })
    );
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
    assert_eq!(
        status_of(&["-o", "json"], &value["items"].to_string()),
        expected,
        "a list as `jq .items` prints it"
    );
    assert_eq!(
        status_of(&["-o", "json"], &format!("[{value}]")),
        expected,
        "lists as `jq --slurp .` prints them"
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
fn the_last_line_counts_workloads_by_state_and_running_agents() {
    let many = (0..500).map(|i| {
        let pod = Living::of_deployment("shop", &format!("web-{i}"));
        if i < 480 { pod } else { pod.injected(&[]) }
    });
    let ran = status(&[], many);
    assert!(
        ran.stdout
            .ends_with("\n\nworkloads: 480 missed, 20 ready; pods with a running agent: 20\n"),
        "{}",
        ran.stdout
    );
    let of = |number: usize| {
        let pod = Living::of_deployment("shop", "web").injected(&[]);
        pod.with("/metadata/name", json!(format!("web-{number}")))
    };
    let waits = |reason| json!({"ready": false, "state": {"waiting": {"reason": reason}}});
    let pods = [
        of(0),
        of(1).agent_status(json!({"ready": false, "state": {"running": {}}})),
        of(2).agent_status(waits("CrashLoopBackOff")),
        of(3).agent_status(waits("ErrImagePull")),
        of(4).with("/status/reason", json!("NodeLost")),
    ];
    let totals = "workloads: 1 not ready, 1 ready; pods with a running agent: 2\n";
    let stdout = status(&[], pods).stdout;
    assert!(stdout.ends_with(totals), "{stdout}");
}

/// Mackerel has a host for it all the same.
#[test]
fn a_running_agent_of_others_counts_where_the_configuration_gives_none() {
    let pod = || {
        let pod = Living::of_deployment("shop", "web").injected(&[]);
        pod.with("/metadata/annotations", json!({}))
    };
    let disabled = ["--set", "injection=disabled"];
    let ran = status(&disabled, [pod()]);
    assert_eq!(
        (ran.code, &*ran.stdout),
        (Some(0), "pods with a running agent: 1\n")
    );
    let missed = Living::of_deployment("plain", "old");
    let stdout = status(&["--set", "select.namespaces=[plain]"], [pod(), missed]).stdout;
    assert!(
        stdout.ends_with("\n\nworkloads: 1 missed; pods with a running agent: 1\n"),
        "{stdout}"
    );
}

#[test]
fn a_pod_counts_once_for_each_uid_as_the_last_file_has_it() {
    let web = || Living::of_deployment("shop", "web");
    let counted = |files: [&[Living]; 2]| {
        let [one, other] = files.map(|pods| list(pods.iter().map(|pod| Living(pod.0.clone()))));
        let folder = Folder::with(&[("1.json", &one), ("2.json", &other)]);
        let ran = folder.run(&["status", "-o", "json", "1.json", "2.json"]);
        let report: Value = serde_json::from_str(&ran.stdout).expect(&ran.stderr);
        report["summary"]["workloads"].to_string()
            + &report["workloads"][0]["pods"]
                .as_array()
                .unwrap()
                .len()
                .to_string()
    };
    assert_eq!(counted([&[web()], &[web()]]), r#"{"missed":1}1"#);
    assert_eq!(
        counted([&[web()], &[web().injected(&[])]]),
        r#"{"ready":1}1"#
    );
    assert_eq!(
        counted([&[web().injected(&[])], &[web()]]),
        r#"{"missed":1}1"#
    );
    let elsewhere = web().with("/metadata/uid", json!("of another cluster"));
    assert_eq!(counted([&[web()], &[elsewhere]]), r#"{"missed":1}2"#);
    let nameless = || web().with("/metadata/uid", Value::Null);
    assert_eq!(
        counted([&[nameless(), nameless()], &[nameless()]]),
        r#"{"missed":1}2"#
    );
    let injected = nameless().injected(&[]);
    assert_eq!(
        counted([&[nameless()], &[injected]]),
        r#"{"missed":1,"ready":1}1"#
    );
}

#[test]
fn hostile_names_neither_move_the_cursor_nor_reach_a_shell() {
    let pod =
        Living::pod("shop", "x").owned_by("apps/v1", "Deployment", "a; rm -rf ~\u{1b}[2J\nfake");
    let stdout = status(&[], [pod]).stdout;
    assert_eq!(stdout.lines().count(), 3);
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
