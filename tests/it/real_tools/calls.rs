//! Function calls by kpt and kustomize with every command that reads standard input. An orchestrator takes the output of a function
//! that exits with 0 for the whole package: what it does with ours, it did to the packages of users.

use super::User;
use crate::tools;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// It succeeds, and the resources have the agent, or lack it.
    Has,
    Lacks,
    /// It fails with these words, and leaves everything as it was.
    Fails(&'static str),
}
use End::{Fails, Has, Lacks};

const MISSING: End = Fails("the agent would be added");
const PRESENT: End = Fails("the agent would be removed");
const NO_LIST: End = Fails("gets no other answer than its items");

/// Arguments, and the end for a package without agents, and for one with them.
const CALLS: &[(&str, End, End)] = &[
    ("", Has, Has),
    ("inject", Has, Has),
    ("inject -", Has, Has),
    ("inject -v --adopt=lossy -", Has, Has),
    ("inject --set=select.kinds=[Job] -", Lacks, Lacks),
    ("uninject -", Lacks, Lacks),
    ("inject --check -", MISSING, Has),
    ("inject --check -q", MISSING, Has),
    ("inject --check -v -", MISSING, Has),
    ("inject --check --strict -", MISSING, Has),
    ("inject --check --set=select.kinds=[Job] -", Lacks, PRESENT),
    (
        "inject --check --set=agent.memo=x -",
        MISSING,
        Fails("the agent would be updated"),
    ),
    ("uninject --check -", Lacks, PRESENT),
    ("inject --diff -", NO_LIST, NO_LIST),
    ("inject --check --diff -", NO_LIST, NO_LIST),
    ("inject --output patch -", NO_LIST, NO_LIST),
    ("inject --check --output json -", NO_LIST, NO_LIST),
    ("inject --check --output sarif -", NO_LIST, NO_LIST),
    ("uninject --diff -", NO_LIST, NO_LIST),
    ("uninject --check --output json -", NO_LIST, NO_LIST),
    ("explain", NO_LIST, NO_LIST),
    ("explain --output json -", NO_LIST, NO_LIST),
    ("rbac --namespace shop -", NO_LIST, NO_LIST),
    ("rbac -q --set=kubernetesVersion=1.33", NO_LIST, NO_LIST),
    (
        "status -",
        Fails("the pods of a cluster"),
        Fails("the pods of a cluster"),
    ),
    (
        "status -q",
        Fails("the pods of a cluster"),
        Fails("the pods of a cluster"),
    ),
    (
        "config validate -",
        Fails("`kind` must be"),
        Fails("`kind` must be"),
    ),
    (
        "inject -i -",
        Fails("`-i` requires files"),
        Fails("`-i` requires files"),
    ),
    (
        "--set agent.imag=x",
        Fails("unknown setting"),
        Fails("unknown setting"),
    ),
    (
        "inject --check --set agent.imag=x -",
        Fails("unknown setting"),
        Fails("unknown setting"),
    ),
    (
        "--config no-such-file",
        Fails("no-such-file"),
        Fails("no-such-file"),
    ),
    (
        "--log-file no/such/log",
        Fails("no/such/log"),
        Fails("no/such/log"),
    ),
    (
        "--no-such-option",
        Fails("--no-such-option"),
        Fails("--no-such-option"),
    ),
];

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - image: web:1
        name: web
";

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\n";

/// Writes a package without agents, and one with them.
fn packages(user: &User) -> [String; 2] {
    let program = env!("CARGO_BIN_EXE_mackerel-agent-injector");
    for name in ["without", "with"] {
        let folder = user.path(&format!("examples/{name}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("web.yaml"), WEB).unwrap();
        fs::write(folder.join("Kptfile"), KPTFILE).unwrap();
    }
    user.runs(Path::new(program), &["inject", "-i", "examples/with"]);
    ["without", "with"].map(|name| user.reads(&format!("{name}/web.yaml")))
}

/// The text of the web after a call of a package that has the agent, or lacks it.
fn expected([lacks, has]: &[String; 2], is_with: bool, end: End) -> &str {
    match end {
        Has => has,
        Lacks => lacks,
        Fails(_) if is_with => has,
        Fails(_) => lacks,
    }
}

fn each_call() -> impl Iterator<Item = (&'static str, bool, End)> {
    let calls = CALLS.iter();
    calls.flat_map(|(arguments, without, with)| {
        [(*arguments, false, *without), (*arguments, true, *with)]
    })
}

#[test]
fn kpt_never_loses_a_package() {
    let Some(kpt) = tools::find("kpt", "") else {
        return;
    };
    let user = User::new();
    let texts = packages(&user);
    for (arguments, is_with, end) in each_call() {
        let name = if is_with { "with" } else { "without" };
        let exec = format!("mackerel-agent-injector {arguments}");
        // kpt writes nothing of a failed pipeline, nor with this annotation what it should not.
        let save = "\n  annotations:\n    kpt.dev/save-on-render-failure: \"true\"";
        for (phase, option) in [("eval", ""), ("mutators", save), ("validators", "")] {
            let package = user.path("examples/package");
            let _ = fs::remove_dir_all(&package);
            super::copy(&user.path(&format!("examples/{name}")), &package);
            let said = if phase == "eval" {
                let eval = ["fn", "eval", "examples/package", "--exec", &exec];
                user.tries(&kpt, &eval)
            } else {
                let pipeline = format!("{option}\npipeline:\n  {phase}:\n  - exec: {exec}\n");
                let kptfile = [KPTFILE.trim_end(), &pipeline].concat();
                fs::write(package.join("Kptfile"), kptfile).unwrap();
                let results = ["--results-dir", "results", "examples/package"];
                user.tries(
                    &kpt,
                    &[&["fn", "render", "--allow-exec"], &results[..]].concat(),
                )
            };
            let situation = format!("{arguments} {name} {phase} {option}\n{}", said.stderr);
            // A validator may change nothing, and kpt drops what it changes.
            let is_dropped = phase == "validators" && !matches!(end, Fails(_));
            let kept = if is_dropped { Fails("") } else { end };
            let files = user.files("package");
            assert_eq!(files.len(), 2, "{situation}");
            let web = user.reads("package/web.yaml");
            assert_eq!(web, expected(&texts, is_with, kept), "{situation}");
            let kptfile = user.reads("package/Kptfile");
            assert!(
                kptfile.starts_with(KPTFILE.trim_end()),
                "{situation}{kptfile}"
            );
            match end {
                Has | Lacks => assert_eq!(said.code, 0, "{situation}"),
                Fails(words) => {
                    assert_ne!(said.code, 0, "{situation}");
                    assert!(said.stderr.contains(words), "{situation}");
                }
            }
        }
    }
}

#[test]
fn kustomize_never_loses_a_resource() {
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let user = User::new();
        packages(&user);
        fs::create_dir(user.path("tools")).unwrap();
        let build = |name: &str, field: &str, arguments: &str| {
            // kustomize 5.6 passes no arguments.
            let script = format!("#!/bin/sh\nexec mackerel-agent-injector {arguments}\n");
            let program = user.path("tools/called");
            fs::write(&program, script).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            let path = format!("examples/{name}");
            let function = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nmetadata:\n  name: called\n  \
                            annotations:\n    config.kubernetes.io/function: |\n      exec:\n        path: called\n";
            fs::write(user.path(&path).join("called.yaml"), function).unwrap();
            let kustomization = format!("resources: [web.yaml]\n{field}\n");
            fs::write(user.path(&path).join("kustomization.yaml"), kustomization).unwrap();
            let options = ["build", "--enable-alpha-plugins", "--enable-exec"];
            user.tries(&kustomize, &[&options[..], &[&path]].concat())
        };
        let texts = ["without", "with"].map(|name| build(name, "", "").stdout);
        for (arguments, is_with, end) in each_call() {
            // The function configuration takes the place of the file.
            if arguments.contains("--config") {
                continue;
            }
            let name = if is_with { "with" } else { "without" };
            let said = build(name, "transformers: [called.yaml]", arguments);
            let situation = format!("{version} {arguments} {name}\n{}", said.stderr);
            match end {
                Has | Lacks => {
                    assert_eq!(said.code, 0, "{situation}");
                    assert_eq!(said.stdout, expected(&texts, is_with, end), "{situation}");
                }
                Fails(words) => {
                    assert_eq!((said.code, &*said.stdout), (1, ""), "{situation}");
                    assert!(said.stderr.contains(words), "{situation}");
                }
            }
            if !arguments.ends_with("check -") {
                continue;
            }
            // What the pages say of `validators`: they refuse the items that a function must return.
            let said = build(name, "validators: [called.yaml]", arguments);
            assert_eq!((said.code, &*said.stdout), (1, ""), "{situation}");
        }
    }
}
