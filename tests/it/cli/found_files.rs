//! Files that are the output, too, and files that the user has not named.

use super::injected;
use crate::program::{Folder, Ran, WEB, ran};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

#[test]
fn a_named_input_that_is_the_output_is_refused_and_one_of_a_walk_is_skipped() {
    let folder = Folder::with(&[("web.yaml", WEB), ("d/web.yaml", WEB)]);
    let run = |arguments: &[&str], output: &str, is_appended: bool| {
        let mut options = OpenOptions::new();
        options
            .create(true)
            .append(is_appended)
            .write(true)
            .truncate(!is_appended);
        let file = options.open(folder.path(output)).unwrap();
        let mut command = folder.command(arguments);
        command.stdin(
            OpenOptions::new()
                .read(true)
                .open(folder.path("web.yaml"))
                .unwrap(),
        );
        command.stdout(file).stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let error = "the file is the output, too; restore it if the shell has emptied it; use `-i`, or write to another file";
    for (arguments, named) in [
        (&["inject", "./web.yaml"][..], "./web.yaml"),
        (&["inject", "--check", "-o", "json", "web.yaml"], "web.yaml"),
        (&["rbac", "web.yaml"], "web.yaml"),
        (&["inject", "-"], "<stdin>"),
        (&[], "<stdin>"),
    ] {
        for is_appended in [true, false] {
            folder.write("web.yaml", WEB);
            let (code, said) = run(arguments, "web.yaml", is_appended);
            assert_eq!(code, Some(2), "{arguments:?}: {said}");
            let start = format!("error: {named}: {error}\n");
            assert!(said.starts_with(&start), "{arguments:?}: {said}");
        }
    }
    folder.write("web.yaml", WEB);
    let (code, said) = run(&["inject", "d"], "d/all.yaml", false);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("info: d/all.yaml: skipped, since it is the output\n"),
        "{said}"
    );
    assert_eq!(folder.read("d/all.yaml"), injected());
}

/// Runs with a limit of memory and time, for input that could take all of them, and with a secret in the environment.
fn limited(folder: &Folder, arguments: &[&str]) -> Ran {
    let program = folder.command(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1000000; exec timeout 60 \"$0\" \"$@\""]);
    command.arg(program.get_program()).args(arguments);
    command.current_dir(folder.root()).env("TOKEN", "hunter2");
    let ran = ran(command, b"");
    assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
    ran
}

#[test]
fn a_configuration_that_is_found_is_a_regular_file_of_the_repository() {
    let memo = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec: {agent: {memo: found}}\n";
    let folder = Folder::with(&[
        ("r/.git/HEAD", ""),
        ("r/a/web.yaml", WEB),
        ("r/etc/memo.yaml", memo),
        ("memo.yaml", memo),
    ]);
    let long = format!("{memo}#{}\n", "x".repeat(1 << 20));
    folder.write("r/etc/long.yaml", &long);
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        folder.path("r/etc/fifo"),
        rustix::fs::Mode::RWXU,
    )
    .unwrap();
    let link = folder.path("r/agent-injector.yaml");
    let commands = [
        &["inject", "--check", "r/a"][..],
        &["inject", "-i", "r/a/web.yaml"],
        &["explain", "r"],
        &["config", "validate", "r"],
    ];
    let other = "not a regular file of the repository with at most 1 MiB";
    for (target, error) in [
        ("/proc/self/environ", other),
        ("../memo.yaml", other),
        ("/dev/zero", other),
        ("etc/fifo", other),
        ("etc/long.yaml", other),
        ("etc/none.yaml", "no such file or directory"),
    ] {
        symlink(target, &link).unwrap();
        let error = format!(
            "error: r/agent-injector.yaml: {error}; use `--config FILE`, or `--no-config` for the defaults\n"
        );
        for command in commands {
            let ran = limited(&folder, command);
            assert_eq!(
                (ran.code, &*ran.stderr),
                (Some(2), &*error),
                "{command:?} {target}"
            );
        }
        fs::remove_file(&link).unwrap();
    }
    symlink("etc/memo.yaml", &link).unwrap();
    let ran = limited(&folder, &["inject", "r/a"]);
    assert!(ran.stdout.contains("MACKEREL_MEMO"), "{ran:?}");
}

/// A link in a checkout may give a file the name that a workflow has for `--config`.
#[test]
fn a_file_that_is_no_configuration_is_not_shown() {
    let folder = Folder::with(&[("web.yaml", WEB), (".env", "TOKEN: hunter2\nkind: [\n")]);
    fs::write(folder.path("bytes"), b"TOKEN=hunter2\xff\n").unwrap();
    symlink(".env", folder.path("agent-injector.yaml")).unwrap();
    for config in [
        &["--config", "/proc/self/environ"][..],
        &["--config", "bytes"],
        &["--config", ".env"],
        &[],
    ] {
        let ran = limited(&folder, &[&["inject", "web.yaml"], config].concat());
        let code = if config.is_empty() { 0 } else { 2 };
        assert_eq!(ran.code, Some(code), "{ran:?}");
    }
    fs::write(folder.path(".env"), "TOKEN: hunter2 [: {\n- \n").unwrap();
    let ran = limited(&folder, &["inject", "web.yaml"]);
    assert!(
        ran.code == Some(2) && ran.stderr.ends_with("\n --> .env:1:17\n"),
        "{ran:?}"
    );
}

#[test]
fn files_that_a_kustomization_or_the_walk_names_are_regular_files_of_the_repository() {
    let annotation =
        "metadata: {annotations: {agent-injector.contrib.mackerel.io/inject: \"false\"}}\n";
    let folder = Folder::with(&[
        ("r/.git/HEAD", ""),
        ("r/a/web.yaml", WEB),
        ("patch.yaml", annotation),
        ("r/b/patch.yaml", annotation),
    ]);
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        folder.path("r/fifo"),
        rustix::fs::Mode::RWXU,
    )
    .unwrap();
    symlink("../../patch.yaml", folder.path("r/a/link.yaml")).unwrap();
    for (path, is_read) in [
        ("/dev/zero", false),
        ("/dev/stdin", false),
        ("/proc/self/environ", false),
        ("../fifo", false),
        ("../../patch.yaml", false),
        ("link.yaml", false),
        ("../b/patch.yaml", true),
    ] {
        let text =
            format!("resources: [web.yaml]\npatches: [{{path: {path}}}]\ntransformers: [{path}]\n");
        folder.write("r/a/kustomization.yaml", &text);
        let ran = limited(&folder, &["inject", "--check", "r/a"]);
        assert_eq!(ran.code, Some(1), "{path} {ran:?}");
        assert_eq!(
            ran.stderr.contains("kustomize-annotation"),
            is_read,
            "{path} {ran:?}"
        );
    }
    fs::remove_file(folder.path("r/a/kustomization.yaml")).unwrap();
    for (name, named) in [
        ("r/.gitignore", "r/a"),
        ("r/.ignore", "r"),
        ("r/a/.ignore", "r"),
    ] {
        symlink("/dev/zero", folder.path(name)).unwrap();
        let ran = limited(&folder, &["inject", "--check", named]);
        assert_eq!(ran.code, Some(2), "{name} {ran:?}");
        assert!(
            ran.stderr
                .contains(&format!("{name}: not a regular file\n")),
            "{name} {ran:?}"
        );
        fs::remove_file(folder.path(name)).unwrap();
    }
}
