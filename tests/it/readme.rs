//! Both READMEs open with the injector's own diff, and name objects and configurations that are valid.

use crate::docs::page::Page;
use config::{Config, Sources, load};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use std::fs;
use support::root;

/// The tests of the documents run the command and compare its output with the cut.
#[test]
fn both_open_with_a_cut_of_the_diff_that_the_command_above_it_prints() {
    for readme in ["README.md", "README.ja.md"] {
        let blocks = Page::read(readme).blocks();
        assert_eq!(
            blocks[0].text,
            "mackerel-agent-injector inject --diff examples/files/deployment.yaml\n",
            "{readme}"
        );
        assert!(
            blocks[1].follows && blocks[1].language == "diff",
            "{readme}"
        );
        assert!(
            blocks[1]
                .text
                .contains("+        - name: mackerel-container-agent\n"),
            "{readme}"
        );
    }
}

#[test]
fn both_fit_on_a_few_screens() {
    for readme in ["README.md", "README.ja.md"] {
        let lines = read(readme).lines().count();
        assert!(
            lines <= 150,
            "{readme} has {lines} lines: move tables to docs"
        );
    }
}

#[test]
fn the_configuration_of_the_function_is_valid() {
    let text = read("krm-fn/agent-injector.yaml");
    let read = load(&Sources::of_text("agent-injector.yaml", &text));
    assert!(read.is_ok(), "{read:?}");
}

/// The example objects hold what the agent asks for by default, in the types of the API server.
#[test]
fn the_objects_for_the_cluster_are_those_that_the_agent_needs() {
    let secret: Secret = serde_yaml::from_str(&read("examples/cluster/secret.yaml")).unwrap();
    let wanted = Config::default().value("apiKey").unwrap();
    assert_eq!(
        secret.metadata.name.as_deref(),
        wanted["secretKeyRef"]["name"].as_str()
    );
    assert!(
        secret
            .string_data
            .unwrap()
            .contains_key(wanted["secretKeyRef"]["key"].as_str().unwrap())
    );
    let text = read("examples/cluster/rbac.yaml");
    let (role, binding) = text.split_once("---\n").unwrap();
    let role: ClusterRole = serde_yaml::from_str(role).unwrap();
    let binding: ClusterRoleBinding = serde_yaml::from_str(binding).unwrap();
    assert_eq!(
        role.rules.unwrap()[0].resources.as_deref().unwrap(),
        ["nodes/pods", "nodes/stats"]
    );
    assert_eq!(
        (Some(binding.role_ref.name), binding.subjects.unwrap().len()),
        (role.metadata.name, 1)
    );
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}
