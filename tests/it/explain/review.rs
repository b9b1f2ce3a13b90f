//! Tools of code review: SARIF, GitHub's workflow commands, and `inject --check`.

use super::{explained, folder};
use crate::program::{Folder, WEB, ran};
use serde_json::{Value, json};

#[test]
fn tools_of_code_review_get_what_is_to_be_looked_at() {
    let ran = explained(&folder(), &["deploy", "--output", "sarif"]);
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules: Vec<&Value> = run["tool"]["driver"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| &rule["id"])
        .collect();
    assert_eq!(
        rules,
        [
            "invalid-annotation",
            "misplaced-annotation",
            "agent-missing"
        ]
    );
    assert_eq!(
        run["tool"]["driver"]["rules"][2]["shortDescription"]["text"],
        "the agent is missing"
    );
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for (index, result) in results.iter().enumerate() {
        assert_eq!(
            (&result["ruleId"], &result["ruleIndex"]),
            (rules[index], &json!(index))
        );
    }
    let levels: Vec<&Value> = results.iter().map(|result| &result["level"]).collect();
    assert_eq!(levels, ["error", "warning", "note"]);
    assert_eq!(results[2]["message"]["text"], "the agent would be added");
    assert_eq!(
        results[2]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"],
        "Deployment/shop/web"
    );
    let physical = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!(physical["artifactLocation"]["uri"], "deploy/a%20shop.yaml");
    assert_eq!(
        physical["region"],
        json!({"startLine": 19, "startColumn": 5})
    );
}

/// Each finding has its place.
#[test]
fn pull_requests_on_github_are_annotated() {
    let ran = explained(&folder(), &["deploy", "--output", "github"]);
    let expected = "\
::error file=deploy/job.yaml,line=6,col=73,title=invalid-annotation::Job/migrate: annotation \
`agent-injector.contrib.mackerel.io/inject` must be `true` or `false`, found `maybe`; write `\"true\"` or `\"false\"`, in quotes
::warning file=deploy/a shop.yaml,line=19,col=5,title=misplaced-annotation::Deployment/quiet: annotation \
`agent-injector.contrib.mackerel.io/inject` has no effect on Deployment; move it to spec.template.metadata.annotations
::notice file=deploy/a shop.yaml,line=1,col=1,title=agent-missing::Deployment/shop/web: the agent would be added
";
    assert_eq!(ran.stdout, expected, "{}", ran.stderr);
    assert_eq!(ran.code, Some(2));
}

#[test]
fn a_check_says_which_workload_lacks_its_agent() {
    let folder = Folder::with(&[("web.yaml", WEB)]);
    let check = |format: &str| folder.run(&["inject", "--check", "--output", format, "web.yaml"]);
    let lacks = "::error file=web.yaml,line=1,col=1,title=agent-missing::Deployment/web: the agent would be added; run `mackerel-agent-injector inject -i web.yaml`\n";
    let ran = check("github");
    assert_eq!((ran.code, &*ran.stdout), (Some(1), lacks), "{}", ran.stderr);
    assert!(ran.stderr.contains("\n\n1 to add; "), "{}", ran.stderr);
    let ran = check("sarif");
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!((ran.code, results.len()), (Some(1), 1), "{}", ran.stderr);
    assert_eq!(
        (&results[0]["level"], &results[0]["ruleId"]),
        (&json!("error"), &json!("agent-missing"))
    );

    // A file that is refused does not hide the others, and a Secret without the key is a finding as well.
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: mackerel-container-agent}\ndata: {x: eA==}\n";
    let refused = WEB.replace("name: web\nspec", "name: bad\nspec").replace(
        "labels:",
        "annotations: {agent-injector.contrib.mackerel.io/inject: maybe}\n      labels:",
    );
    folder.write("bad.yaml", &refused);
    folder.write("secret.yaml", secret);
    let ran = folder.run(&["inject", "--check", "-o", "github", "."]);
    let commands: Vec<&str> = ran
        .stdout
        .lines()
        .map(|line| line.split(',').next().unwrap())
        .collect();
    let expected = [
        "::error file=bad.yaml",
        "::error file=web.yaml",
        "::warning file=secret.yaml",
    ];
    assert_eq!(
        (ran.code, &*commands),
        (Some(2), &expected[..]),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    std::fs::remove_file(folder.path("bad.yaml")).unwrap();

    assert_eq!(folder.run(&["inject", "-i", "web.yaml"]).code, Some(0));
    let ran = check("github");
    assert_eq!((ran.code, &*ran.stdout), (Some(0), ""), "{}", ran.stderr);
    let ran = folder.run(&["uninject", "--check", "-o", "github", "web.yaml"]);
    assert_eq!(
        (ran.code, &*ran.stdout),
        (
            Some(1),
            &*lacks
                .replace("agent-missing", "agent-not-wanted")
                .replace("added", "removed")
                .replace("inject -i", "uninject -i")
        )
    );

    for (arguments, error) in [
        (&["--output", "github"][..], "--check"),
        (
            &["--check", "--output", "patch"],
            "`--check` cannot be used with `--output patch`",
        ),
    ] {
        let ran = folder.run(&[&["inject", "web.yaml"], arguments].concat());
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""));
        assert!(ran.stderr.contains(error), "{}", ran.stderr);
    }
}

/// GitLab compares the report of a merge request with that of the target branch by the fingerprints.
#[test]
fn merge_requests_on_gitlab_get_a_code_quality_report() {
    let folder = Folder::with(&[("web.yaml", WEB), ("none/README.md", "")]);
    let check = |args: &[&str]| -> Vec<Value> {
        let ran = folder.run(&[&["inject", "--check", "--output", "gitlab"], args].concat());
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let fingerprint = check(&["./web.yaml"])[0]["fingerprint"].clone();
    let entry = json!([{
        "description": "Deployment/web: the agent would be added; run `mackerel-agent-injector inject -i web.yaml`",
        "check_name": "agent-missing",
        "fingerprint": fingerprint,
        "severity": "major",
        "location": {"path": "web.yaml", "lines": {"begin": 1}},
    }]);
    assert_eq!(json!(check(&["web.yaml"])), entry);
    folder.write("web.yaml", &format!("# moved\n---\n{WEB}---\n{WEB}"));
    let moved = check(&["web.yaml"]);
    assert_eq!(moved[0]["location"]["lines"]["begin"], 3);
    assert_eq!(moved[0]["fingerprint"], fingerprint);
    assert_eq!(moved.len(), 2);
    assert_ne!(moved[1]["fingerprint"], fingerprint);

    let warned = explained(&super::folder(), &["deploy", "--output", "gitlab"]);
    let entries: Vec<Value> = serde_json::from_str(&warned.stdout).unwrap();
    let severities: Vec<&Value> = entries.iter().map(|entry| &entry["severity"]).collect();
    assert_eq!(severities, ["major", "minor", "info"]);
    let empty = check(&["--strict", "none"]);
    assert_eq!(
        (&empty[0]["check_name"], &empty[0]["location"]["path"]),
        (&json!("no-resources"), &json!("."))
    );
    assert_eq!(check(&["--no-config", "none"])[0]["severity"], "minor");
}

/// They stand in no manifest, and a reviewer sees only what is annotated.
#[test]
fn errors_about_paths_are_annotations_without_a_file() {
    let folder = Folder::with(&[("web.yaml", WEB), ("none/README.md", "")]);
    std::fs::write(
        folder.path("latin.yaml"),
        b"kind: Pod\nmetadata: {name: caf\xe9}\n",
    )
    .unwrap();
    let check =
        |args: &[&str]| folder.run(&[&["inject", "--check", "-o", "github"], args].concat());
    let lacks = "::error file=web.yaml,line=1,col=1,title=agent-missing::Deployment/web: the agent would be added; run `mackerel-agent-injector inject -i web.yaml`\n";
    let missing = check(&["no.yaml", "web.yaml"]);
    assert_eq!(missing.code, Some(2));
    let run = missing.stdout.strip_suffix(lacks).unwrap();
    assert!(
        run.starts_with("::error title=error::no.yaml: ") && run.lines().count() == 1,
        "{run}"
    );
    let unreadable = check(&["latin.yaml"]);
    assert!(
        unreadable.stdout.starts_with(
            "::error file=latin.yaml,line=2,col=21,title=unreadable-file::not UTF-8: "
        ),
        "{unreadable:?}"
    );
    // GitLab shows an entry at a file alone.
    let gitlab = folder.run(&["inject", "--check", "-o", "gitlab", "latin.yaml"]);
    let entries: Vec<Value> = serde_json::from_str(&gitlab.stdout).unwrap();
    assert_eq!(
        entries[0]["location"],
        json!({"path": "latin.yaml", "lines": {"begin": 2}})
    );
    let empty = check(&["--strict", "none"]);
    assert!(
        empty
            .stdout
            .starts_with("::warning title=no-resources::none: the directory has no "),
        "{empty:?}"
    );
    assert_eq!((empty.code, empty.stdout.lines().count()), (Some(1), 1));
    assert_eq!(check(&["none"]).stdout, empty.stdout);
    let explained = folder.run(&["explain", "-o", "github", "no.yaml"]).stdout;
    assert!(
        explained.starts_with("::error title=error::no.yaml: "),
        "{explained}"
    );
}

#[test]
fn errors_about_paths_are_in_json_and_sarif_too() {
    let folder = Folder::with(&[("none/README.md", "")]);
    let json = |args: &[&str]| -> Value { serde_json::from_str(&folder.run(args).stdout).unwrap() };
    let explained = json(&["explain", "-o", "json", "no.yaml"]);
    assert_eq!(
        explained["errors"],
        json!([{"id": "error", "message": "no.yaml: no such file or directory"}])
    );
    let report = json(&["inject", "--check", "-o", "sarif", "no.yaml", "none"]);
    let invocation = &report["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let report = json(&["inject", "--check", "--strict", "-o", "sarif", "none"]);
    let invocation = &report["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], true);
    let notification = &invocation["toolExecutionNotifications"][0];
    assert_eq!(notification["descriptor"], json!({"id": "no-resources"}));
    let message = notification["message"]["text"].as_str().unwrap();
    assert!(
        message.starts_with("none: the directory has no "),
        "{message}"
    );
}

/// The author of a pull request has nothing but the output of the job.
#[test]
fn a_check_names_the_command_that_mends_what_it_found() {
    let folder = Folder::with(&[
        ("my app/web.yaml", WEB),
        (
            "config.yaml",
            "kind: AgentInjector\napiVersion: agent-injector.contrib.mackerel.io/v1alpha1\n",
        ),
    ]);
    let two = format!("{WEB}---\n{}", WEB.replace("name: web\n", "name: api\n"));
    folder.write("my app/web.yaml", &two);
    let options = [
        "--config",
        "config.yaml",
        "--set",
        "agent.roles=[shop:web]",
        "my app",
    ];
    let check = |arguments: &[&str]| {
        folder.run(&[&["inject", "--check"], arguments, &options[..]].concat())
    };
    let command = "mackerel-agent-injector inject -i --config=config.yaml --set='agent.roles=[shop:web]' 'my app";
    let terminal = check(&[]);
    assert!(
        terminal.stderr.ends_with(&format!("\nnext: {command}'\n")),
        "{}",
        terminal.stderr
    );
    // Once for the changes of a file.
    for format in ["github", "gitlab"] {
        let forge = check(&["-o", format]).stdout;
        let of_file = format!("run `{command}/web.yaml'`");
        assert_eq!(forge.matches(&of_file).count(), 1, "{forge}");
        assert_eq!(forge.matches("the agent would be added").count(), 2);
    }
    let sarif: Value = serde_json::from_str(&check(&["-o", "sarif"]).stdout).unwrap();
    let help = sarif["runs"][0]["tool"]["driver"]["rules"][0]["help"]["text"].as_str();
    assert!(help.unwrap().starts_with(&format!("run `{command}'`; ")));
    let markdown = check(&["-o", "markdown"]);
    let expected = format!(
        "### Mackerel agent\n\n\
         | | where | resource | finding |\n\
         | --- | --- | --- | --- |\n\
         | error | my app/web.yaml:1 | Deployment/web | agent-missing: the agent would be added |\n\
         | error | my app/web.yaml:16 | Deployment/api | agent-missing: the agent would be added |\n\n\
         This changes the files:\n\n    {command}'\n\n\
         These explain the findings:\n\n    mackerel-agent-injector explain --reason agent-missing\n"
    );
    assert_eq!((markdown.code, &*markdown.stdout), (Some(1), &*expected));

    // It is a command of a shell, and after it the check is green.
    let (_, typed) = terminal.stderr.rsplit_once("next: ").unwrap();
    let program = env!("CARGO_BIN_EXE_mackerel-agent-injector");
    let typed = typed.replacen("mackerel-agent-injector", program, 1);
    let mut shell = std::process::Command::new("sh");
    let shell = shell.current_dir(folder.root()).args(["-c", &typed]);
    assert!(shell.output().unwrap().status.success());
    assert_eq!(check(&[]).code, Some(0));
    assert!(check(&["-o", "markdown"]).stdout.contains("No findings."));

    let stdin = folder.run_with(&["inject", "--check", "-"], WEB);
    assert!(!stdin.stderr.contains("next:"), "{}", stdin.stderr);
}

#[test]
fn a_table_of_markdown_has_at_most_a_hundred_rows() {
    let folder = Folder::with(&[("web.yaml", &format!("{WEB}---\n").repeat(103))]);
    let ran = folder.run(&["inject", "--check", "-o", "markdown", "web.yaml"]);
    assert_eq!(ran.stdout.matches("| error |").count(), 100);
    assert!(
        ran.stdout.contains("\n… and 3 more findings\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_reason_is_explained_in_the_language_of_the_user() {
    let folder = Folder::with(&[]);
    let page = |id: &str, language: &str| {
        let mut command = folder.command(&["explain", "--reason", id]);
        command.env("LC_ALL", language);
        ran(command, b"")
    };
    let english = page("agent-missing", "C");
    assert!(
        english
            .stdout
            .starts_with("### `agent-missing`\n\n**Why**: `inject --check` found a pod template ")
    );
    assert!(
        page("injected", "ja_JP.UTF-8")
            .stdout
            .contains("エージェントを注入した")
    );
    let unknown = page("hand-editted", "C");
    assert_eq!(unknown.code, Some(2));
    assert_eq!(
        unknown.stderr,
        "error: unknown reason `hand-editted`; did you mean `hand-edited`?\n"
    );
}
