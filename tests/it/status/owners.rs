//! The workload of a pod, and how its pods are created anew.

use super::{Living, namespace, owner, rows, status};
use serde_json::json;

/// The row of the first pod that has one.
fn row(arguments: &[&str], objects: impl IntoIterator<Item = Living>) -> String {
    let mut rows = rows(arguments, objects).into_iter();
    rows.next().unwrap_or_default()
}

#[test]
fn the_workload_is_the_topmost_owner_in_the_input() {
    let web = || Living::of_deployment("shop", "web");
    let replica_set = || owner("apps/v1", "ReplicaSet", "web-5d4f9c7b8");
    let by_name = row(&[], [web()]);
    assert!(by_name.starts_with("shop | Deployment/web |"), "{by_name}");
    let owned = replica_set().owned_by("argoproj.io/v1alpha1", "Rollout", "web");
    assert_eq!(
        row(&[], [web(), owned]),
        "shop | Rollout/web | 1 pod | missed | restart it by its controller"
    );
    assert_eq!(
        row(&[], [web(), replica_set()]),
        "shop | ReplicaSet/web-5d4f9c7b8 | 1 pod | missed | delete the pods; their controller creates new ones",
        "a ReplicaSet without an owner"
    );
    let job = || {
        Living::pod("shop", "report-29401230-7xv").owned_by("batch/v1", "Job", "report-29401230")
    };
    assert_eq!(
        row(&[], [job()]),
        "shop | Job/report-29401230 | 1 pod | missed | create the Job anew; a CronJob does so at its next run"
    );
    let cron =
        owner("batch/v1", "Job", "report-29401230").owned_by("batch/v1", "CronJob", "report");
    assert_eq!(
        row(&[], [cron, job()]),
        "shop | CronJob/report | 1 pod | missed | wait for the next Job of the CronJob"
    );
}

#[test]
fn a_workload_that_kubectl_can_restart_has_its_command() {
    let of = |api_version, kind| {
        row(
            &[],
            [Living::pod("shop", "db-0").owned_by(api_version, kind, "db")],
        )
    };
    let missed = "| 1 pod | missed |";
    assert_eq!(
        of("apps/v1", "StatefulSet"),
        format!("shop | StatefulSet/db {missed} kubectl rollout restart statefulset/db -n shop")
    );
    assert_eq!(
        of("apps/v1", "DaemonSet"),
        format!("shop | DaemonSet/db {missed} kubectl rollout restart daemonset/db -n shop")
    );
    assert_eq!(
        of("apps.kruise.io/v1", "StatefulSet"),
        format!("shop | StatefulSet/db {missed} restart it by its controller")
    );
    assert_eq!(
        of("v1", "ReplicationController"),
        format!(
            "shop | ReplicationController/db {missed} delete the pods; their controller creates new ones"
        )
    );
    assert_eq!(
        row(&[], [Living::pod("shop", "debug")]),
        format!("shop | Pod/debug {missed} create the pod anew")
    );
}

#[test]
fn an_agent_of_a_manifest_is_not_updated_by_a_restart() {
    let outdated = ["--set", "agent.roles=[shop:web]"];
    let web = || Living::of_deployment("shop", "web").injected(&[]);
    let replica_set =
        || owner("apps/v1", "ReplicaSet", "web-5d4f9c7b8").owned_by("apps/v1", "Deployment", "web");
    let db = || {
        let pod = Living::pod("shop", "db-0").owned_by("apps/v1", "StatefulSet", "db");
        pod.injected(&[])
    };
    let stateful_set = || owner("apps/v1", "StatefulSet", "db");
    let deployment = || owner("apps/v1", "Deployment", "web");
    for (pod, owner, workload, restart) in [
        (
            web as fn() -> Living,
            replica_set as fn() -> Living,
            "Deployment/web",
            "deployment/web",
        ),
        // The name of the ReplicaSet, which is not in the input, is enough.
        (web, deployment, "Deployment/web", "deployment/web"),
        (db, stateful_set, "StatefulSet/db", "statefulset/db"),
    ] {
        let row_of =
            |next: &str| format!("shop | {workload} | 1 pod | outdated | settings-changed{next}");
        let record = pod().0["metadata"]["annotations"].clone();
        let injected = owner().with("/spec/template/metadata/annotations", record);
        assert_eq!(
            row(&outdated, [pod(), injected]),
            row_of("; inject its manifest again and apply it")
        );
        let restart = format!("kubectl rollout restart {restart} -n shop");
        assert_eq!(
            row(&outdated, [pod(), owner()]),
            row_of(&format!(" | {restart}"))
        );
        assert_eq!(
            row(&outdated, [pod()]),
            row_of(&format!(
                "; if its manifest has the agent, inject it again; else {restart}"
            )),
            "without its owner, both are possible"
        );
    }
}

#[test]
fn a_workload_that_replaces_no_pod_by_itself_has_the_step_that_does() {
    let db = |kind: &str| Living::pod("shop", "db-0").owned_by("apps/v1", kind, "db");
    let owned = |kind: &str, strategy: &str| {
        owner("apps/v1", kind, "db").with("/spec/updateStrategy", json!({"type": strategy}))
    };
    for kind in ["StatefulSet", "DaemonSet"] {
        let restart = format!("kubectl rollout restart {}/db -n shop", kind.to_lowercase());
        for (strategy, next) in [
            ("RollingUpdate", &*restart),
            (
                "OnDelete",
                "delete the pods; their controller creates new ones",
            ),
        ] {
            assert_eq!(
                row(&[], [db(kind), owned(kind, strategy)]),
                format!("shop | {kind}/db | 1 pod | missed | {next}")
            );
        }
    }
    let web = || Living::of_deployment("shop", "web");
    let deployment =
        |paused: bool| owner("apps/v1", "Deployment", "web").with("/spec/paused", json!(paused));
    let command = |paused| {
        let ran = status(&["-o", "json"], [web(), deployment(paused)]);
        let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        report["workloads"][0]["next"].clone()
    };
    assert_eq!(
        command(true),
        json!({"command": "kubectl rollout resume deployment/web -n shop && kubectl rollout restart deployment/web -n shop"})
    );
    assert_eq!(
        command(false),
        json!({"command": "kubectl rollout restart deployment/web -n shop"})
    );
    let outdated = ["--set", "agent.roles=[shop:web]"];
    let of_manifest = |pod: Living, owner: Living| {
        let record = pod.0["metadata"]["annotations"].clone();
        let owner = owner.with("/spec/template/metadata/annotations", record);
        row(&outdated, [pod, owner])
    };
    let again = "1 pod | outdated | settings-changed; inject its manifest again and apply it, then";
    assert_eq!(
        of_manifest(
            db("StatefulSet").injected(&[]),
            owned("StatefulSet", "OnDelete")
        ),
        format!(
            "shop | StatefulSet/db | {again} delete the pods; their controller creates new ones"
        )
    );
    assert_eq!(
        of_manifest(web().injected(&[]), deployment(true)),
        format!(
            "shop | Deployment/web | {again} kubectl rollout resume deployment/web -n shop && kubectl rollout restart deployment/web -n shop"
        )
    );
}

#[test]
fn an_agent_is_taken_out_where_injection_is_disabled() {
    let web = || Living::of_deployment("shop", "web").injected(&[]);
    let deployment = || owner("apps/v1", "Deployment", "web");
    let disabled = ["--set", "injection=disabled"];
    let outdated =
        "shop | Deployment/web | 1 pod | outdated | no-longer-wanted: `injection` is `disabled`";
    let restart = "kubectl rollout restart deployment/web -n shop";
    assert_eq!(
        row(&disabled, [web()]),
        format!("{outdated}; if its manifest has the agent, run `uninject` on it; else {restart}")
    );
    assert_eq!(
        row(&disabled, [web(), deployment()]),
        format!("{outdated} | {restart}")
    );
    let record = web().0["metadata"]["annotations"].clone();
    let injected = deployment().with("/spec/template/metadata/annotations", record);
    assert_eq!(
        row(&disabled, [web(), injected]),
        format!("{outdated}; run `uninject` on its manifest and apply it")
    );
}

#[test]
fn an_agent_of_a_manifest_on_fargate_needs_the_platform() {
    let label = "/metadata/labels/eks.amazonaws.com~1fargate-profile";
    let fargate = |pod: Living| pod.with(label, json!("apps"));
    let by_scheduler = |pod: Living| pod.with("/spec/schedulerName", json!("fargate-scheduler"));
    let web = |settings: &[&str]| Living::of_deployment("shop", "web").injected(settings);
    let deployment = || owner("apps/v1", "Deployment", "web");
    let outdated = "shop | Deployment/web | 1 pod | outdated | settings-changed";
    let platform = "set `platform: eks-fargate` for this pod on Fargate, then inject";
    let restart = "kubectl rollout restart deployment/web -n shop";
    let unknown =
        format!("{outdated}; if its manifest has the agent, {platform} it again; else {restart}");
    assert_eq!(row(&[], [fargate(web(&[]))]), unknown);
    assert_eq!(row(&[], [by_scheduler(web(&[]))]), unknown);
    let roles = ["--set", "agent.roles=[shop:web]"];
    assert_eq!(row(&roles, [fargate(web(&[]))]), unknown);
    let record = web(&[]).0["metadata"]["annotations"].clone();
    let injected = deployment().with("/spec/template/metadata/annotations", record);
    assert_eq!(
        row(&[], [fargate(web(&[])), injected]),
        format!("{outdated}; {platform} its manifest again and apply it")
    );
    assert_eq!(
        row(&[], [fargate(web(&[])), deployment()]),
        format!("{outdated} | {restart}"),
        "the webhook sees what EKS has set"
    );
    let right = || fargate(web(&["platform=eks-fargate"]));
    assert!(row(&[], [right()]).ends_with("| ready"));
    let other =
        format!("{outdated}; if its manifest has the agent, inject it again; else {restart}");
    assert_eq!(row(&roles, [right()]), other);
    let set = ["--set", "platform=eks-fargate"];
    assert_eq!(row(&set, [fargate(web(&[]))]), other, "it is set already");
    let nodes = ["--set", "platform=kubernetes"];
    assert!(row(&nodes, [fargate(web(&["platform=kubernetes"]))]).ends_with("| ready"));
}

#[test]
fn rules_about_kinds_and_names_are_applied_to_the_workload() {
    let web = || Living::of_deployment("shop", "web");
    let is_missed = |set: &str| row(&["--set", set], [web()]).contains("| missed |");
    assert!(is_missed("select.kinds=[Deployment]"));
    assert!(!is_missed("select.kinds=[StatefulSet]"));
    assert!(!is_missed("select.exclude=[{kind: Deployment, name: web}]"));
    assert!(is_missed("select.exclude=[{kind: Deployment, name: api}]"));
    assert!(
        is_missed("select.exclude=[{kind: Pod}]"),
        "it has a controller"
    );
    let bare = Living::pod("shop", "debug");
    assert_eq!(row(&["--set", "select.exclude=[{kind: Pod}]"], [bare]), "");
}

#[test]
fn a_pod_whose_owner_the_rules_need_and_the_input_lacks_is_unknown() {
    let job = || Living::pod("shop", "report-1-7xv").owned_by("batch/v1", "Job", "report-1");
    let kinds = ["--set", "select.kinds=[CronJob]"];
    assert_eq!(
        row(&kinds, [job()]),
        "shop | Job/report-1 | 1 pod | unknown | owner-unknown: `select.kinds` and `select.exclude` need the owner of \
         Job report-1, which is not in the input; use `kubectl get pods,deployments,replicasets,statefulsets,daemonsets,jobs -A -o json`"
    );
    for output in ["-q", "-ojson"] {
        let arguments = [&kinds[..], &[output]].concat();
        let ran = status(&arguments, [job()]);
        assert_eq!((ran.code, &*ran.stderr), (Some(1), ""), "{output}");
        assert_eq!(ran.stdout.contains("\"unknown\""), output == "-ojson");
    }
    let known = owner("batch/v1", "Job", "report-1").owned_by("batch/v1", "CronJob", "report");
    assert!(row(&kinds, [job(), known]).starts_with("shop | CronJob/report | 1 pod | missed |"));
    assert!(row(&[], [job()]).contains("| missed |"), "no rule needs it");
}

#[test]
fn pods_of_other_namespaces_do_not_count() {
    let objects = || {
        [
            Living::of_deployment("shop", "web"),
            Living::of_deployment("other", "api"),
            namespace("shop", &json!({"mackerel": "enabled"})),
            namespace("other", &json!({})),
        ]
    };
    for selector in ["mackerel=enabled", "mackerel", "mackerel in (enabled, yes)"] {
        let rows = rows(&["--namespace-selector", selector], objects());
        assert_eq!(rows.len(), 1, "{selector}: {rows:?}");
        assert!(rows[0].starts_with("shop | Deployment/web"));
    }
    let none = status(&["--namespace-selector", "mackerel=disabled"], objects());
    assert_eq!((none.code, &*none.stdout), (Some(2), ""));
    let expected =
        "error: no Namespace of the input matches `--namespace-selector`, so no pod counts; ";
    assert!(none.stderr.starts_with(expected), "{}", none.stderr);
}

#[test]
fn owners_in_a_circle_end() {
    let pod = Living::pod("shop", "a-1").owned_by("x/v1", "A", "a");
    let one = owner("x/v1", "A", "a").owned_by("x/v1", "B", "b");
    let other = owner("x/v1", "B", "b").owned_by("x/v1", "A", "a");
    assert!(row(&[], [pod, one, other]).contains("| missed |"));
}
