//! `cli.md` of both books: every command with its options, as `-h` prints them.
//!
//! `docs/cli.yaml` has the Japanese sentences, each beside the English one.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use support::root;

struct CliPageWords {
    file: &'static str,
    title: &'static str,
    introduction: &'static str,
    everywhere: [&'static str; 2],
    /// The words before options that an earlier command has described.
    also: &'static str,
    examples: &'static str,
    full_stop: &'static str,
    /// The section about `--output json`.
    report: &'static str,
}

const ENGLISH: CliPageWords = CliPageWords {
    file: "docs/en/cli.md",
    title: "CLI reference",
    introduction: "Options have the same meaning in each command that takes them.\n\n\
                   `inject` and `uninject` print all manifests to stdout, changed or not. With `-i` they change the files instead, and with `--diff`, `--check` or `--output` neither.\n\n\
                   If there is an error, no file is changed and nothing is printed to stdout, except the report of `explain`, or of `--check` without `--diff`. \
                   A function call returns its ResourceList as it came, with the errors in `results`. \
                   With `--check`, each change is an error there. Commands that print no manifests refuse a function call.\n\n\
                   `--check` exits with `1` for a change, for an agent without its `record` ([`record-lost`](reasons.md#record-lost)) and, with `onError: skip`, for a template that is refused and has no agent, and for a document that cannot be read. Without `--check`, `inject --diff` exits with `0` even if there are changes, unlike `diff`. If `--check` finds no \
                   resources, it succeeds with the warning [`no-resources`](reasons.md#no-resources).\n\n\
                   The exit code is `1` if there is something to do, and `2` if it could not be done. `--strict` adds warnings to the first: nothing is written, and the exit \
                   code is `1`. The messages stay as they are; the last lines name the setting that accepts those warnings which may last ([`warnings.ignore`](configuration.md#warningsignore)).\n\n\
                   `--output json` prints a [report](#json-report) for programs.\n\n\
                   Messages are written to stderr, and what matters most comes last: information, warnings, errors, what must exist `before you deploy`, the counts, and `next:` with a \
                   command or a remedy. `explain` prints what it finds in manifests to stdout. Findings that are alike are one message with up to three places; errors have one \
                   place in each of up to ten files. `-v` names every place.\n\n\
                   In the counts, `left alone` are pod templates that were skipped, `refused` is what cannot be injected under `onError: skip`, and `other resources` have no pod template: Services, custom resources of an unknown kind \
                   ([`unknown-template`](reasons.md#unknown-template)), and resources whose `kind` or API group is mistyped \
                   (`kind: deployment`, `apiVersion: app/v1`), which the API server rejects. `inject -v` lists their kinds.\n\n\
                   Directories are searched recursively for `*.yaml`, `*.yml` and `*.json`. Hidden files, symbolic links and the \
                   `templates/` of Helm charts are skipped. So are files in `.gitignore` (inside a Git repository) or `.ignore` ([details](files.md#files-that-are-not-read)). \
                   `git apply` accepts a diff if the paths are relative and below the current directory.",
    everywhere: ["Global options", "All commands accept these options."],
    also: "As above:",
    examples: "Examples:",
    full_stop: ".",
    report: "## JSON report\n\n\
                  `explain -o json`, `inject --check -o json` and `uninject --check -o json` print one report for programs to stdout, with the exit code of the \
                  command. It has the errors about manifests; with an invalid configuration or option, stdout stays empty. The files whose workloads lack their agent:\n\n\
                  ```sh\n\
                  mackerel-agent-injector explain -o json examples/files |\n  \
                  jq -r '.templates[] | select(.decision.id == \"injected\") | .place.file'\n\
                  ```\n\n\
                  ```text\n\
                  examples/files/cronjob.yaml\n\
                  examples/files/deployment.yaml\n\
                  ```\n\n\
                  Every warning and information, with its file:\n\n\
                  ```sh\n\
                  mackerel-agent-injector explain -o json examples/jobs |\n  \
                  jq -r '(.templates[].findings[], .findings[]) | \"\\(.severity) \\(.id) \\(.place.file // .about)\"'\n\
                  ```\n\n\
                  ```text\n\
                  info immutable-template examples/jobs/manifests/import.yaml\n\
                  ```\n\n\
                  | field | |\n\
                  | --- | --- |\n\
                  | `summary` | numbers: `decisions` by id, `wouldChange`, `errors`, `warnings`, `withoutPodTemplate` |\n\
                  | `templates` | each pod template: `place`, `resource`, `template` (its path), `wouldChange`, `decision`, its rule (`because`) and `findings`; with `--resource`, `agent` and `waitFor` |\n\
                  | `findings`, `errors` | about no pod template; about paths or the run as a whole |\n\
                  | `needed` | Secrets and ConfigMaps that must exist before the pods start |\n\
                  | `permissions` | what the agents must be permitted to `get`, by ServiceAccount |\n\n\
                  A decision has an `id`, a `class` (`done`, `skipped` or `refused`), a `severity` and a `message`; a finding has no `class`. Both may have a \
                  `help`, a `place` and a `field`. The JSON Schema is `docs/report.schema.json`. Under one `apiVersion`, newer versions may add fields, \
                  ids and texts, and remove none.\n",
};

const JAPANESE: CliPageWords = CliPageWords {
    file: "docs/ja/cli.md",
    title: "CLI リファレンス",
    introduction: "同じ名前のオプションは、どのコマンドでも同じ意味です。\n\n\
                   `inject` と `uninject` は、変更の有無にかかわらず、すべてのマニフェストを標準出力に出します。`-i` を付けると、その代わりにファイルを変更します。`--diff`、`--check`、`--output` を付けると、どちらも行いません。\n\n\
                   エラーがあれば、ファイルの変更も標準出力への出力も行いません。ただし、`explain` の結果と、`--diff` を付けない `--check` の結果は出力します。\
                   KRM function として呼ばれたときは、受け取った ResourceList に `results` としてエラーを加えて返します。\
                   `--check` では、変更が必要なものもエラーになります。マニフェストを出力しないコマンドは、KRM function としては使えません。\n\n\
                   `--check` は、次のどれかがあれば `1` で終了します。\n\n\
                   - 変更が必要なもの\n\
                   - `record` のないエージェント（[`record-lost`](reasons.md#record-lost)）\n\
                   - `onError: skip` で、エラーのために注入できず、エージェントのないテンプレートか、読み取れないドキュメント\n\n\
                   `--check` を付けない `inject --diff` は、`diff` と違い、差分があっても `0` で終了します。`--check` の対象にリソースがなければ、\
                   警告 [`no-resources`](reasons.md#no-resources) を出して成功します。\n\n\
                   終了コードは、することが残っていれば `1`、できなければ `2` です。`--strict` を付けると、警告も前者に含めます。警告があれば何も書き出さず、`1` で終了します。\
                   メッセージは変わりません。そのまま残してよい警告を許容する設定（[`warnings.ignore`](configuration.md#warningsignore)）は、末尾の行に示します。\n\n\
                   `--output json` は、プログラム用の[レポート](#json-レポート)を出力します。\n\n\
                   メッセージは標準エラー出力に出ます。情報、警告、エラー、デプロイの前に用意するもの（`before you deploy`）、集計、次に行うこと（`next:`）の順で、重要なものほど下に出ます。\
                   `explain` がマニフェストについて調べた結果は、標準出力に出ます。\
                   同じ内容の指摘は 1 つにまとめ、場所を 3 つまで示します。エラーの場所は、1 ファイルにつき 1 つ、10 ファイルまでです。`-v` を付けると、場所をすべて示します。\n\n\
                   集計の `left alone` はスキップした Pod テンプレートの数、`refused` は `onError: skip` のときに注入できなかったものの数です。`other resources` は、Service のように Pod テンプレートを持たないリソース、\
                   未対応の kind のカスタムリソース（[`unknown-template`](reasons.md#unknown-template)）、\
                   `kind` や API グループを書き間違えたリソース（`kind: deployment`、`apiVersion: app/v1` など。API サーバーが拒否します）の数です。\
                   `inject -v` は、その kind の一覧を表示します。\n\n\
                   ディレクトリは再帰的に探索し、`*.yaml`、`*.yml`、`*.json` を読みます。隠しファイル、シンボリックリンク、Helm チャートの `templates/` はスキップします。\
                   `.gitignore`（Git リポジトリの中）や `.ignore` に挙げたファイルもスキップします（[詳細](files.md#読まないファイル)）。\
                   diff を `git apply` に渡せるのは、カレントディレクトリより下のファイルを相対パスで指定したときです。",
    everywhere: ["共通オプション", "どのコマンドでも使えます。"],
    also: "上と同じもの:",
    examples: "例:",
    full_stop: "。",
    report: "## JSON レポート\n\n\
                  `explain -o json`、`inject --check -o json`、`uninject --check -o json` は、プログラム用のレポートを 1 つ、標準出力に出します。終了コードは元のコマンドと同じです。\
                  マニフェストのエラーはレポートに入ります。設定やオプションが正しくなければ、標準出力は空です。エージェントのないワークロードがあるファイル:\n\n\
                  ```sh\n\
                  mackerel-agent-injector explain -o json examples/files |\n  \
                  jq -r '.templates[] | select(.decision.id == \"injected\") | .place.file'\n\
                  ```\n\n\
                  ```text\n\
                  examples/files/cronjob.yaml\n\
                  examples/files/deployment.yaml\n\
                  ```\n\n\
                  警告と情報、そのファイル:\n\n\
                  ```sh\n\
                  mackerel-agent-injector explain -o json examples/jobs |\n  \
                  jq -r '(.templates[].findings[], .findings[]) | \"\\(.severity) \\(.id) \\(.place.file // .about)\"'\n\
                  ```\n\n\
                  ```text\n\
                  info immutable-template examples/jobs/manifests/import.yaml\n\
                  ```\n\n\
                  | フィールド | |\n\
                  | --- | --- |\n\
                  | `summary` | 数。ID ごとの `decisions`、`wouldChange`、`errors`、`warnings`、`withoutPodTemplate` |\n\
                  | `templates` | Pod テンプレートごとの `place`、`resource`、`template`（パス）、`wouldChange`、`decision`、その根拠（`because`）、`findings`。`--resource` では `agent` と `waitFor` も |\n\
                  | `findings`、`errors` | Pod テンプレート以外について。パスや実行全体について |\n\
                  | `needed` | Pod の起動前に必要な Secret と ConfigMap |\n\
                  | `permissions` | エージェントが `get` できなければならないもの（ServiceAccount ごと） |\n\n\
                  判定には `id`、`class`（`done`、`skipped`、`refused`）、`severity`、`message` があります。指摘には `class` がありません。どちらにも \
                  `help`、`place`、`field` が付くことがあります。JSON Schema は `docs/report.schema.json` です。1 つの `apiVersion` の中では、新しいバージョンでフィールド、\
                  ID、文言が増えることはあっても、なくなることはありません。\n",
};

/// Commands that the help of the program hides.
const HIDDEN: [&str; 1] = ["wait-for"];

/// The help of one command.
struct Help {
    /// The words after the program's name; empty for the program itself.
    command: String,
    about: String,
    usage: String,
    /// Arguments and options, each with its sentence.
    options: Vec<(String, String)>,
    everywhere: Vec<(String, String)>,
    commands: Vec<(String, String)>,
    examples: String,
    remarks: Vec<String>,
}

impl Help {
    fn of(command: &str) -> Self {
        let program = Command::new(env!("CARGO_BIN_EXE_mackerel-agent-injector"))
            .args(command.split_whitespace())
            .arg("-h")
            .output()
            .unwrap();
        assert!(
            program.status.success(),
            "{command}: {}",
            String::from_utf8_lossy(&program.stderr)
        );
        let text = String::from_utf8(program.stdout).unwrap();
        let mut paragraphs = text.split("\n\n").map(str::trim_end);
        let mut help = Self {
            command: command.to_owned(),
            about: joined(paragraphs.next().unwrap()),
            usage: String::new(),
            options: Vec::new(),
            everywhere: Vec::new(),
            commands: Vec::new(),
            examples: String::new(),
            remarks: Vec::new(),
        };
        for paragraph in paragraphs {
            let (heading, below) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
            match heading {
                _ if heading.starts_with("Usage: ") => {
                    help.usage = dedented(&paragraph.replacen("Usage:", "      ", 1))
                }
                "Arguments:" | "Options:" => help.options.extend(items(below)),
                "Global options:" => help.everywhere = items(below),
                "Commands:" => help.commands = items(below),
                "Examples:" => help.examples = dedented(below),
                _ => help.remarks.push(joined(paragraph)),
            }
        }
        help.options.retain(|(name, _)| !name.starts_with("-h,"));
        help.commands.retain(|(name, _)| name != "help");
        help
    }

    /// Returns the sentences that need a Japanese one.
    fn sentences(&self) -> impl Iterator<Item = &str> {
        let options = self
            .options
            .iter()
            .chain(&self.everywhere)
            .map(|(_, sentence)| sentence.as_str());
        std::iter::once(self.about.as_str())
            .chain(options)
            .chain(self.remarks.iter().map(String::as_str))
    }
}

/// Splits a list of the help into names and sentences; a sentence may continue on the next line.
fn items(text: &str) -> Vec<(String, String)> {
    let mut items: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let content = line.trim_start();
        if line.len() - content.len() > 6 {
            let (_, sentence) = items.last_mut().unwrap();
            *sentence = format!("{sentence} {content}").trim_start().to_owned();
        } else {
            let (name, sentence) = content.split_once("  ").unwrap_or((content, ""));
            items.push((name.to_owned(), sentence.trim_start().to_owned()));
        }
    }
    items
}

fn joined(paragraph: &str) -> String {
    paragraph
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ")
}

fn dedented(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

/// Returns the help of the program and of its commands, in order.
fn all() -> Vec<Help> {
    fn add(command: &str, found: &mut Vec<Help>) {
        let help = Help::of(command);
        let below: Vec<String> = help
            .commands
            .iter()
            .map(|(name, _)| format!("{command} {name}"))
            .collect();
        found.push(help);
        for command in below {
            add(command.trim(), found);
        }
    }
    let mut found = Vec::new();
    add("", &mut found);
    for command in HIDDEN {
        add(command, &mut found);
    }
    assert!(found.len() > 12);
    found
}

fn page(words: &CliPageWords, commands: &[Help], said: impl Fn(&str) -> String) -> String {
    let mut page = format!("# {}\n\n{}\n", words.title, words.introduction);
    let mut described = BTreeSet::new();
    for help in commands {
        let name = if help.command.is_empty() {
            env!("CARGO_PKG_NAME")
        } else {
            &help.command
        };
        write!(
            page,
            "\n## `{name}`\n\n{}{}\n",
            said(&help.about),
            words.full_stop
        )
        .unwrap();
        for remark in &help.remarks {
            write!(page, "\n{}\n", said(remark)).unwrap();
        }
        write!(page, "\n```text\n{}\n```\n", help.usage).unwrap();
        let (known, new): (Vec<_>, Vec<_>) = help
            .options
            .iter()
            .cloned()
            .partition(|option| described.contains(option));
        page.push_str(&table(&new, &said));
        if !known.is_empty() {
            let names: Vec<String> = known.iter().map(|(name, _)| code(name)).collect();
            write!(page, "\n{} {}\n", words.also, names.join(" · ")).unwrap();
        }
        described.extend(new);
        if !help.examples.is_empty() {
            write!(
                page,
                "\n{}\n\n```text\n{}\n```\n",
                words.examples, help.examples
            )
            .unwrap();
        }
    }
    let [heading, sentence] = words.everywhere;
    write!(
        page,
        "\n## {heading}\n\n{sentence}\n{}",
        table(&commands[0].everywhere, &said)
    )
    .unwrap();
    write!(page, "\n{}", words.report).unwrap();
    page
}

/// The names of an option, such as `-i` and `--in-place`, each between backticks.
fn code(names: &str) -> String {
    format!("`{}`", names.replace(", ", "`, `"))
}

fn table(options: &[(String, String)], said: impl Fn(&str) -> String) -> String {
    let rows = options
        .iter()
        .map(|(name, sentence)| format!("| {} | {} |\n", code(name), said(sentence)));
    if options.is_empty() {
        String::new()
    } else {
        format!("\n| | |\n| --- | --- |\n{}", rows.collect::<String>())
    }
}

#[test]
fn the_english_page_is_the_help_of_the_program() {
    super::expect(ENGLISH.file, &page(&ENGLISH, &all(), str::to_owned));
}

#[test]
fn the_japanese_page_is_in_step() {
    let commands = all();
    let text = fs::read_to_string(root().join("docs/cli.yaml")).unwrap();
    let written: Vec<Value> = serde_yaml::from_str(&text).unwrap();
    let japanese: BTreeMap<&str, &str> = written
        .iter()
        .map(|entry| (entry["en"].as_str().unwrap(), entry["ja"].as_str().unwrap()))
        .collect();
    let said: BTreeSet<&str> = commands.iter().flat_map(Help::sentences).collect();
    let missing: Vec<_> = said
        .iter()
        .filter(|sentence| !japanese.contains_key(*sentence))
        .collect();
    let gone: Vec<_> = japanese
        .keys()
        .filter(|sentence| !said.contains(*sentence))
        .collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "docs/cli.yaml lacks {missing:#?} and has {gone:#?} in excess"
    );
    super::expect(
        JAPANESE.file,
        &page(&JAPANESE, &commands, |sentence| {
            japanese[sentence].to_owned()
        }),
    );
}
