//! `examples/`: the commands of each README are run, and give the diff beside it.
//!
//! `UPDATE_EXAMPLES=1 cargo test --test it examples` writes the diffs anew.

mod gitops;
mod policy;
mod terraform;

use crate::docs::page::Page;
use crate::kubernetes::cluster::cluster;
use crate::packages::image;
use crate::real_tools::{Said, User};
use crate::tools;
use serde_json::json;
use serde_yaml::Value;
use similar::TextDiff;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use support::corpus::Files;
use support::root;

/// A diff of an example, and its source in the commands of the README.
#[derive(Debug)]
pub(crate) struct Example {
    /// The diff's file below `examples/`. The README in that folder links it in the paragraph before the commands.
    pub(crate) diff: &'static str,
    /// Programs that the commands call besides the injector.
    programs: &'static [Program],
    shows: Shows,
    /// The configuration that knows the kinds, if the default one does not.
    pub(crate) configuration: Option<&'static str>,
}

/// A program that the commands call.
#[derive(Debug, Clone, Copy)]
enum Program {
    /// The name of a tool that `tests/tools/install` installs, and the beginning of its version.
    Pinned(&'static str, &'static str),
    /// `docker`, with the injector's image.
    Docker,
}

/// The source of the diff.
#[derive(Debug, Clone, Copy)]
enum Shows {
    /// The commands print it. Its paths begin in this folder.
    Printed(&'static str),
    /// The output of the commands: with `cat` in the injector's place, and with the injector.
    Rendered,
    /// The files that the commands write into this folder: with `cat`, and with the injector.
    Left(&'static str),
}

/// The program that the commands find under the injector's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Us {
    /// The injector.
    There,
    /// `cat`.
    Away,
}

const KUSTOMIZE: Program = Program::Pinned("kustomize", "5.8.");

pub(crate) const EXAMPLES: [Example; 19] = [
    of("files/expected.diff", &[], Shows::Printed("")),
    of("kustomize/expected.diff", &[KUSTOMIZE], Shows::Rendered),
    of(
        "kustomize-container/expected.diff",
        &[KUSTOMIZE, Program::Docker],
        Shows::Rendered,
    ),
    of(
        "kubectl-kustomize/expected.diff",
        &[Program::Pinned("kubectl", "")],
        Shows::Rendered,
    ),
    of(
        "kpt/expected.diff",
        &[Program::Pinned("kpt", "")],
        Shows::Left("my-package"),
    ),
    of(
        "helm/expected.helm3.diff",
        &[Program::Pinned("helm", "3.")],
        Shows::Rendered,
    ),
    of(
        "helm/expected.helm4.diff",
        &[Program::Pinned("helm", "4.")],
        Shows::Rendered,
    ),
    of("argocd/expected.diff", &[KUSTOMIZE], Shows::Rendered),
    of("flux/expected.diff", &[KUSTOMIZE], Shows::Left("rendered")),
    of(
        "pre-commit/expected.diff",
        &[],
        Shows::Printed("examples/pre-commit"),
    ),
    of("github-actions/expected.diff", &[], Shows::Printed("")),
    of("jobs/expected.diff", &[], Shows::Printed("")),
    of("organizations/expected.one.diff", &[], Shows::Printed("")),
    of("organizations/expected.two.diff", &[], Shows::Printed("")),
    of("plugin/expected.diff", &[KUSTOMIZE], Shows::Rendered),
    of("eks-fargate/expected.diff", &[], Shows::Printed("")),
    of("gke-autopilot/expected.diff", &[], Shows::Printed("")),
    of("openshift/expected.diff", &[], Shows::Printed("")),
    Example {
        configuration: Some("custom-resource/agent-injector.yaml"),
        ..of("custom-resource/expected.diff", &[], Shows::Printed(""))
    },
];

const fn of(diff: &'static str, programs: &'static [Program], shows: Shows) -> Example {
    Example {
        diff,
        programs,
        shows,
        configuration: None,
    }
}

/// Folders without commands that are run here, or with a test of their own.
const OTHER_FOLDERS: [&str; 7] = [
    "cluster",
    "gitlab-ci",
    "migration",
    "policy",
    "terraform",
    "webhook-helm",
    "webhook-kustomize",
];

/// A manifest of an example: its name, and its text without and with the injector.
pub(crate) type Shown = (String, String, String);

impl Example {
    fn folder(&self) -> &'static str {
        self.diff.split_once('/').unwrap().0
    }

    /// The commands above which the README links the diff.
    fn commands(&self) -> String {
        let link = format!("]({})", self.diff.split_once('/').unwrap().1);
        let mut linked = Commands::of(self.folder())
            .into_iter()
            .filter(|block| block.introduction.contains(&link));
        let commands = linked
            .next()
            .unwrap_or_else(|| panic!("no commands for {}", self.diff))
            .typed;
        assert!(linked.next().is_none(), "two blocks for {}", self.diff);
        commands
    }

    /// A user who has the programs. None, with a line on standard error, if one is missing.
    fn user(&self) -> Option<User> {
        let user = match self
            .programs
            .iter()
            .any(|program| matches!(program, Program::Docker))
        {
            true => image::user_of_image()?,
            false => User::new(),
        };
        for program in self.programs {
            if let Program::Pinned(name, version) = program {
                user.has(name, &tools::find(name, version)?);
            }
        }
        Some(user)
    }

    /// Runs the commands. Returns what they print, and the folder in which they ran.
    fn typed(&self, us: Us) -> Option<(String, User)> {
        let user = self.user()?;
        let user = if us == Us::Away {
            user.without_us()
        } else {
            user
        };
        let said = types(&user, &self.commands());
        assert_eq!(said.code, 0, "{}: {}", self.diff, said.stderr);
        Some((said.stdout, user))
    }

    /// The diff that comes of the commands today.
    fn made(&self) -> Option<String> {
        if let Shows::Printed(_) = self.shows {
            return Some(self.typed(Us::There)?.0);
        }
        let shown = self.shown()?;
        let changed = shown.iter().filter(|(_, before, after)| before != after);
        let diff = changed.map(|(name, before, after)| {
            let diff = TextDiff::from_lines(before, after);
            diff.unified_diff()
                .header(&format!("a/{name}"), &format!("b/{name}"))
                .to_string()
        });
        Some(diff.collect())
    }

    /// The manifests themselves. None, with a line on standard error, if a program is missing.
    pub(crate) fn shown(&self) -> Option<Vec<Shown>> {
        match self.shows {
            Shows::Printed(folder) => Some(self.patched(folder)),
            Shows::Rendered => {
                let (before, after) = (self.typed(Us::Away)?.0, self.typed(Us::There)?.0);
                Some(vec![("rendered.yaml".to_owned(), before, after)])
            }
            Shows::Left(folder) => {
                let [before, after] =
                    [self.typed(Us::Away)?.1, self.typed(Us::There)?.1].map(|user| {
                        let files = Files::below(&user.path(folder))
                            .filter(|(name, _)| name.ends_with(".yaml"));
                        files
                            .map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap()))
                            .collect::<BTreeMap<_, _>>()
                    });
                assert!(before.keys().eq(after.keys()), "{}", self.diff);
                let shown = before.into_iter().zip(after.into_values());
                Some(
                    shown
                        .map(|((name, before), after)| (format!("{folder}/{name}"), before, after))
                        .collect(),
                )
            }
        }
    }

    /// The files that the printed diff names, and what git makes of them with it.
    fn patched(&self, folder: &str) -> Vec<Shown> {
        let user = User::new();
        let root = user.path(folder);
        let diff = user.path("examples").join(self.diff);
        let names = fs::read_to_string(&diff).unwrap();
        let names: Vec<String> = names
            .lines()
            .filter_map(|line| line.strip_prefix("+++ b/"))
            .map(str::to_owned)
            .collect();
        let read = |name: &String| fs::read_to_string(root.join(name)).unwrap();
        let before: Vec<String> = names.iter().map(read).collect();
        let [root_name, diff_name] = [&root, &diff].map(|path| path.to_str().unwrap());
        user.runs(Path::new("git"), &["-C", root_name, "apply", diff_name]);
        let after: Vec<String> = names.iter().map(read).collect();
        names
            .into_iter()
            .zip(before)
            .zip(after)
            .map(|((name, before), after)| (name, before, after))
            .collect()
    }
}

/// A block of commands in a README, and the paragraph before it.
struct Commands {
    introduction: String,
    typed: String,
}

impl Commands {
    /// The blocks of a folder's README, in their order.
    fn of(folder: &str) -> Vec<Self> {
        let page = Page::read(&format!("examples/{folder}/README.md"));
        let prose = page.prose();
        let blocks = page
            .blocks()
            .into_iter()
            .filter(|block| block.language.is_empty());
        let introduced = blocks.map(|block| {
            // The fence, and blank lines.
            let before = prose
                .iter()
                .rev()
                .skip_while(|(number, _)| *number >= block.line)
                .map(|(_, line)| *line);
            let mut paragraph: Vec<&str> = before
                .skip_while(|line| line.is_empty())
                .take_while(|line| !line.is_empty())
                .collect();
            paragraph.reverse();
            Self {
                introduction: paragraph.join("\n"),
                typed: block.text,
            }
        });
        introduced.collect()
    }
}

/// Types commands into a shell in the user's folder, which stands for a clone of this repository.
fn types(user: &User, commands: &str) -> Said {
    user.tries(
        Path::new("bash"),
        &["--noprofile", "--norc", "-euo", "pipefail", "-c", commands],
    )
}

fn examples() -> PathBuf {
    root().join("examples")
}

fn read(file: &str) -> String {
    fs::read_to_string(examples().join(file)).unwrap()
}

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn each_example_gives_its_diff() {
    let mut wrong = Vec::new();
    for example in &EXAMPLES {
        let Some(made) = example.made() else { continue };
        assert!(
            made.contains("+") && made.contains("mackerel-container-agent"),
            "{}: {made}",
            example.diff
        );
        let file = examples().join(example.diff);
        if fs::read_to_string(&file).is_ok_and(|expected| expected == made) {
            continue;
        }
        if std::env::var_os("UPDATE_EXAMPLES").is_some() {
            fs::write(&file, made).unwrap();
        } else {
            wrong.push(format!("{} should be\n{made}", example.diff));
        }
    }
    assert!(
        wrong.is_empty(),
        "UPDATE_EXAMPLES=1 writes them anew\n{}",
        wrong.join("\n")
    );
}

/// Every folder, diff and block of commands has a test, unless the first line of the block names a need of its own.
#[test]
fn nothing_shown_goes_without_a_test() {
    let of_the_table: BTreeSet<String> = EXAMPLES
        .iter()
        .map(|example| example.diff.to_owned())
        .collect();
    let mut folders: BTreeSet<&str> = EXAMPLES.iter().map(Example::folder).collect();
    folders.extend(OTHER_FOLDERS);
    let mut there = names_in(&examples());
    assert!(there.remove("README.md") && there.remove("README.ja.md"));
    assert!(folders.iter().copied().eq(there.iter().map(String::as_str)));
    for list in ["README.md", "README.ja.md"] {
        let text = read(list);
        for folder in &folders {
            assert!(
                text.contains(&format!("]({folder}/{list})")),
                "examples/{list}: {folder}"
            );
        }
    }

    let mut linked = BTreeSet::new();
    for folder in folders {
        let readme = examples().join(folder).join("README.md");
        let lines = fs::read_to_string(&readme).unwrap().lines().count();
        assert!(
            lines <= 40,
            "{folder}/README.md has {lines} lines: more than a screen"
        );
        if ["migration", "policy", "webhook-helm", "webhook-kustomize"].contains(&folder) {
            continue;
        }
        let diffs = names_in(&examples().join(folder))
            .into_iter()
            .filter(|name| name.ends_with(".diff"));
        let diffs: Vec<String> = diffs.map(|name| format!("{folder}/{name}")).collect();
        for block in Commands::of(folder) {
            let of = |diff: &&String| {
                block
                    .introduction
                    .contains(&format!("]({})", diff.rsplit('/').next().unwrap()))
            };
            let diff = diffs.iter().find(of);
            assert!(
                diff.is_some() || block.typed.starts_with("# needs "),
                "{folder}: {}",
                block.typed
            );
            linked.extend(diff.cloned());
        }
        assert!(
            diffs.iter().all(|diff| linked.contains(diff)),
            "{folder}: {diffs:?}"
        );
    }
    assert_eq!(linked, of_the_table);
}

// What the cluster gets besides

/// `rbac` in the place of `inject --diff`.
#[test]
fn rbac_prints_what_fargate_asks_for() {
    let example = EXAMPLES
        .iter()
        .find(|example| example.folder() == "eks-fargate")
        .unwrap();
    let said = types(
        &User::new(),
        &example.commands().replace("inject --diff", "rbac"),
    );
    assert_eq!(said.code, 0, "{}", said.stderr);
    if std::env::var_os("UPDATE_EXAMPLES").is_some() {
        fs::write(examples().join("eks-fargate/rbac.yaml"), &said.stdout).unwrap();
    }
    assert_eq!(
        said.stdout,
        read("eks-fargate/rbac.yaml"),
        "UPDATE_EXAMPLES=1 writes it anew"
    );
}

#[test]
fn kubernetes_takes_what_is_to_be_applied() {
    let Some(cluster) = cluster() else { return };
    cluster.namespace("shop", &json!({}));
    for file in [
        "cluster/secret.yaml",
        "cluster/rbac.yaml",
        "eks-fargate/rbac.yaml",
    ] {
        let (taken, _, said) = cluster.kubectl(
            &["apply", "--dry-run=server", "--filename", "-"],
            &read(file),
        );
        assert!(taken && !said.contains("Warning"), "{file}: {said}");
    }
}

/// The agent and the injector's annotations are still there once the API server has read the resource by its schema.
#[test]
fn kubernetes_keeps_the_agent_of_a_custom_resource() {
    let Some(cluster) = cluster() else { return };
    cluster.namespace("shop", &json!({}));
    let kubectl = |arguments: &[&str], input: &str| {
        let (succeeded, out, said) = cluster.kubectl(arguments, input);
        assert!(succeeded, "{arguments:?}: {said}");
        out
    };
    kubectl(
        &["apply", "--filename", "-"],
        &read("custom-resource/crd.yaml"),
    );
    kubectl(
        &[
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd/workers.shop.example",
        ],
        "",
    );
    let example = EXAMPLES
        .iter()
        .find(|example| example.folder() == "custom-resource")
        .unwrap();
    for (_, before, after) in example.shown().unwrap() {
        let [before, after] = [before, after].map(|text| {
            // The server knows the kind some moments after it is established.
            kubectl(
                &[
                    "apply",
                    "--dry-run=server",
                    "--output",
                    "yaml",
                    "--filename",
                    "-",
                ],
                &text,
            )
        });
        assert_eq!(
            after
                .matches("image: mackerel/mackerel-container-agent:")
                .count(),
            3,
            "{after}"
        );
        assert_eq!(after.matches(".io/record: v1{").count(), 3, "{after}");
        assert!(!before.contains("mackerel-container-agent"), "{before}");
    }
}
