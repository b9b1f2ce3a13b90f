//! The KRM function: wiring only.

use crate::program::{Folder, Ran, WEB, needed, ran};
use serde_json::{Value, json};

/// A call for WEB as kpt makes it.
fn call(rest: &str) -> String {
    let item = WEB.replace(
        "  name: web\n",
        "  name: web\n  annotations:\n    config.kubernetes.io/index: '0'\n    config.kubernetes.io/path: 'deploy.yaml'\n",
    );
    let item = item
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect::<String>()
        .replacen("  api", "- api", 1);
    format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{item}{rest}")
}

fn parsed(ran: &Ran) -> Value {
    serde_yaml::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn a_call_is_answered_with_the_agent_and_a_result_and_a_second_one_with_the_same_bytes() {
    for args in [&[][..], &["inject", "-"], &["inject"]] {
        let folder = Folder::with(&[]);
        let first = folder.run_with(args, call(""));
        assert_eq!(first.code, Some(0), "{first:?}");
        let list = parsed(&first);
        assert_eq!(
            list["items"][0]["spec"]["template"]["spec"]["containers"][1]["name"],
            "mackerel-container-agent"
        );
        assert_eq!(list["results"].as_array().unwrap().len(), 1);
        let result = &list["results"][0];
        assert_eq!(result["severity"], "info");
        assert_eq!(result["tags"], json!({"reason": "injected"}));
        assert_eq!(
            result["resourceRef"],
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
        );
        assert_eq!(result["field"], json!({"path": "spec.template"}));
        assert_eq!(result["file"], json!({"path": "deploy.yaml", "index": 0}));
        assert_eq!(first.stderr, format!("{}1 added\n", needed("PATH...")));
        let second = folder.run_with(args, &first.stdout);
        assert_eq!(second.stdout, first.stdout);
    }
}

#[test]
fn uninject_answers_a_call_too() {
    let folder = Folder::with(&[]);
    let injected = folder.run_with(&[], call("")).stdout;
    let list = parsed(&folder.run_with(&["uninject", "-"], &injected));
    assert_eq!(
        list["items"][0]["spec"]["template"]["spec"]["containers"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(list["results"][1]["tags"], json!({"reason": "removed"}));
}

#[test]
fn earlier_results_are_kept() {
    let ran = Folder::with(&[]).run_with(
        &[],
        call("results:\n- message: from before   # theirs\n  severity: info\n"),
    );
    assert!(
        ran.stdout
            .contains("results:\n- message: from before   # theirs\n  severity: info\n- message: "),
        "{ran:?}"
    );
}

#[test]
fn json_of_v1beta1_is_answered_in_json() {
    let yaml: Value = serde_yaml::from_str(&call("").replace("io/v1", "io/v1beta1")).unwrap();
    let ran = Folder::with(&[]).run_with(&[], serde_json::to_string_pretty(&yaml).unwrap());
    let list: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    assert_eq!(list["results"][0]["tags"]["reason"], "injected");
}

#[test]
fn a_refusal_gives_the_list_back_with_the_error_as_its_only_result() {
    let call = call("").replace(
        "- name: web          # the app",
        "- name: mackerel-container-agent",
    );
    let ran = Folder::with(&[]).run_with(&[], &call);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stdout.starts_with(&call), "{}", ran.stdout);
    let results = parsed(&ran)["results"].clone();
    assert_eq!(results.as_array().unwrap().len(), 1);
    assert_eq!(
        (&results[0]["severity"], &results[0]["tags"]["reason"]),
        (&json!("error"), &json!("container-conflict"))
    );
    let (message, help) = results[0]["message"]
        .as_str()
        .unwrap()
        .rsplit_once("; ")
        .unwrap();
    let shown = format!(
        "error[container-conflict]: {message}\n \
         --> deploy.yaml apps/v1/Deployment/web spec.template.spec.containers[0]\n  \
         = help: {help}\n\n\
         1 error; items returned unchanged\n"
    );
    assert_eq!(ran.stderr, shown);
}

/// The orchestrator sees the exit code, and its user the warning as what it is.
#[test]
fn strict_gives_the_list_back_with_its_warnings() {
    let call = call("").replace(
        "      containers:",
        "      hostNetwork: true\n        containers:",
    );
    let ran = Folder::with(&[]).run_with(&["inject", "--strict", "-"], &call);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let (before, mut after) = (serde_yaml::from_str::<Value>(&call).unwrap(), parsed(&ran));
    let results = after.as_object_mut().unwrap().remove("results").unwrap();
    assert_eq!(after, before);
    let found: Vec<&Value> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|result| &result["severity"])
        .collect();
    assert_eq!(found, ["warning"], "{results}");
    assert!(
        ran.stderr.contains("1 warning; items returned unchanged\n"),
        "{ran:?}"
    );
}

#[test]
fn a_function_config_counts_and_leaves_no_room_for_another() {
    let config = |image: &str| {
        format!(
            "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec: {{agent: {{image: {image}}}}}\n"
        )
    };
    let nested = config("r/one:1")
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect::<String>();
    let call_with = call(&format!("functionConfig:\n{nested}"));
    let folder = Folder::with(&[("two.yaml", &config("r/two:2"))]);

    let plain = folder.run_with(&[], &call_with);
    assert!(plain.stdout.contains("image: r/one:1"), "{plain:?}");

    let mut command = folder.command(&[]);
    command.env("MACKEREL_AGENT_INJECTOR_CONFIG", "two.yaml");
    let ignored = ran(command, call_with.as_bytes());
    assert_eq!(ignored.stdout, plain.stdout);
    assert!(
        ignored
            .stderr
            .contains("MACKEREL_AGENT_INJECTOR_CONFIG is ignored"),
        "{}",
        ignored.stderr
    );

    let both = folder.run_with(&["--config", "two.yaml"], &call_with);
    assert_eq!(both.code, Some(2));
    assert!(
        both.stderr
            .starts_with("error: `--config` cannot be combined with the functionConfig")
    );
    assert_eq!(parsed(&both)["results"][0]["severity"], "error");

    let wrong = folder.run_with(&[], call_with.replace("agent:", "agnet:"));
    assert_eq!(wrong.code, Some(2));
    let told = |ran: &Ran| parsed(ran)["results"][0]["message"].clone();
    assert_eq!(
        told(&wrong),
        "AgentInjector:3:8: unknown setting `agnet`; did you mean `agent`?"
    );
    assert!(
        wrong
            .stderr
            .contains("note: kustomize or kpt may have reformatted the file"),
        "{}",
        wrong.stderr
    );
    let metadata =
        "  metadata:\n    annotations:\n      config.kubernetes.io/path: 'agent.yaml'\n  spec:";
    let of_file = folder.run_with(
        &[],
        call_with
            .replace("agent:", "agnet:")
            .replace("  spec:", metadata),
    );
    assert_eq!(
        told(&of_file),
        "agent.yaml:4:8: unknown setting `agnet`; did you mean `agent`?"
    );
}

#[test]
fn a_config_map_and_an_empty_function_config_work() {
    let folder = Folder::with(&[]);
    let map = |data: &str| {
        call(&format!(
            "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: function-input}}\n  data: {data}\n"
        ))
    };
    assert!(
        folder
            .run_with(&[], map("{agent.image: 'r/one:1'}"))
            .stdout
            .contains("image: r/one:1")
    );
    for nothing in [
        map("{}"),
        call("functionConfig: {}\n"),
        call("functionConfig: null\n"),
        call("functionConfig:\n"),
    ] {
        let ran = folder.run_with(&["--set", "agent.image=r/set:1"], &nothing);
        assert!(ran.stdout.contains("image: r/set:1"), "{ran:?}");
    }
}

/// If these settings were ignored, the default configuration would inject agents that the user has disabled.
#[test]
fn a_config_map_whose_settings_stand_elsewhere_is_an_error() {
    for (settings, told) in [
        ("spec: {injection: disabled}", "unknown setting `spec`"),
        ("Data: {injection: disabled}", "did you mean `data`?"),
        ("injection: disabled", "unknown setting `injection`"),
        (
            "data: {}, spec: {injection: disabled}",
            "unknown setting `spec`",
        ),
    ] {
        let call = call(&format!(
            "functionConfig: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: input}}, immutable: true, {settings}}}\n"
        ));
        let ran = Folder::with(&[]).run_with(&[], &call);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(told), "{settings}: {}", ran.stderr);
    }
}

#[test]
fn what_is_no_readable_resource_list_gives_nothing_on_stdout() {
    for broken in [
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [\n",
        "apiVersion: config.kubernetes.io/v9\nkind: ResourceList\nitems: []\n",
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n---\na: 1\n",
    ] {
        let ran = Folder::with(&[]).run_with(&[], broken);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{broken}");
        assert!(
            ran.stderr.starts_with("error: invalid ResourceList: "),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn an_item_that_cannot_be_read_is_shown_with_its_line() {
    let broken = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- a: [\n";
    let ran = Folder::with(&[]).run_with(&[], broken);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stdout.starts_with(broken), "{ran:?}");
    assert!(
        ran.stderr
            .contains(" --> <stdin>:4:6\n  |\n4 | - a: [\n  |      ^\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_list_in_a_file_gets_no_results() {
    let folder = Folder::with(&[("list.yaml", &call(""))]);
    let stdout = folder.run(&["inject", "list.yaml"]).stdout;
    assert!(
        stdout.contains("name: mackerel-container-agent\n") && !stdout.contains("results:"),
        "{stdout}"
    );
}

/// A line behind it would become a part of the value.
#[test]
fn a_block_scalar_that_the_end_of_the_call_closes_gets_no_results_behind_it() {
    let map = "- kind: ConfigMap\n  apiVersion: v1\n  metadata: {name: a}\n  data:\n    key: |\n      text";
    let ran = Folder::with(&[]).run_with(&[], call(map));
    assert!(
        ran.stdout.contains("name: mackerel-container-agent\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.ends_with("      text"), "{}", ran.stdout);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn a_check_of_a_call_gives_the_items_back_and_a_result_for_each_change() {
    let folder = Folder::with(&[]);
    let web = call("");
    let injected = folder.run_with(&[], &web).stdout;
    let (injected, _) = injected.split_once("results:").unwrap();
    for (args, input, found) in [
        (
            &["inject", "--check", "-"][..],
            &*web,
            "the agent would be added",
        ),
        (
            &["inject", "--check", "-q"],
            &web,
            "the agent would be added",
        ),
        (
            &["inject", "--check", "-", "--set=agent.memo=x"],
            injected,
            "the agent would be updated",
        ),
        (
            &["uninject", "--check", "-"],
            injected,
            "the agent would be removed",
        ),
        (
            &["uninject", "--check", "-v"],
            injected,
            "the agent would be removed",
        ),
    ] {
        let ran = folder.run_with(args, input);
        assert_eq!(ran.code, Some(1), "{args:?} {ran:?}");
        let results = ran.stdout.strip_prefix(input).unwrap();
        let results: Value = serde_yaml::from_str(results).unwrap();
        let result = &results["results"][0];
        assert_eq!(result["severity"], "error", "{args:?}");
        assert!(result["message"].as_str().unwrap().starts_with(found));
        assert_eq!(result["file"]["path"], "deploy.yaml");
        assert!(
            ran.stderr.contains("deploy.yaml") && ran.stderr.contains(found),
            "{ran:?}"
        );
    }
    for (args, input) in [
        (&["inject", "--check", "-"][..], injected),
        (&["inject", "--check"], injected),
        (&["uninject", "--check", "-"], &web),
    ] {
        let ran = folder.run_with(args, input);
        assert_eq!(ran.code, Some(0), "{args:?} {ran:?}");
        assert!(ran.stdout.starts_with(input), "{args:?} {ran:?}");
    }
    let refused = web.replace(
        "- name: web          # the app",
        "- name: mackerel-container-agent",
    );
    let ran = folder.run_with(&["inject", "--check", "-"], &refused);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(
        parsed(&ran)["results"][0]["tags"]["reason"],
        "container-conflict"
    );
}

/// kustomize gives a function under `generators` its own configuration as the only item.
#[test]
fn a_configuration_as_the_only_item_is_reported() {
    let configuration = "{apiVersion: agent-injector.contrib.mackerel.io/v1alpha1, kind: AgentInjector, metadata: {name: a, annotations: {config.kubernetes.io/local-config: 'true'}}}";
    let with_items = |items: &str| {
        let list = format!(
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}functionConfig: {configuration}\n"
        );
        Folder::with(&[]).run_with(&[], list)
    };
    let alone = with_items(&format!("- {configuration}\n"));
    assert_eq!(alone.code, Some(0), "{alone:?}");
    let result = &parsed(&alone)["results"][0];
    assert_eq!(result["severity"], "warning");
    assert_eq!(result["tags"], json!({"reason": "configuration-unused"}));
    let warning =
        "warning[configuration-unused]: the only resource is a configuration, which is not used\n";
    assert!(alone.stderr.contains(warning), "{alone:?}");
    assert!(alone.stderr.contains("`transformers`"), "{alone:?}");
    for others in [
        "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n".to_owned(),
        format!(
            "- {configuration}\n- {{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{containers: [{{name: a, image: a}}]}}}}\n"
        ),
    ] {
        let ran = with_items(&others);
        assert!(!ran.stderr.contains("configuration-unused"), "{ran:?}");
    }
}

/// An orchestrator takes the output of a function that exits with 0 for its package.
#[test]
fn a_command_that_prints_no_list_refuses_a_call() {
    let folder = Folder::with(&[]);
    let calls = [call(""), folder.run_with(&[], call("")).stdout];
    for (command, args) in [
        ("inject …", &["inject", "--diff", "-"][..]),
        ("inject …", &["inject", "--check", "--diff"]),
        ("inject …", &["inject", "-o", "patch", "-"]),
        ("inject …", &["inject", "--check", "-o", "json"]),
        ("inject …", &["inject", "--check", "-o", "sarif", "-q", "-"]),
        ("uninject …", &["uninject", "--diff", "-", "--strict"]),
        ("uninject …", &["uninject", "--check", "-o", "github", "-"]),
        ("explain", &["explain"]),
        ("explain", &["explain", "-o", "gitlab", "-"]),
        ("rbac", &["rbac", "-n", "shop", "-"]),
        ("rbac", &["rbac", "-q"]),
    ] {
        for call in &calls {
            let ran = folder.run_with(args, call);
            assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{args:?} {ran:?}");
            let help = format!(
                "`mackerel-agent-injector {command} PKG`, or `kpt fn source PKG -o unwrap | mackerel-agent-injector {command} -`"
            );
            assert!(ran.stderr.contains(&help), "{args:?} {ran:?}");
        }
    }
    // These read something else, or nothing.
    for args in [
        &["config", "validate", "-"][..],
        &["status", "-q"],
        &["status", "-o", "json", "-"],
        &["inject", "-i", "-"],
        &["inject", "-", "other.yaml"],
        &[
            "inject",
            "--set=agent.imag=x",
            "--check",
            "-o",
            "patch",
            "-",
        ],
        &["inject", "--log-file", "no/such/folder/log", "-"],
        &["--no-such-option"],
        &["--config", "no-such-file"],
        &["--set=agent.imag=x"],
        &["inject", "--check", "--config", "no-such-file", "-"],
    ] {
        let ran = folder.run_with(args, call(""));
        assert_eq!(ran.code, Some(2), "{args:?} {ran:?}");
        assert!(
            ran.stdout.is_empty() || ran.stdout.starts_with(&call("")),
            "{args:?} {ran:?}"
        );
        assert!(ran.stderr.contains("error"), "{args:?} {ran:?}");
    }
}
