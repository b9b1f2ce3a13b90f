//! `tests/settings.txt`: each setting as the container shows it, as adopting and a hand edit treat it, and the message of each value
//! that it does not take. `UPDATE_EXPECTED=1 cargo test --test it settings` writes it anew.

use config::annotations::overlay;
use config::{API_VERSION, Config, KIND, Sources, load};
use configurations::json_schema::schema;
use configurations::{DOORS, from_arguments};
use injector::{ForeignAgents, inject};
use laws::INJECT;
use mackerel::annotations::Annotation;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use support::root;
use yaml_json_patch::edit;

const WORKLOAD: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector: {matchLabels: {app: web}}
  template:
    spec:
      imagePullSecrets:
      - name: own
      containers:
      - name: web
        image: web
      volumes:
      - name: sockets
        emptyDir: {}
";

/// Values as `--set` and annotations have them.
const TEXTS: [&str; 5] = ["", "null", "yes", "99999", "A b"];

/// Values as a document has them.
const NODES: [&str; 7] = ["~", "1.5", ".nan", "A b", "{a: b}", "{a: null}", "[a, [b]]"];

fn text_of(config: &Config) -> String {
    edit::apply(WORKLOAD, &inject(WORKLOAD, config, INJECT).edits)
}

/// The lines of a text that another lacks.
fn new_lines<'t>(text: &'t str, before: &str) -> Vec<&'t str> {
    let known: BTreeSet<&str> = before.lines().collect();
    text.lines().filter(|line| !known.contains(line)).collect()
}

fn is_record(line: &&str) -> bool {
    line.contains(Annotation::Record.key())
}

/// The text with the record of another.
fn with_record_of(text: &str, other: &str) -> String {
    let record = other.lines().find(is_record).unwrap();
    let lines = text
        .lines()
        .map(|line| if is_record(&line) { record } else { line });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The text without the injector's annotations, so that the agent is a foreign one.
fn foreign(text: &str) -> String {
    let is_ours = |line: &&str| line.contains("agent-injector.contrib.mackerel.io");
    let lines = text
        .lines()
        .filter(|line| !is_ours(line) && line.trim() != "annotations:");
    lines.map(|line| format!("{line}\n")).collect()
}

/// Writes the decision and warnings about a text, and its lines that are new.
fn write_run(out: &mut String, title: &str, text: &str, adopts: ForeignAgents) {
    let mut options = INJECT;
    options.foreign_agents = adopts;
    let injection = inject(text, &Config::default(), options);
    let outcome = &injection.outcomes[0];
    for finding in std::iter::once(&outcome.decision).chain(&outcome.warnings) {
        let _ = writeln!(
            out,
            "  {title}: {} {}",
            finding.reason.id(),
            finding.message
        );
        if let Some(help) = &finding.help {
            let _ = writeln!(out, "    help: {help}");
        }
    }
    let after = edit::apply(text, &injection.edits);
    for line in new_lines(&after, text)
        .into_iter()
        .filter(|line| !is_record(line))
    {
        let _ = writeln!(out, "    {}", line.trim());
    }
}

/// The effect of each value of [`DOORS`] on the injected text, on an agent to adopt, and on one that was edited by hand.
fn effects() -> String {
    let mut out = String::new();
    let plain = text_of(&Config::default());
    for (path, value, ..) in DOORS {
        let config = from_arguments(&[&format!("{path}={value}")]).unwrap();
        let changed = text_of(&config);
        if changed == plain || !changed.lines().any(|line| is_record(&line)) {
            continue;
        }
        let _ = writeln!(out, "{path}={value}");
        for (sign, lines) in [
            ("-", new_lines(&plain, &changed)),
            ("+", new_lines(&changed, &plain)),
        ] {
            for line in lines.into_iter().filter(|line| !is_record(line)) {
                let _ = writeln!(out, "  {sign} {}", line.trim());
            }
        }
        write_run(
            &mut out,
            "adopted",
            &foreign(&changed),
            ForeignAgents::Adopt,
        );
        let edited = with_record_of(&changed, &plain);
        write_run(&mut out, "edited", &edited, ForeignAgents::Respect);
        out.push('\n');
    }
    out
}

/// The paths of the settings and groups of a schema, in its order.
fn paths(schema: &Value, inside: &str, found: &mut Vec<String>) {
    for (name, setting) in schema["properties"].as_object().unwrap() {
        let path = format!("{inside}{name}");
        let below = format!("{path}.");
        found.push(path);
        if setting.get("default").is_none() {
            paths(setting, &below, found);
        }
    }
}

/// `a.b` and `1` -> `{a: {b: 1}}`
fn nested(path: &str, value: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    let opened: String = parts.iter().map(|part| format!("{{{part}: ")).collect();
    format!("{opened}{value}{}", "}".repeat(parts.len()))
}

fn in_document(path: &str, value: &str) -> Result<Config, Vec<String>> {
    let spec = nested(path, value);
    let text = format!("{{apiVersion: {API_VERSION}, kind: {KIND}, spec: {spec}}}");
    load(&Sources::of_text("c", &text)).map_err(|wrong| {
        let message = |one: &report::Diagnostic<'_>| {
            format!(
                "{}{}",
                one.message,
                one.help
                    .as_deref()
                    .map_or(String::new(), |help| format!(" ({help})"))
            )
        };
        wrong.iter().map(message).collect()
    })
}

/// The message of each value that a setting does not take, and the value of each that it takes.
fn values() -> String {
    let mut found = Vec::new();
    paths(&schema()["properties"]["spec"], "", &mut found);
    let mut out = String::new();
    for path in &found {
        let _ = writeln!(out, "{path}");
        let shown = |config: &Config| config.value(path).unwrap_or_default().to_string();
        for text in TEXTS {
            let argument = format!("{path}={text}");
            match from_arguments(&[&argument]) {
                Ok(config) => writeln!(out, "  --set {text:?} -> {}", shown(&config)),
                Err(wrong) => writeln!(
                    out,
                    "  --set {text:?}: {}",
                    wrong.join("\n    ").replace("--set #1: error: ", "")
                ),
            }
            .unwrap();
        }
        for node in NODES {
            match in_document(path, node) {
                Ok(config) => writeln!(out, "  {node} -> {}", shown(&config)),
                Err(wrong) => writeln!(out, "  {node}: {}", wrong.join("\n    ")),
            }
            .unwrap();
        }
        let given = Annotation::ALL.iter().filter(|given| {
            config::Setting::path_of(**given).is_some_and(|setting| {
                setting == path
                    || setting.starts_with(&format!("{path}."))
                        && path.starts_with("agent.resources")
            })
        });
        for annotation in given {
            for text in TEXTS {
                match overlay(&Config::default(), &[(annotation.key(), text, 0)]) {
                    Ok(config) => writeln!(
                        out,
                        "  {} {text:?} -> {}",
                        annotation.name(),
                        shown(&config)
                    ),
                    Err(wrong) => writeln!(
                        out,
                        "  {} {text:?}: {}",
                        annotation.name(),
                        wrong.first.message.replace(annotation.key(), "…")
                    ),
                }
                .unwrap();
            }
        }
        out.push('\n');
    }
    out
}

#[test]
fn each_setting_shows_and_refuses_as_before() {
    let actual = format!("{}{}", effects(), values());
    let path = root().join("tests/settings.txt");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(&path, &actual).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let differing = expected
        .lines()
        .zip(actual.lines())
        .find(|(old, new)| old != new);
    assert!(
        expected == actual,
        "tests/settings.txt differs: {differing:#?}"
    );
}

/// The code's text without comments, and without the tests at the end of a file.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A setting is named by its path: a misspelt one would be no setting.
#[test]
fn each_path_that_is_written_as_text_is_one_of_a_setting() {
    let mut known = Vec::new();
    paths(&schema()["properties"]["spec"], "", &mut known);
    let groups = "select|kubelet|apiKey|agent|warnings|annotations|waitFor";
    let pattern = format!(r#"["`]((?:{groups})(?:\.[a-zA-Z]+)+)[\["`=]"#);
    let path = regex_lite::Regex::new(&pattern).unwrap();
    let mut wrong = Vec::new();
    let root = root();
    for file in crate::architecture::crates()
        .iter()
        .flat_map(|folder| crate::architecture::files(&root.join(folder)))
    {
        if file.extension().is_none_or(|extension| extension != "rs")
            || file.starts_with(root.join("crates/yaml-json-patch"))
        {
            continue;
        }
        let text = code(&fs::read_to_string(&file).unwrap());
        for found in path.captures_iter(&text) {
            let path = &found[1];
            let is_known = known.iter().any(|known| {
                let is_of_kubernetes =
                    ["agent.resources", "agent.securityContext"].contains(&&**known);
                path == known || is_of_kubernetes && path.starts_with(&**known)
            });
            if !is_known {
                wrong.push(format!("{}: {path}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
