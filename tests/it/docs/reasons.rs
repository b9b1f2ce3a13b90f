//! `reasons.md` of both books: every decision and warning, with its cause and what to do.
//!
//! `docs/reasons.yaml` has the sentences in both languages, and where the program says the id: about a case of `tests/cases`,
//! or about a folder of the repository if the reason is not about a manifest.

use crate::program::Folder;
use report::{Class, Reason};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use support::root;
use yaml_json_patch::ErrorKind;

struct ReasonPageWords {
    file: &'static str,
    language: &'static str,
    title: &'static str,
    introduction: &'static str,
    classes: [(ReasonGroup, &'static str, &'static str); 4],
    cause: &'static str,
    remedy: &'static str,
    /// The heads of the table of what a user sees.
    seen: [&'static str; 2],
    /// The line above the table of `uneditable`, and two heads of the table.
    uneditable: [&'static str; 3],
    /// Turns a sentence of a table, which begins with a small letter, into one of its own.
    begin: fn(&str) -> String,
    full_stop: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum ReasonGroup {
    Done,
    Skipped,
    Refused,
    Said,
}

impl ReasonGroup {
    fn of(reason: Reason) -> Self {
        match reason.class() {
            Class::Done => ReasonGroup::Done,
            Class::Skipped => ReasonGroup::Skipped,
            Class::Refused => ReasonGroup::Refused,
            Class::Warning | Class::Note => ReasonGroup::Said,
        }
    }
}

const ENGLISH: ReasonPageWords = ReasonPageWords {
    file: "docs/en/reasons.md",
    language: "en",
    title: "Decisions and warnings",
    introduction: "Every pod template gets one decision and any number of warnings, with stable ids. `--output github` and SARIF name a change \
                   by the state before it: `agent-missing` for `injected`, `agent-outdated` for `updated`, `agent-not-adopted` for `adopted`, \
                   `agent-not-wanted` for `removed`. By default, only errors, warnings and unexpected changes are shown, and at most three of an \
                   id. `-v` shows every decision, and each warning at its place.",
    classes: [
        (
            ReasonGroup::Done,
            "Done",
            "The agent matches the configuration.",
        ),
        (
            ReasonGroup::Skipped,
            "Skipped",
            "The resource is unchanged. This is not an error: the exit code is 0.",
        ),
        (
            ReasonGroup::Refused,
            "Errors",
            "The template is selected, but the agent cannot be injected. Nothing is written, and the exit code is 2. With \
             `onError: skip` it is a warning instead, and the other templates are processed. `--check` then exits with 1 if an agent is \
             missing.",
        ),
        (
            ReasonGroup::Said,
            "Warnings and info messages",
            "Reported in addition to a decision; they do not stop the run. With `--strict`, nothing is written beside a warning, and the exit code is 1; info messages do not count.",
        ),
    ],
    seen: ["what you see", "ids"],
    cause: "Why",
    remedy: "What to do",
    uneditable: [
        "The first word of the message is one of these:",
        "reason",
        "what to do",
    ],
    begin: capital,
    full_stop: ".",
};

const JAPANESE: ReasonPageWords = ReasonPageWords {
    file: "docs/ja/reasons.md",
    language: "ja",
    title: "判定と警告",
    introduction: "どの Pod テンプレートにも、必ず 1 つの判定が付き、必要に応じて警告が添えられます。ID は今後も変わりません。\n\n\
                   - `--output github` と SARIF は、変更を変更前の状態で表します（`injected` は `agent-missing`、`updated` は `agent-outdated`、`adopted` は `agent-not-adopted`、`removed` は `agent-not-wanted`）。\n\
                   - 通常は、エラー、警告、予期しない変更だけを表示します。同じ ID の警告と情報は、3 件まで表示して、残りは件数だけを示します。\
                   `-v` を付けると、すべての判定と、すべての警告をその場所ごとに表示します。",
    classes: [
        (
            ReasonGroup::Done,
            "完了",
            "エージェントは、あるべき状態になっています。",
        ),
        (
            ReasonGroup::Skipped,
            "対象外",
            "リソースは元のまま出力されます。問題があるわけではなく、終了コードは 0 です。",
        ),
        (
            ReasonGroup::Refused,
            "エラー",
            "対象なのにエージェントを注入できないものです。何も書き出さず、終了コードは 2 になります。`onError: skip` を指定すると、警告にとどめて残りを続けます。エージェントのないままなら、`--check` の終了コードは 1 です。",
        ),
        (
            ReasonGroup::Said,
            "警告と情報",
            "判定に添えられるもので、処理は止まりません。`--strict` を付けると、警告があれば何も書き出さず、終了コードは 1 になります（情報は数えません）。",
        ),
    ],
    seen: ["症状", "参照する ID"],
    cause: "原因",
    remedy: "対処",
    uneditable: ["メッセージの最初の語は、次のいずれかです。", "理由", "対処"],
    // kubelet and mirror pod are written small there too.
    begin: str::to_owned,
    // The sentences are a table's, which has none.
    full_stop: "",
};

/// The entries of `docs/reasons.yaml`, in the order of the code.
pub(crate) fn sentences() -> Vec<Value> {
    let text = fs::read_to_string(root().join("docs/reasons.yaml")).unwrap();
    let sentences: Vec<Value> = serde_yaml::from_str(&text).unwrap();
    let ids: Vec<&str> = sentences
        .iter()
        .map(|sentence| sentence["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        Reason::ALL
            .iter()
            .map(|reason| reason.id())
            .collect::<Vec<_>>(),
        "docs/reasons.yaml"
    );
    sentences
}

/// Fails if the program does not say the id where `docs/reasons.yaml` has it.
#[track_caller]
fn expect_said(reason: Reason, sentence: &Value) {
    let id = reason.id();
    let (name, said) = match (sentence["case"].as_str(), sentence["run"].as_str()) {
        (Some(case), None) => {
            let name = format!("tests/cases/{case}");
            let folder = root().join(&name);
            let file = if folder.join("input.yaml").is_file() {
                "input.yaml"
            } else {
                "input.json"
            };
            let command = fs::read_to_string(folder.join("command")).unwrap_or_default();
            let command = if command.starts_with("uninject") {
                command
            } else {
                format!("inject {command}")
            };
            let configuration = fs::read_to_string(folder.join("config.yaml")).ok();
            // Over files it is wrong usage.
            let generates = configuration
                .as_ref()
                .is_some_and(|text| text.contains("generate: true"));
            let (stdin, file) = if generates {
                (folder.join(file), "-")
            } else {
                ("/dev/null".into(), file)
            };
            let config = if configuration.is_some() {
                "--config config.yaml"
            } else {
                ""
            };
            let said = says_of(&stdin, &folder, &format!("{command} -v {config} {file}"));
            (name, said)
        }
        (None, Some(run)) => {
            let files = sentence["files"].as_object();
            let stdin = match sentence["stdin"].as_str() {
                Some(file) => root().join(file),
                None => "/dev/null".into(),
            };
            let said = match files {
                Some(files) => {
                    let texts: Vec<(&str, &str)> = files
                        .iter()
                        .map(|(name, text)| (name.as_str(), text.as_str().unwrap()))
                        .collect();
                    says_of(&stdin, Folder::with(&texts).root(), run)
                }
                None => says_of(&stdin, &root().join("examples"), run),
            };
            (format!("mackerel-agent-injector {run}"), said)
        }
        (None, None) => {
            // No known bug says it, and messages do not name the id of what is about no manifest.
            let may_lack = [Reason::VerifyFailed, Reason::Error].contains(&reason);
            assert!(may_lack, "{id}: name a case or a command that says it");
            return;
        }
        (Some(_), Some(_)) => panic!("{id}: a case or a command"),
    };
    assert!(
        said.contains(&format!("[{id}]")),
        "{id}: not said by {name}, but:\n{said}"
    );
}

/// Runs the program. Returns its standard error.
fn says_of(stdin: &Path, folder: &Path, arguments: &str) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_mackerel-agent-injector"));
    for variable in ["CONFIG", "LOG_FILE"] {
        program.env_remove(format!("MACKEREL_AGENT_INJECTOR_{variable}"));
    }
    program
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stdin(fs::File::open(stdin).unwrap());
    let output = program.output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

/// Capitalizes the first letter, in scripts that have capitals.
fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}

fn page(words: &ReasonPageWords) -> String {
    let sentences = sentences();
    let mut page = format!(
        "# {}\n\n{}\n\n{}",
        words.title,
        seen(words),
        words.introduction
    );
    page.push('\n');
    for (group, heading, introduction) in words.classes {
        write!(page, "\n## {heading}\n\n{introduction}\n").unwrap();
        for (reason, sentence) in Reason::ALL
            .iter()
            .zip(&sentences)
            .filter(|(reason, _)| ReasonGroup::of(**reason) == group)
        {
            let said = |what: &str| {
                let said = sentence[what][words.language].as_str();
                said.unwrap_or_else(|| {
                    panic!("{}: {what} is not said in {}", reason.id(), words.language)
                })
            };
            let short = match words.language {
                "en" => reason.sentence(),
                language => sentence[language].as_str().unwrap(),
            };
            let short = (words.begin)(short);
            write!(
                page,
                "\n### `{}`\n\n{short}{}\n",
                reason.id(),
                words.full_stop
            )
            .unwrap();
            write!(page, "\n**{}**: {}\n", words.cause, said("cause")).unwrap();
            write!(page, "\n**{}**: {}\n", words.remedy, said("remedy")).unwrap();
            if *reason == Reason::Uneditable {
                page.push_str(&uneditable(words));
            }
            // A check names a change by the state before it.
            let before = &sentence["before"];
            if let Some(id) = before["id"].as_str() {
                let said = |what: &str| before[what][words.language].as_str().unwrap();
                let (cause, remedy) = (said("cause"), said("remedy"));
                write!(page, "\n### `{id}`\n\n").unwrap();
                writeln!(page, "**{}**: {cause}\n", words.cause).unwrap();
                writeln!(page, "**{}**: {remedy}", words.remedy).unwrap();
            }
        }
    }
    page
}

/// Tables what a user sees, with links to the reasons that may explain it; from `docs/seen.yaml`.
fn seen(words: &ReasonPageWords) -> String {
    let text = fs::read_to_string(root().join("docs/seen.yaml")).unwrap();
    let rows: Vec<Value> = serde_yaml::from_str(&text).unwrap();
    let [what, ids] = words.seen;
    let mut table = format!("| {what} | {ids} |\n| --- | --- |\n");
    for row in rows {
        let link = |id: &Value| {
            let id = id.as_str().unwrap();
            let is_known = Reason::ALL.iter().any(|reason| reason.id() == id);
            assert!(is_known, "docs/seen.yaml: {id} is no id: remove it");
            format!("[`{id}`](#{id})")
        };
        let links: Vec<String> = row["ids"].as_array().unwrap().iter().map(link).collect();
        let said = row[words.language].as_str().unwrap();
        writeln!(table, "| {said} | {} |", links.join(" ")).unwrap();
    }
    table.trim_end().to_owned()
}

/// Tables the reasons of `uneditable`; `docs/uneditable.yaml` has the Japanese sentences.
fn uneditable(words: &ReasonPageWords) -> String {
    let text = fs::read_to_string(root().join("docs/uneditable.yaml")).unwrap();
    let japanese: Vec<Value> = serde_yaml::from_str(&text).unwrap();
    let kinds: Vec<_> = ErrorKind::ALL
        .iter()
        .filter(|kind| !kind.is_fault_of_patch())
        .collect();
    let known: Vec<_> = japanese
        .iter()
        .map(|entry| entry["word"].as_str().unwrap())
        .collect();
    assert_eq!(
        known,
        kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>(),
        "docs/uneditable.yaml"
    );
    let [introduction, reason, remedy] = words.uneditable;
    let mut table = format!("\n{introduction}\n\n| {reason} | | {remedy} |\n| --- | --- | --- |\n");
    for (kind, entry) in kinds.iter().zip(&japanese) {
        let (sentence, help) = match words.language {
            "ja" => (
                entry["ja"].as_str().unwrap(),
                entry["remedy"].as_str().unwrap(),
            ),
            _ => (kind.sentence(), kind.help()),
        };
        writeln!(table, "| `{}` | {sentence} | {help} |", kind.word()).unwrap();
    }
    table
}

#[test]
fn the_program_says_each_id() {
    for (reason, sentence) in Reason::ALL.iter().zip(&sentences()) {
        expect_said(*reason, sentence);
    }
}

#[test]
fn the_english_page_has_every_id() {
    super::expect(ENGLISH.file, &page(&ENGLISH));
}

#[test]
fn the_japanese_page_has_every_id() {
    super::expect(JAPANESE.file, &page(&JAPANESE));
}
