//! `explain`: its output for people, for programs and for tools of code review.

mod needs;
mod report;
mod review;

use crate::program::{Folder, Ran, WEB};
use serde_json::{Value, json};

const CONFIG: &str = "\
apiVersion: agent-injector.contrib.mackerel.io/v1alpha1
kind: AgentInjector
spec:
  injection: annotated
  select:
    kinds: [Deployment, Job]
  agent:
    roles: [shop:web]
";

const SHOP: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      annotations:
        agent-injector.contrib.mackerel.io/inject: 'true'
        agent-injector.contrib.mackerel.io/memory-limit: 256Mi
    spec:
      containers: [{name: web, image: web}]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: quiet
  annotations:
    agent-injector.contrib.mackerel.io/inject: 'true'
spec:
  selector: {matchLabels: {app: web}}
  template:
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec: {selector: {matchLabels: {app: db}}, template: {spec: {containers: [{name: db, image: db}]}}}
";

const BROKEN: &str = "\
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  template:
    metadata: {annotations: {agent-injector.contrib.mackerel.io/inject: maybe}}
    spec: {restartPolicy: Never, containers: [{name: m, image: m}]}
---
apiVersion: v1
kind: Secret
metadata: {name: mackerel-container-agent, namespace: shop}
stringData: {MACKEREL_APIKEY: x}
";

fn explained(folder: &Folder, more: &[&str]) -> Ran {
    folder.run(&[&["explain", "--config", "config.yaml"], more].concat())
}

fn folder() -> Folder {
    Folder::with(&[
        ("config.yaml", CONFIG),
        ("deploy/a shop.yaml", SHOP),
        ("deploy/job.yaml", BROKEN),
    ])
}

#[test]
fn a_person_gets_a_table_with_the_rule_and_its_place() {
    let ran = explained(&folder(), &["deploy"]);
    let expected = "\
deploy/a shop.yaml
  line 1   Deployment/shop/web spec.template  would be injected   annotation inject (deploy/a shop.yaml:9:52)
  line 14  Deployment/quiet spec.template     not-requested       injection: annotated (config.yaml:4:14)
      warning[misplaced-annotation]: annotation `agent-injector.contrib.mackerel.io/inject` has no effect on Deployment
        --> line 19:5
        = help: move it to spec.template.metadata.annotations
  line 25  StatefulSet/shop/db spec.template  not-selected        select.kinds: [\"Deployment\",\"Job\"] (config.yaml:6:12)
      info[not-selected]: StatefulSet is not in `select.kinds`
        --> line 28:54

deploy/job.yaml
  line 1   Job/migrate spec.template          invalid-annotation  annotation inject (deploy/job.yaml:6:73)
      error[invalid-annotation]: annotation `agent-injector.contrib.mackerel.io/inject` must be `true` or `false`, found `maybe`
        --> line 6:73
        = help: write `\"true\"` or `\"false\"`, in quotes

required before the pods start; without them the agent does not start or exits, and its pod is not ready:
  in shop: Secret mackerel-container-agent with the key MACKEREL_APIKEY (deploy/job.yaml:9:1)

required permissions (`mackerel-agent-injector rbac` prints them); without them the agent reports nothing, although its pod is ready:
  get nodes/proxy and nodes/stats: ServiceAccount default in shop
  nodes/proxy: it allows running commands in any container on any node; if all clusters are 1.33 or later, set `kubernetesVersion: \"1.33\"` to use `nodes/pods` instead

1 would be injected, 2 skipped (1 not-requested, 1 not-selected), 1 failed (invalid-annotation), 1 without pod template
Mackerel hosts: 1, one for each replica
";
    assert_eq!(ran.stdout, expected, "{}", ran.stderr);
    assert_eq!(
        (ran.code, &*ran.stderr),
        (Some(2), ""),
        "what would be refused is trouble"
    );
}

#[test]
fn one_resource_comes_with_every_setting_and_where_it_was_set() {
    let folder = folder();
    for resource in ["web", "deployment/web", "Deployment/shop/web"] {
        let ran = explained(
            &folder,
            &["deploy", "--resource", resource, "--set", "agent.memo=x"],
        );
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for line in [
            "agent.roles                                     [\"shop:web\"]",
            "agent.memo                                      x",
            "sidecar                                         auto",
            "agent.resources.limits.memory                   256Mi",
        ] {
            assert!(ran.stdout.contains(line), "{line}:\n{}", ran.stdout);
        }
        let origin = |path: &str| {
            let line = ran
                .stdout
                .lines()
                .find(|line| line.trim_start().starts_with(&format!("{path} ")))
                .unwrap();
            line.rsplit("  ").next().unwrap().to_owned()
        };
        assert_eq!(origin("agent.roles"), "config.yaml:8:12");
        assert_eq!(origin("agent.memo"), "--set #1");
        assert_eq!(
            origin("agent.resources.limits.memory"),
            "annotation memory-limit at deploy/a shop.yaml:10:58"
        );
        assert_eq!(origin("agent.resources.requests.memory"), "default");
        assert!(
            ran.stdout
                .contains("settings of the agent in spec.template.spec.containers"),
            "{}",
            ran.stdout
        );
        assert!(!ran.stdout.contains("migrate") && !ran.stdout.contains("StatefulSet"));
    }
    let none = explained(&folder, &["deploy", "--resource", "Deployment/nobody"]);
    assert_eq!((none.code, &*none.stdout), (Some(2), ""));
    assert!(
        none.stderr
            .contains("no resource Deployment/nobody with a pod template; use for example"),
        "{}",
        none.stderr
    );
}

#[test]
fn a_resource_that_names_no_namespace_is_asked_for_by_the_one_that_it_gets() {
    let folder = Folder::with(&[("web.yaml", WEB)]);
    let asked =
        |more: &[&str]| folder.run(&[&["explain", "web.yaml", "--resource"], more].concat());
    let found = asked(&["Deployment/shop/web", "--namespace", "shop"]);
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(
        found
            .stdout
            .contains("  Deployment/web spec.template  would be injected"),
        "{found:?}"
    );
    assert_eq!(asked(&["Deployment/shop/web"]).code, Some(2));
}

#[test]
fn variables_that_give_way_to_annotations_are_named() {
    let annotated = "\
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {agent-injector.contrib.mackerel.io/log-level: INFO,
  agent-injector.contrib.mackerel.io/memo: web}}
spec: {containers: [{name: web, image: web}]}
";
    let folder = Folder::with(&[("web.yaml", annotated)]);
    let env = |variables: &str| {
        let ran = folder.run(&[
            "explain",
            "--set",
            &format!("agent.env=[{variables}]"),
            "web.yaml",
            "--resource",
            "web",
        ]);
        let line = ran
            .stdout
            .lines()
            .find(|line| line.trim_start().starts_with("agent.env "))
            .unwrap();
        line.split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let [log_level, memo] = [
        "{name: MACKEREL_LOG_LEVEL, value: DEBUG}",
        "{name: MACKEREL_MEMO, value: x}",
    ];
    assert_eq!(
        env("{name: A, value: b}"),
        r#"[{"name":"A","value":"b"}] --set #1"#
    );
    assert_eq!(
        env(memo),
        "[] --set #1, without MACKEREL_MEMO, which an annotation sets"
    );
    assert_eq!(
        env(&format!("{log_level}, {memo}")),
        "[] --set #1, without MACKEREL_LOG_LEVEL and MACKEREL_MEMO, which annotations set"
    );
}

#[test]
fn programs_get_the_same_as_json() {
    let ran = explained(&folder(), &["deploy", "--output", "json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let ids: Vec<&Value> = told["templates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["decision"]["id"])
        .collect();
    assert_eq!(
        ids,
        [
            "injected",
            "not-requested",
            "not-selected",
            "invalid-annotation"
        ]
    );
    let quiet = &told["templates"][1];
    assert_eq!(
        quiet["because"],
        json!({"rule": "injection", "value": "annotated", "origin": "config.yaml:4:14"})
    );
    assert_eq!(
        quiet["place"],
        json!({"file": "deploy/a shop.yaml", "line": 14, "column": 1})
    );
    assert_eq!(quiet["findings"][0]["id"], "misplaced-annotation");
    assert_eq!(told["needed"][0]["place"]["file"], "deploy/job.yaml");
    assert_eq!(told["summary"]["withoutPodTemplate"], 1);
    assert!(told["templates"][0].get("agent").is_none());
    let one = explained(
        &folder(),
        &["deploy", "--output", "json", "--resource", "web"],
    );
    let one: Value = serde_json::from_str(&one.stdout).unwrap();
    let settings = one["templates"][0]["agent"]["settings"].as_array().unwrap();
    assert!(settings.contains(
        &json!({"path": "agent.roles", "value": ["shop:web"], "origin": "config.yaml:8:12"})
    ));
}

#[test]
fn a_stream_is_explained_as_files_are_and_strict_takes_warnings_for_errors() {
    let folder = folder();
    let ran = folder.run_with(&["explain", "--config", "config.yaml", "-"], SHOP);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stdout
            .starts_with("<stdin>\n  line 1   Deployment/shop/web"),
        "{}",
        ran.stdout
    );
    let strict = folder.run_with(
        &["explain", "--strict", "--config", "config.yaml", "-"],
        SHOP,
    );
    assert_eq!(strict.code, Some(2));
    assert!(
        strict.stdout.contains("error[misplaced-annotation]"),
        "{}",
        strict.stdout
    );
    let nothing = folder.run(&["explain", "no-such-file.yaml"]);
    assert_eq!((nothing.code, &*nothing.stdout), (Some(2), ""));
    assert!(
        nothing.stderr.contains("no such file"),
        "{}",
        nothing.stderr
    );
}

/// Resources that `qos: keep` adds are listed too, although no setting has them.
#[test]
fn amounts_are_those_of_the_pod() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a, resources: {limits: {cpu: 1, memory: 1Gi}}}]}\n";
    let folder = Folder::with(&[("pod.yaml", pod)]);
    let ran = folder.run(&[
        "explain",
        "pod.yaml",
        "--set",
        "qos=keep",
        "--output",
        "json",
        "--resource",
        "a",
    ]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let settings = told["templates"][0]["agent"]["settings"]
        .as_array()
        .unwrap()
        .iter();
    let amounts: Vec<String> = settings
        .filter(|setting| {
            setting["path"]
                .as_str()
                .unwrap()
                .starts_with("agent.resources.")
        })
        .map(|setting| {
            format!(
                "{} {} {}",
                setting["path"], setting["value"], setting["origin"]
            )
            .replace('"', "")
        })
        .collect();
    let expected = [
        "agent.resources.limits.memory 128Mi default",
        "agent.resources.requests.cpu 100m raised: `qos` is `keep`",
        "agent.resources.requests.memory 128Mi raised: `qos` is `keep`",
        "agent.resources.limits.cpu 100m added: `qos` is `keep`",
    ];
    assert_eq!(amounts, expected);
}

#[test]
fn what_to_do_is_said_at_the_first_of_many() {
    let job = |name: &str| {
        format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}}}\nspec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: a}}]}}}}}}\n"
        )
    };
    let folder = Folder::with(&[("a.yaml", &job("a")), ("b.yaml", &job("b"))]);
    let ran = folder.run(&["explain", "a.yaml", "b.yaml"]);
    let of = |what: &str| ran.stdout.matches(what).count();
    assert_eq!(
        (
            of("info[immutable-template]: "),
            of(" = help: delete the existing")
        ),
        (1, 1),
        "{}",
        ran.stdout
    );
    assert_eq!(
        of("      info[immutable-template] at line 4:18"),
        1,
        "{}",
        ran.stdout
    );
}

/// A pod that only waits shows the hosts and settings of its init container, and no permissions.
#[test]
fn wait_for_comes_with_its_hosts_and_settings() {
    let folder = Folder::with(&[("web.yaml", WAITS)]);
    let set = [
        "--set",
        "injection=annotated",
        "--set",
        "waitFor.image=example/wait:1",
    ];
    let ran = folder.run(&[&["explain", "web.yaml", "--resource", "web"][..], &set].concat());
    let expected = "\
web.yaml
  line 1  Deployment/shop/web spec.template  would be injected  annotation wait-for (web.yaml:7:75)
      info[injected]: wait-for would be added; no agent: `injection` is `annotated`, and the template does not request injection
        --> line 7:5

      settings of wait-for in spec.template.spec.initContainers:
        annotation wait-for                             [\"db:5432\",\"[::1]:6379\"]  web.yaml:7:75
        agent.imagePullPolicy                           IfNotPresent              default
        agent.imagePullSecrets                          []                        default
        agent.securityContext.allowPrivilegeEscalation  false                     default
        agent.securityContext.capabilities.drop         [\"ALL\"]                   default
        agent.securityContext.readOnlyRootFilesystem    true                      default
        agent.securityContext.runAsNonRoot              true                      default
        agent.securityContext.runAsUser                 65532                     default
        agent.securityContext.seccompProfile.type       RuntimeDefault            default
        waitFor.image                                   example/wait:1            --set #2
        waitFor.timeoutSeconds                          15                        default
        waitFor.position                                last                      default
        waitFor.annotations                             []                        default

1 would be injected
";
    assert_eq!(ran.stdout, expected, "{}", ran.stderr);
    let both = folder.run(&[
        "explain",
        "web.yaml",
        "--resource",
        "web",
        "--output",
        "json",
        "--set",
        "waitFor.image=example/wait:1",
    ]);
    let both: Value = serde_json::from_str(&both.stdout).unwrap();
    let waits = &both["templates"][0]["waitFor"];
    assert_eq!(waits["list"], "spec.template.spec.initContainers");
    let paths: Vec<&Value> = waits["settings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|setting| &setting["path"])
        .collect();
    let expected = [
        "annotation wait-for",
        "waitFor.image",
        "waitFor.timeoutSeconds",
        "waitFor.position",
        "waitFor.annotations",
    ];
    assert_eq!(paths, expected);
}

/// An update names the fields of the components that change, without their values.
#[test]
fn an_update_names_the_fields_that_differ() {
    let folder = Folder::with(&[("web.yaml", WAITS)]);
    let image = ["--set", "waitFor.image=example/wait:1"];
    let injected = folder.run(&[&["inject", "web.yaml"][..], &image].concat());
    folder.write("web.yaml", &injected.stdout);
    let explain = |set: &[&str]| {
        folder
            .run(&[&["explain", "web.yaml", "--set", "agent.memo=x"][..], set].concat())
            .stdout
    };
    let agent = explain(&image);
    let changed = "info[updated]: the agent would be updated; changed: `env: MACKEREL_MEMO`\n";
    assert!(agent.contains(changed), "{agent}");
    let both = explain(&["--set", "waitFor.image=example/wait:2"]);
    let changed = "info[updated]: the agent with wait-for would be updated; changed: `env: MACKEREL_MEMO`, `mackerel-wait-for.image`\n";
    assert!(both.contains(changed), "{both}");
}

const WAITS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {annotations: {agent-injector.contrib.mackerel.io/wait-for: 'db:5432, [::1]:6379'}}
    spec: {containers: [{name: web, image: web}]}
";

/// Their pods are in no table, and get no agent.
#[test]
fn kinds_that_are_rendered_elsewhere_are_named() {
    let release =
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\n";
    let folder = Folder::with(&[("release.yaml", release)]);
    for command in [&["inject", "--check"][..], &["explain"]] {
        let ran = folder.run(&[command, &["release.yaml"]].concat());
        let line = "info: rendered elsewhere: 1 helm.toolkit.fluxcd.io/HelmRelease; inject the rendered manifests, or use the webhook\n";
        assert!(ran.stderr.starts_with(line), "{ran:?}");
    }
}

/// It may be a workload, so there is no warning that the directory has no resources.
#[test]
fn a_document_that_cannot_be_read_counts() {
    let broken = "apiVersion: apps/v1\nkind: Deployment\n spec: [\n";
    let folder = Folder::with(&[("broken.yaml", broken)]);
    let explained = folder.run(&["explain", "."]);
    assert!(
        explained.stdout.ends_with("\n\n1 failed (uneditable)\n"),
        "{explained:?}"
    );
    assert_eq!((explained.code, &*explained.stderr), (Some(2), ""));
    let skipped = folder.run(&["inject", "--check", "--set", "onError=skip", "."]);
    let end = "\n1 failed (uneditable), 1 warning; no file was changed\n";
    assert_eq!(skipped.code, Some(1), "{skipped:?}");
    assert!(skipped.stderr.ends_with(end), "{skipped:?}");
    let annotated = folder.run(&["inject", "--check", "--set", "injection=annotated", "."]);
    for ran in [
        skipped,
        annotated,
        folder.run(&["uninject", "--check", "."]),
    ] {
        assert!(!ran.stderr.contains("no-resources"), "{ran:?}");
    }
}
