//! kustomize, kubectl, kpt, Helm 3 and Helm 4 run on `examples/`, once with the injector and once with `cat` in its place:
//! the results are equal but for the injection.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use serde_yaml::{Mapping, Value};
use tempfile::TempDir;

use crate::tools;

pub(crate) const PROGRAM: &str = "mackerel-agent-injector";
const KUSTOMIZE: [&str; 3] = ["build", "--enable-alpha-plugins", "--enable-exec"];
pub(crate) const SHOP_CHART_INJECTED: [&str; 6] = [
    "CronJob/shop-report initContainers",
    "Deployment/shop-mailer containers",
    "Deployment/shop-search containers",
    "Deployment/shop-web containers",
    "Job/shop-import-1 initContainers",
    "StatefulSet/shop-cart containers",
];

// kustomize

/// The configuration that the overlays share.
const SHARED: &str = "kustomize/shared/mackerel/mackerel-agent.yaml";

#[test]
fn three_overlays_of_kustomize_share_one_function() {
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let user = User::new();
        for (overlay, prefix, role) in [
            ("production", "production-", "shop:web"),
            ("staging", "", "shop:web"),
            ("development", "", "shop:development"),
        ] {
            let folder = format!("examples/kustomize/overlays/{overlay}");
            let build = [&KUSTOMIZE[..], &[&folder]].concat();
            let (with, without) = (
                user.runs(&kustomize, &build),
                user.without_us().runs(&kustomize, &build),
            );
            let changed = [
                format!("CronJob/{prefix}report initContainers"),
                format!("Deployment/{prefix}web containers"),
            ];
            same_but_for_the_agent(&with, &without, &changed.each_ref().map(String::as_str));
            assert!(
                with.contains(role),
                "{overlay}: {role} is the role of the functionConfig, in:\n{with}"
            );
        }
    }
}

/// The transformers of a Component run before the overlay sets the namespace.
#[test]
fn a_component_of_kustomize_sees_no_namespace() {
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let user = User::new();
        let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ntransformers: [../mackerel]\n";
        fs::create_dir_all(user.path("examples/kustomize/shared/component")).unwrap();
        fs::write(
            user.path("examples/kustomize/shared/component/kustomization.yaml"),
            component,
        )
        .unwrap();
        let overlay = "kustomize/overlays/staging/kustomization.yaml";
        let changed = user.reads(overlay).replace(
            "transformers:\n  - ../../shared/mackerel",
            "components: [../../shared/component]",
        );
        fs::write(user.path(&format!("examples/{overlay}")), changed).unwrap();
        let configuration = format!("{}  rbac: {{generate: true}}\n", user.reads(SHARED));
        fs::write(user.path(&format!("examples/{SHARED}")), configuration).unwrap();
        let refused = user.tries(
            &kustomize,
            &[&KUSTOMIZE[..], &["examples/kustomize/overlays/staging"]].concat(),
        );
        assert!(
            refused.code != 0 && refused.stderr.contains("namespace-required"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn kustomize_passes_arguments() {
    let Some(kustomize) = tools::find("kustomize", "5.8.") else {
        return;
    };
    let user = User::new();
    let program = "        path: mackerel-agent-injector\n";
    let arguments =
        format!("{program}        args: [--set=apiKey.secretKeyRef.name=mackerel-staging]\n");
    fs::write(
        user.path(&format!("examples/{SHARED}")),
        user.reads(SHARED).replace(program, &arguments),
    )
    .unwrap();
    let build = [&KUSTOMIZE[..], &["examples/kustomize/overlays/staging"]].concat();
    let (with, without) = (
        user.runs(&kustomize, &build),
        user.without_us().runs(&kustomize, &build),
    );
    same_but_for_the_agent(
        &with,
        &without,
        &["CronJob/report initContainers", "Deployment/web containers"],
    );
    assert!(
        with.contains("name: mackerel-staging"),
        "the Secret of the argument, in:\n{with}"
    );
}

#[test]
fn kustomize_shows_why_we_refuse_and_prints_no_manifest() {
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let user = User::new();
        user.asks_badly("kustomize/base/deployment.yaml");
        let refused = user.tries(
            &kustomize,
            &[&KUSTOMIZE[..], &["examples/kustomize/overlays/production"]].concat(),
        );
        refused.says_why_on_stderr();
        assert_eq!(refused.stdout, "");
    }
}

#[test]
fn kubectl_kustomize_calls_us_as_a_legacy_plugin() {
    let Some(kubectl) = tools::find("kubectl", "") else {
        return;
    };
    let user = User::new();
    let build = [
        "kustomize",
        "--enable-alpha-plugins",
        "examples/kubectl-kustomize",
    ];
    let (with, without) = (
        user.runs(&kubectl, &build),
        user.without_us().runs(&kubectl, &build),
    );
    same_but_for_the_agent(
        &with,
        &without,
        &["CronJob/report initContainers", "Deployment/web containers"],
    );
    assert!(
        with.contains("shop:web"),
        "the role of the configuration, in:\n{with}"
    );

    user.asks_badly("kustomize/base/deployment.yaml");
    let refused = user.tries(&kubectl, &build);
    refused.says_why_on_stderr();
    assert_eq!(refused.stdout, "");
}

// kpt

#[test]
fn kpt_renders_the_package_and_a_second_render_changes_nothing() {
    let Some(kpt) = tools::find("kpt", "") else {
        return;
    };
    let render = ["fn", "render", "--allow-exec", "examples/kpt"];
    let (user, other) = (User::new(), User::new().without_us());
    user.runs(&kpt, &render);
    other.runs(&kpt, &render);

    for name in ["Kptfile", "mackerel-agent.yaml", "README.md"] {
        assert_eq!(
            user.reads(&format!("kpt/{name}")),
            other.reads(&format!("kpt/{name}"))
        );
    }
    for (name, injected) in [
        ("deployment.yaml", "Deployment/web containers"),
        ("jobs.yaml", "CronJob/report initContainers"),
    ] {
        let name = format!("kpt/{name}");
        same_but_for_the_agent(&user.reads(&name), &other.reads(&name), &[injected]);
        // kpt keeps the text of its user, so here even the lines are equal but for the injected ones.
        assert_only_inserts(&user.reads(&name), &other.reads(&name));
    }

    let once = user.files("kpt");
    user.runs(&kpt, &render);
    assert_eq!(user.files("kpt"), once);
}

#[test]
fn kpt_eval_passes_settings_as_a_config_map() {
    let Some(kpt) = tools::find("kpt", "") else {
        return;
    };
    let (user, other) = (User::new(), User::new().without_us());
    let eval = [
        "fn",
        "eval",
        "examples/kpt",
        "--exec",
        PROGRAM,
        "--",
        "apiKey.secretKeyRef.name=team-key",
    ];
    user.runs(&kpt, &eval);
    other.runs(&kpt, &eval);
    let (with, without) = (
        user.reads("kpt/deployment.yaml"),
        other.reads("kpt/deployment.yaml"),
    );
    same_but_for_the_agent(&with, &without, &["Deployment/web containers"]);
    assert!(
        with.contains("name: team-key"),
        "the Secret of the setting, in:\n{with}"
    );
}

#[test]
fn kpt_shows_why_we_refuse_and_leaves_the_files_alone() {
    let Some(kpt) = tools::find("kpt", "") else {
        return;
    };
    let user = User::new();
    user.asks_badly("kpt/deployment.yaml");
    let before = user.files("kpt");
    let refused = user.tries(
        &kpt,
        &[
            "fn",
            "render",
            "--allow-exec",
            "--results-dir",
            "results",
            "examples/kpt",
        ],
    );
    refused.says_why_on_stderr();
    assert!(
        refused
            .stderr
            .contains("[error] apps/v1/Deployment/shop/web spec.template"),
        "{}",
        refused.stderr
    );
    assert_eq!(user.files("kpt"), before);
    let results = fs::read_to_string(user.folder.path().join("results/results.yaml")).unwrap();
    assert!(
        results.contains("invalid-annotation") && results.contains("path: deployment.yaml"),
        "{results}"
    );
}

#[test]
fn kpt_keeps_the_permissions_in_a_file_of_their_own() {
    let Some(kpt) = tools::find("kpt", "") else {
        return;
    };
    let user = User::new();
    let render = ["fn", "render", "--allow-exec", "examples/kpt"];
    let configuration = user.reads("kpt/mackerel-agent.yaml");
    let configure = |settings: &str| {
        fs::write(
            user.path("examples/kpt/mackerel-agent.yaml"),
            format!("{configuration}{settings}"),
        )
        .unwrap();
    };
    let file = "mackerel-agent-injector-mackerel-agent-rbac.yaml";
    configure("  kubernetesVersion: \"1.33\"\n  rbac: {generate: true}\n");
    user.runs(&kpt, &render);
    let written = user.reads(&format!("kpt/{file}"));
    assert_eq!(
        kinds(&documents(&written)),
        ["ClusterRole", "ClusterRoleBinding"]
    );
    assert!(
        written.contains("# namespace shop: GET /pods (nodes/pods)"),
        "comments are kept: {written}"
    );

    let once = user.files("kpt");
    user.runs(&kpt, &render);
    assert_eq!(user.files("kpt"), once, "a second render changes nothing");

    configure("  kubernetesVersion: \"1.32\"\n  rbac: {generate: true, allowNodesProxy: true}\n");
    user.runs(&kpt, &render);
    let changed = user.reads(&format!("kpt/{file}"));
    assert_eq!(
        kinds(&documents(&changed)),
        ["ClusterRole", "ClusterRoleBinding"]
    );
    let older: Value = serde_yaml::from_str("[nodes/proxy, nodes/stats]").unwrap();
    assert_eq!(
        documents(&changed)[0]["rules"][0]["resources"],
        older,
        "{changed}"
    );

    configure("");
    user.runs(&kpt, &render);
    assert!(
        !user.path(&format!("examples/kpt/{file}")).exists(),
        "nobody wants it any more"
    );
}

#[test]
fn kustomize_takes_the_permissions_as_resources() {
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let user = User::new();
        let settings = "  kubernetesVersion: \"1.33\"\n  rbac: {generate: true}\n";
        fs::write(
            user.path(&format!("examples/{SHARED}")),
            user.reads(SHARED) + settings,
        )
        .unwrap();
        let build = [&KUSTOMIZE[..], &["examples/kustomize/overlays/production"]].concat();
        let (with, without) = (
            user.runs(&kustomize, &build),
            user.without_us().runs(&kustomize, &build),
        );
        permits_in_shop(&with, &without);
        assert!(!with.contains("config.kubernetes.io/"), "{with}");
    }
}

// Helm

const PERMIT: [&str; 6] = [
    "--post-renderer-args",
    "--namespace=shop",
    "--post-renderer-args",
    "--set=kubernetesVersion=1.33",
    "--post-renderer-args",
    "--set=rbac.generate=true",
];

#[test]
fn helm_takes_the_permissions_as_manifests() {
    for version in ["3.", "4."] {
        let Some(helm) = tools::find("helm", version) else {
            continue;
        };
        let user = User::new();
        let template = [
            "template",
            "shop",
            "examples/helm/shop",
            "--post-renderer",
            PROGRAM,
        ];
        let with = user.runs(&helm, &[&template[..], &PERMIT].concat());
        permits_in_shop(&with, &user.without_us().runs(&helm, &template));
        if version == "3." {
            assert_eq!(
                ours("uninject", &with),
                user.runs(&helm, &template[..3]),
                "each byte comes back"
            );
        }
    }
}

/// `with` has one role and its binding more than `without`; `uninject` removes both.
#[track_caller]
fn permits_in_shop(with: &str, without: &str) {
    let is_injected = |document: &&Value| {
        document["kind"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("ClusterRole"))
    };
    let all = documents(with);
    let permissions: Vec<Value> = all.iter().filter(is_injected).cloned().collect();
    assert_eq!(
        kinds(&permissions),
        ["ClusterRole", "ClusterRoleBinding"],
        "{with}"
    );
    assert_eq!(permissions[1]["subjects"][0]["namespace"], "shop");
    assert_eq!(
        permissions[1]["roleRef"]["name"],
        permissions[0]["metadata"]["name"]
    );
    assert_eq!(all.len(), permissions.len() + documents(without).len());
    assert_eq!(documents(&ours("uninject", with)), documents(without));
}

fn kinds(documents: &[Value]) -> Vec<&str> {
    documents
        .iter()
        .map(|document| document["kind"].as_str().unwrap())
        .collect()
}

#[test]
fn helm3_template() {
    let Some(helm) = tools::find("helm", "3.") else {
        return;
    };
    let user = User::new();
    let plain = user.runs(&helm, &["template", "shop", "examples/helm/shop"]);
    let render = |more: &[&str]| {
        user.runs(
            &helm,
            &[
                &[
                    "template",
                    "shop",
                    "examples/helm/shop",
                    "--post-renderer",
                    PROGRAM,
                ],
                more,
            ]
            .concat(),
        )
    };

    let with = render(&[]);
    same_but_for_the_agent(&with, &plain, &SHOP_CHART_INJECTED);
    // Helm 3 prints the injector's output as it is: here uninject gives back each byte.
    assert_eq!(ours("uninject", &with), plain);
    assert_eq!(ours("inject", &with), with);
    assert_eq!(count(&with, "# Source: "), count(&plain, "# Source: "));

    let with = render(&[
        "--post-renderer-args",
        "--set=apiKey.secretKeyRef.name=team-key",
    ]);
    assert_eq!(
        count(&with, "team-key"),
        SHOP_CHART_INJECTED.len(),
        "in:\n{with}"
    );
}

#[test]
fn helm4_template() {
    let Some(helm) = tools::find("helm", "4.") else {
        return;
    };
    let user = User::new();
    let template = [
        "template",
        "shop",
        "examples/helm/shop",
        "--post-renderer",
        PROGRAM,
    ];
    let (with, without) = (
        user.runs(&helm, &template),
        user.without_us().runs(&helm, &template),
    );
    same_but_for_the_agent(&with, &without, &SHOP_CHART_INJECTED);
    assert_eq!(ours("inject", &with), with);

    // stderr is lost in Helm 4, the log file is not: it says that hook and test were seen and left alone.
    let log = [
        "--post-renderer-args",
        "--log-file=log",
        "--post-renderer-args",
        "--set=apiKey.secretKeyRef.name=team-key",
    ];
    let with = user.runs(&helm, &[&template[..], &log].concat());
    assert_eq!(
        count(&with, "team-key"),
        SHOP_CHART_INJECTED.len(),
        "in:\n{with}"
    );
    let log = fs::read_to_string(user.folder.path().join("log")).unwrap();
    assert!(log.contains("hook"), "{log}");
}

#[test]
fn helm_template_show_only() {
    for version in ["3.", "4."] {
        let Some(helm) = tools::find("helm", version) else {
            continue;
        };
        let user = User::new();
        let show = [
            "template",
            "shop",
            "examples/helm/shop",
            "--post-renderer",
            PROGRAM,
            "--show-only",
        ];
        for (template, injected) in [
            (
                "templates/statefulset.yaml",
                &["StatefulSet/shop-cart containers"][..],
            ),
            ("templates/migrate.yaml", &[]),
            ("templates/zz-motd.yaml", &[]),
        ] {
            let show = [&show[..], &[template]].concat();
            same_but_for_the_agent(
                &user.runs(&helm, &show),
                &user.without_us().runs(&helm, &show),
                injected,
            );
        }
    }
}

#[test]
fn helm_template_output_dir() {
    for (version, injected) in [("3.", &[][..]), ("4.", &["Deployment/shop-web containers"])] {
        let Some(helm) = tools::find("helm", version) else {
            continue;
        };
        let user = User::new();
        let write = [
            "template",
            "shop",
            "examples/helm/shop",
            "--post-renderer",
            PROGRAM,
            "--output-dir",
        ];
        user.runs(&helm, &[&write[..], &["examples/with"]].concat());
        user.without_us()
            .runs(&helm, &[&write[..], &["examples/without"]].concat());
        // Helm 3 writes the files before it calls the injector, with nothing on stdin.
        let file = |folder| user.reads(&format!("{folder}/shop/templates/deployment.yaml"));
        same_but_for_the_agent(&file("with"), &file("without"), injected);
    }
}

#[test]
fn helm_template_of_a_chart_without_objects() {
    for version in ["3.", "4."] {
        let Some(helm) = tools::find("helm", version) else {
            continue;
        };
        let user = User::new();
        fs::create_dir(user.folder.path().join("empty")).unwrap();
        fs::write(
            user.folder.path().join("empty/Chart.yaml"),
            "apiVersion: v2\nname: empty\nversion: 1.0.0\n",
        )
        .unwrap();
        let rendered = user.runs(
            &helm,
            &["template", "empty", "empty", "--post-renderer", PROGRAM],
        );
        assert_eq!(documents(&rendered), [] as [Value; 0]);
    }
}

#[test]
fn helm_fails_when_we_refuse() {
    for version in ["3.", "4."] {
        let Some(helm) = tools::find("helm", version) else {
            continue;
        };
        let user = User::new();
        user.asks_badly("helm/shop/templates/statefulset.yaml");
        let template = [
            "template",
            "shop",
            "examples/helm/shop",
            "--post-renderer",
            PROGRAM,
        ];
        let refused = user.tries(
            &helm,
            &[&template[..], &["--post-renderer-args", "--log-file=log"]].concat(),
        );
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (1, ""),
            "{}",
            refused.stderr
        );
        let log = fs::read_to_string(user.folder.path().join("log")).unwrap();
        // Helm 4 hides stderr.
        for said in if version == "3." {
            vec![&refused.stderr, &log]
        } else {
            vec![&log]
        } {
            assert!(
                said.contains("invalid-annotation") && said.contains("shop-cart"),
                "{said}"
            );
        }
    }
}

/// A user with a home folder, which holds copies of `examples/`, `helm-plugin/` and `webhook/`, and with the injector on the PATH.
pub(crate) struct User {
    folder: Rc<TempDir>,
    /// The folder on the PATH: `with` the injector, or `without` it and with `cat` under its name.
    bin: &'static str,
    /// The user's environment variables.
    variables: Vec<(&'static str, OsString)>,
}

/// The exit code and output of a tool.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl User {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        for part in ["examples", "helm-plugin", "webhook"] {
            copy(&repository.join(part), &folder.path().join(part));
        }
        for (bin, program) in [
            (
                "with",
                Path::new(env!("CARGO_BIN_EXE_mackerel-agent-injector")),
            ),
            ("without", &repository.join("tests/tools/identity")),
        ] {
            let bin = folder.path().join(bin);
            let plugin = bin
                .join("kustomize/plugin/agent-injector.contrib.mackerel.io/v1alpha1/agentinjector");
            fs::create_dir_all(&plugin).unwrap();
            symlink(program, plugin.join("AgentInjector")).unwrap();
            symlink(program, bin.join(PROGRAM)).unwrap();
        }
        Self {
            folder: Rc::new(folder),
            bin: "with",
            variables: Vec::new(),
        }
    }

    pub(crate) fn without_us(&self) -> Self {
        Self {
            folder: Rc::clone(&self.folder),
            bin: "without",
            variables: self.variables.clone(),
        }
    }

    /// Adds a program to the PATH.
    pub(crate) fn has(&self, name: &str, program: &Path) {
        let tools = self.path("tools");
        fs::create_dir_all(&tools).unwrap();
        symlink(program, tools.join(name)).unwrap();
    }

    /// The same user, with a variable set.
    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    pub(crate) fn tries(&self, tool: &Path, arguments: &[&str]) -> Said {
        let folder = self.folder.path();
        let bin = folder.join(self.bin);
        let path = std::env::join_paths(
            [bin.clone(), self.path("tools")]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let mut command = Command::new(tool);
        command
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .stdin(Stdio::null());
        command
            .env("PATH", path.unwrap())
            .env("HOME", folder)
            .env("XDG_CONFIG_HOME", bin);
        // Helm 3 cannot read a plugin of Helm 4.
        if tool.to_string_lossy().contains("helm-4") {
            command.env("HELM_PLUGINS", folder.join("helm-plugin/helm4"));
        }
        command.envs(
            self.variables
                .iter()
                .map(|(variable, value)| (variable, value)),
        );
        let output = command.output().unwrap();
        Said {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a tool, which must succeed. Returns its standard output.
    #[track_caller]
    pub(crate) fn runs(&self, tool: &Path, arguments: &[&str]) -> String {
        let said = self.tries(tool, arguments);
        assert_eq!(
            said.code,
            0,
            "{} {arguments:?} said\n{}",
            tool.display(),
            said.stderr
        );
        said.stdout
    }

    /// Runs a tool. Returns its standard output, or its standard error if it fails.
    pub(crate) fn prints(&self, tool: &Path, arguments: &[&str]) -> Result<String, String> {
        let said = self.tries(tool, arguments);
        if said.code == 0 {
            Ok(said.stdout)
        } else {
            Err(said.stderr)
        }
    }

    /// A place in the user's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn reads(&self, file: &str) -> String {
        fs::read_to_string(self.folder.path().join("examples").join(file)).unwrap()
    }

    pub(crate) fn files(&self, folder: &str) -> BTreeMap<PathBuf, String> {
        let entries = fs::read_dir(self.folder.path().join("examples").join(folder)).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
            .collect()
    }

    /// Writes an annotation that the injector must refuse into the pod template of this file.
    pub(crate) fn asks_badly(&self, file: &str) {
        let (head, tail) = (
            "  template:\n    metadata:\n",
            "      annotations: {agent-injector.contrib.mackerel.io/inject: maybe}\n",
        );
        let text = self.reads(file);
        assert!(text.contains(head), "{text}");
        let text = text.replace(head, &[head, tail].concat());
        fs::write(self.folder.path().join("examples").join(file), text).unwrap();
    }
}

impl Said {
    /// Panics unless the tool failed and showed the injector's message.
    #[track_caller]
    pub(crate) fn says_why_on_stderr(&self) {
        assert_ne!(self.code, 0);
        assert!(
            self.stderr.contains("invalid-annotation") && self.stderr.contains("maybe"),
            "{}",
            self.stderr
        );
    }
}

/// Copies a folder and its content.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

/// The text that the injector's `inject` or `uninject` prints.
#[track_caller]
pub(crate) fn ours(command: &str, text: &str) -> String {
    let mut ours = Command::new(env!("CARGO_BIN_EXE_mackerel-agent-injector"));
    ours.args([command, "-q", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut ours = ours.spawn().unwrap();
    ours.stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = ours.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Panics unless `with` equals `without`, once the agents are removed from it and also after `uninject`. `injected` are the
/// workloads of `with` that have one agent each, as `Kind/name` and the list with the agent, sorted.
#[track_caller]
pub(crate) fn same_but_for_the_agent(with: &str, without: &str, injected: &[&str]) {
    let expected = documents(without);
    let mut actual = documents(with);
    let mut agents = Vec::new();
    for document in &mut actual {
        take_agents_out(document, "", &mut agents);
    }
    agents.sort();
    assert_eq!(agents, injected, "agents in:\n{with}");
    assert_eq!(actual, expected, "without what we add, of:\n{with}");
    assert_eq!(
        documents(&ours("uninject", with)),
        expected,
        "after uninject, of:\n{with}"
    );
}

/// Every line of `without` is in `with`, in that order.
#[track_caller]
fn assert_only_inserts(with: &str, without: &str) {
    let mut lines = with.lines();
    for line in without.lines() {
        assert!(
            lines.any(|other| other == line),
            "`{line}` is lost or moved in:\n{with}"
        );
    }
}

pub(crate) fn documents(text: &str) -> Vec<Value> {
    use serde::Deserialize as _;
    let documents = serde_yaml::Deserializer::from_str(text)
        .map(|document| Value::deserialize(document).unwrap());
    documents.filter(|document| !document.is_null()).collect()
}

/// Removes every part of an injection, with a list or map that holds nothing else. Does not read the record.
fn take_agents_out(value: &mut Value, owner: &str, agents: &mut Vec<String>) {
    match value {
        Value::Mapping(map) => {
            let text = |map: &Mapping, key| Some(map.get(key)?.as_str()?.to_owned());
            let name = map
                .get("metadata")
                .and_then(|metadata| text(metadata.as_mapping()?, "name"));
            let owner = match (text(map, "kind"), name) {
                (Some(kind), Some(name)) => format!("{kind}/{name}"),
                _ => owner.to_owned(),
            };
            for list in ["containers", "initContainers", "volumes"] {
                let Some(entries) = map.get_mut(list).and_then(Value::as_sequence_mut) else {
                    continue;
                };
                let before = entries.len();
                entries.retain(|entry| {
                    let name = entry
                        .get("name")
                        .and_then(Value::as_str)
                        .unwrap_or_default();
                    if name == "mackerel-container-agent" {
                        agents.push(format!("{owner} {list}"));
                    }
                    !matches!(name, "mackerel-container-agent" | "mackerel-agent-tmp")
                });
                if entries.is_empty() && before > 0 {
                    map.remove(list);
                }
            }
            if let Some(annotations) = map.get_mut("annotations").and_then(Value::as_mapping_mut) {
                let ours = ["status", "record"]
                    .map(|name| format!("agent-injector.contrib.mackerel.io/{name}"));
                let removed = ours
                    .iter()
                    .filter(|name| annotations.remove(name.as_str()).is_some())
                    .count();
                if annotations.is_empty() && removed > 0 {
                    map.remove("annotations");
                }
            }
            map.retain(|_, value| {
                let empty = |value: &Value| value.as_mapping().is_some_and(Mapping::is_empty);
                let was_empty = empty(value);
                take_agents_out(value, &owner, agents);
                was_empty || !empty(value)
            });
        }
        Value::Sequence(list) => list
            .iter_mut()
            .for_each(|value| take_agents_out(value, owner, agents)),
        _ => {}
    }
}
