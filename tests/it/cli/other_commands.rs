//! The configuration of a run, `config`, `man`, and the program as kubectl's plugin.

use super::injected;
use crate::program::{Folder, Ran, WEB, ran};
use std::process::Command;

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
    assert_eq!(ran.stderr, "1 left alone\n");
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
    assert!(program.contains("Exit codes: 0 success"), "{program}");
    for section in ["GLOBAL OPTIONS", "SUBCOMMANDS"] {
        assert!(
            program.contains(&format!(".SH \"{section}\"\n"))
                || program.contains(&format!(".SH {section}\n")),
            "{program}"
        );
    }
    for name in [
        "inject",
        "uninject",
        "status",
        "config",
        "completions",
        "man",
    ] {
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
        inject.contains("mackerel\\-agent\\-injector inject \\-\\-diff deploy/"),
        "{inject}"
    );
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
