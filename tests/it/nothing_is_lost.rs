//! Losses that need a message: files that are left out, agents that stay, names that are none.

use crate::cli::injected;
use crate::program::{Folder, WEB};

#[test]
fn a_broken_json_manifest_in_a_folder_is_an_error_and_another_json_file_is_not() {
    let pod = "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"}}";
    let others = [
        ("web.yaml", WEB),
        ("tsconfig.json", "{\"kind\": 1, // a comment\n}"),
    ];
    let folder = Folder::with(&others);
    assert_eq!(folder.run(&["inject", "."]).code, Some(0));
    let folder = Folder::with(&[&others[..], &[("pod.json", &pod[..pod.len() - 1])]].concat());
    for command in ["inject", "explain"] {
        let ran = folder.run(&[command, "."]);
        let said = format!("{}{}", ran.stdout, ran.stderr).contains("not valid YAML");
        assert!(ran.code == Some(2) && said, "{command} {ran:?}");
    }
}

#[test]
fn uninject_takes_strict() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      image: a\n";
    let folder = Folder::with(&[("pod.yaml", pod)]);
    assert_eq!(folder.run(&["inject", "-i", "pod.yaml"]).code, Some(0));
    let ran = folder.run(&["uninject", "-i", "--strict", "."]);
    assert!(
        ran.code == Some(1) && ran.stderr.contains("warning[immutable-template]"),
        "{ran:?}"
    );
    assert_eq!(folder.run(&["uninject", "-i", "."]).code, Some(0));
    assert_eq!(folder.read("pod.yaml"), pod);
}

#[test]
fn an_agent_of_a_kind_that_the_configuration_no_longer_names_is_not_said_to_be_missing() {
    let fleet = injected().replace(
        "apiVersion: apps/v1\nkind: Deployment",
        "apiVersion: example.com/v1\nkind: Fleet",
    );
    let folder = Folder::with(&[("fleet.yaml", &fleet)]);
    for args in [&["inject", "--check", "."][..], &["explain", "."]] {
        let ran = folder.run(args);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!said.contains("not injected"), "{said}");
    }
    assert_eq!(folder.run(&["uninject", "-i", "."]).code, Some(0));
    assert!(!folder.read("fleet.yaml").contains("mackerel"));
}

#[test]
fn a_generated_name_is_not_given_as_a_name() {
    let text = WEB.replace(
        "kind: Deployment\nmetadata:\n  name: web",
        "kind: Deployment\nmetadata:\n  generateName: web-",
    );
    let folder = Folder::with(&[("web.yaml", &text)]);
    let ran = folder.run(&["inject", "--output", "patch", "web.yaml"]);
    let patch: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (patch["generateName"].as_str(), patch.get("name")),
        (Some("web-"), None)
    );
}
