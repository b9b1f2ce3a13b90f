//! The state of one pod.

use super::{AGENT, Living, rows, status};
use serde_json::{Value, json};

/// The row of one pod.
fn row(arguments: &[&str], pod: Living) -> String {
    let mut rows = rows(arguments, [pod]);
    assert!(rows.len() < 2, "{rows:?}");
    rows.pop().unwrap_or_default()
}

#[test]
fn an_agent_is_ready_or_the_kubelet_says_why_not() {
    let row = |status| {
        let pod = Living::of_deployment("shop", "web").injected(&[]);
        row(&[], pod.agent_status(status))
    };
    let logs = format!("kubectl logs web-5d4f9c7b8-2xkzq -n shop -c {AGENT}");
    let describe = "kubectl describe pod web-5d4f9c7b8-2xkzq -n shop";
    assert_eq!(
        row(json!({"ready": true, "state": {"running": {}}})),
        "shop | Deployment/web | 1 pod | ready"
    );
    let not_ready = "shop | Deployment/web | 1 pod | not ready";
    let crashing = json!({"ready": false, "restartCount": 7,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}},
        "lastState": {"terminated": {"reason": "Error", "exitCode": 1}}});
    assert_eq!(
        row(crashing),
        format!(
            "{not_ready} | CrashLoopBackOff: ended with Error, exit code 1; 7 restarts, last: Error | {logs}"
        )
    );
    let without_secret = json!({"ready": false, "state": {"waiting": {
        "reason": "CreateContainerConfigError", "message": "secret \"mackerel-container-agent\" not found"}}});
    assert_eq!(
        row(without_secret),
        format!(
            "{not_ready} | CreateContainerConfigError: secret \"mackerel-container-agent\" not found | {describe}"
        )
    );
    let ended =
        json!({"ready": false, "state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}});
    assert_eq!(
        row(ended),
        format!("{not_ready} | OOMKilled: exit code 137 | {logs}")
    );
    let restarted = json!({"ready": false, "state": {"running": {}},
        "lastState": {"terminated": {"reason": "Error", "exitCode": 2}}});
    assert_eq!(
        row(restarted),
        format!("{not_ready} | Error: exit code 2 | {logs}")
    );
    for unknown in [json!({}), json!({"waiting": {}})] {
        assert_eq!(
            row(json!({"ready": false, "state": unknown})),
            format!("{not_ready} | Waiting | {describe}")
        );
    }
    let killed = json!({"ready": false, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 137}}});
    assert_eq!(
        row(killed),
        format!("{not_ready} | CrashLoopBackOff: ended with Terminated, exit code 137 | {logs}")
    );
    let killed = json!({"ready": false, "state": {"terminated": {"exitCode": 137}}});
    assert_eq!(
        row(killed),
        format!("{not_ready} | Terminated: exit code 137 | {logs}")
    );
    let started = json!({"ready": false, "state": {"running": {}}});
    assert_eq!(
        row(started),
        format!("{not_ready} | Running: started, and not ready yet | {logs}")
    );
}

#[test]
fn an_agent_that_restarts_is_shown_also_while_it_is_ready() {
    let killed = |count: u64| {
        let pod = Living::of_deployment("shop", "web").injected(&[]);
        pod.agent_status(
            json!({"ready": true, "state": {"running": {}}, "restartCount": count,
            "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}),
        )
    };
    let ready = "shop | Deployment/web | 1 pod | ready";
    assert_eq!(
        row(&[], killed(1)),
        format!("{ready} | 1 restart, last: OOMKilled")
    );
    let other = killed(2).with("/metadata/name", json!("web-5d4f9c7b8-9bb4d"));
    assert_eq!(
        rows(&[], [killed(1), other]),
        ["shop | Deployment/web | 2 pods | ready | 3 restarts, last: OOMKilled"]
    );
    let forgotten = Living::of_deployment("shop", "web").injected(&[]);
    let forgotten = forgotten.agent_status(json!({"ready": true, "restartCount": 4}));
    assert_eq!(
        row(&[], forgotten),
        format!("{ready} | 4 restarts, last: Unknown")
    );
}

#[test]
fn a_long_message_of_a_kubelet_is_cut_in_the_table_only() {
    let message = "日".repeat(1000);
    let waiting = json!({"ready": false, "state": {"waiting": {"reason": "ErrImagePull", "message": message}}});
    let pod = || {
        let pod = Living::of_deployment("shop", "web").injected(&[]);
        pod.agent_status(waiting.clone())
    };
    let row = row(&[], pod());
    let cut = format!("| ErrImagePull: {}… | kubectl describe", "日".repeat(106));
    assert!(row.contains(&cut), "{row}");
    assert!(status(&["-ojson"], [pod()]).stdout.contains(&message));
}

#[test]
fn a_pod_of_a_lost_node_is_not_ready() {
    let pod = |pointer: &str, value| {
        let pod = Living::of_deployment("shop", "web").injected(&[]);
        row(&[], pod.with(pointer, value))
    };
    let ready = |condition: Value| pod("/status/conditions", json!([condition]));
    let lost = "shop | Deployment/web | 1 pod | not ready | NodeLost: its node does not report | \
                kubectl describe pod web-5d4f9c7b8-2xkzq -n shop";
    assert_eq!(pod("/status/reason", json!("NodeLost")), lost);
    assert_eq!(ready(json!({"type": "Ready", "status": "Unknown"})), lost);
    // As the node lifecycle controller writes it.
    assert_eq!(ready(json!({"type": "Ready", "status": "False"})), lost);
    for condition in [
        json!({"type": "Ready", "status": "True"}),
        json!({"type": "Ready", "status": "False", "reason": "ContainersNotReady"}),
        json!({"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady"}),
    ] {
        assert!(ready(condition).ends_with("| ready"));
    }
}

#[test]
fn a_native_sidecar_has_its_status_among_those_of_init_containers() {
    let native = || Living::of_deployment("shop", "web").injected(&["sidecar=native"]);
    assert_eq!(
        row(&["--set", "sidecar=native"], native()),
        "shop | Deployment/web | 1 pod | ready"
    );
    let waiting = native().agent_status(
        json!({"ready": false, "started": false, "state": {"waiting": {"reason": "PodInitializing"}}}),
    );
    assert_eq!(
        row(&["--set", "sidecar=native"], waiting),
        "shop | Deployment/web | 1 pod | not ready | PodInitializing | kubectl describe pod web-5d4f9c7b8-2xkzq -n shop"
    );
}

#[test]
fn a_pod_without_a_node_is_not_ready_for_the_reason_of_the_scheduler() {
    let pending = Living::of_deployment("shop", "web").injected(&[]).with(
        "/status",
        json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"},
        ]}),
    );
    assert_eq!(
        row(&[], pending),
        "shop | Deployment/web | 1 pod | not ready | Unschedulable: 0/3 nodes are available | \
         kubectl describe pod web-5d4f9c7b8-2xkzq -n shop"
    );
    let new = Living::of_deployment("shop", "web").injected(&[]);
    let new = new.with("/status", json!({"phase": "Pending"}));
    assert!(row(&[], new).contains("| not ready | Pending |"));
}

#[test]
fn a_pod_that_has_ended_is_deleted_or_is_a_mirror_does_not_count() {
    let pod = || Living::of_deployment("shop", "web");
    for other in [
        pod().with("/status/phase", json!("Succeeded")),
        pod().with("/status/phase", json!("Failed")),
        pod().with("/metadata/deletionTimestamp", json!("2026-11-24T02:00:00Z")),
        Living::pod("kube-system", "kube-proxy-node-1")
            .owned_by("v1", "Node", "node-1")
            .with(
                "/metadata/annotations",
                json!({"kubernetes.io/config.mirror": "0a1b"}),
            ),
    ] {
        assert_eq!(row(&[], other), "");
    }
    let pending = pod().with("/status/phase", json!("Pending"));
    assert_eq!(
        row(&[], pending),
        "shop | Deployment/web | 1 pod | missed | kubectl rollout restart deployment/web -n shop"
    );
}

#[test]
fn an_agent_is_outdated_by_its_record_not_by_changes_of_others() {
    let injected = || Living::of_deployment("shop", "web").injected(&[]);
    // As the webhook of a cloud does.
    let with_variable = |mut pod: Living| {
        let containers = pod.0["spec"]["containers"].as_array_mut().unwrap();
        let agent = containers.iter_mut().find(|one| one["name"] == AGENT);
        let env = agent.unwrap()["env"].as_array_mut().unwrap();
        env.push(json!({"name": "AWS_REGION", "value": "ap-northeast-1"}));
        pod
    };
    assert_eq!(
        row(&[], with_variable(injected())),
        "shop | Deployment/web | 1 pod | ready"
    );
    let image = ["--set", "agent.image=r.example/mackerel-container-agent:v1"];
    let restart = "if its manifest has the agent, inject it again; else kubectl rollout restart deployment/web -n shop";
    let outdated = "shop | Deployment/web | 1 pod | outdated | settings-changed";
    for pod in [injected(), with_variable(injected())] {
        assert_eq!(row(&image, pod), format!("{outdated}; {restart}"));
    }
    let warnings = [
        "--set",
        "qos=allow",
        "--set",
        "warnings.ignore=[host-network]",
    ];
    assert_eq!(
        row(&warnings, injected()),
        "shop | Deployment/web | 1 pod | ready"
    );
    let unwanted = row(&["--set", "select.excludeNamespaces=[shop]"], injected());
    assert_eq!(
        unwanted,
        format!(
            "shop | Deployment/web | 1 pod | outdated | \
             no-longer-wanted: namespace shop is in `select.excludeNamespaces`; {restart}"
        )
    );
    let record = |text: &str| {
        let pod = injected();
        row(
            &[],
            pod.with(
                &format!("/metadata/annotations/{}", super::RECORD.replace('/', "~1")),
                json!(text),
            ),
        )
    };
    assert!(record("v9{}").contains("| newer-record: a newer version"));
    assert!(record("?").contains("| broken-record: the `record` annotation cannot be read"));
}

#[test]
fn a_pull_secret_that_is_no_longer_configured_makes_an_agent_outdated() {
    let pod = || {
        let pod = Living::of_deployment("shop", "web");
        let pod = pod.with("/spec/imagePullSecrets", json!([{"name": "own"}]));
        pod.injected(&["agent.imagePullSecrets=[team]"])
    };
    assert!(row(&["--set", "agent.imagePullSecrets=[team]"], pod()).ends_with("| ready"));
    assert!(row(&[], pod()).contains("| outdated | settings-changed;"));
}

#[test]
fn what_admission_changes_after_an_injection_makes_no_agent_outdated() {
    let injected = || Living::of_deployment("shop", "web").injected(&[]);
    let secrets = |pod: Living| pod.with("/spec/imagePullSecrets", json!([{"name": "account"}]));
    let guaranteed = |pod: Living| {
        let limits = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
        pod.with("/spec/containers/0/resources", limits)
    };
    let no_token = |pod: Living| pod.with("/spec/containers/0/volumeMounts", json!([]));
    let team = ["--set", "agent.imagePullSecrets=[team]"];
    let ready = "shop | Deployment/web | 1 pod | ready";
    assert_eq!(row(&team, secrets(injected())), ready);
    assert_eq!(row(&[], no_token(injected())), ready);
    for qos in ["keep", "refuse"] {
        let qos = ["--set", &format!("qos={qos}")];
        assert_eq!(row(&qos, guaranteed(injected())), ready, "{qos:?}");
    }
    // Another webhook has added a container without limits.
    let kept = guaranteed(Living::of_deployment("shop", "web")).injected(&["qos=keep"]);
    let kept = kept.with("/spec/containers/0/resources", json!({}));
    assert_eq!(row(&["--set", "qos=keep"], kept), ready);
    let other = [team.as_slice(), &["--set", "agent.roles=[shop:web]"]].concat();
    let outdated = row(&other, no_token(secrets(injected())));
    assert!(outdated.contains("| settings-changed;"), "{outdated}");
}

#[test]
fn a_pod_that_a_policy_has_injected_without_a_record_has_the_agent() {
    let pod = || {
        Living::of_deployment("shop", "web")
            .injected(&[])
            .without_record()
    };
    assert_eq!(row(&[], pod()), "shop | Deployment/web | 1 pod | ready");
    let image = ["--set", "agent.image=r.example/mackerel-container-agent:v1"];
    assert_eq!(
        row(&image, pod()),
        "shop | Deployment/web | 1 pod | ready",
        "without a record, no comparison"
    );
    let excluded = ["--set", "select.excludeNamespaces=[shop]"];
    assert_eq!(
        row(&excluded, pod()),
        "shop | Deployment/web | 1 pod | ready"
    );
    let crashing = pod()
        .agent_status(json!({"ready": false, "state": {"waiting": {"reason": "ErrImagePull"}}}));
    assert!(row(&[], crashing).contains("| not ready | ErrImagePull |"));
}

#[test]
fn an_agent_of_others_counts_where_the_configuration_gives_one() {
    let pod = || {
        let pod = Living::of_deployment("shop", "web")
            .injected(&[])
            .without_record();
        pod.with("/metadata/annotations", json!({}))
    };
    assert_eq!(row(&[], pod()), "shop | Deployment/web | 1 pod | ready");
    let excluded = ["--set", "select.excludeNamespaces=[shop]"];
    assert_eq!(row(&excluded, pod()), "");
}

#[test]
fn a_refusal_has_its_reason_and_the_next_step() {
    let annotated = |key: &str, value: &str| {
        let pod = Living::of_deployment("shop", "web");
        let key = format!("agent-injector.contrib.mackerel.io/{key}");
        pod.with("/metadata/annotations", json!({key: value}))
    };
    assert_eq!(
        row(&[], annotated("memory-limit", "lots")),
        "shop | Deployment/web | 1 pod | refused | invalid-annotation: annotation \
         `agent-injector.contrib.mackerel.io/memory-limit` must be a quantity, found `lots`; for example `100m`, `0.5`, `64Mi` or `1Gi`"
    );
    let record = Living::of_deployment("shop", "other").injected(&[]).0["metadata"]["annotations"]
        [super::RECORD]
        .clone();
    let copied = row(&[], annotated("record", record.as_str().unwrap()));
    assert!(copied.contains("| refused | hand-edited: "), "{copied}");
    assert!(copied.ends_with(
        "to get the agent, remove the annotation `agent-injector.contrib.mackerel.io/record`"
    ));
    let excluded = ["--set", "select.excludeNamespaces=[shop]"];
    let with_record = annotated("record", record.as_str().unwrap());
    assert_eq!(row(&excluded, with_record), "");
    assert_eq!(row(&[], annotated("inject", "false")), "");
}

#[test]
fn the_pods_of_the_webhook_itself_do_not_count() {
    let server = Living::of_deployment("mackerel", "mackerel-agent-injector").with(
        "/metadata/labels/app.kubernetes.io~1name",
        json!("mackerel-agent-injector"),
    );
    assert_eq!(row(&[], server), "");
}
