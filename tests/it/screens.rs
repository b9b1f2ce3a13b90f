//! Whole screens: what a user sees in six situations, with what lies on stdout above what lies on stderr.

use crate::program::{Folder, Ran, WEB};
use std::path::Path;

/// Returns both streams as a terminal shows them.
fn screen(ran: &Ran) -> String {
    format!("{}{}", ran.stdout, ran.stderr)
}

fn deployment(name: &str, pod: &str, container: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      terminationGracePeriodSeconds: 5
{pod}      containers:
        - {{name: app, image: \"app:1\"{container}}}
"
    )
}

/// A repository whose warnings are right for its workloads.
fn shop() -> Folder {
    const GUARANTEED: &str = ", resources: {limits: {cpu: 1, memory: 1Gi}}";
    const SHARED: &str = "      shareProcessNamespace: true\n";
    let folder = Folder::with(&[
        (
            "job.yaml",
            "\
apiVersion: batch/v1
kind: Job
metadata: {name: fill, namespace: shop}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: app, image: \"app:1\"}]
",
        ),
        (
            "service.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 80}]}\n",
        ),
    ]);
    for (name, pod, container) in [
        ("api", "", GUARANTEED),
        ("cart", "", GUARANTEED),
        ("mail", SHARED, GUARANTEED),
        ("tax", SHARED, ""),
        ("web", "", GUARANTEED),
    ] {
        let text = deployment(name, pod, container);
        folder.write(&format!("{name}.yaml"), &text);
    }
    folder
}

#[test]
fn explain_of_the_examples() {
    let folder = Folder::with(&[]);
    for name in ["cronjob.yaml", "deployment.yaml", "service.yaml"] {
        let path = format!("examples/files/{name}");
        let text =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path)).unwrap();
        folder.write(&path, &text);
    }
    let ran = folder.run(&["explain", "examples/files"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    assert_eq!(
        ran.stdout,
        "\
examples/files/cronjob.yaml:11:9: info[injected]: batch/v1/CronJob/shop/report spec.jobTemplate.spec.template: the agent would be added
  because of injection: always (default)
examples/files/deployment.yaml:12:5: info[injected]: apps/v1/Deployment/shop/web spec.template: the agent would be added
  because of injection: always (default)

before you deploy:
  in shop: Secret mackerel-container-agent with the key MACKEREL_APIKEY (not in the input)
  RBAC for the agents: `mackerel-agent-injector rbac examples/files | kubectl apply -f -`

2 to add, 1 other resource
next: mackerel-agent-injector inject --diff examples/files
"
    );
}

#[test]
fn the_first_check_of_a_repository() {
    let ran = shop().run(&["inject", "--check", "."]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        screen(&ran),
        "\
api.yaml:1:1: apps/v1/Deployment/shop/api: the agent would be added
cart.yaml:1:1: apps/v1/Deployment/shop/cart: the agent would be added
job.yaml:1:1: batch/v1/Job/shop/fill: the agent would be added
mail.yaml:1:1: apps/v1/Deployment/shop/mail: the agent would be added
tax.yaml:1:1: apps/v1/Deployment/shop/tax: the agent would be added
web.yaml:1:1: apps/v1/Deployment/shop/web: the agent would be added
info[immutable-template]: the containers of an existing Job cannot be changed: job.yaml:6:5

warning[short-termination]: the pod is killed after 5 s, but the agent may need 10 s to retire its host; the host would stay in Mackerel and cause alerts
 --> api.yaml:9:38
 --> cart.yaml:9:38
 --> mail.yaml:9:38 and 2 more
  = help: set it to at least 10; the default is 30
warning[qos-changed]: the agent changes the pod's QoS class from Guaranteed to Burstable
 --> api.yaml:7:5
 --> cart.yaml:7:5
 --> mail.yaml:7:5 and 1 more
  = help: to keep it, set `qos: keep`, which raises the requests of the agent to its limits
warning[share-process-namespace]: the containers of the pod share their processes: those that run as root or as the user of the agent can read its environment, which has the API key
 --> mail.yaml:10:30
 --> tax.yaml:10:30
  = help: remove `shareProcessNamespace`; if you trust the containers, add `share-process-namespace` to the annotation `ignore-warnings`

before you deploy:
  in shop: Secret mackerel-container-agent with the key MACKEREL_APIKEY (not in the input)
  RBAC for the agents: `mackerel-agent-injector rbac . | kubectl apply -f -`

6 to add, 1 other resource, 11 warnings; no file was changed
next: mackerel-agent-injector inject -i .
"
    );
}

/// The workloads of the pull request come first.
#[test]
fn a_strict_check_in_ci_where_two_agents_are_missing() {
    let folder = shop();
    let others = ["api.yaml", "job.yaml", "mail.yaml", "tax.yaml"];
    folder.run(&[&["inject", "-i"], &others[..]].concat());
    let ran = folder.run(&["inject", "--check", "--strict", "."]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        screen(&ran),
        "\
cart.yaml:1:1: apps/v1/Deployment/shop/cart: the agent would be added
web.yaml:1:1: apps/v1/Deployment/shop/web: the agent would be added
warning[short-termination]: the pod is killed after 5 s, but the agent may need 10 s to retire its host; the host would stay in Mackerel and cause alerts
 --> cart.yaml:9:38
 --> web.yaml:9:38
 --> api.yaml:9:38 and 2 more
  = help: set it to at least 10; the default is 30
warning[qos-changed]: the agent changes the pod's QoS class from Guaranteed to Burstable
 --> cart.yaml:7:5
 --> web.yaml:7:5
 --> api.yaml:7:5 and 1 more
  = help: to keep it, set `qos: keep`, which raises the requests of the agent to its limits
warning[share-process-namespace]: the containers of the pod share their processes: those that run as root or as the user of the agent can read its environment, which has the API key
 --> mail.yaml:10:30
 --> tax.yaml:10:30
  = help: remove `shareProcessNamespace`; if you trust the containers, add `share-process-namespace` to the annotation `ignore-warnings`

before you deploy:
  in shop: Secret mackerel-container-agent with the key MACKEREL_APIKEY (not in the input)
  RBAC for the agents: `mackerel-agent-injector rbac . | kubectl apply -f -`

2 to add, 4 up to date, 1 other resource, 11 warnings; no file was changed
--strict: 11 warnings fail the run; to accept what may stay, use `--set 'warnings.ignore=[qos-changed, share-process-namespace, short-termination]'`
next: mackerel-agent-injector inject -i .
"
    );
}

/// The setting that `--strict` names makes the same check pass.
#[test]
fn all_up_to_date_with_warnings_that_last() {
    let folder = shop();
    folder.run(&["inject", "-i", "."]);
    let check = ["inject", "--check", "--strict", "."];
    let ran = folder.run(&check);
    assert_eq!(ran.code, Some(1));
    let expected = "\
warning[short-termination]: the pod is killed after 5 s, but the agent may need 10 s to retire its host; the host would stay in Mackerel and cause alerts
 --> api.yaml:9:38
 --> cart.yaml:9:38
 --> mail.yaml:9:38 and 2 more
  = help: set it to at least 10; the default is 30
warning[qos-changed]: the agent changes the pod's QoS class from Guaranteed to Burstable
 --> api.yaml:7:5
 --> cart.yaml:7:5
 --> mail.yaml:7:5 and 1 more
  = help: to keep it, set `qos: keep`, which raises the requests of the agent to its limits
warning[share-process-namespace]: the containers of the pod share their processes: those that run as root or as the user of the agent can read its environment, which has the API key
 --> mail.yaml:10:30
 --> tax.yaml:10:30
  = help: remove `shareProcessNamespace`; if you trust the containers, add `share-process-namespace` to the annotation `ignore-warnings`

6 up to date, 1 other resource, 11 warnings; no file was changed
--strict: 11 warnings fail the run; to accept what may stay, use `--set 'warnings.ignore=[qos-changed, share-process-namespace, short-termination]'`
";
    assert_eq!(screen(&ran), expected);
    assert!(expected.lines().count() <= 17);

    let (_, setting) = ran.stderr.rsplit_once("use `--set '").unwrap();
    let (setting, _) = setting.split_once("'`").unwrap();
    let accepted = folder.run(&[&check[..], &["--set", setting]].concat());
    assert_eq!(
        (accepted.code, &*screen(&accepted)),
        (
            Some(0),
            "6 up to date, 1 other resource; no file was changed\n"
        )
    );

    let head =
        "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec:\n";
    folder.write("agent-injector.yaml", head);
    let (_, line) = screen(&folder.run(&check))
        .rsplit_once("; ")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let line = line.strip_prefix("to accept what may stay, set `").unwrap();
    let (setting, file) = line.trim_end().split_once("` below `spec` in ").unwrap();
    folder.write(file, &format!("{head}  {setting}\n"));
    assert_eq!(folder.run(&check).code, Some(0));
}

/// One finding at a field has an excerpt, one about an object has none.
#[test]
fn warnings_only() {
    let web = WEB.replace(
        "  name: web\nspec",
        "  name: web\n  namespace: shop\n  annotations:\n    agent-injector.contrib.mackerel.io/roles: shop:web\nspec",
    );
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: mackerel-container-agent, namespace: shop}\nstringData: {KEY: x}\n";
    let folder = Folder::with(&[("web.yaml", &(web + secret))]);
    folder.run(&["inject", "-i", "."]);
    let expected = "\
warning[misplaced-annotation]: annotation `agent-injector.contrib.mackerel.io/roles` has no effect on Deployment
 --> web.yaml:7:5
  |
7 |     agent-injector.contrib.mackerel.io/roles: shop:web
  |     ^
  = help: move it to spec.template.metadata.annotations
warning[missing-key]: the key MACKEREL_APIKEY is missing, which the agent needs
 --> web.yaml:77:1
  = help: add the key, or set another one in `apiKey`, `agent.config` or `agent.env`

1 up to date, 1 other resource, 2 warnings; no file was changed
";
    let check = folder.run(&["inject", "--check", "."]);
    assert_eq!((check.code, &*screen(&check)), (Some(0), expected));
    // Both can be corrected, so no setting that accepts them is named.
    let strict = folder.run(&["inject", "--check", "--strict", "."]);
    assert_eq!(strict.code, Some(1));
    assert!(
        strict.stderr.starts_with(expected) && !strict.stderr.contains("ignore:"),
        "{strict:?}"
    );
}

/// The remedy on the last line leaves only the agent that is missing.
#[test]
fn a_template_among_the_manifests() {
    let template = "{{- if .Values.on }}\napiVersion: apps/v1\nkind: Deployment\n{{- end }}\n";
    let folder = Folder::with(&[("chart/files/web.yaml", template), ("web.yaml", WEB)]);
    let check = ["inject", "--check", "."];
    let refused = folder.run(&check);
    assert_eq!(refused.code, Some(2));
    assert_eq!(
        screen(&refused),
        "\
web.yaml:1:1: apps/v1/Deployment/web: the agent would be added
error[uneditable]: not valid YAML: \"-\" is only valid inside a block
 --> chart/files/web.yaml:1:3
  |
1 | {{- if .Values.on }}
  |   ^
  = help: if it is a template, inject what it renders

1 to add, 1 error; no file was changed
next: add /chart/files/web.yaml to the file .ignore, or leave what fails as it is with `--set onError=skip`
"
    );
    folder.write(".ignore", "chart/files/web.yaml\n");
    let passed = folder.run(&check);
    assert_eq!(passed.code, Some(1));
    assert_eq!(
        screen(&passed),
        "\
web.yaml:1:1: apps/v1/Deployment/web: the agent would be added
before you deploy:
  in the namespace of the pods: Secret mackerel-container-agent with the key MACKEREL_APIKEY (not in the input)
  RBAC for the agents: `mackerel-agent-injector rbac -n NAMESPACE . | kubectl apply -f -`

1 to add; no file was changed; 1 file left out by .ignore
next: mackerel-agent-injector inject -i .
"
    );
}
