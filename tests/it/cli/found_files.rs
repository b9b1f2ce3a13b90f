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
}

/// A stranger may have written the ignore files of a repository, and its folders.
#[test]
fn ignore_files_and_the_depth_of_folders_have_bounds() {
    let folder = Folder::with(&[("r/.git/HEAD", ""), ("r/a/web.yaml", WEB)]);
    let small = "not a regular file of at most 64 KiB, as ignore files must be; name files instead of the directory";
    let long = "a".repeat(1 << 16);
    let check = |arguments: &[&str], error: &str| {
        let ran = limited(&folder, arguments);
        let expected = format!("error: {error}\n\n1 error; no file was changed\n");
        assert_eq!((ran.code, &*ran.stderr), (Some(2), &*expected), "{ran:?}");
    };
    for (name, named) in [
        ("r/.gitignore", "r/a"),
        ("r/.ignore", "r"),
        ("r/a/.ignore", "r"),
        ("r/.git/info/exclude", "r/a"),
        (".ignore", "r"),
    ] {
        folder.write(name, &long);
        let ran = limited(&folder, &["inject", "--check", named]);
        assert_eq!(
            (ran.code, ran.stdout.lines().count()),
            (Some(1), 1),
            "{ran:?}"
        );
        folder.write(name, &format!("{long}\n"));
        for command in [&["inject", "--check"][..], &["explain"], &["rbac"]] {
            let arguments = [command, &[named]].concat();
            let ran = limited(&folder, &arguments);
            let error = format!("error: {name}: {small}\n");
            assert_eq!(ran.code, Some(2), "{name} {ran:?}");
            assert!(ran.stderr.contains(&error), "{name} {ran:?}");
        }
        fs::remove_file(folder.path(name)).unwrap();
    }
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.path("r/.ignore"), mode).unwrap();
    check(&["inject", "--check", "r"], &format!("r/.ignore: {small}"));
    fs::remove_file(folder.path("r/.ignore")).unwrap();

    // Comments do not count, and a file that two paths share counts once.
    let patterns: String = (0..3_000)
        .map(|number| format!("a{number:08}\n#{number:08}\n"))
        .collect();
    folder.write("r/.gitignore", &patterns);
    for number in 0..24 {
        folder.write(&format!("r/s{number}/.gitignore"), &patterns);
        folder.write(&format!("r/s{number}/web.yaml"), WEB);
    }
    let all = [
        "inject", "--check", "r/s0", "r/s1", "r/s2", "r/s3", "r/s4", "r/s5",
    ];
    assert_eq!(limited(&folder, &all[..6]).code, Some(1));
    let too_many =
        "up to this file, ignore files have more than 1 MiB of patterns; name fewer directories";
    let ran = limited(&folder, &["inject", "--check", "r"]);
    assert!(
        ran.stderr
            .contains(&format!("r/s6/.gitignore: {too_many}\n")),
        "{ran:?}"
    );
    fs::remove_dir_all(folder.path("r")).unwrap();

    let deep = |depth: usize| format!("d{}/web.yaml", "/d".repeat(depth));
    folder.write(&deep(100), WEB);
    let ran = limited(&folder, &["inject", "--check", "d"]);
    assert_eq!(
        (ran.code, ran.stdout.lines().count()),
        (Some(1), 1),
        "{ran:?}"
    );
    folder.write(&deep(1600), WEB);
    let named = deep(101).replace("/web.yaml", "");
    check(
        &["inject", "--check", "d"],
        &format!(
            "{named}: more than 100 directories deep; name a directory nearer to the manifests"
        ),
    );
    folder.write("d/.ignore", "d\n");
    let ran = limited(&folder, &["inject", "--check", "d"]);
    assert!(
        ran.stderr.contains("; 2 files left out by d/.ignore\n"),
        "{ran:?}"
    );
}

/// Git does not read such links either.
#[test]
fn an_ignore_file_that_is_a_link_is_skipped() {
    let folder = Folder::with(&[
        ("r/.git/HEAD", ""),
        ("r/a/web.yaml", WEB),
        ("r/patterns", "web.yaml\n"),
    ]);
    for (name, named) in [
        ("r/.gitignore", "r/a"),
        ("r/.ignore", "r"),
        ("r/a/.ignore", "r"),
        ("r/.git/info/exclude", "r"),
    ] {
        for target in [
            "/dev/zero",
            "/proc/self/pagemap",
            "/proc/self/environ",
            "none",
        ] {
            let target = match target {
                "none" => folder.path("r/patterns"),
                other => other.into(),
            };
            fs::create_dir_all(folder.path("r/.git/info")).unwrap();
            symlink(target, folder.path(name)).unwrap();
            let ran = limited(&folder, &["inject", "--check", named]);
            let said = format!(
                "info: {name}: skipped, since it is a symbolic link, which Git does not follow either\n\nbefore"
            );
            assert!(
                ran.code == Some(1)
                    && ran.stderr.starts_with(&said)
                    && ran.stderr.contains("\n\n1 to add; no file was changed\n"),
                "{ran:?}"
            );
            fs::remove_file(folder.path(name)).unwrap();
        }
    }
}

/// A pull request shows the patterns. What they name is not checked, so its number is said.
#[test]
fn what_an_ignore_file_of_the_program_leaves_out_is_counted() {
    let folder = Folder::with(&[
        (".git/HEAD", ""),
        ("m/web.yaml", WEB),
        ("m/one.yaml", WEB),
        ("m/templates/a/web.yml", WEB),
        ("m/templates/web.json", WEB),
        ("m/templates/notes.txt", ""),
        ("m/out/web.yaml", WEB),
        ("m/gen/web.yaml", WEB),
        (".gitignore", "out/\ngen/\n"),
        (".ignore", "one.yaml\n*.txt\n!gen/\n"),
        ("m/.ignore", "templates/\n"),
    ]);
    let counts = "1 file left out by .ignore; 2 files left out by m/.ignore\n";
    let check = folder.run(&["inject", "--check", "m", "m/web.yaml", "./m"]);
    assert_eq!(check.stdout.lines().count(), 2, "{check:?}");
    let summary = format!("\n\n2 to add; no file was changed; {counts}");
    assert!(check.stderr.contains(&summary), "{check:?}");
    let explained = folder.run(&["explain", "m"]);
    assert_eq!(explained.stderr, counts.replace("; ", "\n"));
    let rbac = folder.run(&["rbac", "-n", "shop", "m"]);
    assert!(rbac.stderr.contains(&format!("; {counts}")), "{rbac:?}");
    let below = folder.command(&["inject", "--check", "."]);
    let mut below = below;
    below.current_dir(folder.path("m"));
    let below = ran(below, b"");
    let counts = "; 1 file left out by ../.ignore; 2 files left out by .ignore\n";
    assert!(below.stderr.contains(counts), "{below:?}");
}

/// `.gitignore` counts in its own repository only, and `.ignore` above it, too.
#[test]
fn patterns_count_as_for_git() {
    let folder = Folder::with(&[
        (".gitignore", "outside.yaml\n"),
        (".ignore", "everywhere.yaml\n"),
        ("r/.git/info/exclude", "own.yaml\n*.json\n"),
        (
            "r/.gitignore",
            "out/\n!kept.json\n# gone.yaml\n[\n\u{feff}bom.yaml\n",
        ),
        ("r/sub/.git", "gitdir: ../.git/modules/sub\n"),
        ("r/sub/.gitignore", "sub.yaml\n"),
        ("r/.ignore", "!.dot.yaml\n"),
    ]);
    for name in [
        "outside.yaml",
        "everywhere.yaml",
        "own.yaml",
        "a.json",
        "kept.json",
        "out/a.yaml",
        "gone.yaml",
        ".dot.yaml",
        ".h/a.yaml",
        "sub/own.yaml",
        "sub/sub.yaml",
        "sub/out/a.yaml",
        "sub/everywhere.yaml",
        "sub/.h.yaml",
    ] {
        folder.write(&format!("r/{name}"), WEB);
    }
    let ran = folder.run(&["inject", "--check", "r"]);
    let files: Vec<_> = ran
        .stdout
        .lines()
        .map(|line| line.split_once(':').unwrap().0)
        .collect();
    let expected = [
        ".dot.yaml",
        "gone.yaml",
        "kept.json",
        "outside.yaml",
        "sub/out/a.yaml",
        "sub/own.yaml",
    ];
    assert_eq!(files, expected.map(|name| format!("r/{name}")), "{ran:?}");
}
