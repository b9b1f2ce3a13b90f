//! Files that a kustomization of the input names as patches. They need a folder of files, so they cannot be cases.

use crate::corpus;
use crate::program::{Folder, WEB};
use crate::tools;
use std::collections::HashSet;
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
    "kind: Kustomization\nresources: [../base]\npatches:\n- path: ../patches/web.yaml\n";

/// The patch lies beside neither kustomization.
fn package() -> Folder {
    let files = [
        ("base/kustomization.yaml", BASE),
        ("base/web.yaml", WEB),
        ("overlay/kustomization.yaml", OVERLAY),
        ("patches/web.yaml", PATCH),
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
            .contains("\n1 injected, 1 skipped (kustomize-patch), 2 without pod template"),
        "{ran:?}"
    );
    assert_eq!(folder.read("patches/web.yaml"), PATCH);
    assert!(
        folder
            .read("base/web.yaml")
            .contains("mackerel-container-agent")
    );

    let explained = folder.run(&["explain", "."]).stdout;
    let line = explained
        .lines()
        .find(|line| line.contains("kustomize-patch"))
        .unwrap_or_else(|| panic!("{explained}"));
    assert!(
        line.ends_with("patches[0].path (overlay/kustomization.yaml:4:9)"),
        "{line}"
    );
}

#[test]
fn the_kustomizations_of_the_input_and_above_it_count() {
    let folder = package();
    let both = ["overlay/kustomization.yaml", "patches/web.yaml"];
    assert!(
        decision(&folder, &both)
            .contains("overlay/kustomization.yaml:4:9 uses this file as a patch")
    );
    assert!(decision(&folder, &["patches", "overlay"]).contains("[kustomize-patch]"));
    assert!(decision(&folder, &["patches", "base"]).contains("[injected]"));
    folder.write(".ignore", "overlay/\n");
    assert!(decision(&folder, &["."]).contains("[injected]"));
    folder.write(".ignore", "overlay/kustomization.yaml\n");
    assert!(decision(&folder, &["."]).contains("[injected]"));
    folder.write(
        "kustomization.yaml",
        "patches: [{path: patches/web.yaml}]\n",
    );
    assert!(
        decision(&folder, &["patches/web.yaml"])
            .contains("kustomization.yaml:1:18 uses this file as a patch")
    );
    std::fs::create_dir(folder.path("patches/.git")).unwrap();
    assert!(
        decision(&folder, &["patches/web.yaml"]).contains("[injected]"),
        "another repository"
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

/// The lines of `inject --diff` with the id `kustomize-annotation` or `kustomize-check`.
fn remarks(folder: &Folder, args: &[&str]) -> Vec<String> {
    let stderr = folder.run(&[&["inject", "--diff"], args].concat()).stderr;
    stderr
        .lines()
        .filter(|line| {
            line.contains("[kustomize-annotation]") || line.contains("[kustomize-check]")
        })
        .map(str::to_owned)
        .collect()
}

/// The one such line of an overlay.
fn remark(overlay: &str) -> String {
    let mut found = remarks(&with_overlay(overlay), &["."]);
    assert_eq!(found.len(), 1, "{overlay} {found:?}");
    found.remove(0)
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
            let warning = format!("warning[kustomize-annotation]: {place}");
            assert!(
                found.len() == 1 && found[0].starts_with(&warning),
                "{overlay} {found:?}"
            );
        }
        assert_eq!(
            folder.run(&["inject", "--strict", "--diff", "."]).code,
            Some(2)
        );
    }
}

#[test]
fn the_annotation_of_an_overlay_is_warned_of_while_it_may_change_the_decision() {
    let folder = with_overlay(OF_FILE);
    let warning = "warning[kustomize-annotation]: overlay/patch.yaml:5:39: \
                   kustomize sets this annotation after injection, so it has no effect";
    assert_eq!(remarks(&folder, &["."]), [warning]);
    let help = "= help: inject the output of `kustomize build overlay` instead";
    assert!(folder.run(&["inject", "--diff", "."]).stderr.contains(help));
    assert!(
        folder
            .run(&["explain", "-o", "json", "."])
            .stdout
            .contains("\"kustomize-annotation\"")
    );
    let annotated = ["--set", "injection=annotated", "."];
    assert_eq!(
        remarks(&folder, &annotated),
        [warning],
        "it may request injection"
    );
    let excluded = ["--set", "select.exclude=[{name: web}]", "."];
    assert_eq!(remarks(&folder, &excluded), [""; 0]);
    assert_eq!(folder.run(&["inject", "-i", "."]).code, Some(0));
    assert_eq!(
        remarks(&folder, &["."]),
        [warning],
        "the agent is there already"
    );
    assert!(
        !folder
            .run(&["uninject", "--diff", "."])
            .stderr
            .contains("kustomize-")
    );
}

#[test]
fn a_template_may_acknowledge_the_annotation_of_an_overlay() {
    let folder = with_overlay(OF_FILE);
    let ignored = "agent-injector.contrib.mackerel.io/ignore-warnings: kustomize-annotation";
    let annotations = format!("      annotations: {{{ignored}}}\n      labels:\n");
    let base = WEB.replace("      labels:\n", &annotations);
    folder.write("base/web.yaml", &base);
    assert_eq!(remarks(&folder, &["."]), [""; 0]);
    assert_eq!(
        folder.run(&["inject", "--strict", "--diff", "."]).code,
        Some(0)
    );
    folder.write("base/web.yaml", &format!("{base}---\n{WEB}"));
    assert_eq!(
        remarks(&folder, &["."]).len(),
        1,
        "another template does not"
    );
}

#[test]
fn a_kustomization_with_patches_over_an_injected_file_is_named_once() {
    let overlay = json_patch("patches", "{op: add, path: /spec/replicas, value: 2}");
    let note = "info[kustomize-check]: overlay/kustomization.yaml has patches, which kustomize applies after injection";
    assert_eq!(remark(&overlay), note);
    assert!(
        remark("resources: [../base]\npatchesStrategicMerge: [other.yaml]\n").starts_with(note)
    );
    let folder = with_overlay(&overlay);
    folder.write(
        "base/kustomization.yaml",
        "resources: [web.yaml, api.yaml]\n",
    );
    folder.write("base/api.yaml", &format!("{WEB}---\n{WEB}"));
    assert_eq!(remarks(&folder, &["."]), [note]);
    let help = "= help: check the output of `kustomize build overlay`";
    assert!(folder.run(&["inject", "--diff", "."]).stderr.contains(help));
    assert_eq!(folder.run(&["inject", "--strict", "-i", "."]).code, Some(0));
    assert_eq!(remarks(&folder, &["."]), [""; 0], "nothing changes");
    folder.write(
        "overlay/kustomization.yaml",
        "resources: [../base]\nnamePrefix: a-\n",
    );
    folder.write("base/web.yaml", WEB);
    assert_eq!(remarks(&folder, &["."]), [""; 0], "no patches");
}

#[cfg(unix)]
#[test]
fn a_kustomization_that_is_a_link_is_one() {
    let overlay = json_patch("patches", "{op: add, path: /spec/replicas, value: 2}");
    let folder = with_overlay(&overlay);
    folder.write("shared.yaml", &overlay);
    let link = folder.path("overlay/kustomization.yaml");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("../shared.yaml", link).unwrap();
    folder.write("base/web.yaml", &format!("{WEB}---\n{WEB}"));
    let note = "info[kustomize-check]: overlay/kustomization.yaml has patches, which kustomize applies after injection";
    for paths in [&["-v", "."][..], &["-v", "overlay", "base"]] {
        assert_eq!(remarks(&folder, paths), [note], "{paths:?}");
    }
}

#[test]
fn further_kustomizations_with_patches_are_counted() {
    let overlay = json_patch("patches", "{op: add, path: /spec/replicas, value: 2}");
    let folder = with_overlay(&overlay);
    for name in ["b", "c"] {
        folder.write(&format!("{name}/kustomization.yaml"), &overlay);
    }
    let ran = folder.run(&["inject", "--diff", "."]);
    let rest = "\n… and 2 more notes (2 kustomize-check); `-v` shows all\n";
    assert!(ran.stderr.contains(rest), "{ran:?}");
    assert_eq!(remarks(&folder, &["."]).len(), 1);
    assert_eq!(remarks(&folder, &["-v", "."]).len(), 3);
}

#[test]
fn only_kustomizations_that_have_the_file_count() {
    let overlay = json_patch("patches", "{op: remove, path: /spec/replicas}");
    let folder = with_overlay(&overlay.replace("../base", "../other"));
    folder.write("other/kustomization.yaml", "resources: [api.yaml]\n");
    assert_eq!(remarks(&folder, &["."]), [""; 0]);
    for middle in ["resources: [../base]", "bases: [../base/]"] {
        folder.write("other/kustomization.yaml", middle);
        assert_eq!(remarks(&folder, &["."]).len(), 1, "{middle}");
    }
    let component = overlay.replace("resources: [../base]", "kind: Component");
    folder.write("overlay/kustomization.yaml", &component);
    folder.write(
        "other/kustomization.yaml",
        "resources: [api.yaml]\ncomponents: [../overlay]\n",
    );
    assert_eq!(
        remarks(&folder, &["."]),
        [""; 0],
        "a component of another kustomization"
    );
    folder.write(
        "third/kustomization.yaml",
        "resources: [../base]\ncomponents: [../overlay]\n",
    );
    assert_eq!(remarks(&folder, &["."]).len(), 1);
    let help = "= help: check the output of `kustomize build third`";
    assert!(
        folder.run(&["inject", "--diff", "."]).stderr.contains(help),
        "a component is not built"
    );
}

#[test]
fn the_configuration_of_a_transformer_is_no_annotation() {
    let inline = FUNCTION.trim_end().replace('\n', "\n  ");
    let overlay = format!("resources: [../base]\ntransformers:\n- |-\n  {inline}\n");
    assert_eq!(remarks(&with_overlay(&overlay), &["."]), [""; 0]);
}

/// A repository of the corpus with components that are patched into most of its workloads.
#[test]
fn components_that_patch_what_is_injected_are_named_in_bank_of_anthos() {
    let Some(files) = corpus::manifests("components_in_bank_of_anthos") else {
        return;
    };
    let folder = Folder::with(&[]);
    for (name, bytes) in files {
        if let Some(path) = name.strip_prefix("GoogleCloudPlatform+bank-of-anthos/") {
            folder.write(path, std::str::from_utf8(&bytes).unwrap());
        }
    }
    let found = remarks(&folder, &["-v", "src"]);
    let component = "info[kustomize-check]: src/components/istio-proxy-hold-application-patch/kustomization.yaml has patches";
    assert_eq!(
        found
            .iter()
            .filter(|line| line.starts_with(component))
            .count(),
        1,
        "{found:?}"
    );
    let kustomizations: HashSet<&String> = found.iter().collect();
    assert_eq!(kustomizations.len(), found.len(), "{found:?}");
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
fn a_file_that_is_a_resource_somewhere_is_a_workload() {
    let folder = package();
    folder.write(
        "other/kustomization.yml",
        "resources: [../patches/web.yaml]\n",
    );
    assert!(decision(&folder, &["."]).contains("[injected]"));
}

#[test]
fn a_component_may_name_it_and_its_file_need_no_extension() {
    let folder = package();
    folder.write("overlay/kustomization.yaml", "kind: Kustomization\n");
    folder.write(
        "patches/Kustomization",
        "kind: Component\npatchesStrategicMerge: [web.yaml]\n",
    );
    assert!(
        decision(&folder, &["."]).contains("patches/Kustomization:2:25 uses this file as a patch")
    );
}

#[test]
fn a_kustomization_that_cannot_be_read_is_as_it_was() {
    let folder = package();
    folder.write(
        "overlay/kustomization.yaml",
        "patches: [{path: ../patches/web.yaml}\n",
    );
    assert!(decision(&folder, &["."]).contains("[injected]"));
}

#[test]
fn an_agent_that_an_earlier_run_put_into_a_patch_goes() {
    let folder = package();
    assert_eq!(folder.run(&["inject", "-i", "patches"]).code, Some(0));
    let ran = folder.run(&["inject", "-v", "-i", "."]);
    assert!(
        ran.stderr
            .contains("the agent was removed: overlay/kustomization.yaml:4:9 uses"),
        "{ran:?}"
    );
    assert_eq!(folder.read("patches/web.yaml"), PATCH);
}

#[test]
fn the_built_workload_has_one_agent() {
    let Some(kustomize) = tools::find("kustomize", "5.8.") else {
        return;
    };
    let folder = package();
    let build = || {
        let args = [
            "build",
            "--load-restrictor",
            "LoadRestrictionsNone",
            "overlay",
        ];
        let output = Command::new(&kustomize)
            .args(args)
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

/// Kustomize runs transformers after patches, so the annotation of the patch has an effect.
#[test]
fn patches_before_a_transformer_are_no_finding() {
    let folder = with_overlay(&format!("{OF_FILE}transformers: [agent.yaml]\n"));
    folder.write("overlay/agent.yaml", FUNCTION);
    assert_eq!(remarks(&folder, &["."]), [""; 0]);
}

#[test]
fn a_check_of_an_overlay_alone_names_the_check_of_the_build() {
    let overlay = "resources: [../base]\ntransformers: [../shared]\n";
    let folder = Folder::with(&[
        ("overlay/kustomization.yaml", overlay),
        ("shared/kustomization.yaml", "resources: [agent.yaml]\n"),
        ("shared/agent.yaml", FUNCTION),
    ]);
    let note = "info: overlay/kustomization.yaml runs this program as a transformer, so `kustomize build` adds the agent to workloads that are not in the input; \
                to check the result, run `kustomize build --enable-alpha-plugins --enable-exec overlay | \
                mackerel-agent-injector inject --check --config FILE -` with the configuration of the transformer as FILE\n";
    for command in [&["inject", "--check", "--strict"][..], &["explain"]] {
        let ran = folder.run(&[command, &["overlay"]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.starts_with(note), "{ran:?}");
        assert!(!ran.stderr.contains("no-resources"), "{ran:?}");
    }
    folder.write(
        "overlay/kustomization.yaml",
        &format!("{overlay}patches: [{{path: patch.yaml}}]\n"),
    );
    folder.write("overlay/patch.yaml", &opt_out());
    let patched = folder.run(&["inject", "--check", "overlay"]);
    assert!(patched.stderr.starts_with(note), "{patched:?}");
    let uninject = folder.run(&["uninject", "--check", "overlay"]);
    assert!(!uninject.stderr.contains("transformer"), "{uninject:?}");
    let of_rbac = note
        .replace("check the result", "print the permissions of the agents")
        .replace("inject --check", "rbac");
    let rbac = folder.run(&["rbac", "overlay"]);
    assert!(rbac.stderr.starts_with(&of_rbac), "{rbac:?}");
}

/// Lines of `inject --check` that name a transformer.
fn transformer_notes(folder: &Folder) -> Vec<String> {
    let ran = folder.run(&["inject", "--check", "."]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.stderr
        .lines()
        .filter(|line| line.contains("transformer"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_check_of_what_a_transformer_injects_names_the_check_of_the_build() {
    let folder = with_overlay("resources: [../base]\ntransformers: [agent.yaml]\n");
    folder.write("overlay/agent.yaml", FUNCTION);
    assert!(
        !folder
            .run(&["rbac", "--namespace", "shop", "."])
            .stderr
            .contains("transformer")
    );
    let note = "info: overlay/kustomization.yaml runs this program as a transformer, so `kustomize build` adds the agent to base/web.yaml; \
                to check the result, run `kustomize build --enable-alpha-plugins --enable-exec overlay | \
                mackerel-agent-injector inject --check --config FILE -` with the configuration of the transformer as FILE";
    assert_eq!(transformer_notes(&folder), [note]);
    folder.write(
        "base/kustomization.yaml",
        "resources: [web.yaml, api.yaml, job.yaml]\n",
    );
    folder.write("base/job.yaml", WEB);
    assert_eq!(
        transformer_notes(&folder),
        [note.replace("base/web.yaml", "base/job.yaml and 1 other file")]
    );
    folder.write("base/api.yaml", WEB);
    folder.write("other.yaml", WEB);
    assert_eq!(
        transformer_notes(&folder),
        [note.replace("base/web.yaml", "base/api.yaml and 2 other files")]
    );
    for file in ["base/api.yaml", "base/job.yaml"] {
        std::fs::remove_file(folder.path(file)).unwrap();
    }
    let inline = format!(
        "resources: [../base]\ntransformers:\n- |-\n  {}\n",
        FUNCTION.trim_end().replace('\n', "\n  ")
    );
    folder.write("overlay/kustomization.yaml", &inline);
    assert_eq!(transformer_notes(&folder), [note], "inline");
    folder.write(
        "overlay/kustomization.yaml",
        "resources: [../base]\ntransformers: [../shared]\n",
    );
    folder.write("shared/kustomization.yaml", "resources: [../agent]\n");
    folder.write(
        "agent/kustomization.yaml",
        "resources: [agent.yaml, ../shared]\n",
    );
    folder.write("agent/agent.yaml", FUNCTION);
    assert_eq!(transformer_notes(&folder), [note], "a folder");
    folder.write(
        "overlay/kustomization.yaml",
        "resources: [../base]\ncomponents: [../outer]\n",
    );
    folder.write(
        "outer/kustomization.yaml",
        "kind: Component\ncomponents: [../inner]\n",
    );
    folder.write(
        "inner/kustomization.yaml",
        "kind: Component\ntransformers: [../shared]\n",
    );
    let of_component = note.replacen("overlay/", "inner/", 1);
    assert_eq!(
        transformer_notes(&folder),
        [of_component],
        "a component has no resources to build"
    );
    folder.write(
        "overlay/kustomization.yaml",
        "resources: [../base]\ntransformers: [../shared]\n",
    );
    let config_map = FUNCTION.replace("agent-injector.contrib.mackerel.io/v1alpha1", "v1");
    folder.write(
        "agent/agent.yaml",
        &config_map.replace("kind: AgentInjector", "kind: ConfigMap"),
    );
    assert_eq!(transformer_notes(&folder), [note], "another form");

    for (file, text, name) in [
        (
            "agent/agent.yaml",
            "kind: PrefixTransformer\nmetadata: {name: a}\nprefix: b-\n",
            "another transformer",
        ),
        (
            "overlay/kustomization.yaml",
            "transformers: [../agent]\n",
            "of other files",
        ),
    ] {
        folder.write("agent/agent.yaml", FUNCTION);
        folder.write(file, text);
        assert!(transformer_notes(&folder).is_empty(), "{name}");
    }
}
