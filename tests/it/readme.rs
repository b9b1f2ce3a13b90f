//! What the READMEs say is what the program does.
//!
//! The tables of the English one are made from the lists in the code; `SNAPSHOTS=overwrite cargo test readme` writes them,
//! and the diff that opens both. The Japanese one has sentences of its own, for the same ids in the same order.

use crate::program::Folder;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use mackerel_agent_injector::annotations::Annotation;
use mackerel_agent_injector::config::{self, Config};
use mackerel_agent_injector::report::{Class, Reason};
use mackerel_agent_injector::splice::Refusal;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

#[test]
fn the_japanese_tables_have_the_same_ids() {
    let text = read("README.ja.md");
    let japanese = |head: &str, column: usize| ids(between(&text, head, "\n\n"), column);
    assert_eq!(japanese("| アノテーション | |\n| --- | --- |\n", 1), ids(&annotations(), 1));
    assert_eq!(japanese("| | ID | |\n| --- | --- | --- |\n", 2), ids(&decisions(), 2));
    assert_eq!(japanese("| 理由 | | 対処 |\n| --- | --- | --- |\n", 1), ids(&refusals(), 1));
}

#[test]
fn the_configurations_shown_are_valid() {
    for readme in READMES {
        let text = read(readme);
        let mut shown = 0;
        for block in text.split("```yaml\n").skip(1) {
            let block = between(block, "", "```");
            for document in block.split("---\n").filter(|document| document.contains(config::KIND)) {
                assert_eq!(complaints(document), "", "{readme}:\n{document}");
                shown += 1;
            }
        }
        assert_eq!(shown, 3, "{readme}");
    }
    assert_eq!(complaints(&read("krm-fn/agent-injector.yaml")), "");
}

/// What is to be copied is what the agent asks for by default, in the types of the API server.
#[test]
fn the_objects_for_the_cluster_are_those_that_the_agent_needs() {
    let secret: Secret = serde_yaml::from_str(&read("examples/cluster/secret.yaml")).unwrap();
    let wanted = Config::default().spec.api_key;
    assert_eq!(secret.metadata.name.as_deref(), Some(&*wanted.secret_name));
    assert!(secret.string_data.unwrap().contains_key(&wanted.secret_key));
    let text = read("examples/cluster/rbac.yaml");
    let (role, binding) = text.split_once("---\n").unwrap();
    let role: ClusterRole = serde_yaml::from_str(role).unwrap();
    let binding: ClusterRoleBinding = serde_yaml::from_str(binding).unwrap();
    assert_eq!(role.rules.unwrap()[0].resources.as_deref().unwrap(), ["nodes/pods", "nodes/stats"]);
    assert_eq!((Some(binding.role_ref.name), binding.subjects.unwrap().len()), (role.metadata.name, 1));
}

/// Commands are shown with files that are there, and with flags that there are.
#[test]
fn the_commands_shown_are_there_to_be_run() {
    let mut seen = Vec::new();
    for readme in READMES {
        let text = read(readme);
        // Every second part is a block; a plain one begins with its line break.
        let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix('\n'));
        let commands: Vec<String> = blocks
            .flat_map(|block| block.replace("\\\n", "").lines().map(str::to_owned).collect::<Vec<_>>())
            .map(|line| line.split('#').next().unwrap().split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        for file in commands.iter().flat_map(|command| command.split(' ')).filter(|word| word.starts_with("examples/"))
        {
            assert!(root().join(file).exists(), "{readme}: {file}");
        }
        let of_ours = commands.iter().filter_map(|command| command.strip_prefix("mackerel-agent-injector "));
        let folder = Folder::with(&[]);
        copy(&root().join("examples/files"), &folder.path("examples/files"));
        for command in of_ours {
            let arguments: Vec<&str> = command.split(' ').collect();
            let ran = folder.run(&arguments);
            assert_eq!(ran.code, Some(0), "{readme}: {command}: {ran:?}");
        }
        for entry in fs::read_dir(root().join("examples/files")).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap().to_str().unwrap();
            assert_eq!(folder.read(&format!("examples/files/{name}")), fs::read_to_string(&entry).unwrap());
        }
        seen.push(commands);
    }
    assert!(seen[0].len() > 10);
    assert_eq!(seen[0], seen[1], "both READMEs show the same commands");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        fs::copy(&entry, to.join(entry.file_name().unwrap())).unwrap();
    }
}

#[test]
fn files_that_are_linked_exist() {
    let others = ["CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "krm-fn/README.md"];
    let migration = ["docs/migration.md", "docs/migration.ja.md", "examples/migration/README.md"];
    for file in READMES.into_iter().chain(others).chain(migration) {
        let text = read(file);
        for link in text.split("](").skip(1).map(|rest| between(rest, "", ")")) {
            if !link.starts_with("https://") && !link.starts_with('#') {
                let target = root().join(file).parent().unwrap().join(link);
                assert!(target.exists(), "{file} links to {link}");
            }
        }
    }
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

/// Those of a text; a patch of ours has no faults of its own.
fn refusals() -> String {
    Refusal::ALL.iter().filter(|refusal| !refusal.is_fault_of_patch()).fold(String::new(), |mut rows, refusal| {
        let _ = writeln!(rows, "| `{}` | {} | {} |", refusal.word(), refusal.sentence(), refusal.help());
        rows
    })
}

/// The cells of one column of a table's rows.
fn ids(rows: &str, column: usize) -> Vec<&str> {
    rows.lines().map(|row| row.split('|').nth(column).unwrap().trim()).collect()
}

fn complaints(configuration: &str) -> String {
    let found = config::validate("agent-injector.yaml", configuration);
    found.iter().map(|diagnostic| format!("{diagnostic:?}\n")).collect()
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
