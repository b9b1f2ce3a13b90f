//! `helm template` of Helm 3 and Helm 4.

use super::{PROGRAM, SHOP_CHART_INJECTED, User, documents, ours, same_but_for_the_agent};
use crate::tools;
use serde_yaml::Value;
use std::fs;

#[test]
fn helm3_template() {
    let Some(helm) = tools::find("helm", "3.") else {
        return;
    };
    let user = User::new();
    let plain = user.runs(&helm, &["template", "shop", "examples/helm/shop"]);
    let render = |more: &[&str]| {
        user.runs(
            &helm,
            &[
                &[
                    "template",
                    "shop",
                    "examples/helm/shop",
                    "--post-renderer",
                    PROGRAM,
                ],
                more,
            ]
            .concat(),
        )
    };

    let with = render(&[]);
    same_but_for_the_agent(&with, &plain, &SHOP_CHART_INJECTED);
    // Helm 3 prints the injector's output as it is: here uninject gives back each byte.
    assert_eq!(ours("uninject", &with), plain);
    assert_eq!(ours("inject", &with), with);
    assert_eq!(count(&with, "# Source: "), count(&plain, "# Source: "));

    let with = render(&[
        "--post-renderer-args",
        "--set=apiKey.secretKeyRef.name=team-key",
    ]);
    assert_eq!(
        count(&with, "team-key"),
        SHOP_CHART_INJECTED.len(),
        "in:\n{with}"
    );
}

#[test]
fn helm4_template() {
    let Some(helm) = tools::find("helm", "4.") else {
        return;
    };
    let user = User::new();
    let template = [
        "template",
        "shop",
        "examples/helm/shop",
        "--post-renderer",
        PROGRAM,
    ];
    let (with, without) = (
        user.runs(&helm, &template),
        user.without_us().runs(&helm, &template),
    );
    same_but_for_the_agent(&with, &without, &SHOP_CHART_INJECTED);
    assert_eq!(ours("inject", &with), with);

    // stderr is lost in Helm 4, the log file is not: it says that hook and test were seen and left alone.
    let log = [
        "--post-renderer-args",
        "--log-file=log",
        "--post-renderer-args",
        "--set=apiKey.secretKeyRef.name=team-key",
    ];
    let with = user.runs(&helm, &[&template[..], &log].concat());
    assert_eq!(
        count(&with, "team-key"),
        SHOP_CHART_INJECTED.len(),
        "in:\n{with}"
    );
    let log = fs::read_to_string(user.path("log")).unwrap();
    assert!(log.contains("hook"), "{log}");
}

#[test]
fn helm_template_show_only() {
    for version in ["3.", "4."] {
        let Some(helm) = tools::find("helm", version) else {
            continue;
        };
        let user = User::new();
        let show = [
            "template",
            "shop",
            "examples/helm/shop",
            "--post-renderer",
            PROGRAM,
            "--show-only",
        ];
        for (template, injected) in [
            (
                "templates/statefulset.yaml",
                &["StatefulSet/shop-cart containers"][..],
            ),
            ("templates/migrate.yaml", &[]),
            ("templates/zz-motd.yaml", &[]),
        ] {
            let show = [&show[..], &[template]].concat();
            same_but_for_the_agent(
                &user.runs(&helm, &show),
                &user.without_us().runs(&helm, &show),
                injected,
            );
        }
    }
}

#[test]
fn helm_template_output_dir() {
    for (version, injected) in [("3.", &[][..]), ("4.", &["Deployment/shop-web containers"])] {
        let Some(helm) = tools::find("helm", version) else {
            continue;
        };
        let user = User::new();
        let write = [
            "template",
            "shop",
            "examples/helm/shop",
            "--post-renderer",
            PROGRAM,
            "--output-dir",
        ];
        user.runs(&helm, &[&write[..], &["examples/with"]].concat());
        user.without_us()
            .runs(&helm, &[&write[..], &["examples/without"]].concat());
        // Helm 3 writes the files before it calls the injector, with nothing on stdin.
        let file = |folder| user.reads(&format!("{folder}/shop/templates/deployment.yaml"));
        same_but_for_the_agent(&file("with"), &file("without"), injected);
    }
}

#[test]
fn helm_template_of_a_chart_without_objects() {
    for version in ["3.", "4."] {
        let Some(helm) = tools::find("helm", version) else {
            continue;
        };
        let user = User::new();
        fs::create_dir(user.path("empty")).unwrap();
        fs::write(
            user.path("empty/Chart.yaml"),
            "apiVersion: v2\nname: empty\nversion: 1.0.0\n",
        )
        .unwrap();
        let rendered = user.runs(
            &helm,
            &["template", "empty", "empty", "--post-renderer", PROGRAM],
        );
        assert_eq!(documents(&rendered), [] as [Value; 0]);
    }
}

#[test]
fn helm_fails_when_we_refuse() {
    for version in ["3.", "4."] {
        let Some(helm) = tools::find("helm", version) else {
            continue;
        };
        let user = User::new();
        user.asks_badly("helm/shop/templates/statefulset.yaml");
        let template = [
            "template",
            "shop",
            "examples/helm/shop",
            "--post-renderer",
            PROGRAM,
        ];
        let refused = user.tries(
            &helm,
            &[&template[..], &["--post-renderer-args", "--log-file=log"]].concat(),
        );
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (1, ""),
            "{}",
            refused.stderr
        );
        let log = fs::read_to_string(user.path("log")).unwrap();
        // Helm 4 hides stderr.
        for said in if version == "3." {
            vec![&refused.stderr, &log]
        } else {
            vec![&log]
        } {
            assert!(
                said.contains("invalid-annotation") && said.contains("shop-cart"),
                "{said}"
            );
        }
    }
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}
