//! The command line's wiring: what is injected and why is tested elsewhere.

#[cfg(target_os = "linux")]
mod builds;
mod found_configuration;
#[cfg(target_os = "linux")]
mod found_files;
#[cfg(target_os = "linux")]
mod in_place;
mod inputs;
mod messages;
mod other_commands;

use crate::program::{Folder, Ran, WEB, needed, ran};
use std::process::{Command, Stdio};

const BROKEN: &str = "apiVersion: apps/v1\nkind: Deployment\nspec: [\n";

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";

const IMAGE: &str = "image: mackerel/mackerel-container-agent";

/// The Deployment with the agent, as `inject -` gives it.
pub(crate) fn injected() -> String {
    let ran = Folder::with(&[]).run_with(&["inject", "-"], WEB);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains(IMAGE));
    ran.stdout
}

#[test]
fn stdin_is_injected_with_or_without_a_dash_and_uninject_gives_it_back() {
    let folder = Folder::with(&[]);
    let injected = injected();
    assert_eq!(folder.run_with(&["inject"], WEB).stdout, injected);
    assert_eq!(folder.run_with(&["uninject"], &injected).stdout, WEB);
    assert_eq!(folder.run_with(&["uninject", "-"], WEB).stdout, WEB);
}

#[test]
fn in_place_touches_only_files_that_change() {
    let folder = Folder::with(&[("a/web.yaml", WEB), ("a/settings.yaml", CONFIG_MAP)]);
    let before = std::fs::metadata(folder.path("a/settings.yaml")).unwrap();
    let ran = folder.run(&["inject", "-i", "a"]);
    assert_eq!(
        ran,
        Ran {
            code: Some(0),
            stdout: String::new(),
            stderr: format!(
                "{}1 added, 1 other resource; 1 file changed\n",
                needed("-n NAMESPACE a")
            )
        }
    );
    assert_eq!(folder.read("a/web.yaml"), injected());
    assert_eq!(
        std::fs::metadata(folder.path("a/settings.yaml"))
            .unwrap()
            .modified()
            .unwrap(),
        before.modified().unwrap()
    );
    assert_eq!(folder.run(&["uninject", "--in-place", "a"]).code, Some(0));
    assert_eq!(folder.read("a/web.yaml"), WEB);
}

#[test]
fn one_error_holds_back_every_file_and_stdout() {
    let folder = Folder::with(&[("a.yaml", WEB), ("b.yaml", BROKEN), ("c.yaml", BROKEN)]);
    for (args, ending) in [
        (
            &["inject", "-i", "a.yaml", "b.yaml", "c.yaml"][..],
            "; no file was changed",
        ),
        (&["inject", "."], "; no output was written"),
        (&["inject", "--diff", "."], "; no file was changed"),
    ] {
        let ran = folder.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        let screen = format!(
            "error[uneditable]: not valid YAML: this bracket is never closed\n \
             --> b.yaml:3:7\n \
             --> c.yaml:3:7\n  \
             = help: correct the document\n\n\
             1 to add, 2 errors in 2 files{ending}\n\
             next: correct the 2 files, or leave "
        );
        assert!(
            ran.stderr.starts_with(&screen) && ran.stderr.ends_with(" with `--set onError=skip`\n"),
            "{}",
            ran.stderr
        );
    }
    let unread = folder
        .run(&["inject", "a.yaml", "b.yaml", "no.yaml"])
        .stderr;
    assert!(
        unread
            .ends_with("\n\n1 to add, 2 errors; no output was written\nnext: correct b.yaml:3:7\n"),
        "a file that is not there stays an error: {unread}"
    );
    assert_eq!(folder.read("a.yaml"), WEB);
    assert_eq!(
        std::fs::read_dir(folder.root()).unwrap().count(),
        3,
        "nothing is left over"
    );
}

#[test]
fn on_error_skip_passes_by_what_cannot_be_done() {
    let folder = Folder::with(&[("a.yaml", WEB), ("b.yaml", BROKEN)]);
    let ran = folder.run(&["inject", "-i", "--set", "onError=skip", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("b.yaml:3:") && ran.stderr.contains("warning[uneditable]"),
        "{}",
        ran.stderr
    );
    assert!(folder.read("a.yaml").contains(IMAGE));
    assert_eq!(folder.read("b.yaml"), BROKEN);
}

#[test]
fn what_on_error_skips_holds_back_under_strict() {
    let folder = Folder::with(&[("a.yaml", WEB), ("b.yaml", BROKEN)]);
    for (on_error, code, severity, counted) in [
        ("skip", 1, "warning", "1 refused"),
        ("fail", 2, "error", "1 error"),
    ] {
        let ran = folder.run(&[
            "inject",
            "-i",
            "--strict",
            &format!("--set=onError={on_error}"),
            ".",
        ]);
        assert_eq!(
            (ran.code, folder.read("a.yaml").as_str()),
            (Some(code), WEB),
            "{ran:?}"
        );
        let title = format!("{severity}[uneditable]");
        assert!(ran.stderr.contains(&title), "{}", ran.stderr);
        let counts = format!("\n\n1 to add, {counted}; no file was changed\n");
        assert!(ran.stderr.contains(&counts), "{}", ran.stderr);
        assert!(
            !ran.stderr.contains("onError"),
            "no other setting lets it pass: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_check_fails_for_a_missing_agent_under_on_error_skip_too() {
    let refused = WEB.replace(
        "labels:",
        "annotations: {agent-injector.contrib.mackerel.io/inject: maybe}\n      labels:",
    );
    let injected = injected();
    let edited = injected.replace("value: kubernetes", "value: ecs");
    let (before, behind) = injected
        .split_once("        - name: mackerel-container-agent\n")
        .unwrap();
    let agent_is_gone = format!(
        "{before}      volumes:\n{}",
        behind.split_once("      volumes:\n").unwrap().1
    );
    let outdated = injected.replace(
        "apiVersion: apps/v1\n",
        "apiVersion: apps/v1\nstatus: {}\nstatus: {}\n",
    );
    for (text, args, code) in [
        (&*refused, &["inject"][..], 1),
        (BROKEN, &["inject"], 1),
        (&agent_is_gone, &["inject"], 1),
        (
            &outdated,
            &["inject", "--set=agent.image=r/mackerel-container-agent:2"],
            1,
        ),
        (&edited, &["uninject"], 1),
        (&edited, &["inject"], 0),
        (&injected, &["inject"], 0),
        (&refused, &["inject", "--set=select.namespaces=[other]"], 0),
    ] {
        let folder = Folder::with(&[("web.yaml", text)]);
        let skip = ["--set=onError=skip", "web.yaml"];
        assert_eq!(
            folder.run(&[args, &skip].concat()).code,
            Some(0),
            "{args:?} {text}"
        );
        for check in [
            &["--check"][..],
            &["--check", "--diff"],
            &["--check", "--output=github"],
        ] {
            let ran = folder.run(&[args, &skip, check].concat());
            assert_eq!(ran.code, Some(code), "{args:?} {check:?} {ran:?} {text}");
            let is_error = ran.stdout.starts_with("::error");
            assert_eq!(
                is_error,
                code == 1 && check.len() > 1 && check[1] != "--diff",
                "{ran:?}"
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn in_place_keeps_the_mode_and_follows_a_named_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::with(&[("real/web.yaml", WEB)]);
    std::fs::set_permissions(
        folder.path("real/web.yaml"),
        std::fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    symlink("real/web.yaml", folder.path("link.yaml")).unwrap();
    assert_eq!(folder.run(&["inject", "-i", "link.yaml"]).code, Some(0));
    assert!(folder.path("link.yaml").is_symlink());
    assert!(folder.read("real/web.yaml").contains(IMAGE));
    assert_eq!(
        std::fs::metadata(folder.path("real/web.yaml"))
            .unwrap()
            .permissions()
            .mode()
            & 0o7777,
        0o640
    );
}

#[test]
fn a_kill_leaves_each_file_old_or_new() {
    let files: Vec<(String, &str)> = (0..200)
        .map(|number| (format!("{number}.yaml"), WEB))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), *text))
        .collect();
    let new = injected();
    let (mut old_seen, mut new_seen) = (0, 0);
    for delay in 0..40 {
        let folder = Folder::with(&files);
        let mut command = folder.command(&["inject", "-i", "."]);
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        for (name, _) in &files {
            match folder.read(name) {
                text if text == WEB => old_seen += 1,
                text if text == new => new_seen += 1,
                text => panic!("{name} is neither old nor new: {text}"),
            }
        }
    }
    assert!(
        old_seen > 0,
        "no kill came early enough to prove anything ({new_seen} new)"
    );
}

#[test]
fn the_diff_is_one_that_git_applies() {
    let crlf = WEB.replace('\n', "\r\n");
    let files = [
        ("web.yaml", WEB),
        ("my app/crlf.yaml", &*crlf),
        ("no-newline.yaml", WEB.trim_end()),
        ("settings.yaml", CONFIG_MAP),
    ];
    let folder = Folder::with(&files);
    let diff = folder.run(&["inject", "--diff", "."]);
    assert_eq!(diff.code, Some(0));
    assert!(
        diff.stdout.contains("--- a/web.yaml\n+++ b/web.yaml\n@@ -"),
        "{}",
        diff.stdout
    );
    let git = |args: &[&str], stdin: &str| {
        let mut command = Command::new("git");
        command.current_dir(folder.root()).args(args);
        let ran = ran(command, stdin.as_bytes());
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    git(&["init", "-q"], "");
    git(&["apply", "--whitespace=nowarn", "-"], &diff.stdout);
    let applied: Vec<_> = files.iter().map(|(name, _)| folder.read(name)).collect();
    let other = Folder::with(&files);
    assert_eq!(other.run(&["inject", "-i", "."]).code, Some(0));
    for ((name, _), applied) in files.iter().zip(applied) {
        assert_eq!(applied, other.read(name), "{name}");
    }
}

#[test]
fn check_lists_what_would_change_and_exits_1() {
    let folder = Folder::with(&[("web.yaml", WEB), ("settings.yaml", CONFIG_MAP)]);
    let listed = "web.yaml:1:1: apps/v1/Deployment/web: the agent would be added\n";
    let ran = folder.run(&["inject", "--check", "web.yaml", "settings.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), listed));
    let both = folder.run(&["inject", "--check", "--diff", "web.yaml", "settings.yaml"]);
    assert_eq!(both.code, Some(1));
    assert!(
        both.stdout
            .starts_with(&format!("{listed}--- a/web.yaml\n")),
        "{}",
        both.stdout
    );
    let quiet = folder.run(&["inject", "--check", "-q", "web.yaml"]);
    assert_eq!(
        quiet,
        Ran {
            code: Some(1),
            stdout: String::new(),
            stderr: String::new()
        }
    );
    assert_eq!(folder.read("web.yaml"), WEB);
    folder.run(&["inject", "-i", "."]);
    let done = folder.run(&["inject", "--check", "."]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), ""));
    let jobs = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: train}\nspec:\n  replicatedJobs:\n";
    let job = "  - template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}\n";
    let ran = folder.run_with(&["inject", "--check", "-"], format!("{jobs}{job}{job}"));
    assert_eq!(
        ran.stdout,
        "<stdin>:1:1: jobset.x-k8s.io/v1alpha2/JobSet/train: the agent would be added in 2 pod templates\n"
    );
}

#[test]
fn output_patch_is_one_object_per_changed_resource_and_line() {
    let folder = Folder::with(&[("web.yaml", &format!("{WEB}---\n{CONFIG_MAP}"))]);
    let ran = folder.run(&["inject", "--output", "patch", "web.yaml"]);
    assert_eq!(ran.code, Some(0));
    let lines: Vec<serde_json::Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 1);
    let keys: Vec<_> = lines[0]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, ["apiVersion", "kind", "name", "patch"]);
    let patch: json_patch::Patch = serde_json::from_value(lines[0]["patch"].clone()).unwrap();
    assert!(
        patch
            .iter()
            .any(|operation| operation.path().as_str() == "/spec/template/spec/containers/-"),
        "{patch:?}"
    );
}

#[test]
fn several_inputs_are_one_stream() {
    let json = "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\"}";
    let folder = Folder::with(&[
        ("a.yaml", WEB),
        ("b.yaml", CONFIG_MAP.trim_end()),
        ("c.json", json),
    ]);
    let ran = folder.run(&["inject", "."]);
    let web = injected();
    assert_eq!(
        ran.stdout,
        format!("{web}---\n{}\n---\n{json}", CONFIG_MAP.trim_end())
    );
    assert_eq!(
        ran.stderr,
        format!(
            "{}1 added, 2 other resources; printed to stdout (`-i` changes the files)\n",
            needed("-n NAMESPACE .")
        )
    );
}

#[test]
fn a_byte_order_mark_stands_at_the_beginning_of_a_stream_only() {
    let marked = format!("\u{feff}{WEB}");
    let folder = Folder::with(&[("a.yaml", &marked), ("b.yaml", &marked)]);
    let web = injected();
    assert_eq!(
        folder.run(&["inject", "."]).stdout,
        format!("\u{feff}{web}---\n{web}")
    );
    assert_eq!(folder.run(&["inject", "-i", "."]).code, Some(0));
    assert_eq!(
        folder.read("b.yaml"),
        format!("\u{feff}{web}"),
        "a file keeps its own"
    );
}

#[test]
fn force_overwrites_hand_edits() {
    let edited = injected().replace("value: kubernetes", "value: ecs");
    let folder = Folder::with(&[("web.yaml", &edited)]);
    assert_eq!(folder.run(&["inject", "-i", "web.yaml"]).code, Some(2));
    assert_eq!(
        folder.run(&["inject", "-i", "--force", "web.yaml"]).code,
        Some(0)
    );
    assert_eq!(folder.read("web.yaml"), injected());
}

/// Neither `inject` nor `uninject` can change such an agent, so a check says that it is there.
#[test]
fn a_check_fails_for_an_agent_without_its_record() {
    let injected = injected();
    let lines = injected.lines().filter(|line| !line.contains("/record:"));
    let lost: String = lines.map(|line| format!("{line}\n")).collect();
    let folder = Folder::with(&[("web.yaml", &lost)]);
    for command in ["inject", "uninject"] {
        for arguments in [&["--check"][..], &["--check", "-q"]] {
            let arguments = [&[command], arguments, &["web.yaml"]].concat();
            let ran = folder.run(&arguments);
            assert_eq!((ran.code, &*ran.stdout), (Some(1), ""), "{ran:?}");
        }
        let ran = folder.run(&[command, "--check", "web.yaml"]);
        assert!(ran.stderr.contains("warning[record-lost]"), "{ran:?}");
        assert!(
            ran.stderr
                .contains("\nnext: web.yaml:12:9: restore the annotation, or run `inject --adopt`"),
            "{ran:?}"
        );
        assert_eq!(folder.run(&[command, "web.yaml"]).code, Some(0));
    }
    let ignored = lost.replace(
        "        agent-injector.contrib.mackerel.io/status",
        "        agent-injector.contrib.mackerel.io/ignore-warnings: record-lost\n        agent-injector.contrib.mackerel.io/status",
    );
    folder.write("web.yaml", &ignored);
    let ran = folder.run(&["inject", "--check", "web.yaml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn adopt_refuses_a_loss_that_lossy_accepts() {
    let by_hand = WEB.to_owned()
        + "        - name: mackerel\n          image: mackerel/mackerel-container-agent:1\n          command: [/agent]\n          env: [{name: MACKEREL_CONTAINER_PLATFORM, value: kubernetes}]\n";
    let folder = Folder::with(&[("web.yaml", &by_hand)]);
    let refused = folder.run(&["inject", "-i", "--adopt", "web.yaml"]);
    assert_eq!(refused.code, Some(2));
    let loss = "error[adopt-refused]: the adopted container mackerel would lose `command`\n";
    assert!(refused.stderr.contains(loss), "{}", refused.stderr);
    assert_eq!(folder.read("web.yaml"), by_hand);
    let adopted = folder.run(&["inject", "-i", "--adopt=lossy", "web.yaml"]);
    assert_eq!(adopted.code, Some(0));
    let loss = "warning[adopt-loses-settings]: the adopted container mackerel loses `command`\n";
    assert!(adopted.stderr.contains(loss), "{}", adopted.stderr);
    assert!(!folder.read("web.yaml").contains("command: [/agent]"));
}

#[test]
fn adopt_takes_over_what_others_put_there_by_every_door() {
    let by_hand = WEB.to_owned()
        + "        - name: mackerel\n          image: mackerel/mackerel-container-agent:1\n"
        + "          env: [{name: MACKEREL_KUBERNETES_KUBELET_READ_ONLY_PORT, value: '0'}]\n";
    let folder = Folder::with(&[("web.yaml", &by_hand)]);
    let left = folder.run(&["inject", "--check", "-v", "web.yaml"]);
    assert!(
        left.code == Some(0) && left.stderr.contains("to adopt it, use `inject --adopt`"),
        "{left:?}"
    );
    let ran = folder.run(&["inject", "--check", "--adopt", "web.yaml"]);
    let would =
        "web.yaml:1:1: apps/v1/Deployment/web: container mackerel would be adopted, renamed";
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.starts_with(would), "{ran:?}");
    let said = "info[adopted]: container mackerel would be adopted, renamed to mackerel-container-agent; \
                changed: `image`; added: `env: MACKEREL_APIKEY`, `env: MACKEREL_CONTAINER_PLATFORM`";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    let adopted = folder.run_with(&["inject", "--adopt", "-"], &by_hand);
    assert!(
        adopted
            .stderr
            .contains(&said.replace("would be adopted", "was adopted")),
        "{}",
        adopted.stderr
    );
    assert!(
        adopted
            .stderr
            .ends_with(&format!("\n\n{}1 adopted\n", needed("-n NAMESPACE -"))),
        "{}",
        adopted.stderr
    );
    let items: String = by_hand.lines().map(|line| format!("  {line}\n")).collect();
    let call = format!("kind: ResourceList\nitems:\n- {}", items.trim_start());
    let answer = folder.run_with(&["inject", "--adopt", "-"], &call).stdout;
    let items: String = adopted
        .stdout
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect();
    assert!(
        answer.starts_with(&format!(
            "kind: ResourceList\nitems:\n- {}",
            items.trim_start()
        )),
        "{answer}"
    );
    assert!(answer.contains("reason: adopted"), "{answer}");
    assert_eq!(
        folder.run(&["inject", "-i", "--adopt", "web.yaml"]).code,
        Some(0)
    );
    assert_eq!(folder.read("web.yaml"), adopted.stdout);
    assert_eq!(
        folder.run(&["inject", "-i", "web.yaml"]).stderr,
        "1 up to date; 0 files changed\n"
    );
    folder.run(&["uninject", "-i", "web.yaml"]);
    assert_eq!(folder.read("web.yaml"), WEB);
}

#[test]
fn a_closed_pipe_is_quiet() {
    let folder = Folder::with(&[("web.yaml", &format!("{WEB}---\n").repeat(5000))]);
    let mut command = folder.command(&["inject", "-q", "web.yaml"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap().as_str()
        ),
        (Some(0), "")
    );
}
