//! `kpt fn render` and `kpt fn eval`.

use super::{PROGRAM, User, same_but_for_the_agent};
use crate::tools;
use std::fs;
use std::path::Path;

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

/// `krm-fn/agent-injector.yaml` as the functionConfig, of `eval` and in a package.
#[test]
fn the_sample_of_the_function_is_a_function_config() {
    let Some(kpt) = tools::find("kpt", "") else {
        return;
    };
    let sample = "krm-fn/agent-injector.yaml";
    let eval = ["fn", "eval", "examples/kpt", "--exec", PROGRAM];
    let eval = [&eval[..], &["--fn-config", sample]].concat();
    let in_package = "examples/kpt/mackerel-agent.yaml";
    let render = ["fn", "render", "--allow-exec", "examples/kpt"];
    for call in [&eval[..], &render] {
        let (user, other) = (User::new(), User::new().without_us());
        for user in [&user, &other] {
            fs::copy(user.path(sample), user.path(in_package)).unwrap();
            user.runs(&kpt, call);
        }
        let (with, without) = (
            user.reads("kpt/deployment.yaml"),
            other.reads("kpt/deployment.yaml"),
        );
        same_but_for_the_agent(&with, &without, &["Deployment/web containers"]);
        assert_eq!(
            fs::read_to_string(user.path(in_package)).unwrap(),
            fs::read_to_string(user.path(sample)).unwrap()
        );
    }
}

/// kpt prints the results of a function, and its stderr.
#[test]
fn kpt_prints_a_warning_once_and_names_a_subpackage_with_a_configuration() {
    let Some(kpt) = tools::find("kpt", "") else {
        return;
    };
    let user = User::new();
    let own = user.reads("kpt/deployment.yaml");
    let on_host = own.replace("    spec:\n", "    spec:\n      hostNetwork: true\n");
    fs::write(user.path("examples/kpt/deployment.yaml"), on_host).unwrap();
    let render = ["fn", "render", "--allow-exec", "--truncate-output=false"];
    let render = [&render[..], &["examples/kpt"]].concat();
    let warning = "the pod uses the host network";
    let rendered = user.tries(&kpt, &render).stderr;
    assert_eq!(rendered.matches(warning).count(), 1, "{rendered}");
    assert!(rendered.contains("1 warning"), "{rendered}");
    assert!(!rendered.contains("subpackage"), "{rendered}");
    let source = "kpt fn source examples/kpt | mackerel-agent-injector > list";
    let by_hand = user.tries(Path::new("sh"), &["-c", source]).stderr;
    assert_eq!(by_hand.matches(warning).count(), 1, "{by_hand}");

    let folder = user.path("examples/kpt/blog");
    fs::create_dir(&folder).unwrap();
    for (file, text) in [
        ("web.yaml", own.replace("shop", "blog")),
        (
            "Kptfile",
            user.reads("kpt/Kptfile").replace(
                "configPath: mackerel-agent.yaml",
                "configMap: {agent.memo: blog}",
            ),
        ),
    ] {
        fs::write(folder.join(file), text).unwrap();
    }
    let unused = "[warning]: the configuration of the subpackage `blog` does not count: this function runs last; ";
    let rendered = user.tries(&kpt, &render).stderr;
    assert_eq!(rendered.matches(unused).count(), 1, "{rendered}");
    fs::write(
        folder.join("mackerel-agent.yaml"),
        user.reads("kpt/mackerel-agent.yaml"),
    )
    .unwrap();
    fs::write(
        folder.join("Kptfile"),
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: blog}\n",
    )
    .unwrap();
    let rendered = user.tries(&kpt, &render).stderr;
    assert_eq!(rendered.matches(unused).count(), 1, "{rendered}");
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
