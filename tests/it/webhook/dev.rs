//! `webhook/dev` and `skaffold.yaml`.

use crate::program::Folder;
use crate::tools;
use configurations::json_schema::broken;
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use support::root;

/// Skaffold's own schema, beside the corpus; none without the corpus.
fn skaffold_schema() -> Option<Value> {
    let corpus = std::env::var_os("MACKEREL_CORPUS")
        .map_or_else(|| root().join("../shared/corpus"), PathBuf::from);
    let text = fs::read_to_string(corpus.join("../schemas/skaffold-v4beta13.json")).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// Returns the violations of a schema with definitions.
fn violations(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        return violations(
            root,
            root.pointer(name.trim_start_matches('#')).unwrap(),
            value,
            at,
        );
    }
    let mut own = schema.as_object().unwrap().clone();
    let children = ["properties", "items", "additionalProperties", "anyOf"];
    let annotations = [
        "x-intellij-html-description",
        "preferredOrder",
        "examples",
        "definitions",
    ];
    own.retain(|name, _| !children.contains(&&**name) && !annotations.contains(&&**name));
    let mut found = broken(&own.into(), value, at);
    for (name, value) in value.as_object().into_iter().flatten() {
        let at = format!("{at}/{name}");
        match (
            schema["properties"].get(name),
            &schema["additionalProperties"],
        ) {
            (Some(property), _) => found.extend(violations(root, property, value, &at)),
            (None, Value::Bool(false)) => found.push(format!("{at}: nothing may stand here")),
            (None, additional @ Value::Object(_)) => {
                found.extend(violations(root, additional, value, &at))
            }
            (None, _) => {}
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        if schema["items"].is_object() {
            found.extend(violations(
                root,
                &schema["items"],
                item,
                &format!("{at}/{index}"),
            ));
        }
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let mut ways: Vec<_> = any
            .iter()
            .map(|schema| violations(root, schema, value, at))
            .collect();
        ways.sort_by_key(Vec::len);
        found.extend(ways.swap_remove(0));
    }
    found
}

#[test]
fn skaffold_takes_its_configuration_with_and_without_the_profile() {
    let Some(schema) = skaffold_schema() else {
        // No part of the repository, as the corpus.
        let _ = std::io::stderr()
            .write_all(b"SKIPPED: there is no schema of skaffold; set MACKEREL_CORPUS\n");
        return;
    };
    let text = fs::read_to_string(root().join("skaffold.yaml")).unwrap();
    let mut skaffold: Value = serde_yaml::from_str(&text).unwrap();
    assert_eq!(
        violations(&schema, &schema, &skaffold, ""),
        [] as [String; 0]
    );
    let patch: json_patch::Patch =
        serde_json::from_value(skaffold["profiles"][0]["patches"].clone()).unwrap();
    json_patch::patch(&mut skaffold, &patch).unwrap();
    assert_eq!(
        violations(&schema, &schema, &skaffold, ""),
        [] as [String; 0]
    );
    // The schema would tell.
    skaffold["deploy"]["helm"]["releases"][0]["chart"] = json!("webhook/chart");
    assert_eq!(violations(&schema, &schema, &skaffold, "").len(), 1);
}

/// The tools that `webhook/dev/up` needs, with versions.
const TOOLS: [(&str, &str); 4] = [
    ("etcd", ""),
    ("kube-apiserver", ""),
    ("kubectl", ""),
    ("helm", "4."),
];

/// Runs `webhook/dev/up`. None, with a line on standard error, if a tool is missing.
fn up(mode: &[&str], input: &str) -> Option<(bool, String)> {
    for (name, version) in TOOLS {
        tools::find(name, version)?;
    }
    // What cargo has built already.
    let target = Path::new(env!("CARGO_BIN_EXE_mackerel-agent-injector"))
        .parent()
        .unwrap();
    let mut command = Command::new("timeout");
    command
        .arg("120")
        .arg(root().join("webhook/dev/up"))
        .args(mode)
        .env("PROGRAM", target.join("mackerel-agent-injector"));
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = process.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    Some((
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    ))
}

#[test]
fn up_injects_its_fixtures_and_shows_the_warning_about_one() {
    let Some((succeeded, said)) = up(&["--once"], "") else {
        return;
    };
    assert!(succeeded, "{said}");
    for part in [
        "import: mackerel-container-agent import",
        "web:  web mackerel-container-agent",
        "Warning: misplaced-annotation",
    ] {
        assert!(said.contains(part), "{part}, in:\n{said}");
    }
}

/// Starts `webhook/dev/up` in a tree whose `cargo` makes a program that says its number and then is the one that is built already.
#[test]
fn up_builds_and_restarts_when_a_source_changes() {
    if !TOOLS
        .iter()
        .all(|(name, version)| tools::find(name, version).is_some())
    {
        return;
    }
    let tree = Folder::with(&[
        ("src/main.rs", ""),
        ("crates/none", ""),
        ("Cargo.toml", ""),
        ("Cargo.lock", ""),
    ]);
    for shared in ["tests", "webhook"] {
        std::os::unix::fs::symlink(root().join(shared), tree.path(shared)).unwrap();
    }
    let cargo = "#!/bin/sh\necho >>builds\nmkdir -p target/debug\nprogram=target/debug/mackerel-agent-injector\n\
                 printf '#!/bin/sh\\necho this is build %s\\nexec %s \"$@\"\\n' $(wc -l <builds) \"$BUILT\" >$program\n\
                 chmod +x $program\n";
    tree.write("bin/cargo", cargo);
    fs::set_permissions(tree.path("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        tree.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let mut command = Command::new("timeout");
    command
        .arg("120")
        .arg(tree.path("webhook/dev/up"))
        .env("PATH", path)
        .env_remove("CARGO_TARGET_DIR");
    command
        .env("BUILT", env!("CARGO_BIN_EXE_mackerel-agent-injector"))
        .stdin(Stdio::null());
    let output = fs::File::create(tree.path("output")).unwrap();
    let mut process = command
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .spawn()
        .unwrap();
    let said = || fs::read_to_string(tree.path("output")).unwrap();
    let mut shows = |what: &str, meanwhile: &dyn Fn()| {
        while !said().contains(what) {
            assert!(
                process.try_wait().unwrap().is_none(),
                "no {what} in:\n{}",
                said()
            );
            meanwhile();
            thread::sleep(Duration::from_millis(200));
        }
    };
    let injected = "web:  web mackerel-container-agent";
    shows(injected, &|| {});
    assert!(
        said().contains("this is build 1\n") && !said().contains("this is build 2\n"),
        "{}",
        said()
    );
    // It looks at the sources from here on, at some time.
    shows("something changed: building", &|| {
        tree.write("src/main.rs", &format!("{:?}", Instant::now()))
    });
    shows("this is build 2\n", &|| {});
    shows("the server is ready again", &|| {});
    let again = |text: &str| {
        text.rsplit_once("the server is ready again")
            .unwrap()
            .1
            .contains(injected)
    };
    while !again(&said()) {
        assert!(process.try_wait().unwrap().is_none(), "{}", said());
        thread::sleep(Duration::from_millis(200));
    }
    assert!(
        Command::new("kill")
            .arg(process.id().to_string())
            .status()
            .unwrap()
            .success()
    );
    process.wait().unwrap();
}

#[test]
fn up_stops_the_server_at_a_breakpoint() {
    if !tools::on_path(&["gdb", "rust-gdb"]) {
        return;
    }
    let file = "crates/admission/src/response.rs";
    let source = fs::read_to_string(root().join(file)).unwrap();
    let line = source
        .lines()
        .position(|line| line.contains("fn answer("))
        .unwrap()
        + 1;
    let Some((_, said)) = up(
        &["--debug", &format!("{file}:{line}")],
        "backtrace 1\nkill\nquit\n",
    ) else {
        return;
    };
    let stop = said
        .lines()
        .find(|line| line.contains("Breakpoint 1, ") || line.contains(" hit Breakpoint 1"));
    assert!(stop.is_some_and(|line| line.contains("answer")), "{said}");
}
