//! Messages on stderr and in the log file.

use super::{BROKEN, CONFIG_MAP, injected};
use crate::program::{Folder, WEB, needed, ran};

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
fn each_template_in_an_unknown_kind_is_a_note() {
    let cluster = "apiVersion: example.com/v1\nkind: Herd\nmetadata: {name: NAME}\nspec:\n  headGroupSpec:\n    template:\n      \
                   spec:\n        containers: [{name: head, image: ray}]\n";
    let cluster = |name: &str| cluster.replace("NAME", name);
    let folder = Folder::with(&[
        ("a.yaml", &cluster("a")),
        ("b.yaml", &(cluster("b") + "---\n" + &cluster("c"))),
    ]);
    let line =
        "podTemplates: [{group: example.com, kind: Herd, path: spec.headGroupSpec.template}]";
    let screen = format!(
        "info[unknown-template]: not injected: seems to have a pod template, but its place in the \
         kind Herd (example.com) is unknown: a.yaml:7:7 and 2 more\n  \
         = help: if it has one, add to the configuration, below `spec`: `{line}`\n\n\
         no known pod template, 3 other resources\n"
    );
    for args in [&["inject", "."][..], &["inject", "--strict", "."]] {
        let ran = folder.run(args);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), &*screen), "{args:?}");
    }
    let verbose = folder.run(&["inject", "-v", "."]).stderr;
    let places = " is unknown\n --> a.yaml:7:7\n --> b.yaml:7:7\n --> b.yaml:16:7\n  = help: ";
    let kinds = "\ninfo: without pod template: 3 example.com/Herd\n\nno known pod template, 3 other resources\n";
    assert!(
        verbose.contains(places) && verbose.ends_with(kinds),
        "{verbose}"
    );
    for quiet in [
        "injection=annotated",
        "injection=disabled",
        "select.exclude=[{kind: Herd}]",
    ] {
        let ran = folder.run(&["inject", "--set", quiet, "."]);
        assert_eq!(
            (ran.code, &*ran.stderr),
            (Some(0), "no known pod template, 3 other resources\n"),
            "{quiet}"
        );
    }
    assert_eq!(
        folder.run(&["uninject", "."]).stderr,
        "no known pod template, 3 other resources\n"
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
fn quiet_says_nothing_and_verbose_says_each_resource() {
    let folder = Folder::with(&[("web.yaml", WEB)]);
    assert_eq!(folder.run(&["inject", "-q", "web.yaml"]).stderr, "");
    let verbose = folder.run(&["inject", "-v", "web.yaml"]).stderr;
    assert!(
        verbose.starts_with("web.yaml:8:5: info[injected]: apps/v1/Deployment/web"),
        "{verbose}"
    );
}

#[test]
fn strict_writes_nothing_beside_a_warning() {
    let misplaced = WEB.replace(
        "  name: web\n",
        "  name: web\n  annotations:\n    agent-injector.contrib.mackerel.io/inject: \"true\"\n",
    );
    let folder = Folder::with(&[("web.yaml", &misplaced)]);
    assert_eq!(folder.run(&["inject", "web.yaml"]).code, Some(0));
    let ran = folder.run(&["inject", "--strict", "web.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(
        ran.stderr.contains("warning[misplaced-annotation]"),
        "{}",
        ran.stderr
    );
    let end = "1 to add, 1 warning; no output was written\n--strict: 1 warning fails the run; correct misplaced-annotation\n";
    assert!(ran.stderr.ends_with(&format!("\n\n{end}")), "{ran:?}");
    let quiet = folder.run(&["inject", "-q", "--strict", "web.yaml"]);
    assert_eq!(quiet.stderr, end);
    // What the counts call refused is a refusal below them too.
    folder.write("broken.yaml", BROKEN);
    let ran = folder.run(&[
        "inject",
        "-q",
        "--check",
        "--strict",
        "--set=onError=skip",
        ".",
    ]);
    let end = "1 to add, 1 refused, 1 warning; no file was changed\n--strict: 1 refusal and 1 warning fail the run; correct uneditable, misplaced-annotation\n";
    assert_eq!((ran.code, &*ran.stderr), (Some(1), end));
}

/// The setting on the last lines makes a strict check pass.
#[test]
fn strict_names_the_setting_that_accepts_what_may_last() {
    let web = WEB.replace(
        "    spec:\n",
        "    spec:\n      hostNetwork: true\n      terminationGracePeriodSeconds: 5\n",
    );
    let folder = Folder::with(&[("web.yaml", &web)]);
    let check =
        |set: &[&str]| folder.run(&[&["inject", "--check", "--strict"], set, &["."]].concat());
    folder.run(&["inject", "-i", "."]);
    let ran = check(&["--set=warnings.ignore=[qos-changed]"]);
    let ids = "[host-network, qos-changed, short-termination]";
    let line = format!(
        "--strict: 2 warnings fail the run; to accept what may stay, use `--set 'warnings.ignore={ids}'`\n"
    );
    assert!(ran.code == Some(1) && ran.stderr.contains(&line), "{ran:?}");
    let accepted = check(&[&format!("--set=warnings.ignore={ids}")]);
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    folder.write(
        "labelled.yaml",
        &web.replace(
            "      labels:\n",
            "      labels:\n        agent-injector.contrib.mackerel.io/inject: \"true\"\n",
        ),
    );
    let ran = check(&[]);
    let line = "use `--set 'warnings.ignore=[host-network, short-termination]'`; correct misplaced-annotation\n";
    assert!(ran.stderr.contains(line), "{ran:?}");
}

#[test]
fn a_namespace_that_is_a_placeholder_keeps_its_roles() {
    let web = WEB.replace(
        "  name: web\nspec",
        "  name: web\n  namespace: ${NAMESPACE}\nspec",
    );
    let folder = Folder::with(&[("web.yaml", &web)]);
    let ran = folder.run(&["inject", "--set=agent.roles=[$(namespace):web]", "web.yaml"]);
    assert!(
        ran.stdout
            .contains("value: $(MACKEREL_KUBERNETES_NAMESPACE):web\n"),
        "{ran:?}"
    );
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
        lines[0].starts_with("web.yaml:8:5: info[injected]: apps/v1/Deployment/web"),
        "{log}"
    );
    let expected = [
        "1 to add, 1 other resource; +58 lines in 1 file; no file was changed",
        "required in the namespace of the pods: Secret mackerel-container-agent with the key MACKEREL_APIKEY (not in the input)",
        "required RBAC for the agents: `mackerel-agent-injector rbac -n NAMESPACE web.yaml settings.yaml | kubectl apply -f -`",
        "error: no/such.yaml: no such file or directory",
        "1 error; no file was changed",
    ];
    assert_eq!(lines[1..], expected);
}

/// A full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_written_hides_no_message_and_changes_nothing() {
    let web = WEB.replace("    spec:\n", "    spec:\n      hostNetwork: true\n");
    let folder = Folder::with(&[("web.yaml", &web)]);
    let error = "error: cannot write the log file: no space left on device\n";
    for args in [["inject", "-i"], ["inject", "--diff"]] {
        let ran = folder.run(&[&args[..], &["--log-file=/dev/full", "."]].concat());
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{args:?}");
        assert!(
            ran.stderr.starts_with("warning[host-network]: "),
            "{args:?} {ran:?}"
        );
        assert!(ran.stderr.ends_with(error), "{args:?} {ran:?}");
    }
    assert_eq!(folder.read("web.yaml"), web);
    // It has a note, which goes to the log, too.
    let ran = folder.run(&["policy", "--log-file=/dev/full", "--namespace=shop"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""));
    assert!(ran.stderr.ends_with(error), "{ran:?}");
    let ran = folder.run(&["inject", "--log-file=/dev/full", "no/such.yaml"]);
    let missing = "error: no/such.yaml: no such file or directory\n";
    assert_eq!(
        (ran.code, ran.stderr),
        (Some(2), format!("{missing}{error}"))
    );
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
    let named = "info[removed]: the agent was removed: `injection` is `annotated`, and the template does not request injection: ";
    assert_eq!(
        ran.stderr,
        format!("{named}web.yaml:8:5\n\n1 removed; 1 file changed\n")
    );
    let many = folder
        .run_with(
            &["inject", "--set", "injection=annotated", "-"],
            format!("{}---\n", injected()).repeat(9),
        )
        .stderr;
    let first = "<stdin>:8:5 apps/v1/Deployment/web spec.template";
    assert_eq!(many, format!("{named}{first} and 8 more\n\n9 removed\n"));
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
        format!(
            "{}1 added; printed to stdout (`-i` changes the files)\n",
            needed("-n NAMESPACE web.yaml")
        )
    );
    assert_eq!(
        folder.run_with(&["inject", "-"], WEB).stderr,
        format!("{}1 added\n", needed("-n NAMESPACE -"))
    );
    assert_eq!(folder.read("web.yaml"), WEB);
    folder.write("web.yaml", &injected());
    assert_eq!(folder.run(&["inject", "web.yaml"]).stderr, "1 up to date\n");
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
            "new.yaml:8:5: info[injected]: apps/v1/Deployment/web spec.template: the agent would be added\n",
            "old.yaml:8:5: info[updated]: apps/v1/Deployment/web spec.template: the agent would be updated; changed: `image: mackerel/mackerel-container-agent:v0.13.2-plugins → r/mackerel-container-agent:2`\n",
            "\n\n1 to add, 1 to update; ",
            "; no file was changed\n",
        ] {
            assert!(wanted.contains(line), "{give:?} {wanted}");
        }
        let unwanted = said(&["uninject", "-v", "new.yaml", "old.yaml"]);
        assert!(
            unwanted.contains(": the agent would be removed\n"),
            "{give:?} {unwanted}"
        );
        let summary = "\n\n1 to remove, 1 left alone; ";
        assert!(unwanted.contains(summary), "{give:?} {unwanted}");
        let unchanged = said(&["inject", "old.yaml"]);
        assert_eq!(unchanged, "1 up to date; no file was changed\n", "{give:?}");
    }
    let stream = folder.run_with(&["inject", "-v", "-"], WEB).stderr;
    assert!(
        stream.contains(": the agent was added\n\nbefore you deploy:\n")
            && stream.ends_with("\n\n1 added\n"),
        "{stream}"
    );
}

#[test]
fn errors_alike_name_ten_files_and_v_names_all() {
    let files: Vec<(String, &str)> = (10..35)
        .map(|number| (format!("{number}.yaml"), BROKEN))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), *text))
        .collect();
    let folder = Folder::with(&files);
    let places = |numbers: std::ops::Range<u32>| -> String {
        numbers
            .map(|number| format!(" --> {number}.yaml:3:7\n"))
            .collect()
    };
    let screen = |places: &str| {
        format!(
            "error[uneditable]: not valid YAML: this bracket is never closed\n{places}  \
             = help: correct the document\n\n\
             25 errors in 25 files; no output was written\n\
             next: correct the 25 files (`-v` lists them)\n"
        )
    };
    let few = places(10..20).trim_end().to_owned() + " and 15 more files\n";
    assert_eq!(folder.run(&["inject", "."]).stderr, screen(&few));
    let all = places(10..35);
    assert_eq!(folder.run(&["inject", "-v", "."]).stderr, screen(&all));
}

/// A ServiceAccount in `default` is information for a workload without a namespace.
#[test]
fn information_does_not_hide_a_warning_of_the_same_id() {
    let pair = |name: &str, account: &str, workload: &str| {
        let web = WEB
            .replace("  name: web\n", &format!("  name: {name}\n{workload}"))
            .replace(
                "    spec:\n",
                &format!("    spec:\n      serviceAccountName: {name}\n"),
            );
        format!(
            "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}, namespace: {account}}}\n\
             automountServiceAccountToken: false\n---\n{web}---\n"
        )
    };
    let elsewhere = ["a", "b", "c"].map(|name| pair(name, "default", ""));
    let here = pair("d", "shop", "  namespace: shop\n");
    let folder = Folder::with(&[("web.yaml", &(elsewhere.concat() + &here))]);
    let ran = folder.run(&["inject", "--check", "web.yaml"]).stderr;
    assert!(ran.contains("warning[sa-automount-off]"), "{ran}");
    assert_eq!(ran.matches("info[sa-automount-off]").count(), 3, "{ran}");
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
    // The help is theirs as well, so they are one group, in the words of the id.
    let screen = "\
warning[short-termination]: the pod may be killed before its agent retires the host
 --> web.yaml:12:38
 --> web.yaml:28:38
 --> web.yaml:44:38 and 22 more
  = help: set it to at least 10; the default is 30
warning[host-network]: the pod uses the host network, so the agent reports the network interfaces of the node
   --> web.yaml:412:20
    |
412 |       hostNetwork: true
    |                    ^

before you deploy:
";
    assert!(few.starts_with(screen), "{few}");
    let empty = Folder::with(&[("a/notes.txt", ""), ("b/notes.txt", "")]);
    let each = empty.run(&["inject", "--check", "a", "b"]).stderr;
    assert!(
        each.contains("\n --> a\n --> b\n  = help: name the directory"),
        "{each}"
    );
    assert!(few.contains("\n\n26 to add, 26 warnings; "), "{few}");
    // Each message, and each of its places.
    assert_eq!(
        (
            all.matches("[short-termination]").count(),
            all.matches(" --> web.yaml:").count(),
            all.contains(" more\n")
        ),
        (8, 26, false),
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

#[test]
fn a_record_that_no_later_run_could_read_is_not_written() {
    let inject = |count: usize| {
        let variable =
            |index| format!("{{name: A{index}, valueFrom: {{secretKeyRef: {{name: a, key: k}}}}}}");
        let variables: Vec<String> = (0..count).map(variable).collect();
        let configuration = format!(
            "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec:\n  agent: {{env: [{}]}}\n",
            variables.join(", ")
        );
        let folder = Folder::with(&[("c.yaml", &configuration)]);
        folder.run_with(&["inject", "-", "--config=c.yaml"], WEB)
    };
    let long = inject(3000);
    assert_eq!(long.code, Some(2), "{long:?}");
    let told = "error[uneditable]: the `record` annotation would be too long to be read again";
    assert!(long.stderr.starts_with(told), "{}", long.stderr);

    let short = inject(2000);
    assert_eq!(short.code, Some(0), "{short:?}");
    let back = Folder::with(&[]).run_with(&["uninject", "-"], &short.stdout);
    assert_eq!((back.code, &*back.stdout), (Some(0), WEB));
}

/// The author of a pull request sees what is missing beside what is wrong.
#[test]
fn a_check_lists_the_changes_beside_an_error_and_names_no_command_that_would_fail() {
    let folder = Folder::with(&[("a.yaml", WEB), ("b.yaml", BROKEN)]);
    let checked = folder.run(&["inject", "--check", "."]);
    assert_eq!(checked.code, Some(2), "{checked:?}");
    assert!(
        checked.stdout.starts_with("a.yaml:1:1: ") && checked.stdout.lines().count() == 1,
        "{checked:?}"
    );
    let diff = folder.run(&["inject", "--check", "--diff", "."]);
    assert_eq!((diff.code, &*diff.stdout), (Some(2), ""));
    let table = folder
        .run(&["inject", "--check", "-o", "markdown", "."])
        .stdout;
    let uneditable = table.find("| b.yaml:").unwrap();
    assert!(uneditable < table.find("agent-missing").unwrap(), "{table}");
    assert!(!table.contains("inject -i"), "{table}");
}
