//! `tests/writers.txt`: each reason as the five writers show it: messages on stderr, `explain` as text and JSON, SARIF, GitHub's workflow
//! commands, and the results of a function call. `UPDATE_EXPECTED=1 cargo test writers` writes it anew.

use crate::program::{Folder, Ran};
use injector::{Direction, inject};
use laws::cases::{self, Case};
use report::Reason;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use support::{expected, root};

const EXPECTED: &str = "tests/writers.txt";

#[test]
fn every_writer_shows_every_reason() {
    let mut examples: BTreeMap<Reason, Case> = BTreeMap::new();
    for case in cases::all() {
        for reason in reasons(&case) {
            let shortest = examples
                .get(&reason)
                .map_or(usize::MAX, |case| case.text.len());
            if case.text.len() < shortest {
                examples.insert(reason, case.clone());
            }
        }
    }
    let mut seen = String::new();
    for (reason, case) in &examples {
        shown(case, *reason, &mut seen);
    }
    expected::assert_is(&root().join(EXPECTED), &seen, "cargo test writers");
}

fn reasons(case: &Case) -> BTreeSet<Reason> {
    let injection = inject(&case.text, &case.config, case.options);
    let rows = injection.rows("", "");
    rows.map(|reported| reported.finding.reason).collect()
}

/// Adds what each writer shows of the reason in the case.
fn shown(case: &Case, reason: Reason, seen: &mut String) {
    let run = CaseProgram::of(case);
    let id = reason.id();
    writeln!(seen, "== {id}: {}", case.name).unwrap();
    let command = match case.options.direction {
        Direction::Inject => "inject",
        _ => "uninject",
    };
    let messages = run.program(&[command, "-v", "--diff", &case.file]).stderr;
    section(seen, "messages", &blocks(&messages, id));
    let sarif = run.program(&[command, "--check", "-o", "sarif", &case.file]);
    section(seen, "sarif", &sarif_results(&sarif.stdout, reason));
    let github = run.program(&[command, "--check", "-o", "github", &case.file]);
    section(seen, "github", &lines_with(&github.stdout, &titles(reason)));
    if case.options.direction == Direction::Inject {
        let text = run.program(&["explain", &case.file]).stdout;
        section(seen, "explain", &blocks(&text, id));
        let json = run.program(&["explain", "-o", "json", &case.file]).stdout;
        section(seen, "json", &json_findings(&json, id));
    }
    let Some(list) = resource_list(&case.text) else {
        return;
    };
    let answer = run.program_with(&[command, "-"], &list).stdout;
    section(seen, "results", &results(&answer, id));
}

fn section(seen: &mut String, writer: &str, text: &str) {
    writeln!(seen, "-- {writer}\n{}", text.trim_end()).unwrap();
}

/// The program with the configuration and the flags of a case.
struct CaseProgram {
    folder: Folder,
    flags: Vec<String>,
}

impl CaseProgram {
    fn of(case: &Case) -> Self {
        let mut files = vec![(&*case.file, &*case.text)];
        let mut flags: Vec<String> = case.command.split_whitespace().map(Into::into).collect();
        flags.retain(|flag| flag != "uninject");
        if let Some(configuration) = &case.configuration {
            files.push(("config.yaml", configuration));
            flags.extend(["--config".to_owned(), "config.yaml".to_owned()]);
        }
        let folder = Folder::with(&files);
        Self { folder, flags }
    }

    fn program(&self, args: &[&str]) -> Ran {
        self.program_with(args, "")
    }

    fn program_with(&self, args: &[&str], stdin: &str) -> Ran {
        let is_known = |flag: &&String| args[0] != "explain" || *flag != "--force";
        let flags = self.flags.iter().filter(is_known).map(String::as_str);
        let args: Vec<&str> = args.iter().copied().chain(flags).collect();
        self.folder.run_with(&args, stdin)
    }
}

/// The lines with `[id]` and those that are indented below them.
fn blocks(text: &str, id: &str) -> String {
    let mut blocks = String::new();
    let mut indent = None;
    for line in text.lines() {
        let column = line.len() - line.trim_start().len();
        if line.contains(&format!("[{id}]")) || line.contains(&format!(" {id}  ")) {
            indent = Some(column);
        } else if indent.is_some_and(|indent| column <= indent && !line.contains(" | ")) {
            indent = None;
        }
        if indent.is_some() {
            writeln!(blocks, "{line}").unwrap();
        }
    }
    blocks
}

fn lines_with(text: &str, parts: &[String]) -> String {
    let is_one = |line: &&str| parts.iter().any(|part| line.contains(&**part));
    text.lines()
        .filter(is_one)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The ids of a reason in tools of code review, which name a change by the state that it ends.
fn review_id(reason: Reason) -> &'static str {
    match reason {
        Reason::Injected => "agent-missing",
        Reason::Updated => "agent-outdated",
        Reason::Adopted => "agent-not-adopted",
        Reason::Removed => "agent-not-wanted",
        other => other.id(),
    }
}

fn titles(reason: Reason) -> [String; 1] {
    [format!("title={}::", review_id(reason))]
}

fn sarif_results(text: &str, reason: Reason) -> String {
    let log: Value = serde_json::from_str(text).unwrap_or_default();
    let run = &log["runs"][0];
    let id = review_id(reason);
    let rules = selected(&run["tool"]["driver"]["rules"], |rule| rule["id"] == id);
    rules + &selected(&run["results"], |result| result["ruleId"] == id)
}

fn selected(list: &Value, is_one: impl Fn(&Value) -> bool) -> String {
    let items = list.as_array().into_iter().flatten();
    items
        .filter(|item| is_one(item))
        .map(|item| format!("{item}\n"))
        .collect()
}

/// Decisions, each with its cause, and other findings with the id.
fn json_findings(text: &str, id: &str) -> String {
    let explanation: Value = serde_json::from_str(text).unwrap_or_default();
    let mut found = String::new();
    for template in explanation["templates"].as_array().into_iter().flatten() {
        if template["decision"]["id"] == id {
            writeln!(
                found,
                "{}\nbecause {}",
                template["decision"], template["because"]
            )
            .unwrap();
        }
        found += &selected(&template["findings"], |finding| finding["id"] == id);
    }
    found + &selected(&explanation["findings"], |finding| finding["id"] == id)
}

/// A function call with the documents of a text as items; none for documents that are no YAML of their own.
fn resource_list(text: &str) -> Option<String> {
    use serde::Deserialize as _;
    let documents = serde_yaml::Deserializer::from_str(text).map(Value::deserialize);
    let items: Vec<Value> = documents.collect::<Result<_, _>>().ok()?;
    let is_resource = |item: &Value| item["kind"].is_string() && item["items"].is_null();
    items.iter().all(is_resource).then(|| {
        json!({"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items})
            .to_string()
    })
}

fn results(answer: &str, id: &str) -> String {
    let list: Value = serde_json::from_str(answer).unwrap_or_default();
    selected(&list["results"], |result| result["tags"]["reason"] == id)
}
