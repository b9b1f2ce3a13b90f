//! Input and arguments that give no report.

use super::{Living, NONE, list, status, status_of};
use crate::program::{Folder, WEB};

#[test]
fn an_input_without_pods_says_what_to_run() {
    let told = "error: the input has no Pod, so nothing is known about agents; \
                use `kubectl get pods -A -o json | mackerel-agent-injector status -`\n";
    // kubectl prints an empty list where it may not read pods.
    for text in [
        WEB,
        "",
        "{\"apiVersion\": \"v1\", \"items\": [], \"kind\": \"List\"}\n",
    ] {
        let ran = status_of(&[], text);
        assert_eq!(
            (ran.code, &*ran.stdout, &*ran.stderr),
            (Some(2), "", told),
            "{text:?}"
        );
    }
}

#[test]
fn what_cannot_be_read_has_its_place() {
    let ran = status_of(&[], "kind: Pod\n  a: [\n");
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""));
    assert!(
        ran.stderr.starts_with("error: not valid YAML: "),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains(" --> <stdin>:2:"), "{}", ran.stderr);
    let missing = Folder::with(&[]).run(&["status", "pods.json"]);
    assert_eq!(
        (missing.code, &*missing.stderr),
        (Some(2), "error: pods.json: no such file or directory\n")
    );
    let twice = Folder::with(&[("pods.json", "{}")]).run(&["status", "pods.json", "-"]);
    assert_eq!(twice.code, Some(2));
}

#[test]
fn a_selector_of_namespaces_needs_the_namespaces() {
    let ran = status(
        &["--namespace-selector", "a=b"],
        [Living::of_deployment("shop", "web")],
    );
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""));
    assert_eq!(
        ran.stderr,
        "error: `--namespace-selector` needs the labels of the Namespace shop, which is not in the input; \
         use `kubectl get pods,namespaces -A -o json`\n"
    );
    let empty = status(&["--namespace-selector", ","], []);
    assert!(
        empty.stderr.contains("`` has no key; use `key=value`"),
        "{}",
        empty.stderr
    );
    let wrong = status(&["--namespace-selector", "a in b"], []);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong
            .stderr
            .contains("`a in b` is no condition on a label; use `key=value`"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn the_configuration_is_found_near_files_and_not_on_stdin() {
    let config = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\n\
                  spec: {select: {namespaces: [other]}}\n";
    let pods = list([Living::of_deployment("shop", "web")]);
    let folder = Folder::with(&[("agent-injector.yaml", config), ("pods.json", &pods)]);
    let ran = folder.run(&["status", "pods.json"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), NONE));
    assert_eq!(ran.stderr, "configuration: agent-injector.yaml\n");
    let ran = folder.run_with(&["status", "-"], &pods);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("add `--config agent-injector.yaml`"),
        "{}",
        ran.stderr
    );
}
