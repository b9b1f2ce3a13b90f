//! The plugins for Helm 3 and Helm 4: made and signed as for a release, installed and removed by Helm itself.

use super::notices::NOTICES;
use super::release::release;
use super::static_program::{script, static_program};
use crate::http_server::serve;
use crate::real_tools::{PROGRAM, SHOP_CHART_INJECTED, User, same_but_for_the_agent};
use crate::tools;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::root;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const SIGNER: &str = "mackerel-agent-injector tests <tests@example.com>";
const TEMPLATE: [&str; 3] = ["template", "shop", "examples/helm/shop"];

/// The packages, and the public key that signed those of Helm 4.
pub(super) struct Packages {
    pub(super) folder: PathBuf,
    pub(super) keyring: String,
}

/// The packages, made once for all tests. None, with a line on standard error, if a program for them is missing.
pub(super) fn packages() -> Option<&'static Packages> {
    static PACKAGES: OnceLock<Option<Packages>> = OnceLock::new();
    PACKAGES.get_or_init(make).as_ref()
}

/// This machine's platform, as Helm names it.
pub(super) fn platform() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "linux-arm64",
        _ => "linux-amd64",
    }
}

fn make() -> Option<Packages> {
    let helm = tools::find("helm", "4.")?;
    if !tools::on_path(&["gpg", "gpgconf"]) {
        return None;
    }
    let program = static_program()?;
    let [folder, keys] = ["a release", "its keys"].map(|name| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        folder
    });

    // Its agent's socket must have a short path, and the agent must end with it.
    let home = tempfile::tempdir().unwrap();
    let gpg = |arguments: &[&str]| {
        script(
            Command::new("gpg")
                .args(["--batch", "--quiet", "--homedir"])
                .arg(home.path())
                .args(arguments),
        );
    };
    gpg(&[
        "--passphrase",
        "",
        "--quick-generate-key",
        SIGNER,
        "rsa2048",
        "sign",
        "never",
    ]);
    let place = |name: &str| keys.join(name).to_str().unwrap().to_owned();
    gpg(&["--output", &place("public.gpg"), "--export"]);
    gpg(&["--output", &place("secret.gpg"), "--export-secret-keys"]);
    script(
        Command::new("gpgconf")
            .arg("--homedir")
            .arg(home.path())
            .args(["--kill", "all"]),
    );

    // Which program stands for the other platforms is all the same here.
    let other = root().join("tests/tools/identity");
    let programs = [
        (platform(), program),
        ("darwin-arm64", &*other),
        ("windows-amd64", &*other),
    ];
    let mut release = release(&helm, &folder, &programs);
    script(
        release
            .env("SIGNING_KEY", SIGNER)
            .env("SIGNING_KEYRING", place("secret.gpg")),
    );
    Some(Packages {
        keyring: place("public.gpg"),
        folder,
    })
}

impl Packages {
    /// The archive of a name; `suffix` follows the version.
    fn archive(&self, name: &str, suffix: &str) -> String {
        self.folder
            .join(format!("{name}-{VERSION}{suffix}.tgz"))
            .to_str()
            .unwrap()
            .to_owned()
    }

    /// A user who has installed the plugins of this Helm, below a folder with a blank in its name, and has no injector on the
    /// PATH. The plugins hold all platforms, or this one alone.
    pub(super) fn user(&self, helm: &Path, suffix: &str) -> User {
        let user = User::new();
        fs::remove_file(user.path("with").join(PROGRAM)).unwrap();
        let data = user.path("my data");
        let user = user
            .with("HELM_PLUGINS", data.join("plugins"))
            .with("HELM_DATA_HOME", data);
        if is_helm3(helm) && suffix.is_empty() {
            let archive = format!("{}/mackerel-helm3-{VERSION}.tgz", serve(&self.folder));
            user.runs(helm, &["plugin", "install", &archive]);
        } else if is_helm3(helm) {
            // It takes no archive that lies here, only a folder.
            let folder = user.path("my plugins/mackerel");
            fs::create_dir_all(&folder).unwrap();
            let archive = self.archive("mackerel-helm3", suffix);
            script(
                Command::new("tar")
                    .args(["-xzf", &archive, "-C"])
                    .arg(&folder),
            );
            user.runs(helm, &["plugin", "install", "./my plugins/mackerel"]);
        } else {
            for name in ["mackerel", PROGRAM] {
                let archive = self.archive(name, suffix);
                let said = user.runs(
                    helm,
                    &["plugin", "install", "--keyring", &self.keyring, &archive],
                );
                assert!(said.contains(SIGNER), "{said}");
            }
        }
        user
    }
}

pub(super) fn is_helm3(helm: &Path) -> bool {
    helm.to_string_lossy().contains("helm-3")
}

/// The value of `--post-renderer` for this Helm.
pub(super) fn post_renderer(user: &User, helm: &Path) -> String {
    if is_helm3(helm) {
        user.runs(helm, &["mackerel", "path"]).trim_end().to_owned()
    } else {
        PROGRAM.to_owned()
    }
}

/// Both Helms, if they are installed.
pub(super) fn helms() -> impl Iterator<Item = PathBuf> {
    ["3.", "4."]
        .into_iter()
        .filter_map(|version| tools::find("helm", version))
}

#[test]
fn what_is_not_helm_4_makes_no_packages_and_is_named() {
    for (helm, said) in [
        ("no-such-helm", "there is no program no-such-helm: set HELM"),
        ("true", "true is not Helm 4"),
    ] {
        let mut package = Command::new(root().join("helm-plugin/package"));
        let ran = package
            .arg(env!("CARGO_TARGET_TMPDIR"))
            .arg("linux-amd64=none")
            .env("HELM", helm)
            .output()
            .unwrap();
        let stderr = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.starts_with(&format!("helm-plugin/package: {said}"))
                && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
}

#[test]
fn helm_installs_them_renders_with_them_and_uninstalls_them() {
    let Some(packages) = packages() else { return };
    for helm in helms() {
        for suffix in [String::new(), format!("-{}", platform())] {
            let user = packages.user(&helm, &suffix);
            let post_renderer = post_renderer(&user, &helm);
            let with = user.runs(
                &helm,
                &[&TEMPLATE[..], &["--post-renderer", &post_renderer]].concat(),
            );
            let without = user.runs(&helm, &TEMPLATE);
            if is_helm3(&helm) {
                same_but_for_the_agent(&with, &without, &SHOP_CHART_INJECTED);
            } else {
                // The post-renderer by the name of the same plugin, with the program on the PATH.
                let program = User::new().runs(
                    &helm,
                    &[&TEMPLATE[..], &["--post-renderer", PROGRAM]].concat(),
                );
                assert_eq!(with, program);
            }
            let names: &[&str] = if is_helm3(&helm) {
                &["mackerel"]
            } else {
                &["mackerel", PROGRAM]
            };
            user.runs(&helm, &[&["plugin", "uninstall"], names].concat());
            let left: Vec<_> = fs::read_dir(user.path("my data/plugins"))
                .unwrap()
                .collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }
}

#[test]
fn helm_mackerel_runs_our_commands_with_the_namespace_that_helm_was_told() {
    let Some(packages) = packages() else { return };
    for helm in helms() {
        let user = packages.user(&helm, "");
        let says = |arguments: &[&str]| user.tries(&helm, &[&["mackerel"], arguments].concat());
        assert_eq!(
            says(&["--version"]).stdout,
            format!("{PROGRAM} {VERSION}\n")
        );
        assert!(
            says(&["inject", "--help"])
                .stdout
                .contains("Usage: mackerel-agent-injector inject")
        );
        let check = says(&["inject", "--check", "examples/files"]);
        assert_eq!(check.code, 1, "{}", check.stderr);

        // `select.namespaces` leaves out what is in no namespace or in another one.
        let select = [
            "inject",
            "-v",
            "--diff",
            "--set",
            "select.namespaces=shop",
            "examples/kustomize/base",
        ];
        for (namespace, injected) in [("shop", true), ("other", false)] {
            let said = says(&[&["--namespace", namespace], &select[..]].concat());
            assert_eq!(
                said.stdout
                    .contains("+        - name: mackerel-container-agent"),
                injected,
                "{}",
                said.stderr
            );
        }
        let no_namespace = says(&select);
        assert!(
            no_namespace.stderr.contains("namespace-unknown"),
            "{}",
            no_namespace.stderr
        );
    }
}

#[test]
fn the_namespace_that_the_user_has_set_for_helm_reaches_the_post_renderer() {
    let Some(packages) = packages() else { return };
    for helm in helms() {
        let user = packages.user(&helm, "");
        let post_renderer = post_renderer(&user, &helm);
        let select = [
            "--post-renderer",
            &post_renderer,
            "--post-renderer-args",
            "--set=select.namespaces=shop",
        ];
        let template = [&TEMPLATE[..], &select].concat();
        assert!(
            !user
                .runs(&helm, &template)
                .contains("mackerel-container-agent")
        );
        // Helm tells a post-renderer nothing of its own flag.
        let flag = user.runs(&helm, &[&template[..], &["--namespace", "shop"]].concat());
        assert!(!flag.contains("mackerel-container-agent"));
        let user = user.with("HELM_NAMESPACE", "shop");
        assert!(
            user.runs(&helm, &template)
                .contains("mackerel-container-agent")
        );
        let other = ["--post-renderer-args", "--namespace=other"];
        assert!(
            !user
                .runs(&helm, &[&template[..], &other].concat())
                .contains("mackerel-container-agent")
        );
    }
}

/// A path means nothing to Helm 4, and what means something is said.
#[test]
fn helm4_has_no_path_and_says_what_to_use() {
    let (Some(packages), Some(helm)) = (packages(), tools::find("helm", "4.")) else {
        return;
    };
    let said = packages.user(&helm, "").tries(&helm, &["mackerel", "path"]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert!(
        said.stderr
            .contains("--post-renderer mackerel-agent-injector"),
        "{}",
        said.stderr
    );
}

#[test]
fn helm4_verifies_what_was_signed_and_refuses_what_was_changed() {
    let (Some(packages), Some(helm)) = (packages(), tools::find("helm", "4.")) else {
        return;
    };
    let user = User::new();
    for name in ["mackerel", PROGRAM] {
        for suffix in [
            "",
            "-darwin-arm64",
            "-windows-amd64",
            &format!("-{}", platform()),
        ] {
            let archive = packages.archive(name, suffix);
            let said = user.runs(
                &helm,
                &["plugin", "verify", "--keyring", &packages.keyring, &archive],
            );
            assert!(
                said.contains(SIGNER) && said.contains("Plugin Hash Verified"),
                "{said}"
            );
        }
    }
    let archive = packages.archive("mackerel", "-darwin-arm64");
    let changed = user.path(Path::new(&archive).file_name().unwrap().to_str().unwrap());
    let mut bytes = fs::read(&archive).unwrap();
    bytes.push(0);
    fs::write(&changed, bytes).unwrap();
    fs::copy(
        archive + ".prov",
        user.path(&format!("mackerel-{VERSION}-darwin-arm64.tgz.prov")),
    )
    .unwrap();
    let refused = user.tries(
        &helm,
        &[
            "plugin",
            "verify",
            "--keyring",
            &packages.keyring,
            changed.to_str().unwrap(),
        ],
    );
    assert_ne!(refused.code, 0);
}

/// Helm 3 would load no plugin at all with one of Helm 4 among them.
#[test]
fn neither_helm_installs_the_package_of_the_other() {
    let (Some(packages), Some(helm3), Some(helm4)) = (
        packages(),
        tools::find("helm", "3."),
        tools::find("helm", "4."),
    ) else {
        return;
    };
    let user = User::new()
        .with("HELM_PLUGINS", "plugins")
        .with("HELM_DATA_HOME", ".");
    for name in ["mackerel", PROGRAM] {
        let archive = format!("{}/{name}-{VERSION}.tgz", serve(&packages.folder));
        let refused = user.tries(&helm3, &["plugin", "install", &archive]);
        assert!(
            refused.code != 0 && refused.stderr.contains("plugin.yaml"),
            "{}",
            refused.stderr
        );
    }
    let of_helm3 = packages.archive("mackerel-helm3", "");
    for verify in ["--verify=true", "--verify=false"] {
        assert_ne!(
            user.tries(&helm4, &["plugin", "install", verify, &of_helm3])
                .code,
            0
        );
    }
    let installed = |helm| user.runs(helm, &["plugin", "list"]).lines().count();
    assert_eq!(
        (installed(&helm3), installed(&helm4)),
        (1, 1),
        "only the head of the table"
    );
}

#[test]
fn each_holds_completions_manual_pages_and_licences() {
    let Some(packages) = packages() else { return };
    for (name, folder) in [
        ("mackerel-helm3", ""),
        ("mackerel", "mackerel/"),
        (PROGRAM, "mackerel-agent-injector/"),
    ] {
        let list = script(
            Command::new("tar")
                .args(["--list", "--gzip", "--file"])
                .arg(packages.archive(name, "")),
        );
        let held: BTreeSet<&str> = list.lines().collect();
        let shells = ["bash", "zsh", "fish", "powershell"]
            .map(|shell| format!("completions/{PROGRAM}.{shell}"));
        let pages =
            ["", "-inject", "-config-validate"].map(|page| format!("man/{PROGRAM}{page}.1"));
        let others = ["LICENSE", "README.md", NOTICES, "plugin.yaml"].map(str::to_owned);
        for file in shells.iter().chain(&pages).chain(&others) {
            assert!(
                held.contains(&*format!("{folder}{file}")),
                "{file} in {held:?}"
            );
        }
    }
}

#[test]
fn the_descriptions_have_the_version_of_the_program() {
    for file in [
        "helm3/plugin.yaml",
        "helm4/command/plugin.yaml",
        "helm4/post-renderer/plugin.yaml",
        "root-plugin.yaml",
    ] {
        let text = fs::read_to_string(root().join("helm-plugin").join(file)).unwrap();
        assert!(text.contains(&format!("\nversion: {VERSION}\n")), "{text}");
    }
}
