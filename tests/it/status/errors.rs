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
        "[]\n",
        "No resources found in shop namespace.\n",
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
    let pods = list([Living::of_deployment("shop", "web")]);
    let help = " = help: give it all that `kubectl get pods -A -o json` prints, without messages of kubectl (`2>&1`)\n";
    for (text, place) in [
        ("kind: Pod\n  a: [\n".to_owned(), "<stdin>:2:"),
        (
            format!("Warning: v1 ComponentStatus is deprecated\n{pods}"),
            "<stdin>:2:",
        ),
        (
            format!("E1128 10:00:00.1 memcache.go:265] error: timeout\n{pods}"),
            "<stdin>:",
        ),
        (format!("{pods}error: unable to reach it\n"), "<stdin>:"),
        (pods[..pods.len() / 2].to_owned(), "<stdin>:"),
        (pods[..pods.len() - 3].to_owned(), "<stdin>:"),
        (String::new(), "<stdin>:1:1"),
        ("\n \n".to_owned(), "<stdin>:1:1"),
    ] {
        let ran = status_of(&[], &text);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{text}");
        let told = "error: the input is not what kubectl prints: ";
        assert!(ran.stderr.starts_with(told), "{}", ran.stderr);
        assert!(
            ran.stderr.contains(&format!(" --> {place}")),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.ends_with(help), "{}", ran.stderr);
    }
    let one_is_empty = Folder::with(&[("1.json", &pods), ("2.json", "")]);
    let ran = one_is_empty.run(&["status", "1.json", "2.json"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""));
    assert!(
        ran.stderr
            .contains("kubectl prints: it is empty\n --> 2.json:1:1\n"),
        "{}",
        ran.stderr
    );
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
