//! Files that a kustomization names as patches, and annotations that it sets. They need a folder of files, so they cannot be cases.

use crate::program::{Folder, WEB};
use crate::tools;
use std::process::Command;

/// A whole Deployment by its looks.
const PATCH: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
        - name: web
          image: web:2
";

const BASE: &str = "resources: [web.yaml]\n";
const OVERLAY: &str =
    "kind: Kustomization\nresources: [../base]\npatches:\n- path: patches/web.yaml\n";

/// The patch lies below the kustomization that names it.
fn package() -> Folder {
    let files = [
        ("base/kustomization.yaml", BASE),
        ("base/web.yaml", WEB),
        ("overlay/kustomization.yaml", OVERLAY),
        ("overlay/patches/web.yaml", PATCH),
    ];
    Folder::with(&files)
}

/// The line of `inject -v` about the patch.
fn decision(folder: &Folder, paths: &[&str]) -> String {
    let ran = folder.run(&[&["inject", "-v", "--diff"], paths].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let of_patch = ran
        .stderr
        .lines()
        .find(|line| line.contains("patches/web.yaml"));
    of_patch.unwrap_or_else(|| panic!("{ran:?}")).to_owned()
}

#[test]
fn a_patch_that_is_named_is_left_alone_and_explained() {
    let folder = package();
    let ran = folder.run(&["inject", "-i", "."]);
    assert!(
        ran.stderr
            .ends_with("\n\n1 added, 1 left alone, 1 other resource; 1 file changed\n"),
        "{ran:?}"
    );
    assert_eq!(folder.read("overlay/patches/web.yaml"), PATCH);
    assert!(
        folder
            .read("base/web.yaml")
            .contains("mackerel-container-agent")
    );

    let explained = folder.run(&["explain", "."]).stdout;
    let rule = "\n  because of patches[0].path (overlay/kustomization.yaml:4:9)\n";
    assert!(
        explained.contains("kustomize-patch") && explained.contains(rule),
        "{explained}"
    );
}

#[test]
fn the_kustomizations_of_a_folder_and_above_it_count_up_to_the_repository() {
    let folder = package();
    let patch = "overlay/patches/web.yaml";
    for paths in [&[patch][..], &["overlay/patches"], &["overlay"], &["."]] {
        assert!(
            decision(&folder, paths)
                .contains("overlay/kustomization.yaml:4:9 uses this file as a patch"),
            "{paths:?}"
        );
    }
    folder.write(".ignore", "kustomization.yaml\n");
    assert!(
        decision(&folder, &["."]).contains("[kustomize-patch]"),
        "it is no input"
    );
    std::fs::create_dir(folder.path("overlay/patches/.git")).unwrap();
    assert!(
        decision(&folder, &[patch]).contains("[injected]"),
        "another repository"
    );
}

/// kustomize is not simulated: a kustomization beside the folder of the patch is not asked.
#[test]
fn a_kustomization_elsewhere_does_not_count() {
    let folder = package();
    folder.write(
        "overlay/kustomization.yaml",
        "resources: [../base]\npatches: [{path: ../patches/web.yaml}]\n",
    );
    folder.write("patches/web.yaml", PATCH);
    let ran = folder.run(&["inject", "-v", "--diff", "."]);
    assert!(
        ran.stderr
            .lines()
            .any(|line| line.starts_with("patches/web.yaml:") && line.contains("[injected]")),
        "{ran:?}"
    );
}

/// A base with `web.yaml`, and an overlay of this text.
fn with_overlay(overlay: &str) -> Folder {
    Folder::with(&[
        ("base/kustomization.yaml", BASE),
        ("base/web.yaml", WEB),
        ("overlay/kustomization.yaml", overlay),
        ("overlay/patch.yaml", &opt_out()),
    ])
}

/// A patch that sets the annotation `inject` to false, in its fifth line.
fn opt_out() -> String {
    format!(
        "kind: Deployment\napiVersion: apps/v1\nmetadata: {{name: web}}\nspec:\n  template: {{metadata: {{annotations: {ANNOTATIONS}}}}}\n"
    )
}

const ANNOTATIONS: &str = "{agent-injector.contrib.mackerel.io/inject: \"false\"}";
const OF_FILE: &str = "resources: [../base]\npatches: [{path: patch.yaml}]\n";

/// The lines of `inject --diff` with the id `kustomize-annotation`.
fn remarks(folder: &Folder, args: &[&str]) -> Vec<String> {
    let stderr = folder.run(&[&["inject", "--diff"], args].concat()).stderr;
    stderr
        .lines()
        .filter(|line| line.contains("[kustomize-annotation]: "))
        .map(str::to_owned)
        .collect()
}

/// An overlay with a JSON patch of one line, in its fifth.
fn json_patch(list: &str, operation: &str) -> String {
    format!(
        "resources: [../base]\n{list}:\n- target: {{kind: Deployment}}\n  patch: |-\n    - {operation}\n"
    )
}

#[test]
fn an_overlay_that_opts_out_after_injection_is_warned_of_in_each_form() {
    let annotations = "/spec/template/metadata/annotations";
    let set = format!(
        "{{op: add, path: {annotations}/agent-injector.contrib.mackerel.io~1inject, value: \"false\"}}"
    );
    let replace = format!("{{op: replace, path: {annotations}, value: {ANNOTATIONS}}}");
    let inline = opt_out().replace('\n', "\n    ");
    for (overlay, place) in [
        (OF_FILE, "overlay/patch.yaml:5:"),
        (
            "resources: [../base]\npatchesStrategicMerge: [./patch.yaml]\n",
            "overlay/patch.yaml:5:",
        ),
        (
            "resources: [../base]\npatchesJson6902: [{target: {kind: Deployment}, path: patch.yaml}]\n",
            "overlay/patch.yaml:5:",
        ),
        (
            &format!("resources: [../base]\npatches:\n- patch: |-\n    {inline}\n"),
            "overlay/kustomization.yaml:8:",
        ),
        (
            &json_patch("patches", &set),
            "overlay/kustomization.yaml:5:",
        ),
        (
            &json_patch("patchesJson6902", &set),
            "overlay/kustomization.yaml:5:",
        ),
        (
            &json_patch("patches", &replace),
            "overlay/kustomization.yaml:5:",
        ),
        (
            &format!("resources: [../base]\ncommonAnnotations: {ANNOTATIONS}\n"),
            "overlay/kustomization.yaml:2:",
        ),
    ] {
        let folder = with_overlay(overlay);
        for paths in [
            &["."][..],
            &["base", "overlay"],
            &["base/web.yaml", "overlay/kustomization.yaml"],
        ] {
            let found = remarks(&folder, paths);
            assert!(
                found.len() == 1 && found[0].starts_with("warning[kustomize-annotation]: "),
                "{overlay} {found:?}"
            );
            let shown = folder.run(&[&["inject", "--diff"], paths].concat()).stderr;
            assert!(shown.contains(&format!("--> {place}")), "{overlay} {shown}");
        }
        assert_eq!(
            folder.run(&["inject", "--strict", "--diff", "."]).code,
            Some(1)
        );
    }
}

#[test]
fn the_annotation_of_an_overlay_is_warned_of_whatever_is_decided() {
    let folder = with_overlay(OF_FILE);
    let warning = "warning[kustomize-annotation]: kustomize sets this annotation after injection, so it has no effect";
    for args in [
        &["."][..],
        &["--set", "injection=annotated", "."],
        &["overlay"],
        &["overlay/patch.yaml"],
    ] {
        assert_eq!(remarks(&folder, args), [warning], "{args:?}");
    }
    let help = "= help: inject the output of `kustomize build` instead";
    assert!(folder.run(&["inject", "--diff", "."]).stderr.contains(help));
    let report = folder
        .run(&["inject", "--check", "-o", "github", "."])
        .stdout;
    let place = "::warning file=overlay/patch.yaml,line=";
    assert!(report.contains(place), "{report}");
    let explained = folder.run(&["explain", "-o", "json", "."]).stdout;
    assert!(
        explained.contains("\"kustomize-annotation\""),
        "{explained}"
    );
    let ignored = "--set=warnings.ignore=[kustomize-annotation]";
    assert_eq!(remarks(&folder, &[ignored, "."]), [""; 0]);
    let strict = ["inject", "--strict", "--diff", ignored, "."];
    assert_eq!(folder.run(&strict).code, Some(0));
    assert!(
        !folder
            .run(&["uninject", "--diff", "."])
            .stderr
            .contains("kustomize-")
    );
}

#[test]
fn a_label_of_an_overlay_has_no_effect_wherever_it_is_injected() {
    let key = "agent-injector.contrib.mackerel.io";
    for overlay in [
        format!("commonLabels: {{app: web, {key}/inject: \"false\"}}\n"),
        format!("commonAnnotations: {{a: b}}\nlabels:\n- pairs:\n    {key}/inject: \"false\"\n"),
        format!(
            "patches:\n- patch: '[{{op: add, path: /metadata/labels/{key}~1inject, value: a}}]'\n"
        ),
    ] {
        let folder = with_overlay(&format!("resources: [../base]\n{overlay}"));
        assert_eq!(remarks(&folder, &["."]), [""; 0], "{overlay}");
        let shown = folder.run(&["inject", "--diff", "."]).stderr;
        let warning = "warning[misplaced-annotation]: kustomize sets this label, which has no effect\n --> overlay/";
        assert!(shown.contains(warning), "{overlay} {shown}");
    }
    let both = format!("commonLabels: {{a: b}}\ncommonAnnotations: {ANNOTATIONS}\n");
    let folder = with_overlay(&format!("resources: [../base]\n{both}"));
    assert_eq!(remarks(&folder, &["."]).len(), 1);
}

#[test]
fn an_annotation_has_its_effect_where_the_kustomization_runs_the_injector() {
    let folder = with_overlay(OF_FILE);
    let config = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\n";
    folder.write("overlay/injector.yaml", config);
    let kustomization = folder.read("overlay/kustomization.yaml");
    let with = |entry: &str| format!("{kustomization}transformers: [{entry}]\n");
    folder.write("overlay/kustomization.yaml", &with("labels.yaml"));
    assert_eq!(remarks(&folder, &["."]).len(), 1);
    folder.write("overlay/kustomization.yaml", &with("injector.yaml"));
    assert_eq!(remarks(&folder, &["."]), [""; 0]);
}

#[cfg(unix)]
#[test]
fn a_kustomization_that_is_a_link_is_one() {
    let folder = with_overlay(OF_FILE);
    folder.write("shared.yaml", OF_FILE);
    let link = folder.path("overlay/kustomization.yaml");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("../shared.yaml", link).unwrap();
    for paths in [&["."][..], &["overlay", "base"]] {
        assert_eq!(remarks(&folder, paths).len(), 1, "{paths:?}");
    }
}

#[test]
fn only_a_regular_file_of_the_repository_is_read_for_annotations() {
    let outside = Folder::with(&[("patch.yaml", &opt_out())]);
    let large = opt_out() + &"#".repeat(1 << 20);
    let folder = with_overlay(OF_FILE);
    std::fs::create_dir(folder.path(".git")).unwrap();
    folder.write("overlay/patch.yaml", &large);
    assert_eq!(
        remarks(&folder, &["base", "overlay/kustomization.yaml"]),
        [""; 0]
    );
    let path = outside.path("patch.yaml").display().to_string();
    folder.write(
        "overlay/kustomization.yaml",
        &OF_FILE.replace("patch.yaml", &path),
    );
    assert_eq!(remarks(&folder, &["."]), [""; 0]);
}

#[test]
fn the_configuration_of_a_transformer_is_no_annotation() {
    let inline = FUNCTION.trim_end().replace('\n', "\n  ");
    let overlay = format!("resources: [../base]\ntransformers:\n- |-\n  {inline}\n");
    assert_eq!(remarks(&with_overlay(&overlay), &["."]), [""; 0]);
}

#[test]
fn the_built_workload_has_the_agent_that_its_patch_opts_out_of() {
    let Some(kustomize) = tools::find("kustomize", "5.8.") else {
        return;
    };
    let folder = with_overlay(OF_FILE);
    let build = || {
        let output = Command::new(&kustomize)
            .args(["build", "overlay"])
            .current_dir(folder.root())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let of_built = folder.run_with(&["inject", "-v", "-"], build());
    assert!(of_built.stderr.contains("[opted-out]"), "{of_built:?}");
    assert_eq!(folder.run(&["inject", "-i", "."]).code, Some(0));
    let built = build();
    assert!(
        built.contains("name: mackerel-container-agent\n"),
        "{built}"
    );
    assert!(built.contains("inject: \"false\""), "{built}");
}

#[test]
fn a_component_may_name_it_and_its_file_need_no_extension() {
    let folder = package();
    folder.write("overlay/kustomization.yaml", "kind: Kustomization\n");
    folder.write(
        "overlay/patches/Kustomization",
        "kind: Component\npatchesStrategicMerge: [web.yaml]\n",
    );
    assert!(
        decision(&folder, &["."])
            .contains("overlay/patches/Kustomization:2:25 uses this file as a patch")
    );
}

#[test]
fn a_kustomization_that_cannot_be_read_is_as_it_was() {
    let folder = package();
    folder.write(
        "overlay/kustomization.yaml",
        "patches: [{path: patches/web.yaml}\n",
    );
    assert!(decision(&folder, &["overlay/patches"]).contains("[injected]"));
}

#[test]
fn an_agent_that_an_earlier_run_put_into_a_patch_goes() {
    let folder = package();
    folder.write("overlay/kustomization.yaml", "resources: [../base]\n");
    assert_eq!(folder.run(&["inject", "-i", "overlay"]).code, Some(0));
    folder.write("overlay/kustomization.yaml", OVERLAY);
    let ran = folder.run(&["inject", "-v", "-i", "."]);
    assert!(
        ran.stderr
            .contains("the agent was removed: overlay/kustomization.yaml:4:9 uses"),
        "{ran:?}"
    );
    assert_eq!(folder.read("overlay/patches/web.yaml"), PATCH);
}

#[test]
fn the_built_workload_has_one_agent() {
    let Some(kustomize) = tools::find("kustomize", "5.8.") else {
        return;
    };
    let folder = package();
    let build = || {
        let output = Command::new(&kustomize)
            .args(["build", "overlay"])
            .current_dir(folder.root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(build().contains("image: web:2"), "the patch is one");
    assert_eq!(folder.run(&["inject", "-i", "."]).code, Some(0));
    let built = build();
    assert!(
        built.contains("image: web:2")
            && built.matches("name: mackerel-container-agent\n").count() > 0,
        "{built}"
    );
    assert_eq!(
        built
            .matches("image: mackerel/mackerel-container-agent")
            .count(),
        1,
        "{built}"
    );
    let piped = folder.run_with(&["inject", "--check", "-"], built);
    assert_eq!(
        piped.code,
        Some(0),
        "kustomize build gives what inject would: {piped:?}"
    );
}

const FUNCTION: &str = "\
apiVersion: agent-injector.contrib.mackerel.io/v1alpha1
kind: AgentInjector
metadata:
  name: agent
  annotations:
    config.kubernetes.io/function: '{exec: {path: mackerel-agent-injector}}'
";

fn manifest_in(namespace: &str) -> String {
    WEB.replace(
        "  name: web\nspec",
        &format!("  name: web\n  namespace: {namespace}\nspec"),
    )
}

/// An overlay alone has nothing to check, and must not be green for ever.
#[test]
fn an_overlay_without_its_base_is_a_warning_that_names_k() {
    let files = [
        ("base/kustomization.yaml", BASE),
        ("base/web.yaml", WEB),
        (
            "overlays/prod/kustomization.yaml",
            "resources: [../../base]\n",
        ),
        (
            "charts/kustomization.yaml",
            "helmCharts: [{name: redis}]\nresources: [namespace.yaml]\n",
        ),
        (
            "charts/namespace.yaml",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: redis}\n",
        ),
        (
            "remote/kustomization.yaml",
            "resources: [\"https://example.com/app?ref=v1\", github.com/team/app]\n",
        ),
    ];
    let folder = Folder::with(&files);
    for (named, helm) in [
        ("overlays/prod", ""),
        ("charts", " --kustomize-args=--enable-helm"),
        ("remote", ""),
    ] {
        let ran = folder.run(&["inject", "--check", "--strict", named]);
        assert_eq!(ran.code, Some(1), "{named}: {ran:?}");
        assert!(
            ran.stderr.contains("warning[rendered-elsewhere]"),
            "{ran:?}"
        );
        let command = format!("use `mackerel-agent-injector inject --check{helm} -k {named}`");
        assert!(ran.stderr.contains(&command), "{ran:?}");
    }
    // Another directory that is named has a pod template.
    let other = folder.run(&["inject", "--check", "--strict", "base", "charts", "charts"]);
    assert_eq!(other.code, Some(1), "{other:?}");
    assert_eq!(
        other.stderr.matches("warning[rendered-elsewhere]").count(),
        1
    );
    // The base is in the input, too.
    let both = folder.run(&["inject", "--check", "base", "overlays"]);
    assert!(!both.stderr.contains("kustomize"), "{both:?}");
    let all = folder.run(&["inject", "--check", "--strict", "."]);
    assert_eq!(all.code, Some(1), "{all:?}");
    let line = "info: what kustomize builds differs from these files: charts and remote; \
                use `mackerel-agent-injector inject --check --kustomize-args=--enable-helm -k charts`\n";
    assert!(all.stderr.contains(line), "{all:?}");
}

/// The names that a build gives count where something depends on them.
#[test]
fn a_kustomization_that_changes_names_is_named_where_names_count() {
    let layout = |names: &str| {
        Folder::with(&[
            ("base/kustomization.yaml", BASE),
            ("base/web.yaml", &manifest_in("system")),
            (
                "prod/kustomization.yaml",
                &format!("{names}resources: [../base]\n"),
            ),
        ])
    };
    let is_named = |folder: &Folder, arguments: &[&str]| {
        let stderr = folder.run(&[arguments, &["."]].concat()).stderr;
        let line = "info: what kustomize builds differs from these files: prod; use `mackerel-agent-injector ";
        stderr.contains(line) && stderr.contains(" -k prod`")
    };
    for (names, changes) in [
        ("namespace: shop\n", true),
        ("namePrefix: shop-\n", true),
        ("nameSuffix: -v2\n", true),
        ("", false),
    ] {
        let folder = layout(names);
        for (arguments, count) in [
            (&["rbac", "--set=kubernetesVersion=1.33"][..], true),
            (
                &["inject", "--check", "--set=select.namespaces=[shop]"],
                true,
            ),
            (
                &["explain", "--set=select.excludeNamespaces=[system]"],
                true,
            ),
            (&["inject", "--check"], false),
            (&["uninject", "--check"], false),
        ] {
            assert_eq!(
                is_named(&folder, arguments),
                changes && count,
                "{names} {arguments:?}"
            );
        }
    }
}

/// A kustomization above the input is not built for it.
#[test]
fn a_kustomization_of_the_input_is_named_although_one_above_uses_it() {
    let folder = Folder::with(&[
        (".git/HEAD", ""),
        ("kustomization.yaml", "resources: [apps/web]\n"),
        (
            "apps/web/kustomization.yaml",
            "resources: [web.yaml, \"https://example.com/app\"]\n",
        ),
        ("apps/web/web.yaml", WEB),
    ]);
    let ran = folder.run(&["inject", "--check", "apps/web"]);
    assert!(ran.stderr.contains(" -k apps/web`"), "{ran:?}");
}

#[test]
fn four_kustomizations_are_named_in_one_line() {
    let chart = "helmCharts: [{name: redis}]\n";
    let paths = ["a", "b", "c", "d"].map(|name| format!("{name}/kustomization.yaml"));
    let mut files = vec![("web.yaml", WEB)];
    files.extend(paths.iter().map(|path| (&**path, chart)));
    let ran = Folder::with(&files).run(&["inject", "--check", "."]);
    let line = "differs from these files: a, b, c and 1 more; use `mackerel-agent-injector inject --check --kustomize-args=--enable-helm -k a`\n";
    assert!(ran.stderr.contains(line), "{ran:?}");
}

/// Functions change or make resources, except this program's own, whose builds inject the agent.
#[test]
fn functions_make_builds_that_differ() {
    let config = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\n";
    for (functions, differs) in [
        ("transformers: [other.yaml]\n", true),
        ("generators: [other.yaml]\n", true),
        ("transformers: [injector.yaml]\n", false),
        ("configMapGenerator: [{name: a}]\n", false),
    ] {
        let folder = Folder::with(&[
            (
                "kustomization.yaml",
                &format!("resources: [web.yaml]\n{functions}"),
            ),
            ("web.yaml", WEB),
            ("other.yaml", "kind: PatchTransformer\n"),
            ("injector.yaml", config),
        ]);
        let ran = folder.run(&["inject", "--check", "."]);
        let is_named = ran.stderr.contains("differs from these files: .; use");
        assert_eq!(is_named, differs, "{functions} {ran:?}");
    }
}

/// `-k` would fail as kustomize does.
#[test]
fn a_path_that_does_not_exist_is_named_instead_of_k() {
    let folder = Folder::with(&[
        (
            "base/kustomization.yaml",
            "resources: [web.yaml, missing.yaml]\n",
        ),
        ("base/web.yaml", WEB),
        ("prod/kustomization.yaml", "resources: [../base]\n"),
        ("alone/kustomization.yaml", "resources: [../bases]\n"),
    ]);
    let alone = folder.run(&["inject", "--check", "--strict", "alone"]);
    assert_eq!(alone.code, Some(1), "{alone:?}");
    let error = "warning[rendered-elsewhere]: no pod template: `../bases` does not exist\n";
    assert!(alone.stderr.contains(error), "{alone:?}");
    std::fs::remove_dir_all(folder.path("alone")).unwrap();
    let ran = folder.run(&["inject", "--check", "."]);
    let line = "info: kustomize cannot build prod: `missing.yaml` does not exist\n";
    assert!(ran.stderr.contains(line), "{ran:?}");
    assert!(!ran.stderr.contains(" -k "), "{ran:?}");
}

/// The line does not name a part: the user builds the whole, which may need the charts of a part.
#[test]
fn the_kustomization_that_uses_another_is_named() {
    let folder = Folder::with(&[
        (
            "prod/kustomization.yaml",
            "resources: [../web, ../charts]\ncomponents: [../component]\n",
        ),
        ("web/kustomization.yaml", "resources: [web.yaml]\n"),
        ("web/web.yaml", WEB),
        ("charts/kustomization.yaml", "helmCharts: [{name: redis}]\n"),
        (
            "component/kustomization.yaml",
            "kind: Component\nresources: [github.com/team/app]\n",
        ),
    ]);
    let ran = folder.run(&["inject", "--check", "."]);
    let line = "info: what kustomize builds differs from these files: prod; \
                use `mackerel-agent-injector inject --check --kustomize-args=--enable-helm -k prod`\n";
    assert!(ran.stderr.contains(line), "{ran:?}");
    // `prod` and `charts` have no pod template, though another named directory has some.
    let paths = ["prod", "web", "charts", "component"];
    let ran = folder.run(&[&["inject", "--check", "--strict"][..], &paths].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(
        ran.stderr.matches("warning[rendered-elsewhere]").count(),
        2,
        "{ran:?}"
    );
    // Outside of the input, there may be anything.
    let alone = folder.run(&["inject", "--check", "charts"]);
    assert!(
        alone.stderr.contains("--enable-helm -k charts`"),
        "{alone:?}"
    );
}

/// Flux's layout: the base has releases alone, so that no workload is missing.
#[test]
fn a_base_without_containers_is_not_rendered_elsewhere() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec: {interval: 5m}\n";
    let files = [
        ("base/kustomization.yaml", "resources: [release.yaml]\n"),
        ("base/release.yaml", release),
        ("prod/kustomization.yaml", "resources: [../base]\n"),
    ];
    let folder = Folder::with(&files);
    let check = ["inject", "--check", "--strict", "prod"];
    let releases = folder.run(&check);
    assert_eq!(releases.code, Some(0), "{releases:?}");
    assert!(
        !releases.stderr.contains("[rendered-elsewhere]"),
        "{releases:?}"
    );
    // The releases of two teams, which also use each other.
    folder.write("prod/kustomization.yaml", "resources: [../team]\n");
    folder.write(
        "team/kustomization.yaml",
        "resources: [../base, ../other]\n",
    );
    folder.write(
        "other/kustomization.yaml",
        "resources: [../base, ../team]\n",
    );
    assert_eq!(folder.run(&check), releases);
    folder.write("base/release.yaml", &manifest_in("shop"));
    let workloads = folder.run(&check);
    assert_eq!(workloads.code, Some(1), "{workloads:?}");
    assert!(
        workloads.stderr.contains("[rendered-elsewhere]"),
        "{workloads:?}"
    );
}

/// A repository of a stranger: what a kustomization names is read only if it is a small file of the repository.
#[cfg(unix)]
#[test]
fn a_kustomization_that_names_a_device_or_the_whole_disk_is_not_followed() {
    for named in ["/dev/zero", "/", "base"] {
        let folder = Folder::with(&[(
            "prod/kustomization.yaml",
            &*format!("resources: [{named}]\n"),
        )]);
        std::os::unix::fs::symlink("/dev/zero", folder.path("prod/base")).unwrap();
        let checked = folder.run(&["inject", "--check", "--strict", "prod"]);
        assert_eq!(checked.code, Some(1), "{checked:?}");
        assert!(
            checked.stderr.contains("[rendered-elsewhere]"),
            "{checked:?}"
        );
    }
}

/// Each uses the next; the time for each does not grow with the number of folders above.
#[test]
fn kustomizations_that_are_nested_a_hundred_deep_are_read() {
    let folder = Folder::with(&[]);
    let mut path = String::from("top");
    for layer in 0..99 {
        let text = format!(
            "namespace: a{layer}\nresources: [web.yaml, d, missing.yaml]\ntransformers: [d]\n"
        );
        folder.write(&format!("{path}/kustomization.yaml"), &text);
        folder.write(&format!("{path}/web.yaml"), &manifest_in("a0"));
        path += "/d";
    }
    // Without `transformers`, it would be a configuration that is not used.
    let config = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\n";
    folder.write(&format!("{path}/agent.yaml"), config);
    let rbac = folder.run(&["rbac", "."]);
    assert_eq!(rbac.code, Some(0), "{rbac:?}");
    assert!(rbac.stdout.contains("namespace: a0\n"), "{rbac:?}");
    assert!(!rbac.stderr.contains("warning["), "{rbac:?}");
}

/// It cannot be built alone.
#[test]
fn a_component_is_not_named_for_k() {
    let folder = Folder::with(&[
        ("web.yaml", WEB),
        (
            "component/kustomization.yaml",
            "kind: Component\nhelmCharts: [{name: redis}]\n",
        ),
    ]);
    let ran = folder.run(&["inject", "--check", "."]);
    assert!(!ran.stderr.contains("differs"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn the_kustomization_of_a_directory_that_is_a_link_counts() {
    let folder = Folder::with(&[
        ("real/kustomization.yaml", "patches: [{path: patch.yaml}]\n"),
        ("real/patch.yaml", WEB),
    ]);
    std::os::unix::fs::symlink("real", folder.path("current")).unwrap();
    for directory in ["real", "current", "current/"] {
        let checked = folder.run(&["inject", "--check", directory]);
        let counts = "1 left alone; no file was changed\n";
        assert_eq!((checked.code, &*checked.stderr), (Some(0), counts));
    }
}

#[test]
fn a_named_directory_with_charts_is_warned_of_although_another_one_uses_it() {
    let folder = Folder::with(&[
        (
            "web/kustomization.yaml",
            "resources: [web.yaml, ../charts]\n",
        ),
        ("web/web.yaml", WEB),
        ("charts/kustomization.yaml", "helmCharts: [{name: web}]\n"),
    ]);
    let checked = folder.run(&["inject", "--check", "web", "charts"]);
    let warning = "warning[rendered-elsewhere]: no pod template: kustomize takes the workloads from elsewhere\n --> charts\n";
    assert!(checked.stderr.contains(warning), "{checked:?}");
}

/// Several overlays share the configuration of one directory.
#[test]
fn an_annotation_has_its_effect_where_a_directory_of_transformers_runs_the_injector() {
    let config = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\n";
    let folder = Folder::with(&[
        ("shared/kustomization.yaml", "resources: [injector.yaml]\n"),
        ("shared/injector.yaml", config),
        (
            "prod/kustomization.yaml",
            "resources: [web.yaml]\ntransformers: [../shared]\ncommonAnnotations: {agent-injector.contrib.mackerel.io/inject: \"false\"}\n",
        ),
        ("prod/web.yaml", WEB),
    ]);
    assert_eq!(remarks(&folder, &["."]), [""; 0]);
}
