//! `examples/`: what each README tells to type is typed, and gives the diff that stands beside it.
//!
//! `UPDATE_EXAMPLES=1 cargo test --test it examples` writes the diffs anew.

use crate::corpus::Files;
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

/// A diff of an example, and how the commands of its README come by it.
#[derive(Debug)]
pub(crate) struct Example {
    /// Its file below `examples/`. The README in that folder links it in the paragraph before the commands.
    pub(crate) diff: &'static str,
    /// What must be there besides us.
    programs: &'static [Program],
    shows: Shows,
    /// The configuration that knows the kinds, where ours by default does not.
    pub(crate) configuration: Option<&'static str>,
}

/// A program that the commands call.
#[derive(Debug, Clone, Copy)]
enum Program {
    /// Its name, and what its version begins with.
    Pinned(&'static str, &'static str),
    /// `docker`, with our image.
    Docker,
}

/// What the diff is of.
#[derive(Debug, Clone, Copy)]
enum Shows {
    /// It is what the commands print. Its paths begin in this folder.
    Printed(&'static str),
    /// What they print with `cat` in our place becomes what they print with us.
    Rendered,
    /// The files that they leave in this folder, likewise.
    Left(&'static str),
}

/// Whether the commands find us, or `cat` under our name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Us {
    There,
    Away,
}

const KUSTOMIZE: Program = Program::Pinned("kustomize", "5.8.");

pub(crate) const EXAMPLES: [Example; 16] = [
    of("files/expected.diff", &[], Shows::Printed("")),
    of("kustomize/expected.diff", &[KUSTOMIZE], Shows::Rendered),
    of("kustomize-container/expected.diff", &[KUSTOMIZE, Program::Docker], Shows::Rendered),
    of("kubectl-kustomize/expected.diff", &[Program::Pinned("kubectl", "")], Shows::Rendered),
    of("kpt/expected.diff", &[Program::Pinned("kpt", "")], Shows::Left("my-package")),
    of("helm/expected.helm3.diff", &[Program::Pinned("helm", "3.")], Shows::Rendered),
    of("helm/expected.helm4.diff", &[Program::Pinned("helm", "4.")], Shows::Rendered),
    of("argocd/expected.diff", &[KUSTOMIZE], Shows::Rendered),
    of("flux/expected.diff", &[KUSTOMIZE], Shows::Left("rendered")),
    of("pre-commit/expected.diff", &[], Shows::Printed("examples/pre-commit")),
    of("github-actions/expected.diff", &[], Shows::Printed("")),
    of("jobs/expected.diff", &[], Shows::Printed("")),
    of("eks-fargate/expected.diff", &[], Shows::Printed("")),
    of("gke-autopilot/expected.diff", &[], Shows::Printed("")),
    of("openshift/expected.diff", &[], Shows::Printed("")),
    Example {
        configuration: Some("custom-resource/agent-injector.yaml"),
        ..of("custom-resource/expected.diff", &[], Shows::Printed(""))
    },
];

const fn of(diff: &'static str, programs: &'static [Program], shows: Shows) -> Example {
    Example { diff, programs, shows, configuration: None }
}

/// Folders without commands of ours to run, or with a test of their own.
const OTHER_FOLDERS: [&str; 2] = ["cluster", "migration"];

/// What an example shows: a manifest's name, and its text without us and with us.
pub(crate) type Shown = (String, String, String);

impl Example {
    fn folder(&self) -> &'static str {
        self.diff.split_once('/').unwrap().0
    }

    /// The commands above which the README links the diff.
    fn commands(&self) -> String {
        let link = format!("]({})", self.diff.split_once('/').unwrap().1);
        let mut linked = Commands::of(self.folder()).into_iter().filter(|block| block.introduction.contains(&link));
        let commands = linked.next().unwrap_or_else(|| panic!("no commands for {}", self.diff)).typed;
        assert!(linked.next().is_none(), "two blocks for {}", self.diff);
        commands
    }

    /// A user who has the programs. None, and said so, where one is missing.
    fn user(&self) -> Option<User> {
        let user = match self.programs.iter().any(|program| matches!(program, Program::Docker)) {
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

    /// What the commands print, and the folder in which they were typed.
    fn typed(&self, us: Us) -> Option<(String, User)> {
        let user = self.user()?;
        let user = if us == Us::Away { user.without_us() } else { user };
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
            diff.unified_diff().header(&format!("a/{name}"), &format!("b/{name}")).to_string()
        });
        Some(diff.collect())
    }

    /// The manifests themselves. None, and said so, where a program is missing.
    pub(crate) fn shown(&self) -> Option<Vec<Shown>> {
        match self.shows {
            Shows::Printed(folder) => Some(self.patched(folder)),
            Shows::Rendered => {
                let (before, after) = (self.typed(Us::Away)?.0, self.typed(Us::There)?.0);
                Some(vec![("rendered.yaml".to_owned(), before, after)])
            }
            Shows::Left(folder) => {
                let [before, after] = [self.typed(Us::Away)?.1, self.typed(Us::There)?.1].map(|user| {
                    let files = Files::below(&user.path(folder)).filter(|(name, _)| name.ends_with(".yaml"));
                    files.map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap())).collect::<BTreeMap<_, _>>()
                });
                assert!(before.keys().eq(after.keys()), "{}", self.diff);
                let shown = before.into_iter().zip(after.into_values());
                Some(shown.map(|((name, before), after)| (format!("{folder}/{name}"), before, after)).collect())
            }
        }
    }

    /// The files that the printed diff names, and what git makes of them with it.
    fn patched(&self, folder: &str) -> Vec<Shown> {
        let user = User::new();
        let root = user.path(folder);
        let diff = user.path("examples").join(self.diff);
        let names = fs::read_to_string(&diff).unwrap();
        let names: Vec<String> =
            names.lines().filter_map(|line| line.strip_prefix("+++ b/")).map(str::to_owned).collect();
        let read = |name: &String| fs::read_to_string(root.join(name)).unwrap();
        let before: Vec<String> = names.iter().map(read).collect();
        let [root_name, diff_name] = [&root, &diff].map(|path| path.to_str().unwrap());
        user.runs(Path::new("git"), &["-C", root_name, "apply", diff_name]);
        let after: Vec<String> = names.iter().map(read).collect();
        names.into_iter().zip(before).zip(after).map(|((name, before), after)| (name, before, after)).collect()
    }
}

/// Commands in a README, and the paragraph before them.
struct Commands {
    introduction: String,
    typed: String,
}

impl Commands {
    /// Those of a folder's README, in their order.
    fn of(folder: &str) -> Vec<Self> {
        let page = Page::read(&format!("examples/{folder}/README.md"));
        let prose = page.prose();
        let blocks = page.blocks().into_iter().filter(|block| block.language.is_empty());
        let introduced = blocks.map(|block| {
            // The fence, and blank lines.
            let before = prose.iter().rev().skip_while(|(number, _)| *number >= block.line).map(|(_, line)| *line);
            let mut paragraph: Vec<&str> =
                before.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).collect();
            paragraph.reverse();
            Self { introduction: paragraph.join("\n"), typed: block.text }
        });
        introduced.collect()
    }
}

/// Types commands into a shell in the user's folder, which stands for a clone of this repository.
fn types(user: &User, commands: &str) -> Said {
    user.tries(Path::new("bash"), &["--noprofile", "--norc", "-euo", "pipefail", "-c", commands])
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn read(file: &str) -> String {
    fs::read_to_string(examples().join(file)).unwrap()
}

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn each_example_gives_its_diff() {
    let mut wrong = Vec::new();
    for example in &EXAMPLES {
        let Some(made) = example.made() else { continue };
        assert!(made.contains("+") && made.contains("mackerel-container-agent"), "{}: {made}", example.diff);
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
    assert!(wrong.is_empty(), "UPDATE_EXAMPLES=1 writes them anew\n{}", wrong.join("\n"));
}

/// No folder, no diff and no command that is shown goes without a test, unless its first line says what it needs.
#[test]
fn nothing_shown_goes_without_a_test() {
    let of_the_table: BTreeSet<String> = EXAMPLES.iter().map(|example| example.diff.to_owned()).collect();
    let mut folders: BTreeSet<&str> = EXAMPLES.iter().map(Example::folder).collect();
    folders.extend(OTHER_FOLDERS);
    assert!(folders.iter().copied().eq(names_in(&examples()).iter().map(String::as_str)));

    let mut linked = BTreeSet::new();
    for folder in folders {
        let readme = examples().join(folder).join("README.md");
        let lines = fs::read_to_string(&readme).unwrap().lines().count();
        assert!(lines <= 40, "{folder}/README.md has {lines} lines: more than a screen");
        if folder == "migration" {
            continue;
        }
        let diffs = names_in(&examples().join(folder)).into_iter().filter(|name| name.ends_with(".diff"));
        let diffs: Vec<String> = diffs.map(|name| format!("{folder}/{name}")).collect();
        for block in Commands::of(folder) {
            let of = |diff: &&String| block.introduction.contains(&format!("]({})", diff.rsplit('/').next().unwrap()));
            let diff = diffs.iter().find(of);
            assert!(diff.is_some() || block.typed.starts_with("# needs "), "{folder}: {}", block.typed);
            linked.extend(diff.cloned());
        }
        assert!(diffs.iter().all(|diff| linked.contains(diff)), "{folder}: {diffs:?}");
    }
    assert_eq!(linked, of_the_table);
}

// pre-commit

#[test]
fn the_readme_runs_what_the_hook_runs() {
    let configuration = yaml(&read("pre-commit/.pre-commit-config.yaml"));
    let entry = configuration["repos"][0]["hooks"][0]["entry"].as_str().unwrap();
    let blocks = Commands::of("pre-commit");
    assert!(blocks[0].typed.lines().any(|line| line == entry), "{entry}");
}

#[test]
fn pre_commit_fails_once_and_passes_then() {
    if !tools::on_path(&["pre-commit"]) {
        return;
    }
    let commands: String = Commands::of("pre-commit").into_iter().map(|block| block.typed).collect();
    let said = types(&User::new(), &commands);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let results: Vec<&str> = said
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("Mackerel container agent"))
        .map(|line| line.trim_start_matches('.'))
        .collect();
    assert_eq!(results, ["Failed", "Passed"], "{}", said.stdout);
}

// GitHub Actions

#[test]
fn the_workflow_fails_until_every_manifest_has_its_agent() {
    let workflow = yaml(&read("github-actions/manifests.yml"));
    let steps = workflow["jobs"]["mackerel-agent"]["steps"].as_sequence().unwrap();
    let check = steps.last().unwrap()["run"].as_str().unwrap();
    assert!(read("github-actions/README.md").contains(&format!("`{check}`")), "{check}");
    let user = User::new();
    let step = |command: &str| types(&user, &format!("cd examples/github-actions\n{command}\n"));
    let failed = step(check);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    let log = failed.stdout + &failed.stderr;
    assert!(log.contains("manifests/worker.yaml") && !log.contains("manifests/web.yaml"), "{log}");
    assert_eq!(step(&check.replace("--check", "-i")).code, 0);
    assert_eq!(step(check).code, 0);
}

#[test]
fn actionlint_accepts_the_workflow() {
    let Some(actionlint) = tools::find("actionlint", "") else { return };
    let said = User::new().tries(&actionlint, &["-no-color", "examples/github-actions/manifests.yml"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, ""), "{}", said.stderr);
    // What others wrote is pinned by the hash of a commit.
    for action in read("github-actions/manifests.yml").lines().filter_map(|line| line.split_once("uses: ")) {
        let hash = action.1.split_once('@').unwrap().1.split(' ').next().unwrap();
        assert!(hash.len() == 40 && hash.chars().all(|digit| digit.is_ascii_hexdigit()), "{action:?}");
    }
}

// Argo CD

#[test]
fn argo_cd_generates_what_the_readme_shows() {
    let plugin = yaml(&read("argocd/plugin/plugin.yaml"));
    let words = |value: &Value| -> Vec<String> {
        value.as_sequence().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let generate = &plugin["spec"]["generate"];
    let [line] = &words(&generate["args"])[..] else { panic!("{generate:?}") };
    let shown = EXAMPLES.iter().find(|example| example.folder() == "argocd").unwrap();
    assert!(shown.commands().lines().any(|command| command.trim() == line), "{line}");
    let application = yaml(&read("argocd/application.yaml"));
    assert_eq!(application["spec"]["source"]["plugin"]["name"], plugin["metadata"]["name"]);

    // Where kustomize fails the plugin does too: an empty result would have everything pruned.
    let Some(user) = shown.user() else { return };
    let user = user.with("ARGOCD_APP_NAMESPACE", "shop");
    let command = words(&generate["command"]);
    let (program, arguments) = command.split_first().unwrap();
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.push(line);
    let said = user.tries(Path::new(program), &arguments);
    assert!(said.code != 0 && said.stdout.is_empty() && said.stderr.contains("kustomization"), "{}", said.stderr);
}

/// The parts of Argo CD's repo server that the component goes by.
const REPO_SERVER: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: argocd-repo-server
spec:
  selector:
    matchLabels: {app.kubernetes.io/name: argocd-repo-server}
  template:
    metadata:
      labels: {app.kubernetes.io/name: argocd-repo-server}
    spec:
      automountServiceAccountToken: false
      containers:
        - name: argocd-repo-server
          image: quay.io/argoproj/argocd:v3.1.0
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
            - {name: plugins, mountPath: /home/argocd/cmp-server/plugins}
      initContainers:
        - name: copyutil
          image: quay.io/argoproj/argocd:v3.1.0
          volumeMounts:
            - {name: var-files, mountPath: /var/run/argocd}
      volumes:
        - {name: tmp, emptyDir: {}}
        - {name: var-files, emptyDir: {}}
        - {name: plugins, emptyDir: {}}
";

#[test]
fn argo_cd_gets_its_plugin_by_the_component() {
    let Some(kustomize) = tools::find("kustomize", "5.8.") else { return };
    let user = User::new();
    let blocks = Page::read("examples/argocd/README.md").blocks();
    let kustomization = &blocks.iter().find(|block| block.language == "yaml").unwrap().text;
    let folder = user.path("examples/argocd");
    fs::write(folder.join("kustomization.yaml"), kustomization).unwrap();
    fs::write(folder.join("install.yaml"), REPO_SERVER).unwrap();
    let built = user.runs(&kustomize, &["build", "examples/argocd"]);
    let objects = crate::real_tools::documents(&built);
    let of_kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();

    let data: Vec<&str> = of_kind("ConfigMap")["data"].as_mapping().unwrap().keys().filter_map(Value::as_str).collect();
    assert_eq!(data, ["agent-injector.yaml", "plugin.yaml"]);
    let pod = &of_kind("Deployment")["spec"]["template"]["spec"];
    let named = |list: &str, name: &str| {
        pod[list].as_sequence().unwrap().iter().find(|entry| entry["name"] == name).unwrap().clone()
    };
    // A changed configuration has another name, so that the repo server starts anew with it.
    let volume = named("volumes", "mackerel-agent-plugin");
    assert_eq!(volume["configMap"]["name"], of_kind("ConfigMap")["metadata"]["name"]);
    let sidecar = named("containers", "mackerel-agent-plugin");
    let mounted = sidecar["volumeMounts"].as_sequence().unwrap();
    let mounted = mounted.iter().find(|mount| mount["name"] == "mackerel-agent-plugin").unwrap();
    let variable = sidecar["env"][0]["value"].as_str().unwrap();
    assert_eq!(variable, format!("{}/{}", mounted["mountPath"].as_str().unwrap(), data[0]));
    assert_eq!(named("containers", "argocd-repo-server")["volumeMounts"].as_sequence().unwrap().len(), 2);

    let Some(cluster) = cluster() else { return };
    cluster.namespace("argocd", &json!({}));
    let (taken, _, said) = cluster.kubectl(&["apply", "--dry-run=server", "--filename", "-"], &built);
    assert!(taken && !said.contains("Warning"), "{said}");
}

// Flux

#[test]
fn flux_reads_the_artifact_that_is_pushed_for_it() {
    let [source, apply] = &crate::real_tools::documents(&read("flux/cluster.yaml"))[..] else { panic!() };
    for field in ["kind", "name"] {
        let named = if field == "kind" { &source["kind"] } else { &source["metadata"]["name"] };
        assert_eq!(&apply["spec"]["sourceRef"][field], named);
    }
    let artifact =
        format!("{}:{}", source["spec"]["url"].as_str().unwrap(), source["spec"]["ref"]["tag"].as_str().unwrap());
    let push = &Commands::of("flux")[1].typed;
    assert!(push.contains(&format!("\nflux push artifact {artifact} ")), "{artifact}");
}

/// As copied into a shell that goes on after errors.
#[test]
fn a_failed_build_is_seen_before_flux_prunes() {
    let example = EXAMPLES.iter().find(|example| example.folder() == "flux").unwrap();
    let Some(user) = example.user() else { return };
    fs::remove_file(user.path("examples/flux/app/web.yaml")).unwrap();
    assert_ne!(user.tries(Path::new("bash"), &["-c", &example.commands()]).code, 0);
}

// What the cluster gets besides

#[test]
fn kubernetes_takes_what_is_to_be_applied() {
    let Some(cluster) = cluster() else { return };
    cluster.namespace("shop", &json!({}));
    for file in ["cluster/secret.yaml", "cluster/rbac.yaml", "eks-fargate/rbac.yaml"] {
        let (taken, _, said) = cluster.kubectl(&["apply", "--dry-run=server", "--filename", "-"], &read(file));
        assert!(taken && !said.contains("Warning"), "{file}: {said}");
    }
}

/// The agent and our annotations are still there once the API server has read the resource by its schema.
#[test]
fn kubernetes_keeps_the_agent_of_a_custom_resource() {
    let Some(cluster) = cluster() else { return };
    cluster.namespace("shop", &json!({}));
    let kubectl = |arguments: &[&str], input: &str| {
        let (succeeded, out, said) = cluster.kubectl(arguments, input);
        assert!(succeeded, "{arguments:?}: {said}");
        out
    };
    kubectl(&["apply", "--filename", "-"], &read("custom-resource/crd.yaml"));
    kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd/workers.shop.example"], "");
    let example = EXAMPLES.iter().find(|example| example.folder() == "custom-resource").unwrap();
    for (_, before, after) in example.shown().unwrap() {
        let [before, after] = [before, after].map(|text| {
            // The server knows the kind some moments after it is established.
            kubectl(&["apply", "--dry-run=server", "--output", "yaml", "--filename", "-"], &text)
        });
        assert_eq!(after.matches("image: mackerel/mackerel-container-agent:").count(), 3, "{after}");
        assert_eq!(after.matches(".io/record: v1;").count(), 3, "{after}");
        assert!(!before.contains("mackerel-container-agent"), "{before}");
    }
}
