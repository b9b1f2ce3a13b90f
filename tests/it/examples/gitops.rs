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

/// The step `Install` takes an archive as a release has it, and refuses another one.
#[test]
fn the_workflow_installs_the_archive_that_it_names_and_no_other() {
    if !tools::on_path(&["curl", "sha256sum"]) {
        return;
    }
    let workflow = yaml(&read("github-actions/manifests.yml"));
    let steps = workflow["jobs"]["mackerel-agent"]["steps"].as_sequence().unwrap();
    let install = steps.iter().find(|step| step["name"] == "Install").unwrap();
    let name = install["env"]["ARCHIVE"].as_str().unwrap().rsplit('/').next().unwrap();
    let user = User::new();
    let release = format!(
        "mkdir {0}\ncp -L with/mackerel-agent-injector {0}\ntar -czf {name} {0}\nsha256sum {name} | cut -d ' ' -f 1",
        name.trim_end_matches(".tar.gz"),
    );
    let checksum = types(&user, &release).stdout;
    let archive = format!("file://{}", user.path(name).display());
    let user = user.with("ARCHIVE", archive).with("RUNNER_TEMP", "temp").with("GITHUB_PATH", "path");
    let other = install["env"]["SHA256"].as_str().unwrap().to_owned();
    assert_eq!(other.len(), checksum.trim().len());
    for (checksum, installed) in [(other.as_str(), false), (checksum.trim(), true)] {
        let commands = format!(
            "rm -rf temp\nmkdir temp\nexport SHA256={checksum}\n{}\n\"$(cat path)/mackerel-agent-injector\" --version\n",
            install["run"].as_str().unwrap(),
        );
        let said = types(&user, &commands);
        assert_eq!(said.code == 0, installed, "{}{}", said.stdout, said.stderr);
        assert_eq!(
            said.stdout.contains(&format!("mackerel-agent-injector {}\n", env!("CARGO_PKG_VERSION"))),
            installed
        );
    }
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

/// The program is in the PATH of the repo-server, and comes from the image that holds it.
#[test]
fn argo_cd_gets_the_program_by_an_init_container() {
    let Some(kustomize) = tools::find("kustomize", "5.8.") else { return };
    let user = User::new();
    let folder = user.path("examples/argocd");
    let settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\n";
    fs::write(folder.join("kustomization.yaml"), "resources: [install.yaml]\ncomponents: [build-options]\n").unwrap();
    fs::write(folder.join("install.yaml"), format!("{REPO_SERVER}---\n{settings}")).unwrap();
    let built = user.runs(&kustomize, &["build", "examples/argocd"]);
    let objects = crate::real_tools::documents(&built);
    let of_kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let options = of_kind("ConfigMap")["data"]["kustomize.buildOptions"].as_str().unwrap();
    assert_eq!(options, "--enable-alpha-plugins --enable-exec");

    let pod = &of_kind("Deployment")["spec"]["template"]["spec"];
    let named = |list: &Value, name: &str| {
        list.as_sequence().unwrap().iter().find(|entry| entry["name"] == name).unwrap().clone()
    };
    let copy = named(&pod["initContainers"], "mackerel-agent-injector");
    let plugin = yaml(&read("argocd/plugin/argocd-repo-server.yaml"));
    assert_eq!(copy["image"], plugin["spec"]["template"]["spec"]["containers"][0]["image"]);
    let [program, from, to] = [0, 1, 2].map(|word| copy["command"][word].as_str().unwrap());
    assert_eq!(program, "cp");
    let target = read("argocd/Dockerfile").lines().last().unwrap().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(from, format!("{target}mackerel-agent-injector"));
    assert_eq!(to, format!("{}/", copy["volumeMounts"][0]["mountPath"].as_str().unwrap()));
    let server = named(&pod["containers"], "argocd-repo-server");
    let mount = named(&server["volumeMounts"], "mackerel-agent-injector");
    assert_eq!((mount["mountPath"].as_str().unwrap(), mount["subPath"].as_str()), (from, from.rsplit('/').next()));
    assert_eq!(server["volumeMounts"].as_sequence().unwrap().len(), 3);

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

/// Runs commands as a user who copies them into a shell, which goes on after errors.
#[test]
fn a_failed_build_is_seen_before_flux_prunes() {
    let example = EXAMPLES.iter().find(|example| example.folder() == "flux").unwrap();
    let Some(user) = example.user() else { return };
    fs::remove_file(user.path("examples/flux/app/web.yaml")).unwrap();
    assert_ne!(user.tries(Path::new("bash"), &["-c", &example.commands()]).code, 0);
}
