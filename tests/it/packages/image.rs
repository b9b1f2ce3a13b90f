//! The container image of the KRM function: built by `krm-fn/build` without a daemon, run by podman as kustomize and kpt do.

use super::notices::{NOTICES, notices};
use super::published;
use super::static_program::{script, static_program};
use crate::real_tools::{PROGRAM, User, same_but_for_the_agent};
use crate::tools;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::root;

/// The name of the image in the examples.
fn name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(published::image)
}

/// The store that holds the image, as environment variables for podman and buildah.
struct Store {
    variables: Vec<(&'static str, PathBuf)>,
    id: String,
}

/// The image, built once for all tests. None, with a line on standard error, if the programs for it are missing.
fn image() -> Option<&'static Store> {
    static IMAGE_BUILT: OnceLock<Option<Store>> = OnceLock::new();
    IMAGE_BUILT.get_or_init(build).as_ref()
}

/// The store is below target/, so that nothing is left elsewhere.
fn build() -> Option<Store> {
    if !tools::on_path(&["buildah", "podman", "runc"]) {
        return None;
    }
    let program = static_program()?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("containers");
    fs::create_dir_all(&folder).unwrap();
    // Where root runs containers, it is often inside of one: there it takes runc and low limits. Other users have what their
    // system has set up for them.
    let is_root = script(Command::new("id").arg("-u")).trim() == "0";
    let of_root = "runtime = \"runc\"\ncgroup_manager = \"cgroupfs\"\n\
        [containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1000:1000\"]\n";
    let containers = [
        "[engine]\nevents_logger = \"file\"\n",
        if is_root { of_root } else { "" },
    ]
    .concat();
    fs::write(folder.join("containers.conf"), containers).unwrap();
    // The system's: where the path is longer than 50 characters, podman waits 20 seconds for the end of each container.
    let runroot = match is_root {
        true => PathBuf::from("/run/containers/storage"),
        false => folder.join("runroot"),
    };
    let storage = format!(
        "[storage]\ndriver = \"vfs\"\ngraphroot = {:?}\nrunroot = {runroot:?}\n",
        folder.join("graphroot")
    );
    fs::write(folder.join("storage.conf"), storage).unwrap();
    let mut variables = vec![
        ("CONTAINERS_CONF", folder.join("containers.conf")),
        ("CONTAINERS_STORAGE_CONF", folder.join("storage.conf")),
    ];
    variables
        .extend(std::env::var_os("XDG_RUNTIME_DIR").map(|run| ("XDG_RUNTIME_DIR", run.into())));

    let mut build = Command::new("krm-fn/build");
    build
        .arg(name())
        .arg(program)
        .env("BUILDER", "buildah")
        .envs(variables.iter().cloned());
    let id = script(&mut build).trim().to_owned();
    // Those of earlier runs, which have lost their name.
    script(
        Command::new("buildah")
            .args(["rmi", "--prune", "--force"])
            .envs(variables.iter().cloned()),
    );
    Some(Store { variables, id })
}

/// podman with the image in its store. None, with a line on standard error, if a program for it is missing.
#[cfg(feature = "webhook")]
pub(crate) fn podman() -> Option<Command> {
    let mut podman = Command::new("podman");
    podman.envs(image()?.variables.iter().cloned());
    Some(podman)
}

/// A user who has the image and a `docker`, which is podman; without the injector, a `docker` that runs `cat`.
pub(crate) fn user_of_image() -> Option<User> {
    let user = user(image()?);
    symlink(
        root().join("tests/tools/identity"),
        user.path("without/docker"),
    )
    .unwrap();
    Some(user)
}

/// A user who has the image and a `docker`, which is podman.
fn user(store: &Store) -> User {
    let user = store
        .variables
        .iter()
        .fold(User::new(), |user, (variable, value)| {
            user.with(variable, value.clone())
        });
    let docker = user.path("with/docker");
    fs::write(&docker, "#!/bin/sh\nexec podman \"$@\"\n").unwrap();
    fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).unwrap();
    // Its name in older releases, and in newer ones.
    user.with("KPT_FN_RUNTIME", "podman")
        .with("KRM_FN_RUNTIME", "podman")
}

/// As `kustomize build --enable-alpha-plugins` and kpt run the image, and Kubernetes with `runAsNonRoot`.
#[test]
fn it_runs_as_nobody_without_network_and_holds_nothing_but_the_program_and_licences() {
    let Some(store) = image() else { return };
    let user = user(store);
    let podman = Path::new("podman");
    for options in [
        &[
            "--network",
            "none",
            "--user",
            "nobody",
            "--security-opt=no-new-privileges",
        ][..],
        &["--read-only"],
    ] {
        let run = [&["run", "--rm", "-i"][..], options, &[name(), "--version"]].concat();
        assert_eq!(
            user.runs(podman, &run),
            format!("{PROGRAM} {}\n", env!("CARGO_PKG_VERSION"))
        );
    }
    let inspect =
        |format: &str| user.runs(podman, &["image", "inspect", "--format", format, name()]);
    assert_eq!(
        inspect("{{.Config.User}} {{.Config.Entrypoint}}"),
        format!("65534:65534 [/usr/bin/{PROGRAM}]\n")
    );
    let label = |name: &str| {
        inspect(&format!(
            "{{{{index .Labels \"org.opencontainers.image.{name}\"}}}}"
        ))
    };
    assert_eq!(label("version").trim(), env!("CARGO_PKG_VERSION"));
    assert_eq!(label("licenses").trim(), "Apache-2.0");
    assert_eq!(label("description").trim(), env!("CARGO_PKG_DESCRIPTION"));
    let annotation = |name: &str| {
        inspect(&format!(
            "{{{{index .Annotations \"dev.kpt.fn.meta.{name}\"}}}}"
        ))
    };
    assert_eq!(annotation("types").trim(), "mutator");
    assert_eq!(
        annotation("description").trim(),
        env!("CARGO_PKG_DESCRIPTION")
    );
    let page = annotation("documentationurl");
    assert!(page.trim().ends_with("krm-fn/README.md"), "{page}");
    let size: u64 = inspect("{{.Size}}").trim().parse().unwrap();
    let of_the_program = fs::metadata(static_program().unwrap()).unwrap().len();
    assert!(
        size < of_the_program + notices().len() as u64 + 64 * 1024,
        "{size} bytes, of which {of_the_program} are the program"
    );
    let container = user.runs(podman, &["create", name()]).trim().to_owned();
    let file = format!("{container}:/usr/share/licenses/{PROGRAM}/{NOTICES}");
    user.runs(podman, &["cp", &file, NOTICES]);
    user.runs(podman, &["rm", &container]);
    assert_eq!(fs::read_to_string(user.path(NOTICES)).unwrap(), notices());
}

#[test]
fn the_same_program_gives_the_same_image() {
    let Some(store) = image() else { return };
    let mut again = Command::new("krm-fn/build");
    again
        .args(["again"])
        .arg(static_program().unwrap())
        .env("BUILDER", "buildah");
    assert_eq!(
        script(again.envs(store.variables.iter().cloned())).trim(),
        store.id
    );
    // FROM scratch: no program of the other architecture has to be run to build for it.
    let mut other = Command::new("krm-fn/build");
    other
        .args(["other"])
        .arg(static_program().unwrap())
        .arg("arm64")
        .env("BUILDER", "buildah");
    script(other.envs(store.variables.iter().cloned()));
    let format = [
        "image",
        "inspect",
        "--format",
        "{{.Os}}/{{.Architecture}}",
        "other",
    ];
    assert_eq!(
        user(store).runs(Path::new("podman"), &format),
        "linux/arm64\n"
    );
}

#[test]
fn kustomize_runs_it_as_a_container() {
    for version in ["5.8.", "5.6."] {
        let (Some(kustomize), Some(store)) = (tools::find("kustomize", version), image()) else {
            continue;
        };
        let user = user(store);
        let folder = "examples/kustomize-container";
        // No --enable-exec: containers need none.
        let in_container = user.runs(&kustomize, &["build", "--enable-alpha-plugins", folder]);
        let configuration = user.reads("kustomize-container/mackerel-agent.yaml");
        assert!(
            configuration.contains(&format!("container:\n        image: {}\n", name())),
            "{configuration}"
        );
        let with_program = configuration.replace(
            &format!("container:\n        image: {}", name()),
            "exec:\n        path: cat",
        );
        fs::write(
            user.path("examples/kustomize-container/mackerel-agent.yaml"),
            with_program,
        )
        .unwrap();
        let without = user.runs(
            &kustomize,
            &["build", "--enable-alpha-plugins", "--enable-exec", folder],
        );
        same_but_for_the_agent(
            &in_container,
            &without,
            &["CronJob/report initContainers", "Deployment/web containers"],
        );
        assert!(
            in_container.contains("shop:web"),
            "the role of the functionConfig, in:\n{in_container}"
        );
    }
}

#[test]
fn kpt_renders_with_it_as_with_the_program() {
    let (Some(kpt), Some(store)) = (tools::find("kpt", ""), image()) else {
        return;
    };
    let (user, other) = (user(store), User::new());
    let kptfile = user
        .reads("kpt/Kptfile")
        .replace(&format!("exec: {PROGRAM}"), &format!("image: {}", name()));
    fs::write(user.path("examples/kpt/Kptfile"), &kptfile).unwrap();
    assert!(kptfile.contains(name()), "{kptfile}");
    user.runs(&kpt, &["fn", "render", "examples/kpt"]);
    other.runs(&kpt, &["fn", "render", "--allow-exec", "examples/kpt"]);
    for file in
        ["deployment.yaml", "jobs.yaml", "mackerel-agent.yaml"].map(|file| format!("kpt/{file}"))
    {
        assert_eq!(user.reads(&file), other.reads(&file));
    }
    assert!(
        user.reads("kpt/deployment.yaml")
            .contains("mackerel-container-agent")
    );
}

#[test]
fn kpt_eval_runs_it_and_kpt_doc_shows_its_help() {
    let (Some(kpt), Some(store)) = (tools::find("kpt", ""), image()) else {
        return;
    };
    let (user, other) = (user(store), User::new());
    let setting = ["--", "apiKey.secretKeyRef.name=team-key"];
    user.runs(
        &kpt,
        &[&["fn", "eval", "examples/kpt", "-i", name()], &setting[..]].concat(),
    );
    other.runs(
        &kpt,
        &[
            &["fn", "eval", "examples/kpt", "--exec", PROGRAM],
            &setting[..],
        ]
        .concat(),
    );
    assert_eq!(
        user.reads("kpt/deployment.yaml"),
        other.reads("kpt/deployment.yaml")
    );
    assert!(user.reads("kpt/deployment.yaml").contains("name: team-key"));

    let help = user.runs(&kpt, &["fn", "doc", "-i", name()]);
    assert!(help.contains("Usage: mackerel-agent-injector"), "{help}");
}

#[test]
fn kpt_shows_why_the_container_refuses() {
    let (Some(kpt), Some(store)) = (tools::find("kpt", ""), image()) else {
        return;
    };
    let user = user(store);
    user.asks_badly("kpt/deployment.yaml");
    let before = user.reads("kpt/deployment.yaml");
    let refused = user.tries(&kpt, &["fn", "eval", "examples/kpt", "-i", name()]);
    refused.says_why_on_stderr();
    assert_eq!(user.reads("kpt/deployment.yaml"), before);
}

/// The users that the orchestrators ask for by name, in the form that podman and docker read.
#[test]
fn nobody_is_the_same_user_in_all_files() {
    let read = |file: &str| fs::read_to_string(root().join("krm-fn").join(file)).unwrap();
    assert!(read("passwd").starts_with("nobody:x:65534:65534:"));
    assert_eq!(read("group"), "nobody:x:65534:\n");
    assert!(read("Dockerfile").contains("\nUSER 65534:65534\n"));
}
