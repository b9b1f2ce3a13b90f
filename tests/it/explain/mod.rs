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
fn a_person_gets_each_decision_with_the_rule_and_its_place() {
    let ran = explained(&folder(), &["deploy"]);
    let expected = "\
deploy/a shop.yaml:7:5: info[injected]: apps/v1/Deployment/shop/web spec.template: the agent would be added
  because of annotation inject (deploy/a shop.yaml:9:52)
deploy/a shop.yaml:23:5: info[not-requested]: apps/v1/Deployment/quiet spec.template: `injection` is `annotated`, and the template does not \
request injection; to request injection, set annotation `agent-injector.contrib.mackerel.io/inject: \"true\"`
  because of injection: annotated (config.yaml:4:14)
deploy/a shop.yaml:19:5: warning[misplaced-annotation]: apps/v1/Deployment/quiet \
metadata.annotations[agent-injector.contrib.mackerel.io/inject]: annotation `agent-injector.contrib.mackerel.io/inject` has no effect on \
Deployment; move it to spec.template.metadata.annotations
deploy/a shop.yaml:28:54: info[not-selected]: apps/v1/StatefulSet/shop/db spec.template: StatefulSet is not in `select.kinds`
  because of select.kinds: [\"Deployment\",\"Job\"] (config.yaml:6:12)
deploy/job.yaml:6:73: error[invalid-annotation]: batch/v1/Job/migrate \
spec.template.metadata.annotations[agent-injector.contrib.mackerel.io/inject]: annotation `agent-injector.contrib.mackerel.io/inject` must be \
`true` or `false`, found `maybe`; write `\"true\"` or `\"false\"`, in quotes
  because of annotation inject (deploy/job.yaml:6:73)

before you deploy:
  in shop: Secret mackerel-container-agent with the key MACKEREL_APIKEY (deploy/job.yaml:9:1)
  RBAC for the agents: `mackerel-agent-injector rbac --config=config.yaml deploy | kubectl apply -f -`

1 to add, 2 left alone, 1 other resource, 1 warning, 1 error
next: correct deploy/job.yaml:6:73, or leave what fails as it is with `--set onError=skip`
";
    assert_eq!(ran.stdout, expected, "{}", ran.stderr);
    assert_eq!(
        (ran.code, &*ran.stderr),
        (Some(2), ""),
        "what would be refused is trouble"
    );
}

#[test]
fn one_resource_comes_with_its_container_and_where_settings_were_set() {
    let folder = folder();
    for resource in ["web", "deployment/web", "Deployment/shop/web"] {
        let ran = explained(
            &folder,
            &["deploy", "--resource", resource, "--set", "agent.memo=x"],
        );
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for lines in [
            "  the agent in spec.template.spec.containers:\n    # agent.roles: [\"shop:web\"] (config.yaml:8:12)\n",
            "    # agent.memo: x (--set #1)\n",
            "    # agent.resources.limits.memory: 256Mi (annotation memory-limit at deploy/a shop.yaml:10:58)\n",
            "    - name: mackerel-container-agent\n      image: ",
            "        limits:\n          memory: 256Mi\n",
        ] {
            assert!(ran.stdout.contains(lines), "{lines}:\n{}", ran.stdout);
        }
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
            .contains("info[injected]: apps/v1/Deployment/web spec.template: "),
        "{found:?}"
    );
    assert_eq!(asked(&["Deployment/shop/web"]).code, Some(2));
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
        &json!({"rule": "agent.roles", "value": ["shop:web"], "origin": "config.yaml:8:12"})
    ));
    assert_eq!(
        one["templates"][0]["agent"]["container"]["name"],
        "mackerel-container-agent"
    );
}

#[test]
fn a_stream_is_explained_as_files_are_and_strict_fails_for_warnings() {
    let folder = folder();
    let ran = folder.run_with(&["explain", "--config", "config.yaml", "-"], SHOP);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stdout
            .starts_with("<stdin>:7:5: info[injected]: apps/v1/Deployment/shop/web"),
        "{}",
        ran.stdout
    );
    let strict = folder.run_with(
        &["explain", "--strict", "--config", "config.yaml", "-"],
        SHOP,
    );
    let line = "--strict: 1 warning fails the run; correct misplaced-annotation\n";
    assert_eq!((strict.code, strict.stdout), (Some(1), ran.stdout + line));
    let nothing = folder.run(&["explain", "no-such-file.yaml"]);
    assert_eq!((nothing.code, &*nothing.stdout), (Some(2), ""));
    assert!(
        nothing.stderr.contains("no such file"),
        "{}",
        nothing.stderr
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
web.yaml:7:5: info[injected]: apps/v1/Deployment/shop/web spec.template: wait-for would be added; no agent: `injection` is `annotated`, \
and the template does not request injection
  because of annotation wait-for (web.yaml:7:75)
  wait-for in spec.template.spec.initContainers:
    # annotation wait-for (web.yaml:7:75)
    # waitFor.image: example/wait:1 (--set #2)
    - name: mackerel-wait-for
      image: example/wait:1
      args:
        - wait-for
        - db:5432
";
    assert!(ran.stdout.starts_with(expected), "{ran:?}");
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
        .map(|setting| &setting["rule"])
        .collect();
    assert_eq!(paths, ["annotation wait-for", "waitFor.image"]);
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
    let changed = "info[updated]: apps/v1/Deployment/shop/web spec.template: the agent would be updated; changed: `env: MACKEREL_MEMO`\n";
    assert!(agent.contains(changed), "{agent}");
    let both = explain(&["--set", "waitFor.image=example/wait:2"]);
    let changed = "info[updated]: apps/v1/Deployment/shop/web spec.template: the agent with wait-for would be updated; changed: `env: MACKEREL_MEMO`, `mackerel-wait-for.image: 1 → 2`\n";
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
    let end =
        "\n\n1 error\nnext: correct broken.yaml:3:2, or add /broken.yaml to the file .ignore\n";
    assert!(explained.stdout.ends_with(end), "{explained:?}");
    assert_eq!((explained.code, &*explained.stderr), (Some(2), ""));
    let skipped = folder.run(&["inject", "--check", "--set", "onError=skip", "."]);
    let end = "\n\n1 refused; no file was changed\n";
    assert_eq!(skipped.code, Some(1), "{skipped:?}");
    assert!(skipped.stderr.contains(end), "{skipped:?}");
    let annotated = folder.run(&["inject", "--check", "--set", "injection=annotated", "."]);
    for ran in [
        skipped,
        annotated,
        folder.run(&["uninject", "--check", "."]),
    ] {
        assert!(!ran.stderr.contains("no-resources"), "{ran:?}");
    }
}
