//! The READMEs describe the program as it is.
//!
//! The tables of the English one are made from the lists in the code; `SNAPSHOTS=overwrite cargo test readme` writes them,
//! and the diff that opens both. The Japanese one has sentences of its own, for the same ids in the same order.

use crate::docs;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use mackerel_agent_injector::annotations::Annotation;
use mackerel_agent_injector::config::{Config, Sources, load};
use mackerel_agent_injector::report::{Class, Reason};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use yaml_json_patch::ErrorKind;

const READMES: [&str; 2] = ["README.md", "README.ja.md"];

#[test]
fn both_open_with_the_diff_that_the_command_above_it_prints() {
    for readme in READMES {
        let text = read(readme);
        let command = between(&text, "<!-- mackerel-agent-injector ", " -->");
        let output = Command::new(env!("CARGO_BIN_EXE_mackerel-agent-injector"))
            .args(command.split(' '))
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let diff = String::from_utf8(output.stdout).unwrap();
        expect(readme, "```diff\n", &diff, "```\n");
    }
}

#[test]
fn the_english_tables_are_those_of_the_code() {
    expect("README.md", "| annotation | |\n| --- | --- |\n", &annotations(), "\n");
    expect("README.md", "| | id | |\n| --- | --- | --- |\n", &decisions(), "\n");
    expect("README.md", "| reason | | what to do |\n| --- | --- | --- |\n", &refusals(), "\n");
}

/// The sources of the books hold the Japanese sentences.
#[test]
fn the_japanese_tables_are_those_of_the_books() {
    let sentences = docs::annotations::sentences();
    let rows = sentences.iter().fold(String::new(), |mut rows, said| {
        let _ = writeln!(rows, "| `{}` | {} |", said["name"].as_str().unwrap(), said["ja"].as_str().unwrap());
        rows
    });
    expect("README.ja.md", "| アノテーション | |\n| --- | --- |\n", &rows, "\n");
    let rows = Reason::ALL.iter().zip(docs::reasons::sentences()).fold(String::new(), |mut rows, (reason, said)| {
        let class = match reason.class() {
            Class::Done => "完了",
            Class::Skipped => "対象外",
            Class::Refused => "拒否",
            Class::Warning => "警告",
            Class::Note => "情報",
        };
        let _ = writeln!(rows, "| {class} | `{}` | {} |", reason.id(), said["ja"].as_str().unwrap());
        rows
    });
    expect("README.ja.md", "| | ID | |\n| --- | --- | --- |\n", &rows, "\n");
    let text = read("README.ja.md");
    let japanese = between(&text, "| 理由 | | 対処 |\n| --- | --- | --- |\n", "\n\n");
    assert_eq!(ids(japanese, 1), ids(&refusals(), 1));
}

#[test]
fn the_configuration_of_the_function_is_valid() {
    let text = read("krm-fn/agent-injector.yaml");
    let read = load(&Sources::of_text("agent-injector.yaml", &text));
    assert!(read.is_ok(), "{read:?}");
}

/// The objects that users copy are those that the agent needs by default, in the types of the API server.
#[test]
fn the_objects_for_the_cluster_are_those_that_the_agent_needs() {
    let secret: Secret = serde_yaml::from_str(&read("examples/cluster/secret.yaml")).unwrap();
    let wanted = Config::default().value("apiKey").unwrap();
    assert_eq!(secret.metadata.name.as_deref(), wanted["secretKeyRef"]["name"].as_str());
    assert!(secret.string_data.unwrap().contains_key(wanted["secretKeyRef"]["key"].as_str().unwrap()));
    let text = read("examples/cluster/rbac.yaml");
    let (role, binding) = text.split_once("---\n").unwrap();
    let role: ClusterRole = serde_yaml::from_str(role).unwrap();
    let binding: ClusterRoleBinding = serde_yaml::from_str(binding).unwrap();
    assert_eq!(role.rules.unwrap()[0].resources.as_deref().unwrap(), ["nodes/pods", "nodes/stats"]);
    assert_eq!((Some(binding.role_ref.name), binding.subjects.unwrap().len()), (role.metadata.name, 1));
}

fn annotations() -> String {
    Annotation::ALL.iter().fold(String::new(), |mut rows, annotation| {
        let _ = writeln!(rows, "| `{}` | {} |", annotation.name(), annotation.sentence());
        rows
    })
}

fn decisions() -> String {
    Reason::ALL.iter().fold(String::new(), |mut rows, reason| {
        let class = match reason.class() {
            Class::Done => "done",
            Class::Skipped => "skipped",
            Class::Refused => "refused",
            Class::Warning => "warning",
            Class::Note => "note",
        };
        let _ = writeln!(rows, "| {class} | `{}` | {} |", reason.id(), reason.sentence());
        rows
    })
}

/// The refusals that a text can cause. The injector's patches have no faults of their own.
fn refusals() -> String {
    ErrorKind::ALL.iter().filter(|refusal| !refusal.is_fault_of_patch()).fold(String::new(), |mut rows, refusal| {
        let _ = writeln!(rows, "| `{}` | {} | {} |", refusal.word(), refusal.sentence(), refusal.help());
        rows
    })
}

/// The cells of one column of a table's rows.
fn ids(rows: &str, column: usize) -> Vec<&str> {
    rows.lines().map(|row| row.split('|').nth(column).unwrap().trim()).collect()
}

/// Between `before` and `after`, the file holds `expected`; with SNAPSHOTS=overwrite it does afterwards.
#[track_caller]
fn expect(file: &str, before: &str, expected: &str, after: &str) {
    let text = read(file);
    let actual = between(&text, before, &format!("\n{after}"));
    if actual == expected.trim_end() {
        return;
    }
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
        let from = text.find(before).unwrap() + before.len();
        let whole = format!("{}{}{}", &text[..from], expected.trim_end(), &text[from + actual.len()..]);
        fs::write(root().join(file), whole).unwrap();
    } else {
        panic!("{file} does not show what is there now; SNAPSHOTS=overwrite cargo test readme\n{expected}");
    }
}

#[track_caller]
fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before:?}"));
    rest.split_once(after).unwrap_or_else(|| panic!("no {after:?} after {before:?}")).0
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}
