//! Helm's post-renderer: wiring only.

use crate::program::{Folder, WEB, needed};

const HOOK: &str = "\
---
# Source: web/templates/tests/test.yaml
apiVersion: v1
kind: Pod
metadata:
  name: web-test
  annotations:
    \"helm.sh/hook\": test
spec:
  containers:
    - name: wget
      image: busybox
  restartPolicy: Never
";

#[test]
fn a_stream_comes_out_with_the_agent_and_every_source_comment() {
    let stream = format!("---\n# Source: web/templates/deployment.yaml\n{WEB}{HOOK}");
    let ran = Folder::with(&[]).run_with(&[], &stream);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("# Source:"))
        .collect();
    assert_eq!(
        lines,
        [
            "# Source: web/templates/deployment.yaml",
            "# Source: web/templates/tests/test.yaml"
        ]
    );
    assert!(
        ran.stdout.contains("- name: mackerel-container-agent\n") && ran.stdout.ends_with(HOOK)
    );
    assert_eq!(
        ran.stderr,
        format!("{}1 added, 1 left alone\n", needed("-n NAMESPACE -"))
    );
}

#[test]
fn blank_input_is_answered_with_a_comment() {
    for blank in ["", "\n", "  \n\n"] {
        let ran = Folder::with(&[]).run_with(&[], blank);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "# mackerel-agent-injector: no manifests\n")
        );
    }
}

#[test]
fn an_error_leaves_stdout_empty_and_is_in_the_log_file() {
    let folder = Folder::with(&[]);
    let ran = folder.run_with(
        &["--log-file", "log"],
        format!("{WEB}---\n# Source: web/templates/broken.yaml\napiVersion: apps/v1\nkind: Deployment\nspec: [\n"),
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let first = ran.stderr.lines().next().unwrap();
    assert!(first.starts_with("error[uneditable]: "), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("= note: rendered from web/templates/broken.yaml\n"),
        "{}",
        ran.stderr
    );
    assert!(
        folder.read("log").contains("<stdin>:19:"),
        "{}",
        folder.read("log")
    );
}

#[test]
fn arguments_that_helm_can_pass_as_one_token_work() {
    let ran = Folder::with(&[]).run_with(&["--set=injection=annotated", "--namespace=prod"], WEB);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), WEB));
    assert_eq!(ran.stderr, "1 left alone\n");
}

#[test]
fn the_legacy_plugin_protocol_of_kustomize_takes_its_configuration_as_the_argument() {
    let config = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nmetadata: {name: a}\n\
                  spec: {agent: {image: r/agent:1}}\n";
    let folder = Folder::with(&[("config", config)]);
    let mut command = folder.command(&["config"]);
    command.env("KUSTOMIZE_PLUGIN_CONFIG_STRING", config);
    let ran = crate::program::ran(command, WEB.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("image: r/agent:1\n"));
}
