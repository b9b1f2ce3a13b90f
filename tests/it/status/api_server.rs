//! The command as users type it: what kubectl prints of objects that a real API server has stored, with its defaults and the token that
//! it adds. No kubelet runs there, so the tests write what one would report.

use super::AGENT;
use crate::kubernetes::cluster::{ApiVerdict, Cluster, Run, cluster};
use crate::program::Folder;
use serde_json::{Value, json};

const NAMESPACE: &str = "status";

#[test]
fn kubectls_pods_give_the_report() {
    let Some(cluster) = cluster() else { return };
    cluster.namespace(NAMESPACE, &json!({"mackerel": "enabled"}));
    let template = |name: &str| json!({"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}});
    let replica_set = store(
        cluster,
        &json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-5d4f9c7b8"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template("web")}}),
    );
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d4f9c7b8", "controller": true,
        "uid": replica_set["metadata"]["uid"]}]);
    let pod = |name: &str| {
        let mut pod = template("web");
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        pod["metadata"]["name"] = json!(name);
        pod["metadata"]["namespace"] = json!(NAMESPACE);
        pod["metadata"]["ownerReferences"] = owner.clone();
        pod
    };
    store(cluster, &pod("missed"));
    for (name, settings, ready) in [
        ("ready", "sidecar=auto", true),
        ("native", "sidecar=native", true),
        ("crashing", "sidecar=auto", false),
    ] {
        let arguments = ["inject", "--set", settings, "-"];
        let injected = Folder::with(&[]).run_with(&arguments, pod(name).to_string());
        store(cluster, &serde_json::from_str(&injected.stdout).unwrap());
        report(cluster, name, ready);
    }
    let arguments = [
        "get",
        "pods,replicasets,namespaces",
        "-n",
        NAMESPACE,
        "-o",
        "json",
    ];
    let (done, listed, said) = cluster.kubectl(&arguments, "");
    assert!(done, "{said}");
    let arguments = ["status", "--namespace-selector", "mackerel", "-"];
    let ran = Folder::with(&[]).run_with(&arguments, &listed);
    assert_eq!(
        ran.stdout,
        format!(
            "\
status  ReplicaSet/web-5d4f9c7b8  1 pod  missed     delete the pods; their controller creates new ones
status  ReplicaSet/web-5d4f9c7b8  1 pod  not ready  CrashLoopBackOff: ended with Error, exit code 1  kubectl logs crashing -n status -c {AGENT}
status  ReplicaSet/web-5d4f9c7b8  1 pod  outdated   settings-changed; delete the pods; their controller creates new ones
status  ReplicaSet/web-5d4f9c7b8  1 pod  ready

workloads: 1 missed, 1 not ready, 1 outdated, 1 ready; pods with a running agent: 2
"
        )
    );
    assert_eq!((ran.code, &*ran.stderr), (Some(1), ""));
}

/// Stores an object.
fn store(cluster: &Cluster, object: &Value) -> Value {
    match cluster.create(Run::Wet, NAMESPACE, object) {
        ApiVerdict::Accepted { object, .. } => object,
        ApiVerdict::Refused(why) => panic!("{why}"),
    }
}

/// Writes the status of the agent as a kubelet does.
fn report(cluster: &Cluster, pod: &str, ready: bool) {
    let state = match ready {
        true => json!({"running": {}}),
        false => json!({"waiting": {"reason": "CrashLoopBackOff"}}),
    };
    let last = match ready {
        true => json!({}),
        false => json!({"terminated": {"reason": "Error", "exitCode": 1}}),
    };
    let list = match pod {
        "native" => "initContainerStatuses",
        _ => "containerStatuses",
    };
    let status = json!({"status": {"phase": "Running", list: [{"name": AGENT, "ready": ready, "restartCount": 0,
        "image": "agent:1", "imageID": "", "state": state, "lastState": last}]}});
    let patch = status.to_string();
    let arguments = [
        "patch",
        "pod",
        pod,
        "-n",
        NAMESPACE,
        "--subresource=status",
        "--type=merge",
        "-p",
        &patch,
    ];
    let (done, _, said) = cluster.kubectl(&arguments, "");
    assert!(done, "{said}");
}
