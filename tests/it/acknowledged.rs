//! Warnings that the configuration or a template acknowledges.

use crate::program::{Folder, Ran};

const POD: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {annotations: {}}
    spec:
      hostNetwork: true
      containers: [{name: web, image: web, resources: {limits: {cpu: 1, memory: 1Gi}}}]
";

#[test]
fn an_acknowledged_warning_shows_under_v_and_does_not_fail_strict() {
    let annotated = POD.replace(
        "annotations: {}",
        "annotations: {agent-injector.contrib.mackerel.io/ignore-warnings: 'host-network,qos-changed'}",
    );
    let folder = Folder::with(&[("pod.yaml", POD), ("annotated.yaml", &annotated)]);
    let run = |more: &[&str]| folder.run(&[&["inject", "--diff"], more].concat());
    let says =
        |ran: &Ran, severity: &str| ran.stderr.contains(&format!("{severity}[host-network]: "));
    let plain = run(&["pod.yaml"]);
    assert!(
        says(&plain, "warning") && plain.stderr.contains("2 warnings"),
        "{plain:?}"
    );
    assert_eq!(run(&["--strict", "pod.yaml"]).code, Some(1));
    for acknowledged in [
        &["annotated.yaml"][..],
        &[
            "--set",
            "warnings.ignore=[host-network, qos-changed]",
            "pod.yaml",
        ],
    ] {
        let ran = run(acknowledged);
        assert!(
            !ran.stderr.contains("[host-network]: ") && !ran.stderr.contains("warning["),
            "{ran:?}"
        );
        assert_eq!(run(&[&["--strict"], acknowledged].concat()).code, Some(0));
        let ran = run(&[&["-v"], acknowledged].concat());
        assert!(says(&ran, "info"), "{ran:?}");
    }
}

/// Warnings of files are ignored by the configuration alone.
#[test]
fn a_file_that_was_passed_over_may_be_acknowledged() {
    let folder = Folder::with(&[("pod.yaml", POD), ("notes.yaml", "a: [\n")]);
    let run = |more: &[&str]| {
        folder.run(&[&["inject", "--diff", "--set", "qos=allow", "."], more].concat())
    };
    assert!(run(&[]).stderr.contains("info[unreadable-file]: "));
    let ignored = ["--set", "warnings.ignore=[unreadable-file, host-network]"];
    let ran = run(&[&ignored[..], &["--strict"]].concat());
    assert_eq!(
        (ran.code, ran.stderr.contains("[unreadable-file]: ")),
        (Some(0), false),
        "{ran:?}"
    );
    assert!(
        run(&[&ignored[..], &["-v"]].concat())
            .stderr
            .contains("info[unreadable-file]: ")
    );
}

#[test]
fn what_the_configuration_allows_is_no_warning() {
    let plain = POD.replace("      hostNetwork: true\n", "");
    let set = ["--set=kubelet.insecureTLS=true", "--set=qos=allow"];
    let ran =
        Folder::with(&[]).run_with(&[&["inject", "-", "--strict"], &set[..]].concat(), &plain);
    assert_eq!(
        (ran.code, ran.stderr.contains("warning")),
        (Some(0), false),
        "{ran:?}"
    );
}

/// A template cannot hide that the configuration restricts it.
#[test]
fn an_annotation_that_is_not_allowed_is_ignored_by_the_configuration_alone() {
    let annotated = POD.replace(
        "annotations: {}",
        "annotations: {agent-injector.contrib.mackerel.io/image: 'example.com/mine:1', agent-injector.contrib.mackerel.io/ignore-warnings: 'host-network,qos-changed'}",
    );
    let folder = Folder::with(&[("pod.yaml", &annotated)]);
    let run = |more: &[&str]| {
        folder.run(
            &[
                &["inject", "--diff", "--set", "annotations.allow=[]"],
                more,
                &["pod.yaml"],
            ]
            .concat(),
        )
    };
    let plain = run(&["--set", "onError=skip"]);
    assert_eq!(plain.code, Some(0), "{plain:?}");
    assert!(
        plain.stderr.contains("warning[annotation-not-allowed]: ")
            && plain.stderr.contains("1 warning"),
        "{plain:?}"
    );
    let strict = run(&["--strict"]);
    assert!(
        strict.code == Some(1) && strict.stderr.contains("warning[annotation-not-allowed]: "),
        "{strict:?}"
    );
    let ignored = run(&[
        "--strict",
        "--set",
        "warnings.ignore=[annotation-not-allowed]",
    ]);
    assert_eq!(
        (
            ignored.code,
            ignored.stderr.contains("[annotation-not-allowed]: ")
        ),
        (Some(0), false),
        "{ignored:?}"
    );
}

/// A Job that gets its first agent may be new; that its agent changes is a warning.
#[test]
fn an_immutable_template_is_information_until_its_agent_changes() {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}\n";
    let folder = Folder::with(&[("job.yaml", job)]);
    let quiet = folder.run(&["inject", "--diff", "--strict", "."]);
    assert_eq!(quiet.code, Some(0), "{quiet:?}");
    assert!(
        quiet.stderr.starts_with("info[immutable-template]: ")
            && quiet.stderr.contains(": job.yaml:4:18\n\n")
            && quiet
                .stderr
                .contains("\n\n1 to add; +1 -1 lines in 1 file; no file was changed\n"),
        "{quiet:?}"
    );
    assert_eq!(folder.run(&["inject", "-i", "."]).code, Some(0));
    let changed = folder.run(&["inject", "--diff", "--set", "agent.memo=b", "."]);
    assert!(
        changed.stderr.contains("warning[immutable-template]")
            && changed.stderr.contains("1 warning;"),
        "{changed:?}"
    );
}
