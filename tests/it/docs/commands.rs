//! The commands that the documents show are run, in a copy of what they need, and print what is shown below them.
//!
//! A block of shell commands is one without a language, or with `sh`. All blocks of a page run in their order in one folder.
//! A comment on the first line of a block says what it needs that is not here, or which Helm it is for.

use super::page::{self, CodeBlock, Page};
use crate::program::Folder;
use crate::tools;
use config::{Sources, load};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use support::root;

/// The mark in the first line of a block.
enum Mark {
    /// The block cannot be run here, in either language.
    Needs,
    /// The version of `helm` that the block is for.
    Helm(&'static str),
}

impl Mark {
    fn of(block: &CodeBlock) -> Option<Self> {
        let first = block.text.lines().next().unwrap_or_default();
        let is_comment = first.starts_with("# ");
        match first {
            _ if first.starts_with("# needs ") || is_comment && first.ends_with("が必要") => {
                Some(Self::Needs)
            }
            _ if first.starts_with("# Helm 3") => Some(Self::Helm("3.")),
            _ if first.starts_with("# Helm 4") => Some(Self::Helm("4.")),
            _ => None,
        }
    }
}

fn is_shell(block: &CodeBlock) -> bool {
    ["", "sh"].contains(&&*block.language)
}

/// Commands without comments, with continued lines joined, and with single blanks.
fn commands(block: &CodeBlock) -> Vec<String> {
    let joined = block.text.replace("\\\n", " ");
    let code = joined.lines().map(|line| {
        match line
            .find("# ")
            .filter(|at| *at == 0 || line[..*at].ends_with(' '))
        {
            Some(comment) => &line[..comment],
            None => line,
        }
    });
    let words = code.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    words.filter(|line| !line.is_empty()).collect()
}

/// All commands that a page shows.
pub(crate) fn of_page(path: &str) -> Vec<String> {
    Page::read(path)
        .blocks()
        .iter()
        .filter(|block| is_shell(block))
        .flat_map(commands)
        .collect()
}

#[test]
fn both_languages_show_the_same() {
    let developers = ["CONTRIBUTING.md", "RELEASE.md", "docs/README.md"];
    let pairs = page::all().into_iter().filter_map(|page| {
        let path = page.path;
        let japanese = match path.strip_suffix("README.md") {
            Some(folder) if !developers.contains(&&*path) => format!("{folder}README.ja.md"),
            _ => path.replace("docs/en/", "docs/ja/"),
        };
        (japanese != path).then_some((path, japanese))
    });
    let pairs: Vec<(String, String)> = pairs.collect();
    assert!(pairs.len() > 40, "{pairs:?}");
    for (english, japanese) in pairs {
        let shown = |path: &str| -> Vec<(String, Vec<String>)> {
            Page::read(path)
                .blocks()
                .iter()
                .map(|block| (block.language.clone(), commands(block)))
                .collect()
        };
        assert_eq!(
            shown(&english),
            shown(&japanese),
            "{japanese} shows the commands and files of {english}"
        );
    }
}

#[test]
fn the_configurations_shown_are_valid() {
    let mut shown = 0;
    for page in page::all() {
        for block in page
            .blocks()
            .iter()
            .filter(|block| block.language == "yaml")
        {
            for document in block
                .text
                .split("---\n")
                .filter(|document| document.lines().any(|line| line == "kind: AgentInjector"))
            {
                let read = load(&Sources::of_text("agent-injector.yaml", document));
                assert!(read.is_ok(), "{}:{}: {read:?}", page.path, block.line);
                shown += 1;
            }
        }
    }
    assert!(shown > 4);
}

/// Runs the commands of all pages but those of the migration and the examples, which have tests of their own, and those for
/// maintainers, which need the sources.
#[test]
fn the_commands_shown_do_what_is_shown() {
    let others = [
        "docs/en/adopt.md",
        "docs/en/migration.md",
        "docs/ja/adopt.md",
        "docs/ja/migration.md",
        "CONTRIBUTING.md",
        "RELEASE.md",
        "docs/README.md",
    ];
    let is_other = |path: &str| {
        others.contains(&path)
            || path.starts_with("examples/") && path != "examples/migration/README.md"
    };
    let blocks: usize = page::all()
        .iter()
        .filter(|page| !is_other(&page.path))
        .map(run)
        .sum();
    assert!(blocks > 20, "{blocks}");
}

/// Runs the blocks of a page. Returns their number.
fn run(page: &Page) -> usize {
    let folder = Folder::with(&[]);
    for copied in ["examples", "helm-plugin"] {
        crate::real_tools::copy(&root().join(copied), &folder.path(copied));
    }
    let mut ran = 0;
    let mut printed: Option<String> = None;
    for block in page.blocks() {
        if is_shell(&block) {
            printed = shell(page, &block, &folder);
            ran += usize::from(printed.is_some());
        } else if let Some(printed) = printed
            .take()
            .filter(|_| block.follows && block.language != "yaml")
        {
            let place = format!("{}:{}", page.path, block.line);
            if block.text != printed
                && !block.text.contains('…')
                && std::env::var_os("UPDATE_EXPECTED").is_some()
            {
                page.replace(&block.text, &printed);
                continue;
            }
            assert!(
                is_like(&printed, &block.text),
                "{place}: it prints\n{printed}\nand shows\n{}",
                block.text
            );
        }
    }
    ran
}

/// Runs a block. Returns what it prints; none if it cannot be run here.
fn shell(page: &Page, block: &CodeBlock, folder: &Folder) -> Option<String> {
    let place = format!("{}:{}", page.path, block.line);
    let helm = match Mark::of(block) {
        Some(Mark::Needs) => return None,
        Some(Mark::Helm(version)) => version,
        None => "",
    };
    let bin = folder.path(".bin");
    let _ = fs::remove_dir_all(&bin);
    fs::create_dir_all(&bin).unwrap();
    symlink(
        env!("CARGO_BIN_EXE_mackerel-agent-injector"),
        bin.join("mackerel-agent-injector"),
    )
    .unwrap();
    let commands = commands(block);
    let words: Vec<&str> = commands
        .iter()
        .flat_map(|command| command.split(' '))
        .collect();
    if words.contains(&"jq") && !tools::on_path(&["jq"]) {
        return None;
    }
    for (tool, version) in [
        ("kustomize", "5.8."),
        ("kpt", ""),
        ("kubectl", ""),
        ("helm", helm),
    ] {
        if words.contains(&tool) {
            assert!(
                tool != "helm" || !version.is_empty(),
                "{place}: say which Helm on the first line"
            );
            symlink(tools::find(tool, version)?, bin.join(tool)).unwrap();
        }
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path))).unwrap();
    // In the order in which a terminal shows it.
    let script = format!("exec 2>&1\nset -e\n{}", block.text);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &script])
        .current_dir(folder.root())
        .env("PATH", path);
    shell
        .env("HOME", folder.root())
        .env_remove("XDG_CONFIG_HOME")
        .env("HELM_DATA_HOME", folder.path(&format!(".helm-{helm}")));
    for variable in ["CONFIG", "LOG_FILE"] {
        shell.env_remove(format!("MACKEREL_AGENT_INJECTOR_{variable}"));
    }
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{place}: {}\n{printed}",
        output.status
    );
    Some(printed)
}

/// Compares output with the page, where a line `…` stands for any number of lines.
fn is_like(printed: &str, shown: &str) -> bool {
    let mut rest: Vec<&str> = printed.lines().collect();
    let parts: Vec<Vec<&str>> = shown
        .lines()
        .collect::<Vec<_>>()
        .split(|line| *line == "…")
        .map(<[&str]>::to_vec)
        .collect();
    for (number, part) in parts.iter().enumerate() {
        let at = match number {
            0 => rest.starts_with(part).then_some(0),
            _ if number == parts.len() - 1 => rest.ends_with(part).then(|| rest.len() - part.len()),
            _ => (0..rest.len()).find(|from| rest[*from..].starts_with(part)),
        };
        let Some(at) = at else { return false };
        rest = rest.split_off(at + part.len());
    }
    rest.is_empty()
}

#[test]
fn what_is_left_out_of_the_output_shown() {
    for (shown, like) in [
        ("a\nb\nc\n", true),
        ("a\n…\nc\n", true),
        ("…\nb\n…\n", true),
        ("a\n…\n", true),
        ("a\nc\n", false),
        ("a\n…\nb\n", false),
    ] {
        assert_eq!(is_like("a\nb\nc\n", shown), like, "{shown:?}");
    }
}
