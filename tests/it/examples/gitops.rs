//! Examples for tools that change or check manifests on their way to a cluster: their files, run as far as possible here.

use super::{Commands, EXAMPLES, read, types, yaml};
use crate::docs::page::Page;
use crate::kubernetes::cluster::cluster;
use crate::real_tools::User;
use crate::tools;
use serde_json::json;
use serde_yaml::Value;
use std::fs;
use std::path::Path;
use support::root;

// pre-commit

#[test]
fn the_readme_runs_what_the_hook_runs() {
    let configuration = yaml(&read("pre-commit/.pre-commit-config.yaml"));
    let entry = configuration["repos"][0]["hooks"][0]["entry"]
        .as_str()
        .unwrap();
    let blocks = Commands::of("pre-commit");
    assert!(blocks[0].typed.lines().any(|line| line == entry), "{entry}");
}

#[test]
fn pre_commit_fails_once_and_passes_then() {
    if !tools::on_path(&["pre-commit"]) {
        return;
    }
    let commands: String = Commands::of("pre-commit")
        .into_iter()
        .map(|block| block.typed)
        .collect();
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

/// The hooks of this repository, in the repository of a user. Only the build is left out: `language: system` finds the program.
#[test]
fn pre_commit_runs_the_hooks_of_this_repository() {
    if !tools::on_path(&["pre-commit", "git"]) {
        return;
    }
    let hooks = repository_file(".pre-commit-hooks.yaml");
    assert_eq!(hooks.matches("language: rust").count(), 2);
    let user = User::new();
    fs::create_dir(user.path("injector")).unwrap();
    fs::write(
        user.path("injector/.pre-commit-hooks.yaml"),
        hooks.replace("language: rust", "language: system"),
    )
    .unwrap();
    let readme = Page::read("examples/pre-commit/README.md").blocks();
    let config = readme
        .iter()
        .find(|block| block.language == "yaml")
        .unwrap()
        .text
        .replace("../mackerel-agent-injector", "../injector");
    let check = config.replace(
        "id: mackerel-agent-injector",
        "id: mackerel-agent-injector-check",
    );
    fs::write(user.path("config.yaml"), config).unwrap();
    fs::write(user.path("check.yaml"), check).unwrap();
    let said = types(
        &user,
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b PRE_COMMIT_HOME=$PWD/home
git -C injector init --quiet
git -C injector add .
git -C injector commit --quiet --message hooks
sed -i \"s/COMMIT/$(git -C injector rev-parse HEAD)/\" config.yaml check.yaml
cp -r examples/pre-commit shop
cd shop
git init --quiet
git add .
for config in check config config check; do
  pre-commit run --all-files --config ../$config.yaml && echo passed || { echo failed; git add manifests; }
done",
    );
    let results: Vec<&str> = said
        .stdout
        .lines()
        .filter(|line| matches!(*line, "passed" | "failed"))
        .collect();
    assert_eq!(
        results,
        ["failed", "failed", "passed", "passed"],
        "{}{}",
        said.stdout,
        said.stderr
    );
    assert!(
        said.stdout.contains(
            "manifests/web.yaml:1:1: apps/v1/Deployment/shop/web: the agent would be added"
        )
    );
}

// GitHub Actions

/// A step of the action: its name, script, and variables with the values that the workflow of the example gives.
fn action_steps() -> Vec<(String, String)> {
    let workflow = yaml(&read("github-actions/manifests.yml"));
    let steps = workflow["jobs"]["mackerel-agent"]["steps"]
        .as_sequence()
        .unwrap();
    let given = steps.last().unwrap()["with"].clone();
    let action = yaml(&repository_file("action.yml"));
    let scripts = action["runs"]["steps"]
        .as_sequence()
        .unwrap()
        .iter()
        .filter(|step| step["run"].is_string());
    let scripts = scripts.map(|step| {
        let variables = step["env"]
            .as_mapping()
            .into_iter()
            .flatten()
            .map(|(name, value)| {
                let expression = value.as_str().unwrap().trim_start_matches("${{ ");
                let value = match expression.split_once(" }}").unwrap() {
                    ("github.action_path", "") => root().to_str().unwrap().to_owned(),
                    ("github.action_ref", "") => String::new(),
                    ("github.token", "") => "token".to_owned(),
                    ("runner.temp", rest) => format!("$RUNNER_TEMP{rest}"),
                    (input, _) => {
                        let name = input.strip_prefix("inputs.").unwrap();
                        let default = action["inputs"][name]["default"].as_str();
                        given[name].as_str().or(default).unwrap().to_owned()
                    }
                };
                format!("export {}=\"{value}\"\n", name.as_str().unwrap())
            });
        let script = variables.collect::<String>() + step["run"].as_str().unwrap();
        (step["name"].as_str().unwrap().to_owned(), script)
    });
    scripts.collect()
}

#[test]
fn the_action_fails_until_every_manifest_has_its_agent() {
    if !tools::on_path(&["find", "sort", "xargs", "sha256sum", "install"]) {
        return;
    }
    let user = User::new();
    // Cargo's part is another test's: the program is what it would install.
    let before = "\
cd examples/github-actions
export GITHUB_STEP_SUMMARY=$PWD/../../summary RUNNER_TEMP=$PWD/../../temp GITHUB_OUTPUT=$PWD/../../output GITHUB_PATH=$PWD/../../path
program=$PWD/../../with/mackerel-agent-injector
cargo() { [ \"$1 $5\" = 'install --root' ] && install -D \"$program\" \"$6/bin/mackerel-agent-injector\"; }
";
    let step = |script: &str| types(&user, &format!("{before}{script}"));
    let steps = action_steps();
    let names: Vec<&str> = steps.iter().map(|(name, _)| &**name).collect();
    assert_eq!(
        names,
        [
            "Take the program of the release",
            "Hash the source",
            "Build the program",
            "Add the program to PATH",
            "Check the manifests"
        ]
    );
    for (name, script) in &steps[..4] {
        let said = step(script);
        assert_eq!(said.code, 0, "{name}: {}", said.stderr);
    }
    let output = fs::read_to_string(user.path("output")).unwrap();
    assert!(
        output.starts_with("hash=") && output.trim_end().len() == "hash=".len() + 64,
        "{output}"
    );
    let check = format!("PATH=$(cat \"$GITHUB_PATH\"):/usr/bin:/bin\n{}", steps[4].1);
    let failed = step(&check);
    let annotation = Page::read("examples/github-actions/README.md")
        .blocks()
        .into_iter()
        .find(|block| block.language == "text");
    assert_eq!(
        (failed.code, failed.stdout),
        (1, annotation.unwrap().text),
        "{}",
        failed.stderr
    );
    let summary = fs::read_to_string(user.path("summary")).unwrap();
    assert!(
        summary.contains("| error | manifests/worker.yaml"),
        "{summary}"
    );
    let applied = step(
        "patch -p1 <$RUNNER_TEMP/mackerel-agent.diff && patch -R -p1 <$RUNNER_TEMP/mackerel-agent.diff",
    );
    assert_eq!(applied.code, 0, "{}", applied.stderr);
    let corrected = step("\"$program\" inject -i manifests");
    assert_eq!(corrected.code, 0, "{}", corrected.stderr);
    let passed = step(&check);
    assert_eq!((passed.code, &*passed.stdout), (0, ""), "{}", passed.stderr);
}

/// The action in the place into which the workflow checks it out, so that actionlint holds its inputs against those that are given.
#[test]
fn actionlint_accepts_the_workflow() {
    let Some(actionlint) = tools::find("actionlint", "") else {
        return;
    };
    let user = User::new();
    for (folder, file, text) in [
        (".git", "HEAD", String::new()),
        (
            ".github/workflows",
            "manifests.yml",
            read("github-actions/manifests.yml"),
        ),
        (
            ".mackerel-agent-injector",
            "action.yml",
            repository_file("action.yml"),
        ),
    ] {
        fs::create_dir_all(user.path(folder)).unwrap();
        fs::write(user.path(folder).join(file), text).unwrap();
    }
    let lint = || user.tries(&actionlint, &["-no-color"]);
    let said = lint();
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (0, ""),
        "{}",
        said.stderr
    );
    fs::write(
        user.path(".mackerel-agent-injector/action.yml"),
        repository_file("action.yml").replace("  paths:", "  path:"),
    )
    .unwrap();
    assert!(
        lint().stdout.contains("input \"paths\" is not defined"),
        "{}",
        lint().stdout
    );

    // Actions of other repositories are pinned by the hash of a commit.
    let texts = read("github-actions/manifests.yml") + &repository_file("action.yml");
    let actions = texts
        .lines()
        .filter_map(|line| line.split_once("uses: "))
        .filter(|(_, action)| !action.starts_with("./"));
    for (_, action) in actions {
        let hash = action.split_once('@').unwrap().1.split(' ').next().unwrap();
        assert!(
            hash.len() == 40 && hash.chars().all(|digit| digit.is_ascii_hexdigit()),
            "{action:?}"
        );
    }
}

// GitLab CI

/// Cargo's part is another test's: `$program` is what it would install.
const CARGO: &str = "\
export MACKEREL_AGENT_INJECTOR=url MACKEREL_AGENT_INJECTOR_COMMIT=commit
cargo() { [ \"$*\" = \"install --locked --git url --rev commit --root $8 ${9}\" ] && install -D \"$program\" \"$8/bin/${9}\"; }
";

fn gitlab_script() -> String {
    let job = yaml(&read("gitlab-ci/manifests.gitlab-ci.yml"));
    let lines = job["mackerel-agent"]["script"].as_sequence().unwrap();
    let script: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
    script.join("\n")
}

#[test]
fn the_job_of_gitlab_writes_the_report_that_the_readme_shows() {
    if !tools::on_path(&["git", "install"]) {
        return;
    }
    let user = User::new();
    let before = "\
cd examples/github-actions
git init --quiet
program=$PWD/../../with/mackerel-agent-injector
";
    let said = types(&user, &format!("{before}{CARGO}{}", gitlab_script()));
    assert_eq!(said.code, 1, "{}", said.stderr);
    let readme = Page::read("examples/gitlab-ci/README.md").blocks();
    let report = readme.into_iter().find(|block| block.language == "json");
    let written = fs::read_to_string(user.path("examples/github-actions/code-quality.json"));
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(json(&report.unwrap().text), json(&written.unwrap()));
}

/// A repository whose files the program leaves out by itself, although Git tracks them, with names that look like options, code and two
/// lines. Those that `.ignore` names are templates.
const TRACKED: &str = r#"
with=$PWD/with
mkdir repository && cd repository
add() { mkdir -p "$(dirname "$1")"; cp ../examples/github-actions/manifests/worker.yaml "$1"; }
template() { mkdir -p "$(dirname "$1")"; printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name }}\n' >"$1"; }
git init --quiet

# .gitignore
add 'manifests/a b.yaml'; add $'manifests/new\nline.yaml'; add manifests/sub/c.yaml; add 'manifests/-c.json'
add $'manifests/it\'s "$(touch pwned.txt)";`id`.yml'; add manifests/braces.yaml; add manifests/tab.yaml; add manifests/readme.txt
echo 'replicas: 1' >manifests/no.yaml
# A name that begins with a dot.
add manifests/.dot.yaml; add manifests/.d/d.yaml; add manifests/.d/counted.yaml
# A link.
add elsewhere/linked.yaml; add elsewhere/folder/f.yaml; add elsewhere/folder/.f.yaml; add elsewhere/left-out.yaml
ln -s ../elsewhere/linked.yaml manifests/link.yaml
ln -s ../elsewhere/folder manifests/link
ln -s . manifests/loop
ln -s sub/c.yaml manifests/twice.yaml
ln -s /proc/self/environ manifests/environ.yaml
ln -s ../../outside.yaml manifests/outside.yaml
ln -s ../.git/inside.yaml manifests/inside.yaml
ln -s ../elsewhere/left-out.yaml manifests/named.yaml
ln -s nothing manifests/nothing.yaml
add ../outside.yaml; add .git/inside.yaml
# The templates of a chart.
mkdir -p manifests/templates/chart/templates
touch manifests/templates/chart/Chart.yaml
add manifests/templates/chart/templates/plain.yaml; template manifests/templates/chart/templates/braces.yaml
# .ignore: what it names is counted, unless the program does not read it.
template manifests/templates/a.yaml; template manifests/.hidden/b.yaml; add manifests/skipped/counted.yaml
git add --all
printf 'sub/\na b.yaml\n*line.yaml\n-c.json\nit*\n*.txt\nno.yaml\ntwice.yaml\n{braces,x}.yaml\ntab.yaml\t\nuntracked.yaml\n' >manifests/.gitignore
printf 'a.yaml\nnamed.yaml\nskipped\n' >manifests/.ignore
echo 'manifests/.hidden' >.ignore
echo 'd.yaml' >manifests/.d/.ignore
git add --all
cp manifests/sub/c.yaml manifests/untracked.yaml
touch -- --log-file=pwned.txt
export RUNNER_TEMP=$PWD GITHUB_STEP_SUMMARY=$PWD/summary.md
"#;

/// The files of that repository that are checked.
const CHECKED: [&str; 13] = [
    "manifests/-c.json",
    "manifests/.d/counted.yaml",
    "manifests/.d/d.yaml",
    "manifests/.dot.yaml",
    "manifests/a b.yaml",
    "manifests/braces.yaml",
    "manifests/it's \"$(touch pwned.txt)\";`id`.yml",
    "manifests/link.yaml",
    "manifests/link/.f.yaml",
    "manifests/link/f.yaml",
    "manifests/new\nline.yaml",
    "manifests/sub/c.yaml",
    "manifests/tab.yaml",
];

#[test]
fn the_checks_see_what_git_tracks_and_take_no_path_for_an_option() {
    if !tools::on_path(&["git", "install", "realpath"]) {
        return;
    }
    let user = User::new();
    let mut checked = CHECKED.to_vec();
    checked.push("manifests/templates/chart/templates/plain.yaml");
    let counted = "; 1 file left out by .ignore; 2 files left out by manifests/.ignore\n";
    let (_, check) = action_steps().pop().unwrap();
    let given = "export INPUT_PATHS=\"manifests\"\n";
    assert!(check.contains(given), "{check}");
    for (paths, more) in [("manifests\\n--log-file=pwned.txt", 0), (".", 3)] {
        let check = check.replace(given, &format!("export INPUT_PATHS=$'{paths}'\n"));
        let said = types(&user, &format!("{TRACKED}export PATH=$with:$PATH\n{check}"));
        assert_eq!(said.code, 1, "{}", said.stderr);
        let files = said.stdout.lines().filter_map(|line| {
            let file = line.strip_prefix("::error file=")?;
            Some(file.split_once(',').unwrap().0.replace('␊', "\n"))
        });
        let mut files: Vec<_> = files.collect();
        files.retain(|file| more == 0 || !file.starts_with("elsewhere/"));
        files.sort_unstable();
        if more == 0 {
            assert_eq!(files, checked, "{}", said.stderr);
        }
        assert!(said.stderr.contains(counted), "{}", said.stderr);
        assert!(!user.path("repository/pwned.txt").exists());
        fs::remove_dir_all(user.path("repository")).unwrap();
    }

    let said = types(
        &user,
        &format!(
            "{TRACKED}program=$with/mackerel-agent-injector\n{CARGO}{}",
            gitlab_script()
        ),
    );
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains(counted), "{}", said.stderr);
    let report = fs::read_to_string(user.path("repository/code-quality.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let found = report.as_array().unwrap().iter();
    let missing = found.filter(|found| found["check_name"] == "agent-missing");
    let paths = missing.map(|found| found["location"]["path"].as_str().unwrap());
    let mut paths: Vec<_> = paths.collect();
    paths.sort_unstable();
    assert_eq!(paths, checked);
}

/// Else a merge request would be checked by its own program.
#[test]
fn the_job_of_gitlab_runs_no_program_of_the_checkout() {
    if !tools::on_path(&["git", "install"]) {
        return;
    }
    let program = "program=$PWD/with/mackerel-agent-injector\ncp -r examples/github-actions checkout && cd checkout && git init --quiet\n";
    let own = "mkdir -p .mackerel-agent-injector/bin && printf '#!/bin/sh\\ntouch ran\\n' >.mackerel-agent-injector/bin/mackerel-agent-injector && chmod +x .mackerel-agent-injector/bin/*\n";
    let linked = "mkdir -p own/bin && printf '#!/bin/sh\\ntouch ran\\n' >own/bin/mackerel-agent-injector && chmod +x own/bin/* && ln -s own .mackerel-agent-injector\n";
    for (before, runs) in [
        (format!("{own}git add --force ."), false),
        (format!("{linked}git add ."), false),
        // The cache of an earlier job, which Git does not track.
        (own.to_owned(), true),
    ] {
        let user = User::new();
        let script = gitlab_script();
        let said = types(&user, &format!("{program}{before}\n{CARGO}{script}"));
        assert_eq!(said.code, i32::from(!runs), "{}", said.stderr);
        assert_eq!(user.path("checkout/ran").exists(), runs, "{before}");
        let cached = user.path("checkout/.mackerel-agent-injector/bin/mackerel-agent-injector");
        let is_script = fs::read(cached).unwrap().starts_with(b"#!");
        assert_eq!(is_script, runs, "{before}");
    }
}

/// A file of this repository.
fn repository_file(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

// Argo CD

#[test]
fn argo_cd_generates_what_the_readme_shows() {
    let plugin = yaml(&read("argocd/plugin/plugin.yaml"));
    let words = |value: &Value| -> Vec<String> {
        value
            .as_sequence()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap().to_owned())
            .collect()
    };
    let generate = &plugin["spec"]["generate"];
    let [line] = &words(&generate["args"])[..] else {
        panic!("{generate:?}")
    };
    let shown = EXAMPLES
        .iter()
        .find(|example| example.folder() == "argocd")
        .unwrap();
    assert!(
        shown
            .commands()
            .lines()
            .any(|command| command.trim() == line),
        "{line}"
    );
    let application = yaml(&read("argocd/application.yaml"));
    assert_eq!(
        application["spec"]["source"]["plugin"]["name"],
        plugin["metadata"]["name"]
    );

    // Where kustomize fails the plugin does too: an empty result would have everything pruned.
    let Some(user) = shown.user() else { return };
    let user = user.with("ARGOCD_APP_NAMESPACE", "shop");
    let command = words(&generate["command"]);
    let (program, arguments) = command.split_first().unwrap();
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.push(line);
    let said = user.tries(Path::new(program), &arguments);
    assert!(
        said.code != 0 && said.stdout.is_empty() && said.stderr.contains("kustomization"),
        "{}",
        said.stderr
    );
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
    let Some(kustomize) = tools::find("kustomize", "5.8.") else {
        return;
    };
    let user = User::new();
    let blocks = Page::read("examples/argocd/README.md").blocks();
    let kustomization = &blocks
        .iter()
        .find(|block| block.language == "yaml")
        .unwrap()
        .text;
    let folder = user.path("examples/argocd");
    fs::write(folder.join("kustomization.yaml"), kustomization).unwrap();
    fs::write(folder.join("install.yaml"), REPO_SERVER).unwrap();
    let built = user.runs(&kustomize, &["build", "examples/argocd"]);
    let objects = crate::real_tools::documents(&built);
    let of_kind = |kind: &str| {
        objects
            .iter()
            .find(|object| object["kind"] == kind)
            .unwrap()
    };

    let data: Vec<&str> = of_kind("ConfigMap")["data"]
        .as_mapping()
        .unwrap()
        .keys()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(data, ["agent-injector.yaml", "plugin.yaml"]);
    let pod = &of_kind("Deployment")["spec"]["template"]["spec"];
    let named = |list: &str, name: &str| {
        pod[list]
            .as_sequence()
            .unwrap()
            .iter()
            .find(|entry| entry["name"] == name)
            .unwrap()
            .clone()
    };
    // A changed configuration has another name, so that the repo server starts anew with it.
    let volume = named("volumes", "mackerel-agent-plugin");
    assert_eq!(
        volume["configMap"]["name"],
        of_kind("ConfigMap")["metadata"]["name"]
    );
    let sidecar = named("containers", "mackerel-agent-plugin");
    let mounted = sidecar["volumeMounts"].as_sequence().unwrap();
    let mounted = mounted
        .iter()
        .find(|mount| mount["name"] == "mackerel-agent-plugin")
        .unwrap();
    let variable = sidecar["env"][0]["value"].as_str().unwrap();
    assert_eq!(
        variable,
        format!("{}/{}", mounted["mountPath"].as_str().unwrap(), data[0])
    );
    assert_eq!(
        named("containers", "argocd-repo-server")["volumeMounts"]
            .as_sequence()
            .unwrap()
            .len(),
        2
    );

    let Some(cluster) = cluster() else { return };
    cluster.namespace("argocd", &json!({}));
    let (taken, _, said) =
        cluster.kubectl(&["apply", "--dry-run=server", "--filename", "-"], &built);
    assert!(taken && !said.contains("Warning"), "{said}");
}

/// The program is in the PATH of the repo-server, and comes from the image that holds it.
#[test]
fn argo_cd_gets_the_program_by_an_init_container() {
    let Some(kustomize) = tools::find("kustomize", "5.8.") else {
        return;
    };
    let user = User::new();
    let folder = user.path("examples/argocd");
    let settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\n";
    fs::write(
        folder.join("kustomization.yaml"),
        "resources: [install.yaml]\ncomponents: [build-options]\n",
    )
    .unwrap();
    fs::write(
        folder.join("install.yaml"),
        format!("{REPO_SERVER}---\n{settings}"),
    )
    .unwrap();
    let built = user.runs(&kustomize, &["build", "examples/argocd"]);
    let objects = crate::real_tools::documents(&built);
    let of_kind = |kind: &str| {
        objects
            .iter()
            .find(|object| object["kind"] == kind)
            .unwrap()
    };
    let options = of_kind("ConfigMap")["data"]["kustomize.buildOptions"]
        .as_str()
        .unwrap();
    assert_eq!(options, "--enable-alpha-plugins --enable-exec");

    let pod = &of_kind("Deployment")["spec"]["template"]["spec"];
    let named = |list: &Value, name: &str| {
        list.as_sequence()
            .unwrap()
            .iter()
            .find(|entry| entry["name"] == name)
            .unwrap()
            .clone()
    };
    let copy = named(&pod["initContainers"], "mackerel-agent-injector");
    let plugin = yaml(&read("argocd/plugin/argocd-repo-server.yaml"));
    assert_eq!(
        copy["image"],
        plugin["spec"]["template"]["spec"]["containers"][0]["image"]
    );
    let [program, from, to] = [0, 1, 2].map(|word| copy["command"][word].as_str().unwrap());
    assert_eq!(program, "cp");
    let target = read("argocd/Dockerfile")
        .lines()
        .last()
        .unwrap()
        .rsplit(' ')
        .next()
        .unwrap()
        .to_owned();
    assert_eq!(from, format!("{target}mackerel-agent-injector"));
    assert_eq!(
        to,
        format!(
            "{}/",
            copy["volumeMounts"][0]["mountPath"].as_str().unwrap()
        )
    );
    let server = named(&pod["containers"], "argocd-repo-server");
    let mount = named(&server["volumeMounts"], "mackerel-agent-injector");
    assert_eq!(
        (
            mount["mountPath"].as_str().unwrap(),
            mount["subPath"].as_str()
        ),
        (from, from.rsplit('/').next())
    );
    assert_eq!(server["volumeMounts"].as_sequence().unwrap().len(), 3);

    let Some(cluster) = cluster() else { return };
    cluster.namespace("argocd", &json!({}));
    let (taken, _, said) =
        cluster.kubectl(&["apply", "--dry-run=server", "--filename", "-"], &built);
    assert!(taken && !said.contains("Warning"), "{said}");
}

// Flux

#[test]
fn flux_reads_the_artifact_that_is_pushed_for_it() {
    let [source, apply] = &crate::real_tools::documents(&read("flux/cluster.yaml"))[..] else {
        panic!()
    };
    for field in ["kind", "name"] {
        let named = if field == "kind" {
            &source["kind"]
        } else {
            &source["metadata"]["name"]
        };
        assert_eq!(&apply["spec"]["sourceRef"][field], named);
    }
    let artifact = format!(
        "{}:{}",
        source["spec"]["url"].as_str().unwrap(),
        source["spec"]["ref"]["tag"].as_str().unwrap()
    );
    let push = &Commands::of("flux")[1].typed;
    assert!(
        push.contains(&format!("\nflux push artifact {artifact} ")),
        "{artifact}"
    );
}

/// Runs commands as a user who copies them into a shell, which goes on after errors.
#[test]
fn a_failed_build_is_seen_before_flux_prunes() {
    let example = EXAMPLES
        .iter()
        .find(|example| example.folder() == "flux")
        .unwrap();
    let Some(user) = example.user() else { return };
    fs::remove_file(user.path("examples/flux/app/web.yaml")).unwrap();
    assert_ne!(
        user.tries(Path::new("bash"), &["-c", &example.commands()])
            .code,
        0
    );
}
