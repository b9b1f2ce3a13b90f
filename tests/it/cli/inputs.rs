//! Files and directories that hold no manifests, or none that can be read.

use super::{BROKEN, injected};
use crate::program::{Folder, WEB};

/// A line break between the two would become a part of the first one's value.
#[test]
fn behind_an_open_block_scalar_no_other_file_can_stand() {
    let open = "apiVersion: v1\nkind: ConfigMap\ndata:\n  key: |\n    value";
    let folder = Folder::with(&[("a.yaml", open), ("b.yaml", WEB)]);
    let ran = folder.run(&["inject", "a.yaml", "b.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr.starts_with("error: open-block-scalar: "),
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
        Some(1),
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
        ran.stderr.matches("info[unreadable-file]").count(),
        2,
        "{}",
        ran.stderr
    );
    let strict = folder.run(&["inject", "--strict", "--diff", "."]);
    assert_eq!(strict.code, Some(0), "{strict:?}");
    assert_eq!(folder.run(&["inject", "odd.yaml"]).code, Some(2));
    let latin1 = folder.run(&["inject", "latin1.yaml"]);
    assert_eq!(latin1.code, Some(2));
    assert!(
        latin1.stderr.starts_with(
            "error[unreadable-file]: not UTF-8: byte 0xe9 at offset 9\n --> latin1.yaml:1:10\n"
        ),
        "{}",
        latin1.stderr
    );
}

#[test]
fn a_manifest_that_is_no_utf8_is_skipped_where_errors_are() {
    let folder = Folder::with(&[("web.yaml", WEB)]);
    std::fs::write(folder.path("old.yaml"), b"kind: Pod # caf\xe9\n").unwrap();
    let skip = "--set=onError=skip";
    assert_eq!(folder.run(&["inject", "-i", "."]).code, Some(2));
    let printed = folder.run(&["inject", skip, "."]);
    assert_eq!(printed.code, Some(2), "it would be missing: {printed:?}");
    let ran = folder.run(&["inject", "-i", skip, "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let warning = "warning[unreadable-file]: skipped a file that is not text: not UTF-8: byte 0xe9";
    assert!(ran.stderr.contains(warning), "{ran:?}");
    assert!(folder.read("web.yaml").contains("mackerel-container-agent"));
    let strict = folder.run(&["inject", "--strict", "-i", skip, "."]);
    assert_eq!(strict.code, Some(1), "{strict:?}");
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
        ran.stderr
            .starts_with("error[unreadable-file]: the file is UTF-16"),
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
        ran.stderr
            .starts_with("error[unreadable-file]: the file is UTF-16"),
        "{}",
        ran.stderr
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
                && ran
                    .stderr
                    .contains(&format!("\n --> {named}\n  = help: name the directory")),
            "{}",
            ran.stderr
        );
        assert_eq!(
            folder.run(&["inject", "--check", "--strict", named]).code,
            Some(1)
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
            Some(1)
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
                "warning[no-resources]: the input has no resources\n --> {named}\n\n1 warning; no file was changed\n"
            )
        );
        assert_eq!(
            folder.run(&["inject", "--check", "--strict", named]).code,
            Some(1)
        );
    }
    let ran = folder.run_with(&["inject", "--check", "-"], "\n");
    assert_eq!(
        ran.stderr,
        "warning[no-resources]: the input has no resources\n --> <stdin>\n\n1 warning; no file was changed\n"
    );
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
    let ran = folder.run_with(&["inject", "--strict", "--check", "-"], list);
    assert!(ran.stderr.contains("no-resources"), "{ran:?}");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(
        folder
            .run_with(&["inject", "--strict", "--check", "-"], "")
            .code,
        Some(1)
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
        ("deploy.tpl", "if it is a template, inject what it renders"),
        ("README.md", "if the file is a manifest, correct it"),
        ("broken.yaml", "correct the document"),
    ] {
        let stderr = folder.run(&["inject", file]).stderr;
        assert!(stderr.contains(&format!("= help: {help}\n")), "{stderr}");
    }
}

#[test]
fn a_list_that_selects_nothing_in_a_directory_is_reported_with_its_place() {
    let config = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec:\n  select:\n    namespaces: [shpo]\n";
    let web = WEB.replace("  name: web\nspec", "  name: web\n  namespace: shop\nspec");
    let folder = Folder::with(&[
        ("agent-injector.yaml", config),
        ("deploy/web.yaml", &web),
        ("deploy/none.yaml", ""),
    ]);
    let run = |arguments: &[&str]| folder.run(&[&["inject", "--check"], arguments].concat());
    let warning = "warning[nothing-selected]: `select.namespaces` matches no pod template of the input\n --> agent-injector.yaml:5:17\n  = help: did you mean `shop`?\n";
    let ran = run(&["deploy"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    assert_eq!(run(&["--strict", "deploy"]).code, Some(1));
    assert!(run(&["deploy/web.yaml"]).stderr.contains(warning));
    let is_silent = |arguments: &[&str]| !run(arguments).stderr.contains("matches no pod template");
    assert!(is_silent(&["--set", "injection=disabled", "deploy"]));
    assert!(is_silent(&[
        "--set",
        "select.namespaces=[shop, shpo]",
        "deploy"
    ]));

    let other = run(&[
        "--set",
        "select.namespaces=[sh*]",
        "--set",
        "select.kinds=[CronJob]",
        "--strict",
        "deploy",
    ]);
    let note = "info: --set #2: `select.kinds` matches no pod template of the input\n";
    assert!(other.stderr.contains(note), "{}", other.stderr);
    assert_eq!(other.code, Some(0));
}

#[test]
fn an_exclusion_of_nothing_is_noted_in_a_directory() {
    let folder = Folder::with(&[("web.yaml", WEB)]);
    let set = "--set=select.exclude=[{name: wbe}, {name: web}]";
    let note = "info: --set #1: `select.exclude[0]` leaves out no pod template of the input\n";
    let of_directory = folder.run(&["inject", "--check", "--strict", set, "."]);
    assert_eq!(of_directory.code, Some(0), "{of_directory:?}");
    assert!(of_directory.stderr.contains(note), "{of_directory:?}");
    assert!(!of_directory.stderr.contains("exclude[1]"));
    let of_file = folder.run(&["inject", "--check", "--strict", set, "web.yaml"]);
    assert!(!of_file.stderr.contains("leaves out"), "{of_file:?}");
}

/// Each way into the program, with one letter left out or another one in its place.
#[test]
fn a_misspelt_namespace_is_a_warning_through_each_door() {
    let web = WEB.replace(
        "  name: web\nspec",
        "  name: web\n  namespace: shop-a\nspec",
    );
    let item = web.trim_end().replace('\n', "\n    ");
    let call = |namespace: &str| {
        format!(
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\n  \
             kind: AgentInjector\n  spec: {{select: {{namespaces: [{namespace}]}}}}\nitems:\n  - {item}\n"
        )
    };
    let folder = Folder::with(&[]);
    let message = "`select.namespaces` matches no pod template of the input";
    for (namespace, is_misspelt) in [("shp-a", true), ("shop-b", false), ("blog", false)] {
        let set = format!("--set=select.namespaces=[{namespace}]");
        let ran = [
            folder.run_with(&[&set], &web),
            folder.run_with(&["inject", "--check", &set, "-"], &web),
            folder.run_with(&[], call(namespace)),
        ];
        for ran in ran {
            assert_eq!(ran.code, Some(0), "{ran:?}");
            let is_warned = ran.stderr.contains("warning[nothing-selected]");
            assert_eq!(is_warned, is_misspelt, "{namespace} {ran:?}");
            assert!(ran.stderr.contains(message), "{ran:?}");
        }
        let results = folder.run_with(&[], call(namespace)).stdout;
        assert_eq!(results.contains("nothing-selected"), is_misspelt);
    }
}

#[test]
fn a_function_or_post_renderer_that_removes_agents_warns() {
    let folder = Folder::with(&[("web.yaml", WEB)]);
    folder.run(&["inject", "-i", "web.yaml"]);
    let web = folder.read("web.yaml");
    let item = web.trim_end().replace('\n', "\n    ");
    let call =
        format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n  - {item}\n");
    let removes = "--set=select.kinds=[CronJob]";
    let annotation = "agent-injector.contrib.mackerel.io/inject: \"false\"";
    let opts_out = web.replace(
        "annotations:\n",
        &format!("annotations:\n        {annotation}\n"),
    );
    assert_ne!(opts_out, web);
    for (arguments, input, is_warned) in [
        (&[removes][..], &web, true),
        (&[removes], &call, true),
        (&[], &web, false),
        (&[], &opts_out, false),
        (&["inject", removes, "-"], &web, false),
        (&["uninject", "-"], &call, false),
    ] {
        let ran = folder.run_with(arguments, input);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let warning =
            "warning[agents-removed]: the input has 1 agent that this configuration does not want";
        assert_eq!(
            ran.stderr.contains(warning),
            is_warned,
            "{arguments:?} {ran:?}"
        );
    }
    assert!(
        folder
            .run_with(&[removes], &call)
            .stdout
            .contains("reason: agents-removed")
    );
}
