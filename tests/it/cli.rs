//! The command line's wiring: what is injected and why is tested elsewhere.

use crate::program::{Folder, NEEDED, Ran, WEB, ran};
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
            stderr: format!("1 injected, 1 without pod template; 1 file changed\n{NEEDED}")
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
        (&["inject", "--diff", "."], ""),
    ] {
        let ran = folder.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        assert!(
            ran.stderr.contains("b.yaml:") && ran.stderr.contains("c.yaml:"),
            "every error is shown: {}",
            ran.stderr
        );
        let way = "to skip what failed, use `--set onError=skip`";
        assert!(
            ran.stderr.ends_with(&format!("2 errors{ending}; {way}\n")),
            "{}",
            ran.stderr
        );
    }
    let unread = folder
        .run(&["inject", "a.yaml", "b.yaml", "no.yaml"])
        .stderr;
    assert!(
        unread.ends_with("2 errors; no output was written\n"),
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
fn changes_that_an_error_holds_back_are_not_reported() {
    let injected = injected();
    let opted_out = WEB.replace(
        "metadata:\n      labels:",
        "metadata:\n      annotations: {agent-injector.contrib.mackerel.io/inject: \"false\"}\n      labels:",
    );
    // Under `annotated`, only a text with the prefix of the injector's annotations can request an agent.
    let broken = format!("# agent-injector.contrib.mackerel.io\n{BROKEN}");
    let files = [
        ("a.yaml", WEB),
        ("b.yaml", &opted_out),
        ("c.yaml", &injected),
        ("d.yaml", &*broken),
    ];
    for args in [&["inject", "-i"][..], &["inject"]] {
        let folder = Folder::with(&files);
        let ran = folder.run(
            &[
                args,
                &["-v", "--set=injection=annotated", "--log-file=log", "."],
            ]
            .concat(),
        );
        for told in [&ran.stderr, &folder.read("log")] {
            assert!(
                told.contains("info[opted-out]") && told.contains("error[uneditable]"),
                "{args:?} {told}"
            );
            assert!(!told.contains("the agent was"), "{args:?} {told}");
        }
        let checked = folder
            .run(&["inject", "--check", "-v", "--set=injection=annotated", "."])
            .stderr;
        assert!(checked.contains("the agent would be removed"), "{checked}");
    }
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
fn what_on_error_skips_is_an_error_under_strict() {
    let folder = Folder::with(&[("a.yaml", WEB), ("b.yaml", BROKEN)]);
    for on_error in ["skip", "fail"] {
        let ran = folder.run(&[
            "inject",
            "-i",
            "--strict",
            &format!("--set=onError={on_error}"),
            ".",
        ]);
        assert_eq!(
            (ran.code, folder.read("a.yaml").as_str()),
            (Some(2), WEB),
            "{ran:?}"
        );
        assert!(ran.stderr.contains("error[uneditable]"), "{}", ran.stderr);
        assert!(
            ran.stderr.ends_with("1 error; no file was changed\n"),
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
            "1 injected, 2 without pod template; printed to stdout (`-i` changes the files)\n{NEEDED}"
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

/// A line break between the two would become a part of the first one's value.
#[test]
fn behind_an_open_block_scalar_no_other_file_can_stand() {
    let open = "apiVersion: v1\nkind: ConfigMap\ndata:\n  key: |\n    value";
    let folder = Folder::with(&[("a.yaml", open), ("b.yaml", WEB)]);
    let ran = folder.run(&["inject", "a.yaml", "b.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr
            .starts_with("error[uneditable]: open-block-scalar: "),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("--> a.yaml:5:10"), "{}", ran.stderr);
    assert!(
        ran.stderr.ends_with("1 error; no output was written\n"),
        "no setting helps: {}",
        ran.stderr
    );

    let last = folder.run(&["inject", "b.yaml", "a.yaml"]);
    assert_eq!(
        (last.code, last.stdout.as_str()),
        (Some(0), &*format!("{}---\n{open}", injected()))
    );
    // As the only input, the text is followed by no document.
    assert_eq!(folder.run(&["inject", "a.yaml"]).stdout, open);
    assert_eq!(
        folder.run(&["inject", "-i", "a.yaml", "b.yaml"]).code,
        Some(0)
    );
}

#[test]
fn templates_in_one_unknown_kind_are_one_note_with_a_count() {
    let cluster = "apiVersion: example.com/v1\nkind: Herd\nmetadata: {name: NAME}\nspec:\n  headGroupSpec:\n    template:\n      \
                   spec:\n        containers: [{name: head, image: ray}]\n";
    let cluster = |name: &str| cluster.replace("NAME", name);
    let folder = Folder::with(&[
        ("a.yaml", &cluster("a")),
        ("b.yaml", &(cluster("b") + "---\n" + &cluster("c"))),
    ]);
    let line =
        "podTemplates: [{group: example.com, kind: Herd, path: spec.headGroupSpec.template}]";
    let note = format!(
        "info[unknown-template]: not injected: the kind Herd (example.com) is unknown, but seems to have a pod template in 3 \
         resources\n --> a.yaml:7:7\n  |\n7 |       spec:\n  |       ^\n  \
         = note: in example.com/v1/Herd/a spec.headGroupSpec.template\n  \
         = help: if it has one, add to the configuration: `{line}`\n3 without pod template\n"
    );
    for args in [&["inject", "."][..], &["inject", "--strict", "."]] {
        let ran = folder.run(args);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), &*note), "{args:?}");
    }
    let kinds = "info: without pod template: 3 example.com/Herd\n3 without";
    assert_eq!(
        folder.run(&["inject", "-v", "."]).stderr,
        note.replace("3 without", kinds)
    );
    for quiet in [
        "injection=annotated",
        "injection=disabled",
        "select.exclude=[{kind: Herd}]",
    ] {
        let ran = folder.run(&["inject", "--set", quiet, "."]);
        assert_eq!(
            (ran.code, &*ran.stderr),
            (Some(0), "3 without pod template\n"),
            "{quiet}"
        );
    }
    assert_eq!(
        folder.run(&["uninject", "."]).stderr,
        "3 without pod template\n"
    );
    let ran = folder.run(&[
        "inject",
        "--check",
        "--set",
        line.replacen(": ", "=", 1).as_str(),
        ".",
    ]);
    assert_eq!(
        (ran.code, ran.stdout.lines().count()),
        (Some(1), 3),
        "{ran:?}"
    );
}

#[test]
fn a_charts_templates_are_left_alone_and_reported_once() {
    let template = "{{- if .Values.on }}\napiVersion: apps/v1\nkind: Deployment\n{{- end }}\n";
    let folder = Folder::with(&[
        (
            "web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 0.1.0\n",
        ),
        ("web/templates/a.yaml", template),
        ("web/templates/b.yaml", template),
    ]);
    let alone = folder.run(&["inject", "--check", "web/templates"]).stderr;
    assert!(
        alone.contains(
            "[no-resources]: the directory has no manifests, only templates of a Helm chart"
        ),
        "{alone}"
    );
    let ran = folder.run(&["inject", "-i", "web"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.stderr.matches("info[helm-template]").count(),
        1,
        "{}",
        ran.stderr
    );
    assert_eq!(
        folder
            .run(&["inject", "--check", "--strict", "web/templates"])
            .code,
        Some(2),
        "nothing was looked at"
    );
    assert_eq!(
        folder.run(&["inject", "-i", "web/templates/a.yaml"]).code,
        Some(2),
        "a template that is named is an error"
    );
}

#[test]
fn a_walked_file_that_is_no_manifest_is_passed_by_and_a_named_one_is_an_error() {
    let folder = Folder::with(&[("web.yaml", WEB), ("odd.yaml", "a: [\n")]);
    std::fs::write(folder.path("latin1.yaml"), b"name: caf\xe9\n").unwrap();
    let ran = folder.run(&["inject", "-i", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.stderr.matches("warning[unreadable-file]").count(),
        2,
        "{}",
        ran.stderr
    );
    assert_eq!(folder.run(&["inject", "odd.yaml"]).code, Some(2));
    let latin1 = folder.run(&["inject", "latin1.yaml"]);
    assert_eq!(latin1.code, Some(2));
    assert!(
        latin1
            .stderr
            .starts_with("error: not UTF-8: byte 0xe9 at offset 9\n --> latin1.yaml:1:10\n"),
        "{}",
        latin1.stderr
    );
}

#[test]
fn utf16_is_named() {
    let utf16: Vec<u8> = "\u{feff}kind: Pod\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let ran = Folder::with(&[]).run_with(&["inject", "-"], utf16);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr.starts_with("error: the file is UTF-16"),
        "{}",
        ran.stderr
    );
    // PowerShell's `>` writes such files.
    let folder = Folder::with(&[]);
    let manifest = format!("\u{feff}{WEB}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect::<Vec<u8>>();
    std::fs::write(folder.path("web.yaml"), manifest).unwrap();
    let ran = folder.run(&["inject", "--check", "."]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with("error: the file is UTF-16"),
        "{}",
        ran.stderr
    );
}

#[test]
fn quiet_says_nothing_and_verbose_says_each_resource() {
    let folder = Folder::with(&[("web.yaml", WEB)]);
    assert_eq!(folder.run(&["inject", "-q", "web.yaml"]).stderr, "");
    let verbose = folder.run(&["inject", "-v", "web.yaml"]).stderr;
    assert!(
        verbose.starts_with("web.yaml:7:5: info[injected]: apps/v1/Deployment/web"),
        "{verbose}"
    );
}

#[test]
fn strict_takes_warnings_for_errors() {
    let misplaced = WEB.replace(
        "  name: web\n",
        "  name: web\n  annotations:\n    agent-injector.contrib.mackerel.io/inject: \"true\"\n",
    );
    let folder = Folder::with(&[("web.yaml", &misplaced)]);
    assert_eq!(folder.run(&["inject", "web.yaml"]).code, Some(0));
    let ran = folder.run(&["inject", "--strict", "web.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr.contains("error[misplaced-annotation]"),
        "{}",
        ran.stderr
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
    let would = "web.yaml:1:1: apps/v1/Deployment/web: the agent would be adopted\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), would));
    let said = "info[adopted]: container mackerel would be adopted, renamed to mackerel-container-agent; changed: image (`agent.image`)\n";
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
        adopted.stderr.ends_with(&format!("\n1 adopted\n{NEEDED}")),
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
        "1 unchanged; 0 files changed\n"
    );
    folder.run(&["uninject", "-i", "web.yaml"]);
    assert_eq!(folder.read("web.yaml"), WEB);
}

#[test]
fn the_configuration_comes_from_the_argument_else_the_variable_and_set_goes_on_top() {
    let config = |image: &str| {
        format!(
            "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec: {{agent: {{image: {image}}}}}\n"
        )
    };
    let folder = Folder::with(&[
        ("one.yaml", &config("r/one:1")),
        ("two.yaml", &config("r/two:2")),
    ]);
    let output = |args: &[&str], variable: Option<&str>| {
        let mut command = folder.command(args);
        command.envs(variable.map(|value| ("MACKEREL_AGENT_INJECTOR_CONFIG", value)));
        ran(command, WEB.as_bytes()).stdout
    };
    assert!(output(&["inject", "-"], Some("one.yaml")).contains("image: r/one:1"));
    let mut missing = folder.command(&["inject", "-"]);
    missing.env("MACKEREL_AGENT_INJECTOR_CONFIG", "no.yaml");
    let told = "error: MACKEREL_AGENT_INJECTOR_CONFIG: no.yaml: no such file or directory\n";
    assert_eq!(ran(missing, WEB.as_bytes()).stderr, told);
    assert!(
        output(&["inject", "--config", "two.yaml", "-"], Some("one.yaml"))
            .contains("image: r/two:2")
    );
    let set = output(
        &[
            "inject",
            "--config",
            "two.yaml",
            "--set",
            "agent.image=r/a:1",
            "--set",
            "agent.image=r/b:2",
        ],
        None,
    );
    assert!(set.contains("image: r/b:2"));
}

#[test]
fn namespace_is_that_of_resources_that_name_none() {
    let folder = Folder::with(&[]);
    let ran = folder.run_with(&["inject", "--namespace", "kube-system", "-"], WEB);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), WEB));
    assert_eq!(ran.stderr, "1 skipped (namespace-excluded)\n");
    let last = folder.run_with(
        &[
            "inject",
            "--namespace",
            "kube-system",
            "--set",
            "namespace=prod",
            "-",
        ],
        WEB,
    );
    assert_eq!(last.stdout, WEB, "--namespace counts after every --set");
}

#[test]
fn a_wrong_configuration_stops_the_run_and_says_where() {
    let folder = Folder::with(&[(
        "wrong.yaml",
        "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec:\n  agnet: {}\n",
    )]);
    let ran = folder.run_with(&["inject", "--config", "wrong.yaml", "-"], WEB);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("--> wrong.yaml:4:3"), "{}", ran.stderr);
    let validated = folder.run(&["config", "validate", "wrong.yaml"]);
    assert_eq!((validated.code, &validated.stderr), (Some(2), &ran.stderr));
}

#[test]
fn the_printed_example_is_valid_and_the_schema_is_json() {
    let folder = Folder::with(&[]);
    let example = folder.run(&["config", "example"]).stdout;
    let ran = folder.run_with(&["config", "validate", "-"], &example);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "<stdin>: valid\n"),
        "{}",
        ran.stderr
    );
    for (set, code) in [("agent.image=r/a:1", 0), ("agent.imge=r/a:1", 2)] {
        assert_eq!(
            folder.run(&["config", "validate", "--set", set]).code,
            Some(code),
            "arguments alone: {set}"
        );
    }
    let schema: serde_json::Value =
        serde_json::from_str(&folder.run(&["config", "schema"]).stdout).unwrap();
    assert!(schema.is_object());
}

#[test]
fn the_log_file_gets_every_decision_and_is_appended_to() {
    let folder = Folder::with(&[("web.yaml", WEB), ("settings.yaml", CONFIG_MAP)]);
    folder.run(&[
        "inject",
        "--log-file",
        "log",
        "-q",
        "--diff",
        "web.yaml",
        "settings.yaml",
    ]);
    let mut command = folder.command(&["inject", "--diff", "no/such.yaml"]);
    command.env("MACKEREL_AGENT_INJECTOR_LOG_FILE", "log");
    ran(command, b"");
    let log = folder.read("log");
    let lines: Vec<_> = log.lines().collect();
    assert!(
        lines[0].starts_with("web.yaml:7:5: info[injected]: apps/v1/Deployment/web"),
        "{log}"
    );
    let expected = format!(
        "1 would be injected, 1 without pod template; no file was changed\n{NEEDED}\
         error: no/such.yaml: no such file or directory\n1 error\n"
    );
    assert_eq!(lines[1..], expected.lines().collect::<Vec<_>>());
}

#[test]
fn wrong_usage_is_logged_too() {
    let folder = Folder::with(&[]);
    let logged =
        "error: unexpected argument '--sett' found; tip: a similar argument exists: '--set'\n";
    let ran = folder.run(&["--sett=a.b=c", "--log-file=v.log"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr
            .starts_with("error: unexpected argument '--sett' found\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(folder.read("v.log"), logged);
    let mut command = folder.command(&["inject", "--sett=a.b=c"]);
    command.env("MACKEREL_AGENT_INJECTOR_LOG_FILE", "v.log");
    assert_eq!(crate::program::ran(command, b"").code, Some(2));
    assert_eq!(folder.read("v.log"), format!("{logged}{logged}"));
    let ran = folder.run(&["--sett=a.b=c", "--log-file=no/such/log"]);
    assert!(
        ran.stderr
            .ends_with("error: cannot write the log file no/such/log: no such file or directory\n")
    );
}

#[test]
fn an_agent_that_inject_takes_out_is_named() {
    let folder = Folder::with(&[("web.yaml", &injected())]);
    let ran = folder.run(&["inject", "-i", "--set", "injection=annotated", "web.yaml"]);
    let named = "info[removed]: the agent was removed: `injection` is `annotated`, and the template does not request injection\n \
                 --> web.yaml:7:5\n  |\n7 |     metadata:\n  |     ^\n  = note: in apps/v1/Deployment/web spec.template\n";
    assert_eq!(ran.stderr, format!("{named}1 removed; 1 file changed\n"));
    let many = folder
        .run_with(
            &["inject", "--set", "injection=annotated", "-"],
            format!("{}---\n", injected()).repeat(9),
        )
        .stderr;
    assert_eq!(many.matches("info[removed]").count(), 1, "{many}");
    assert!(
        many.contains(" = note: 8 more: <stdin>:")
            && many.contains(" and 5 others (`-v` shows all)\n"),
        "{many}"
    );
    folder.write("web.yaml", &injected());
    assert_eq!(
        folder.run(&["uninject", "-i", "web.yaml"]).stderr,
        "1 removed; 1 file changed\n"
    );
}

#[test]
fn the_summary_says_where_the_manifests_went() {
    let folder = Folder::with(&[("web.yaml", WEB)]);
    let ran = folder.run(&["inject", "web.yaml"]);
    assert_eq!(
        ran.stderr,
        format!("1 injected; printed to stdout (`-i` changes the files)\n{NEEDED}")
    );
    assert_eq!(
        folder.run_with(&["inject", "-"], WEB).stderr,
        format!("1 injected\n{NEEDED}")
    );
    assert_eq!(folder.read("web.yaml"), WEB);
    folder.write("web.yaml", &injected());
    assert_eq!(folder.run(&["inject", "web.yaml"]).stderr, "1 unchanged\n");
}

#[test]
fn dry_runs_report_in_the_conditional() {
    let folder = Folder::with(&[("new.yaml", WEB), ("old.yaml", &injected())]);
    for give in [
        &["--check"][..],
        &["--diff"],
        &["--check", "--diff"],
        &["--output=patch"],
    ] {
        let said = |args: &[&str]| folder.run(&[args, give].concat()).stderr;
        let wanted = said(&[
            "inject",
            "-v",
            "--set=agent.image=r/mackerel-container-agent:2",
            "new.yaml",
            "old.yaml",
        ]);
        for line in [
            "new.yaml:7:5: info[injected]: apps/v1/Deployment/web spec.template: the agent would be added\n",
            "old.yaml:7:5: info[updated]: apps/v1/Deployment/web spec.template: the agent would be updated\n",
            "\n1 would be injected, 1 would be updated; no file was changed\n",
        ] {
            assert!(wanted.contains(line), "{give:?} {wanted}");
        }
        let unwanted = said(&["uninject", "-v", "new.yaml", "old.yaml"]);
        assert!(
            unwanted.contains(": the agent would be removed\n"),
            "{give:?} {unwanted}"
        );
        let summary = "\n1 would be removed, 1 skipped (not-injected); no file was changed\n";
        assert!(unwanted.ends_with(summary), "{give:?} {unwanted}");
        let unchanged = said(&["inject", "old.yaml"]);
        assert_eq!(unchanged, "1 unchanged; no file was changed\n", "{give:?}");
    }
    let stream = folder.run_with(&["inject", "-v", "-"], WEB).stderr;
    assert!(
        stream.contains(": the agent was added\n1 injected\n"),
        "{stream}"
    );
    let permissions = [
        "--namespace=shop",
        "--set=rbac.generate=true",
        "--set=rbac.allowNodesProxy=true",
        "-",
    ];
    let shown = folder
        .run_with(&[&["inject", "--diff"], &permissions[..]].concat(), WEB)
        .stderr;
    assert!(
        shown.contains("info: ClusterRoles and bindings: 2 would be added\n"),
        "{shown}"
    );
    let given = folder
        .run_with(&[&["inject"], &permissions[..]].concat(), WEB)
        .stderr;
    assert!(
        given.contains("info: ClusterRoles and bindings: 2 added\n"),
        "{given}"
    );
}

#[test]
fn where_there_is_nothing_to_look_at_there_is_a_warning() {
    let folder = Folder::with(&[
        (".ignore", "*.yaml\n"),
        ("web.yaml", WEB),
        ("none/notes.txt", ""),
    ]);
    for named in [".", "none"] {
        let ran = folder.run(&["inject", "--check", named]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
        assert!(
            ran.stderr
                .starts_with("warning[no-resources]: the directory has no")
                && ran.stderr.contains(&format!("\n --> {named}\n1 warning")),
            "{}",
            ran.stderr
        );
        assert_eq!(
            folder.run(&["inject", "--check", "--strict", named]).code,
            Some(2)
        );
    }
    let folder = Folder::with(&[
        (
            "chart/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 0.1.0\n",
        ),
        ("chart/values.yaml", "replicas: 1\n"),
        ("chart/templates/web.yaml", WEB),
        ("other/values.yaml", "replicas: 1\n"),
        ("other/README.txt", ""),
        ("all/chart/values.yaml", "replicas: 1\n"),
        ("all/web.yaml", WEB),
    ]);
    for (named, why) in [
        (
            "chart",
            "the directory has no manifests, only templates of a Helm chart",
        ),
        (
            "other",
            "the *.yaml, *.yml and *.json files of the directory have no resources",
        ),
    ] {
        let ran = folder.run(&["inject", "--check", named]);
        let warning = format!("warning[no-resources]: {why}\n --> {named}\n");
        assert!(
            ran.code == Some(0) && ran.stderr.contains(&warning),
            "{}",
            ran.stderr
        );
        assert_eq!(
            folder.run(&["inject", "--check", "--strict", named]).code,
            Some(2)
        );
    }
    let some = folder.run(&["inject", "--diff", "all"]);
    assert!(!some.stderr.contains("no-resources"), "{}", some.stderr);
    let named = folder.run(&["inject", "--check", "--strict", "other/values.yaml"]);
    assert_eq!(
        named.code,
        Some(0),
        "pre-commit names any file: {}",
        named.stderr
    );
    let folder = Folder::with(&[
        ("empty.yaml", ""),
        ("comments.yaml", "# nothing yet\n---\n"),
        ("text.yaml", "hello\n"),
    ]);
    for named in ["empty.yaml", "comments.yaml", "text.yaml"] {
        let ran = folder.run(&["inject", "--check", named]);
        assert_eq!(
            ran.stderr,
            format!(
                "warning[no-resources]: the input has no resources\n --> {named}\n1 warning; no file was changed\n"
            )
        );
        assert_eq!(
            folder.run(&["inject", "--check", "--strict", named]).code,
            Some(2)
        );
    }
    let ran = folder.run_with(&["inject", "--check", "-"], "\n");
    assert_eq!(
        ran.stderr,
        "warning[no-resources]: the input has no resources\n --> <stdin>\n1 warning; no file was changed\n"
    );
    assert_eq!(
        folder
            .run_with(&["inject", "--strict", "--check", "-"], "")
            .code,
        Some(2)
    );
    assert_eq!(
        folder.run_with(&["--log-file", "log"], "").stderr,
        "no resources\n",
        "a chart may be empty"
    );
}

#[test]
fn a_file_that_is_no_manifest_is_called_so() {
    let template = "{{- if .Values.on }}\napiVersion: apps/v1\nkind: Deployment\n{{- end }}\n";
    let folder = Folder::with(&[
        (
            "web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 0.1.0\n",
        ),
        ("web/templates/a.yaml", template),
        ("deploy.tpl", template),
        ("README.md", "# Title\n\nText: [it is\n"),
        ("broken.yaml", BROKEN),
    ]);
    for (file, help) in [
        (
            "web/templates/a.yaml",
            "the file is a template of a Helm chart; render it first, for example with `helm template`",
        ),
        (
            "deploy.tpl",
            "if this is a template, for example of a Helm chart, render it first and inject the result",
        ),
        ("README.md", "if the file is a manifest, correct it"),
        ("broken.yaml", "correct the document"),
    ] {
        let stderr = folder.run(&["inject", file]).stderr;
        assert!(stderr.contains(&format!("= help: {help}\n")), "{stderr}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::with(&[]);
    assert_eq!(
        folder.run(&["man", "--dir", "man1"]),
        Ran {
            code: Some(0),
            stdout: String::new(),
            stderr: String::new()
        }
    );
    let program = folder.read("man1/mackerel-agent-injector.1");
    assert!(program.contains("[OPTIONS] [COMMAND]"), "{program}");
    for section in ["EXIT STATUS", "ENVIRONMENT", "GLOBAL OPTIONS", "COMMANDS"] {
        assert!(
            program.contains(&format!(".SH \"{section}\"\n"))
                || program.contains(&format!(".SH {section}\n")),
            "{program}"
        );
    }
    for name in ["inject", "uninject", "config", "completions", "man"] {
        let page = format!("mackerel-agent-injector-{name}");
        assert!(
            program.contains(&format!("{}(1)", page.replace('-', "\\-"))),
            "{program}"
        );
        assert!(folder.path(&format!("man1/{page}.1")).is_file(), "{page}");
    }
    assert_eq!(
        folder.run(&["man", "config", "validate"]).stdout,
        folder.read("man1/mackerel-agent-injector-config-validate.1")
    );
    let inject = folder.run(&["man", "inject"]).stdout;
    assert!(inject.contains("\\-\\-output\\fR \\fI<FORMAT>"), "{inject}");
    assert!(
        inject.contains(
            ".SH EXAMPLES\n.nf\n  mackerel\\-agent\\-injector inject \\-\\-diff deploy/\n"
        ),
        "{inject}"
    );
    assert!(
        inject.contains("0 success, 1 `\\-\\-check` found"),
        "{inject}"
    );
    assert!(!inject.contains("EXTRA"), "{inject}");
}

#[cfg(unix)]
#[test]
fn kubectl_runs_the_program_as_its_plugin() {
    let folder = Folder::with(&[]);
    std::os::unix::fs::symlink(
        env!("CARGO_BIN_EXE_mackerel-agent-injector"),
        folder.path("kubectl-mackerel"),
    )
    .unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(folder.path("kubectl-mackerel"));
        command.args(args);
        ran(command, WEB.as_bytes())
    };
    assert_eq!(run(&["inject", "-"]).stdout, injected());
    let help = run(&["inject", "--help"]).stdout;
    assert!(
        help.contains("Usage: kubectl mackerel inject [OPTIONS] [PATH]..."),
        "{help}"
    );
    assert!(
        help.contains("  kubectl mackerel inject --diff deploy/\n"),
        "{help}"
    );
    let usage = run(&["inject", "--nonsense"]).stderr;
    assert!(usage.contains("Usage: kubectl mackerel inject"), "{usage}");
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

#[test]
fn more_than_twenty_errors_are_counted() {
    let files: Vec<(String, &str)> = (10..35)
        .map(|number| (format!("{number}.yaml"), BROKEN))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), *text))
        .collect();
    let stderr = Folder::with(&files).run(&["inject", "."]).stderr;
    assert_eq!(stderr.matches("error[uneditable]").count(), 20);
    assert!(
        stderr.ends_with("… and 5 more errors (5 uneditable)\n25 errors; no output was written\n"),
        "{stderr}"
    );
}

#[test]
fn warnings_alike_do_not_hide_another_one() {
    let with = |field: &str| {
        WEB.replace(
            "    spec:\n      containers",
            &format!("    spec:\n      {field}\n      containers"),
        )
    };
    let hasty = |seconds: u32| with(&format!("terminationGracePeriodSeconds: {seconds}")) + "---\n";
    let same = hasty(1).repeat(18);
    let different = (2..9).map(hasty).collect::<String>();
    let folder = Folder::with(&[(
        "web.yaml",
        &(same + &different + &with("hostNetwork: true")),
    )]);
    let shown = |more: &[&str]| {
        folder
            .run(&[&["inject", "--check", "web.yaml"], more].concat())
            .stderr
    };
    let (few, all) = (shown(&[]), shown(&["-v"]));
    assert_eq!(
        (
            few.matches("[short-termination]").count(),
            few.matches("[host-network]").count()
        ),
        (3, 1),
        "{few}"
    );
    assert!(
        few.contains(
            "   = note: 17 more: web.yaml:26:38, web.yaml:41:38, web.yaml:56:38 and 14 others (`-v` shows all)\n"
        ),
        "{few}"
    );
    assert!(
        few.contains("\n… and 5 more warnings (5 short-termination); `-v` shows all\n"),
        "{few}"
    );
    assert!(few.contains("26 would be injected, 26 warnings; "), "{few}");
    assert_eq!(
        (
            all.matches("[short-termination]").count(),
            all.matches(" more").count()
        ),
        (25, 0),
        "{all}"
    );
}

#[test]
fn a_merge_conflict_is_named() {
    let conflict = WEB.replace("spec:\n", "<<<<<<< HEAD\nspec:\n");
    let stderr = Folder::with(&[("web.yaml", &conflict)])
        .run(&["inject", "web.yaml"])
        .stderr;
    assert!(
        stderr.contains("= help: resolve the merge conflict"),
        "{stderr}"
    );
}
