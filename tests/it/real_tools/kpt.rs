//! `kpt fn render` and `kpt fn eval`.

use super::{PROGRAM, User, documents, kinds, same_but_for_the_agent};
use crate::tools;
use serde_yaml::Value;
use std::fs;

#[test]
fn kpt_renders_the_package_and_a_second_render_changes_nothing() {
    let Some(kpt) = tools::find("kpt", "") else {
        return;
    };
    let render = ["fn", "render", "--allow-exec", "examples/kpt"];
    let (user, other) = (User::new(), User::new().without_us());
    user.runs(&kpt, &render);
    other.runs(&kpt, &render);

    for name in ["Kptfile", "mackerel-agent.yaml", "README.md"] {
        assert_eq!(
            user.reads(&format!("kpt/{name}")),
            other.reads(&format!("kpt/{name}"))
        );
    }
    for (name, injected) in [
        ("deployment.yaml", "Deployment/web containers"),
        ("jobs.yaml", "CronJob/report initContainers"),
    ] {
        let name = format!("kpt/{name}");
        same_but_for_the_agent(&user.reads(&name), &other.reads(&name), &[injected]);
        // kpt keeps the text of its user, so here even the lines are equal but for the injected ones.
        assert_only_inserts(&user.reads(&name), &other.reads(&name));
    }

    let once = user.files("kpt");
    user.runs(&kpt, &render);
    assert_eq!(user.files("kpt"), once);
}

#[test]
fn kpt_eval_passes_settings_as_a_config_map() {
    let Some(kpt) = tools::find("kpt", "") else {
        return;
    };
    let (user, other) = (User::new(), User::new().without_us());
    let eval = [
        "fn",
        "eval",
        "examples/kpt",
        "--exec",
        PROGRAM,
        "--",
        "apiKey.secretKeyRef.name=team-key",
    ];
    user.runs(&kpt, &eval);
    other.runs(&kpt, &eval);
    let (with, without) = (
        user.reads("kpt/deployment.yaml"),
        other.reads("kpt/deployment.yaml"),
    );
    same_but_for_the_agent(&with, &without, &["Deployment/web containers"]);
    assert!(
        with.contains("name: team-key"),
        "the Secret of the setting, in:\n{with}"
    );
}

#[test]
fn kpt_shows_why_we_refuse_and_leaves_the_files_alone() {
    let Some(kpt) = tools::find("kpt", "") else {
        return;
    };
    let user = User::new();
    user.asks_badly("kpt/deployment.yaml");
    let before = user.files("kpt");
    let refused = user.tries(
        &kpt,
        &[
            "fn",
            "render",
            "--allow-exec",
            "--results-dir",
            "results",
            "examples/kpt",
        ],
    );
    refused.says_why_on_stderr();
    assert!(
        refused
            .stderr
            .contains("[error] apps/v1/Deployment/shop/web spec.template"),
        "{}",
        refused.stderr
    );
    assert_eq!(user.files("kpt"), before);
    let results = fs::read_to_string(user.path("results/results.yaml")).unwrap();
    assert!(
        results.contains("invalid-annotation") && results.contains("path: deployment.yaml"),
        "{results}"
    );
}

#[test]
fn kpt_keeps_the_permissions_in_a_file_of_their_own() {
    let Some(kpt) = tools::find("kpt", "") else {
        return;
    };
    let user = User::new();
    let render = ["fn", "render", "--allow-exec", "examples/kpt"];
    let configuration = user.reads("kpt/mackerel-agent.yaml");
    let configure = |settings: &str| {
        fs::write(
            user.path("examples/kpt/mackerel-agent.yaml"),
            format!("{configuration}{settings}"),
        )
        .unwrap();
    };
    let file = "mackerel-agent-injector-mackerel-agent-rbac.yaml";
    configure("  kubernetesVersion: \"1.33\"\n  rbac: {generate: true}\n");
    user.runs(&kpt, &render);
    let written = user.reads(&format!("kpt/{file}"));
    assert_eq!(
        kinds(&documents(&written)),
        ["ClusterRole", "ClusterRoleBinding"]
    );
    assert!(
        written.contains("# namespace shop: GET /pods (nodes/pods)"),
        "comments are kept: {written}"
    );

    let once = user.files("kpt");
    user.runs(&kpt, &render);
    assert_eq!(user.files("kpt"), once, "a second render changes nothing");

    configure("  kubernetesVersion: \"1.32\"\n  rbac: {generate: true, allowNodesProxy: true}\n");
    user.runs(&kpt, &render);
    let changed = user.reads(&format!("kpt/{file}"));
    assert_eq!(
        kinds(&documents(&changed)),
        ["ClusterRole", "ClusterRoleBinding"]
    );
    let older: Value = serde_yaml::from_str("[nodes/proxy, nodes/stats]").unwrap();
    assert_eq!(
        documents(&changed)[0]["rules"][0]["resources"],
        older,
        "{changed}"
    );

    configure("");
    user.runs(&kpt, &render);
    assert!(
        !user.path(&format!("examples/kpt/{file}")).exists(),
        "nobody wants it any more"
    );
}

/// Every line of `without` is in `with`, in that order.
#[track_caller]
fn assert_only_inserts(with: &str, without: &str) {
    let mut lines = with.lines();
    for line in without.lines() {
        assert!(
            lines.any(|other| other == line),
            "`{line}` is lost or moved in:\n{with}"
        );
    }
}
