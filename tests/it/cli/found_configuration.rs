//! `agent-injector.yaml`: which runs find it, and which do not.

use super::{IMAGE, injected};
use crate::program::{Folder, WEB};

/// Injects only what asks for it.
const ANNOTATED: &str = "\
apiVersion: agent-injector.contrib.mackerel.io/v1alpha1
kind: AgentInjector
metadata: {name: found}
spec:
  injection: annotated
";

/// Gives the agents a memo.
const MEMO: &str = "\
apiVersion: agent-injector.contrib.mackerel.io/v1alpha1
kind: AgentInjector
metadata: {name: found}
spec:
  agent: {memo: shop}
";

const FOUND: &str = "configuration: agent-injector.yaml\n";

#[test]
fn commands_over_files_find_the_configuration_and_name_it() {
    let folder = Folder::with(&[
        ("agent-injector.yaml", ANNOTATED),
        ("deploy/shop/web.yaml", WEB),
        ("mackerel.yaml", ANNOTATED),
    ]);
    for arguments in [
        &["inject", "--check", "deploy"][..],
        &["inject", "-i", "."],
        &["inject", "deploy/shop/web.yaml"],
        &["explain", "deploy"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?} {ran:?}");
        assert!(!ran.stdout.contains(IMAGE), "{arguments:?} {ran:?}");
        assert!(ran.stderr.ends_with(FOUND), "{arguments:?} {ran:?}");
        assert!(!ran.stderr.contains("warning"), "{arguments:?} {ran:?}");
    }
    let rbac = folder.run(&["rbac", "deploy"]).stderr;
    assert!(rbac.contains("nothing to apply"), "{rbac}");
    assert!(rbac.ends_with(FOUND), "{rbac}");
    assert_eq!(folder.read("deploy/shop/web.yaml"), WEB);
    let quiet = folder.run(&["inject", "--check", "-q", "deploy"]);
    assert_eq!((quiet.code, &*quiet.stderr), (Some(0), ""));
}

#[test]
fn uninject_and_no_config_find_none() {
    let broken = "kind: AgentInjector\nspec: [\n";
    let folder = Folder::with(&[("agent-injector.yaml", broken), ("web.yaml", WEB)]);
    let manifest = injected();
    let ran = folder.run(&["inject", "--no-config", "web.yaml"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), &*manifest), "{ran:?}");
    assert!(!ran.stderr.contains("configuration:"), "{ran:?}");
    folder.write("web.yaml", &manifest);
    assert_eq!(folder.run(&["uninject", "-i", "."]).code, Some(0));
    assert_eq!(folder.read("web.yaml"), WEB);

    folder.write("other.yaml", ANNOTATED);
    let mut command = folder.command(&["inject", "--no-config", "web.yaml"]);
    command.env("MACKEREL_AGENT_INJECTOR_CONFIG", "other.yaml");
    assert_eq!(crate::program::ran(command, b"").stdout, manifest);
    let both = folder.run(&["inject", "--no-config", "--config", "other.yaml", "."]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn the_option_and_the_variable_end_the_search() {
    let folder = Folder::with(&[
        ("agent-injector.yaml", ANNOTATED),
        ("all.yaml", &ANNOTATED.replace("annotated", "always")),
        ("deploy/agent-injector.yaml", ANNOTATED),
        ("deploy/web.yaml", WEB),
    ]);
    let option = folder.run(&["inject", "--config", "all.yaml", "deploy"]);
    assert!(option.stdout.contains(IMAGE), "{option:?}");
    let mut command = folder.command(&["inject", "deploy"]);
    command.env("MACKEREL_AGENT_INJECTOR_CONFIG", "all.yaml");
    let variable = crate::program::ran(command, b"");
    assert_eq!(variable, option);
}

#[test]
fn the_configuration_is_not_printed_with_the_manifests() {
    let always = ANNOTATED.replace("annotated", "always");
    let folder = Folder::with(&[("agent-injector.yaml", &always), ("web.yaml", WEB)]);
    for paths in [&["."][..], &["agent-injector.yaml", "web.yaml"]] {
        for more in [&["inject"][..], &["inject", "--no-config"]] {
            let ran = folder.run(&[more, paths].concat());
            assert!(ran.stdout.contains(IMAGE), "{ran:?}");
            assert!(!ran.stdout.contains("kind: AgentInjector"), "{ran:?}");
        }
        assert_eq!(folder.run(&[&["uninject"], paths].concat()).stdout, WEB);
    }
}

/// The commands that an error names, without their first word.
fn commands(stderr: &str) -> Vec<String> {
    let words = stderr
        .split('`')
        .filter_map(|word| word.strip_prefix("mackerel-agent-injector "));
    words.map(str::to_owned).collect()
}

/// A path with several configurations, and a folder above others.
#[test]
fn different_configurations_are_an_error_with_a_command_for_each() {
    let folder = Folder::with(&[
        ("a b/agent-injector.yaml", ANNOTATED),
        ("a b/web.yaml", WEB),
        ("b/agent-injector.yaml", ANNOTATED),
        ("b/deep/web.yaml", WEB),
        ("c/web.yaml", WEB),
        ("c/d/agent-injector.yaml", MEMO),
        ("c/d/e/web.yaml", WEB),
        ("c/mkdocs.yml", "site_name: shop\n"),
        ("docs/mkdocs.yml", "site_name: shop\n"),
    ]);
    for (paths, files, parts) in [
        (
            &["a b", "b"][..],
            "a b/agent-injector.yaml and b/agent-injector.yaml",
            &["'a b'", "b"][..],
        ),
        (
            &["./c/web.yaml", "b/deep"],
            "none and b/agent-injector.yaml",
            &["./c/web.yaml", "b/deep"],
        ),
        (
            &["c"],
            "none and c/d/agent-injector.yaml",
            &["c/web.yaml", "c/d"],
        ),
        (
            &["."],
            "none, a b/agent-injector.yaml, b/agent-injector.yaml and c/d/agent-injector.yaml",
            &["c/web.yaml", "'a b'", "b", "c/d"],
        ),
    ] {
        for (before, after, call) in [
            (
                &["inject", "--check"][..],
                &["-n", "b"][..],
                "inject --check -n b",
            ),
            (&["-n", "c", "rbac"], &[], "-n c rbac"),
            (&["inject", "-qn", "b"], &[], "inject -qn b"),
            (
                &["explain", "--set=agent.memo=a b", "--"],
                &[],
                "explain --'set=agent.memo=a b'",
            ),
            (
                &["inject", "-i", "--adopt"],
                &["--threads", "2"],
                "inject -i --adopt --threads 2",
            ),
        ] {
            let ran = folder.run(&[before, paths, after].concat());
            let error =
                format!("error: different configurations: {files}\n  = help: a run has one: use ");
            assert!(
                ran.code == Some(2) && ran.stderr.starts_with(&error),
                "{ran:?}"
            );
            let expected: Vec<_> = parts.iter().map(|part| format!("{call} {part}")).collect();
            assert_eq!(commands(&ran.stderr), expected, "{ran:?}");
        }
    }
    let checked = folder.run(&["inject", "--check", "."]);
    for (command, code) in commands(&checked.stderr).iter().zip([1, 0, 0, 1]) {
        let words: Vec<_> = match command.split_once(" '") {
            Some((before, quoted)) => before
                .split(' ')
                .chain([quoted.trim_end_matches('\'')])
                .collect(),
            None => command.split(' ').collect(),
        };
        let ran = folder.run(&words);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(!ran.stderr.contains("no-resources"), "{ran:?}");
    }
    assert_eq!(
        folder.run(&["inject", "--check", "--no-config", "."]).code,
        Some(1)
    );
    let removed = folder.run(&["inject", "--nearest-config", "."]);
    assert_eq!(removed.code, Some(2), "{removed:?}");
}

/// A run that has not read its input.
#[test]
fn a_report_has_the_error_of_the_configuration() {
    let folder = Folder::with(&[
        ("a/agent-injector.yaml", ANNOTATED),
        ("a/web.yaml", WEB),
        (
            "broken/agent-injector.yaml",
            "kind: AgentInjector\nspec: [\n",
        ),
        ("broken/web.yaml", WEB),
        ("web.yaml", WEB),
    ]);
    for (arguments, message) in [
        (
            &["--set", "agent.roles=[bad]", "web.yaml"][..],
            "must be a role",
        ),
        (&["broken"], "this bracket is never closed"),
        (&["a", "web.yaml"], "different configurations"),
        (&["--config", "missing.yaml", "-"], "no such file"),
        (&["-k", "a"], "not a directory with a kustomization.yaml"),
    ] {
        for command in [&["inject", "--check"][..], &["explain"]] {
            for format in ["sarif", "json", "gitlab", "github", "markdown"] {
                let report = [command, &["-o", format], arguments].concat();
                let ran = folder.run_with(&report, WEB);
                assert_eq!(ran.code, Some(2), "{ran:?}");
                assert!(ran.stdout.contains(message), "{ran:?}");
                assert_eq!(ran.stderr.matches(message).count(), 1, "{ran:?}");
                if !matches!(format, "github" | "markdown") {
                    serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap();
                }
            }
            let text = folder.run_with(&[command, arguments].concat(), WEB);
            assert_eq!((text.code, &*text.stdout), (Some(2), ""));
        }
    }
}

#[test]
fn a_broken_one_stops_the_run_and_another_object_of_the_name_is_passed_by() {
    let folder = Folder::with(&[
        (
            "agent-injector.yaml",
            &ANNOTATED.replace("injection", "injektion"),
        ),
        ("web.yaml", WEB),
    ]);
    let ran = folder.run(&["inject", "-i", "web.yaml"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("--> agent-injector.yaml:5:3"),
        "{ran:?}"
    );
    assert_eq!(folder.read("web.yaml"), WEB);
    folder.write(
        "agent-injector.yaml",
        "spec:\n  injection: disabled\n\tqos: keep\n",
    );
    let ran = folder.run(&["inject", "web.yaml"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("--> agent-injector.yaml:3:1"),
        "{ran:?}"
    );
    for other in ["image: {tag: v1}\n", "tag: {{ .Values.tag }}\n"] {
        folder.write("agent-injector.yaml", other);
        let ran = folder.run(&["inject", "web.yaml"]);
        assert_eq!((ran.code, ran.stdout), (Some(0), injected()));
    }
}

/// Such a file is no other object of that name: its author meant settings.
#[test]
fn one_without_a_type_or_settings_stops_the_run() {
    let folder = Folder::with(&[("web.yaml", WEB)]);
    for (text, error) in [
        ("", "the configuration is empty"),
        ("# to do\n", "the configuration is empty"),
        (
            "spec: {injection: annotated}\n",
            "the configuration has no `apiVersion`",
        ),
        (
            "injection: annotated\n",
            "the configuration has the setting `injection` outside of `spec`",
        ),
    ] {
        folder.write("agent-injector.yaml", text);
        for path in [".", "web.yaml"] {
            let ran = folder.run(&["inject", "-i", path]);
            assert_eq!(ran.code, Some(2), "{ran:?}");
            let expected = format!("error: {error}\n --> agent-injector.yaml:1:1\n");
            assert!(ran.stderr.starts_with(&expected), "{ran:?}");
        }
    }
    assert_eq!(folder.read("web.yaml"), WEB);
    let ran = folder.run(&["inject", "--no-config", "web.yaml"]);
    assert_eq!((ran.code, ran.stdout), (Some(0), injected()));
}

#[test]
fn the_short_extension_counts_too_and_a_directory_has_one_file() {
    let folder = Folder::with(&[("agent-injector.yml", ANNOTATED), ("deploy/web.yaml", WEB)]);
    for path in ["deploy", "."] {
        let ran = folder.run(&["inject", "--check", path]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let found = "configuration: agent-injector.yml\n";
        assert!(ran.stderr.ends_with(found), "{ran:?}");
    }
    folder.write("agent-injector.yaml", ANNOTATED);
    let error = "error: two configurations in one directory: agent-injector.yaml, agent-injector.yml; remove one\n";
    for arguments in [
        &["inject", "."][..],
        &["rbac", "deploy"],
        &["config", "validate"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!((ran.code, &*ran.stderr), (Some(2), error));
    }
}

#[test]
fn an_injected_agent_on_stdin_does_not_lose_the_unused_file_without_a_warning() {
    let folder = Folder::with(&[("agent-injector.yaml", MEMO), ("web.yaml", WEB)]);
    folder.run(&["inject", "-i", "web.yaml"]);
    let with_memo = folder.read("web.yaml");
    let warning = "warning[configuration-unused]: agent-injector.yaml is not used for stdin, where an injected agent differs from the defaults\n \
                   --> <stdin>\n  = help: to use it, add `--config agent-injector.yaml`; for the defaults, add `--no-config`\n";
    for command in ["inject", "explain"] {
        let ran = folder.run_with(&[command, "-"], &with_memo);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains(warning), "{command} {ran:?}");
        let ran = folder.run_with(&[command, "--strict", "-"], &with_memo);
        assert_eq!(ran.code, Some(1), "{ran:?}");
    }
    let unchanged = folder.run_with(&["inject", "-"], injected());
    assert!(
        unchanged
            .stderr
            .starts_with("info: agent-injector.yaml is not used"),
        "{unchanged:?}"
    );
    for arguments in [
        &["inject", "--no-config", "-"][..],
        &["inject", "--config", "agent-injector.yaml", "-"],
        &["rbac", "-"],
        &["uninject", "-"],
    ] {
        let ran = folder.run_with(arguments, &with_memo);
        assert!(!ran.stderr.contains("configuration-unused"), "{ran:?}");
    }
}

#[test]
fn a_command_over_stdin_says_that_the_file_is_unused_and_the_others_do_not_look() {
    let folder = Folder::with(&[("agent-injector.yaml", ANNOTATED)]);
    let note = "info: agent-injector.yaml is not used for stdin; to use it, add `--config agent-injector.yaml`\n";
    for command in ["inject", "explain", "rbac"] {
        let ran = folder.run_with(&[command, "-n", "shop", "-"], WEB);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains(note), "{command} {ran:?}");
    }
    assert_eq!(folder.run_with(&["inject"], WEB).stdout, injected());
    // Helm hides what is no error.
    let stream = folder.run_with(&[], WEB);
    assert_eq!((stream.code, &*stream.stdout), (Some(2), ""));
    assert_eq!(
        stream.stderr,
        "error: agent-injector.yaml is not used for a stream without a command; add `--config=agent-injector.yaml`, in Helm as \
         `--post-renderer-args=--config=agent-injector.yaml`, or `--no-config` for the defaults\n"
    );
    let chosen = folder.run_with(&["--config=agent-injector.yaml"], WEB);
    assert_eq!((chosen.code, &*chosen.stdout), (Some(0), WEB));
    assert_eq!(folder.run_with(&["--no-config"], WEB).stdout, injected());
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
    for (arguments, input) in [
        (&[][..], list),
        (&["inject", "-"], list),
        (&["uninject", "-"], WEB),
        (&["inject", "--no-config", "-"], WEB),
        (&["inject", "--config", "agent-injector.yaml", "-"], WEB),
    ] {
        let ran = folder.run_with(arguments, input);
        assert_eq!(ran.code, Some(0), "{arguments:?} {ran:?}");
        assert!(!ran.stderr.contains("agent-injector.yaml"), "{ran:?}");
    }
    let function_config = ANNOTATED.trim_end().replace('\n', "\n  ");
    let call = list.replace(
        "items",
        &format!("functionConfig:\n  {function_config}\nitems"),
    );
    let ran = folder.run_with(&["--no-config"], &call);
    let start = "error: `--no-config` cannot be combined with the functionConfig";
    assert!(ran.stderr.starts_with(start), "{ran:?}");
}

#[test]
fn config_validate_finds_the_file_of_a_folder() {
    let folder = Folder::with(&[
        ("agent-injector.yaml", ANNOTATED),
        ("deploy/web.yaml", WEB),
        ("own/agent-injector.yaml", ANNOTATED),
    ]);
    for (arguments, name) in [
        (&[][..], "agent-injector.yaml"),
        (&["deploy"], "agent-injector.yaml"),
        (&["own"], "own/agent-injector.yaml"),
    ] {
        let ran = folder.run(&[&["config", "validate"], arguments].concat());
        assert_eq!(
            (ran.code, ran.stdout),
            (Some(0), format!("{name}: valid\n"))
        );
    }
    let none = folder.run(&["config", "validate", "--no-config"]);
    assert_eq!(none.code, Some(2), "{none:?}");
}

/// Reports about a configuration that is not used begin so.
const UNUSED: &str = "[configuration-unused]: a configuration was found, but is not used";

#[test]
fn a_configuration_of_another_name_is_not_ignored_silently() {
    let folder = Folder::with(&[
        ("conf/mackerel-agent.yaml", ANNOTATED),
        (
            "conf/empty.yaml",
            "kind: ConfigMap\napiVersion: v1\nmetadata: {name: found}\n",
        ),
        ("web.yaml", WEB),
    ]);
    let place = "\n --> conf/mackerel-agent.yaml\n  = help: to use it, add `--config FILE`; if another run does, annotate it with `config.kubernetes.io/local-config: \"true\"`\n";
    for arguments in [
        &["inject", "--diff", "."][..],
        &["inject", "--check", "web.yaml", "conf/mackerel-agent.yaml"],
        &["inject", "--set", "agent.memo=shop", "conf", "web.yaml"],
        &["explain", "."],
        &["rbac", "."],
    ] {
        let ran = folder.run(arguments);
        let warning = format!("warning{UNUSED}{place}");
        assert_eq!(
            ran.stderr.matches(&warning).count(),
            1,
            "{arguments:?} {ran:?}"
        );
    }
    let strict = folder.run(&["inject", "--check", "--strict", "."]);
    assert!(
        strict.code == Some(1) && strict.stderr.contains("warning[configuration-unused]"),
        "{strict:?}"
    );
    for arguments in [
        &["uninject", "--diff", "."][..],
        &["inject", "--check", "web.yaml"],
        &[
            "inject",
            "--config",
            "conf/mackerel-agent.yaml",
            "--check",
            ".",
        ],
        &[
            "inject",
            "--set=warnings.ignore=[configuration-unused]",
            "--check",
            ".",
        ],
    ] {
        let ran = folder.run(arguments);
        assert!(
            !ran.stderr.contains("[configuration-unused]:"),
            "{arguments:?} {ran:?}"
        );
    }
    let stream = format!("{WEB}---\n{ANNOTATED}");
    let ran = folder.run_with(&["inject", "-"], &stream);
    assert!(
        ran.stderr
            .contains(&format!("warning{UNUSED}\n --> <stdin>\n")),
        "{ran:?}"
    );
    // Two environments: each run names its own.
    folder.write("conf/staging.yaml", &MEMO.replace("found", "staging"));
    let ran = folder.run(&["inject", "--strict", "--config", "conf/staging.yaml", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr
            .contains(&format!("info{UNUSED}: conf/mackerel-agent.yaml\n")),
        "neither `conf/staging.yaml` nor more: {ran:?}"
    );
    let ran = folder.run(&["inject", "--strict", "--no-config", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("info{UNUSED}: conf/")),
        "{ran:?}"
    );
}

/// kustomize and kpt give it to the program, whatever its name is.
#[test]
fn the_configuration_of_a_function_is_used() {
    let annotated = |annotation: &str| {
        ANNOTATED.replace(
            "name: found",
            &format!("name: found, annotations: {{config.kubernetes.io/{annotation}}}"),
        )
    };
    let function = annotated("function: \"exec: {path: mackerel-agent-injector}\"");
    let local = annotated("local-config: \"true\"");
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\npipeline:\n  mutators: [{exec: mackerel-agent-injector, configPath: fn/agent.yaml}]\n";
    let unused = |files: &[(&str, &str)]| {
        let folder = Folder::with(&[files, &[("base/web.yaml", WEB)]].concat());
        let ran = folder.run(&["inject", "--check", "."]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran.stderr.contains(UNUSED)
    };
    for files in [
        &[("a.yaml", &*function)][..],
        &[("a.yaml", &*local)],
        &[
            (
                "base/kustomization.yaml",
                "resources: [web.yaml]\ntransformers: [../fn/agent.yaml]\n",
            ),
            ("fn/agent.yaml", ANNOTATED),
        ],
        &[
            (
                "base/kustomization.yaml",
                "resources: [web.yaml]\ntransformers: [../fn]\n",
            ),
            ("fn/kustomization.yaml", "resources: [agent.yaml]\n"),
            ("fn/agent.yaml", ANNOTATED),
        ],
        &[("Kptfile", kptfile), ("fn/agent.yaml", ANNOTATED)],
    ] {
        assert!(!unused(files), "{files:?}");
    }
    for files in [
        &[
            (
                "base/kustomization.yaml",
                "resources: [web.yaml, agent.yaml]\n",
            ),
            ("base/agent.yaml", ANNOTATED),
        ][..],
        &[("Kptfile", kptfile), ("agent.yaml", ANNOTATED)],
    ] {
        assert!(unused(files), "{files:?}");
    }
}
