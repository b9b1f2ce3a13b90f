//! The pods that reach the webhook, and those that the policy warns of. No server runs and `failurePolicy` is `Fail`, so the API
//! server refuses every pod that reaches the webhook.

use super::helms;
use super::release::{NAME, Release, deployment, pod};
use crate::kubernetes::cluster::{ApiVerdict, RESTRICTED, Run, cluster};
use config::Config;
use laws::INJECT;
use report::Reason;
use serde_json::{Value, json};

const GENERATED: &str = "tls.mode=generated,policy.enabled=false";

/// True if the API server refused because it could not call the webhook.
fn asked(verdict: &ApiVerdict) -> bool {
    matches!(verdict, ApiVerdict::Refused(why) if why.contains("failed calling webhook"))
}

fn inject(value: &str) -> Value {
    json!({"agent-injector.contrib.mackerel.io/inject": value})
}

#[test]
fn with_always_all_pods_but_those_of_the_servers_and_of_the_system() {
    let Some(cluster) = cluster() else { return };
    let Some(helm) = helms().last() else { return };
    let release = Release::new(cluster, &helm, "always");
    release.upgrade(&[
        GENERATED,
        "webhook.failurePolicy=Fail",
        "webhook.objectSelector.matchLabels.team=web",
    ]);
    let mut wanted = pod(&json!({}));
    wanted["metadata"]["labels"] = json!({"team": "web"});
    release.until("a pod is asked about", || asked(&release.creates(&wanted)));
    assert!(
        !asked(&release.creates(&pod(&json!({})))),
        "a pod without the label"
    );

    // No server runs, and still the webhook's own pods and those of the system can start.
    let server = server_pod(&release, "team", "web");
    let verdict = release.creates(&server);
    assert!(taken(&verdict), "{verdict:?}");
    cluster.namespace("kube-system", &json!({}));
    let label = format!("chart-test={}", release.namespace);
    assert!(
        release
            .kubectl(
                &["label", "namespace", "kube-system", &label, "--overwrite"],
                ""
            )
            .0
    );
    assert!(
        !asked(&cluster.create(Run::Dry, "kube-system", &wanted)),
        "a pod of the system"
    );
    let verdict = cluster.create(Run::Dry, RESTRICTED, &server);
    assert!(taken(&verdict), "{verdict:?}");

    release.upgrade(&[GENERATED, "webhook.objectSelector.matchLabels.team=web"]);
    release.until("an upgrade mends it", || !asked(&release.creates(&wanted)));
}

/// True if the API server accepted the object without a warning.
fn taken(verdict: &ApiVerdict) -> bool {
    matches!(verdict, ApiVerdict::Accepted { warnings, .. } if warnings.is_empty())
}

/// A pod of the release's Deployment, with a label more.
fn server_pod(release: &Release<'_>, label: &str, value: &str) -> Value {
    let deployment = release.get("deployment", NAME).unwrap();
    let mut pod = deployment["spec"]["template"].clone();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["generateName"] = format!("{NAME}-").into();
    pod["metadata"]["labels"][label] = value.into();
    pod
}

#[test]
fn with_annotated_those_that_have_an_annotation_of_ours_or_of_wait_for() {
    let Some(cluster) = cluster() else { return };
    let Some(helm) = helms().last() else { return };
    let release = Release::new(cluster, &helm, "annotated");
    let annotated = "config.injection=annotated,config.waitFor.annotations={example.com/wait}";
    release.upgrade(&[GENERATED, "webhook.failurePolicy=Fail", annotated]);
    release.until("a pod is asked about", || {
        asked(&release.creates(&pod(&inject("true"))))
    });
    for (annotations, expected) in [
        (inject("treu"), true),
        (
            json!({"agent-injector.contrib.mackerel.io/wait-for": "db:5432"}),
            true,
        ),
        (json!({"example.com/wait": "db:5432"}), true),
        (json!({"example.com/waiting": "db:5432"}), false),
        (json!({}), false),
    ] {
        assert_eq!(
            asked(&release.creates(&pod(&annotations))),
            expected,
            "{annotations}"
        );
    }
    let mut bare = pod(&json!({}));
    bare["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("annotations");
    assert!(!asked(&release.creates(&bare)));
}

#[test]
fn workloads_that_a_person_creates_or_changes() {
    let Some(cluster) = cluster() else { return };
    let Some(helm) = helms().last() else { return };
    let release = Release::new(cluster, &helm, "workloads");
    let mut cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cron"}, "spec": {
        "schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}},
    }});
    cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"] =
        pod(&json!({}))["spec"]["containers"].clone();
    release.apply(&deployment("before"));
    release.apply(&cron);
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}});
    job["spec"] = cron["spec"]["jobTemplate"]["spec"].clone();
    release.apply(&job);
    release.upgrade(&[GENERATED, "webhook.failurePolicy=Fail,workloads=wait-for"]);
    release.until("a workload is asked about", || {
        asked(&release.creates(&deployment("web")))
    });

    let mut owned = deployment("owned");
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"}]);
    assert!(
        !asked(&release.creates(&owned)),
        "its owner was asked about"
    );

    job["metadata"] = json!({"generateName": "job-"});
    assert!(asked(&release.creates(&job)));

    let image = |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}}});
    let template = |kind: &str| {
        if kind == "cronjob" {
            json!({"spec": {"jobTemplate": image("web:2")}})
        } else {
            image("web:2")
        }
    };
    let as_user = |user: &'static str| {
        vec![
            format!("--as={user}"),
            "--as-group=system:masters".to_owned(),
        ]
    };
    let controller = "system:serviceaccount:kube-system:deployment-controller";
    let argo = "system:serviceaccount:argocd:argocd-application-controller";
    for (kind, name, patch, user, expected) in [
        ("deployment", "before", template("deployment"), vec![], true),
        (
            "deployment",
            "before",
            json!({"metadata": {"annotations": {"a": "b"}}}),
            vec![],
            true,
        ),
        (
            "deployment",
            "before",
            json!({"metadata": {"labels": {"a": "b"}}}),
            vec![],
            false,
        ),
        (
            "deployment",
            "before",
            json!({"spec": {"replicas": 3}}),
            vec![],
            false,
        ),
        (
            "deployment",
            "before",
            json!({"metadata": {"annotations": {"revision": "1"}}}),
            as_user(controller),
            false,
        ),
        (
            "deployment",
            "before",
            json!({"metadata": {"annotations": {"revision": "2"}}}),
            as_user("system:kube-controller-manager"),
            false,
        ),
        (
            "deployment",
            "before",
            template("deployment"),
            as_user(argo),
            true,
        ),
        (
            "cronjob",
            "cron",
            json!({"spec": {"schedule": "1 1 * * *"}}),
            vec![],
            false,
        ),
        ("cronjob", "cron", template("cronjob"), vec![], true),
        // Its template is immutable.
        (
            "job",
            "job",
            json!({"metadata": {"annotations": {"a": "b"}}}),
            vec![],
            false,
        ),
    ] {
        let patch = format!("--patch={patch}");
        let mut arguments = vec!["patch", kind, name, "--type=strategic", &patch];
        arguments.extend(user.iter().map(String::as_str));
        let (succeeded, said) = release.kubectl(&arguments, "");
        assert_eq!(
            (succeeded, said.contains("failed calling webhook")),
            (!expected, expected),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn the_policy_shows_pods_that_should_have_the_agent_while_all_servers_are_down() {
    let Some(cluster) = cluster() else { return };
    let Some(helm) = helms().last() else { return };
    let release = Release::new(cluster, &helm, "policy");
    let missing = "the pod should have the Mackerel agent and has none";
    let warned = |object: &Value| match release.creates(object) {
        ApiVerdict::Accepted { warnings, .. } => {
            warnings.iter().any(|warning| warning.contains(missing))
        }
        ApiVerdict::Refused(why) => panic!("{why}"),
    };
    let select = "config.select.podSelector.matchLabels.tier=web,config.select.exclude[0].podSelector.matchExpressions[0].key=batch,\
                  config.select.exclude[0].podSelector.matchExpressions[0].operator=Exists,\
                  config.select.exclude[1].kind=Pod,config.select.exclude[1].podSelector.matchLabels.by=hand,\
                  config.select.exclude[2].group=null,config.select.exclude[2].podSelector.matchLabels.by=robot";
    release.upgrade(&["workloads=off", select]);
    let labelled = |annotations: &Value, labels: Value| {
        let mut pod = pod(annotations);
        pod["metadata"]["labels"] = labels;
        pod
    };
    let web = labelled(&json!({}), json!({"tier": "web"}));
    release.until("a pod without the agent is shown", || warned(&web));
    let mut own_agent = web.clone();
    own_agent["spec"]["initContainers"] = json!([
        {"name": "agent", "image": "mirror:5000/mackerel/mackerel-container-agent:v1", "restartPolicy": "Always"},
    ]);
    let mut own_image = web.clone();
    own_image["spec"]["initContainers"] = json!([{"name": "agent", "image": "mirror/agent:v1", "restartPolicy": "Always",
        "env": [{"name": "TZ", "value": "UTC"}, {"name": "MACKEREL_CONTAINER_PLATFORM", "value": "kubernetes"}]}]);
    // The expression and the engine recognise the same agents.
    for (image, variable) in [
        ("mackerel-container-agent", "TZ"),
        ("mirror:5000/mackerel-container-agent:v1@sha256:0123", "TZ"),
        ("example.com/mackerel-container-agent@sha256:0123", "TZ"),
        ("mirror/agent:v1", "MACKEREL_CONTAINER_PLATFORM"),
        ("mirror/agent:v1", "MACKEREL_APIKEY"),
        ("example.com/mackerel-container-agent-extra:v1", "TZ"),
        ("example.com/mackerel-container-agent/proxy:v1", "TZ"),
        ("example.com/a-mackerel-container-agent:v1", "TZ"),
        ("mirror/agent:mackerel-container-agent", "TZ"),
    ] {
        let mut pod = web.clone();
        pod["spec"]["containers"][0] =
            json!({"name": "a", "image": image, "env": [{"name": variable, "value": "a"}]});
        let decision = injector::inject(&pod.to_string(), &Config::default(), INJECT)
            .outcomes
            .remove(0)
            .decision
            .reason;
        assert_eq!(warned(&pod), decision != Reason::AgentPresent, "{pod}");
    }
    let with = |spec: Value| {
        let mut pod = web.clone();
        pod["spec"]
            .as_object_mut()
            .unwrap()
            .extend(spec.as_object().unwrap().clone());
        pod
    };
    let host_process = json!({"hostNetwork": true, "securityContext": {"windowsOptions": {"hostProcess": true, "runAsUserName": "a"}}});
    let mut of_container = with(json!({"hostNetwork": true}));
    of_container["spec"]["containers"][0]["securityContext"] =
        host_process["securityContext"].clone();
    let system = |name: &str| json!({"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": [name]}]});
    let (windows, linux) = (system("windows"), system("linux"));
    let by_affinity = |terms: Value| {
        let required = json!({"nodeSelectorTerms": terms});
        with(
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}),
        )
    };
    let by_hand = labelled(&json!({}), json!({"tier": "web", "by": "hand"}));
    let mut of_controller = by_hand.clone();
    of_controller["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "7", "controller": true}]);
    let mut by_robot = of_controller.clone();
    by_robot["metadata"]["labels"]["by"] = json!("robot");
    let labelled_web = |annotations: Value| labelled(&annotations, json!({"tier": "web"}));
    for (pod, expected) in [
        (own_agent, false),
        (own_image, false),
        (
            with(json!({"os": {"name": "windows"}, "securityContext": {}})),
            false,
        ),
        (
            with(json!({"nodeSelector": {"kubernetes.io/os": "windows"}})),
            false,
        ),
        (
            with(json!({"nodeSelector": {"beta.kubernetes.io/os": "windows"}})),
            false,
        ),
        (
            with(json!({"nodeSelector": {"kubernetes.io/os": "linux"}})),
            true,
        ),
        (by_affinity(json!([windows])), false),
        (by_affinity(json!([windows, linux])), true),
        (
            by_affinity(
                json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]),
            ),
            true,
        ),
        (with(host_process), false),
        (of_container, false),
        (labelled_web(json!({"helm.sh/hook": "test"})), false),
        (
            labelled_web(json!({"argocd.argoproj.io/hook": "PreSync"})),
            false,
        ),
        (labelled_web(json!({"helm.sh/chart": "a"})), true),
        (
            labelled_web(json!({"config.kubernetes.io/local-config": "true"})),
            false,
        ),
        (
            labelled_web(json!({"config.kubernetes.io/local-config": "false"})),
            true,
        ),
        (labelled(&inject("FALSE"), json!({"tier": "web"})), false),
        (labelled(&json!({}), json!({"tier": "db"})), false),
        (
            labelled(&json!({}), json!({"tier": "web", "batch": "yes"})),
            false,
        ),
        (by_hand.clone(), false),
        (of_controller, true),
        (by_robot, false),
    ] {
        assert_eq!(warned(&pod), expected, "{pod}");
    }

    release.upgrade(&[
        "workloads=off",
        "config.injection=annotated,policy.actions={Deny}",
    ]);
    let refused = |annotations: &Value| matches!(release.creates(&pod(annotations)), ApiVerdict::Refused(why) if why.contains(missing));
    release.until("a pod that asks is refused", || refused(&inject("True")));
    assert!(!refused(&json!({})) && !refused(&inject("false")));

    // What the servers read does not change the policy; an upgrade does. Helm 4 leaves the edits of others alone unless told.
    let disabled = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec: {injection: disabled}\n";
    release.patch(
        "configmap",
        NAME,
        &json!({"data": {"agent-injector.yaml": disabled}}),
    );
    assert!(refused(&inject("True")));
    let chart = super::chart();
    let upgrade = [
        "upgrade",
        NAME,
        chart.to_str().unwrap(),
        "--reset-then-reuse-values",
        "--force-conflicts",
    ];
    release.helm(&[&upgrade[..], &["--set", "config.injection=disabled"]].concat());
    release.until("a pod that asks is created", || !refused(&inject("True")));
}
