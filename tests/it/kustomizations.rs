//! Files that a kustomization of the input names as patches. They need a folder of files, so they cannot be cases.

use crate::corpus;
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
            .starts_with("1 injected, 1 skipped (kustomize-patch), 2 without pod template"),
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

/// An overlay with a JSON patch of the target, in the fifth line.
fn json_patch(target: &str, path: &str) -> String {
    let operation = format!("- op: add\n      path: {path}\n      value: []");
    format!("resources: [../base]\npatches:\n- target: {target}\n  patch: |-\n    {operation}\n")
}

/// The same with a strategic merge patch of the pod template.
fn merge_patch(template: &str) -> String {
    let patch = format!(
        "{{kind: Deployment, apiVersion: apps/v1, metadata: {{name: web}}, spec: {{template: {template}}}}}"
    );
    format!("resources: [../base]\n\npatches:\n- patch: |-\n    {patch}\n")
}

fn with_overlay(overlay: &str) -> Folder {
    let base = [("base/kustomization.yaml", BASE), ("base/web.yaml", WEB)];
    let folder = Folder::with(&base);
    folder.write("overlay/kustomization.yaml", overlay);
    folder
}

/// The first lines of the warnings `patch-conflict`, which are about the base.
fn conflicts(folder: &Folder, paths: &[&str]) -> Vec<String> {
    let stderr = folder.run(&[&["inject", "--diff"], paths].concat()).stderr;
    let found: Vec<String> = stderr
        .lines()
        .filter(|line| line.contains("[patch-conflict]"))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        stderr.matches("\n --> base/web.yaml:1:1\n").count(),
        found.len(),
        "{stderr}"
    );
    found
}

const VOLUMES: &str = "/spec/template/spec/volumes";

/// Overlays, each with true if its patch removes a part of the agent.
fn overlays() -> Vec<(String, bool)> {
    let mut all = Vec::new();
    let web = "{kind: Deployment, name: web}";
    for (target, path, is_conflict) in [
        (web, VOLUMES, true),
        (web, "/spec/template/metadata/annotations", true),
        (web, "/spec/template/spec/volumes/-", false),
        (web, "/spec/template/spec/initContainers", false),
        (web, "/spec/template/spec/volumesX", false),
        ("{name: web}", VOLUMES, true),
        ("{kind: Deployment}", VOLUMES, true),
        ("{kind: De.*, name: api|w\\w+}", VOLUMES, true),
        ("{group: apps, version: v1, name: web}", VOLUMES, true),
        ("{kind: Deployment, name: we}", VOLUMES, false),
        ("{kind: Deployment, name: other}", VOLUMES, false),
        ("{kind: StatefulSet, name: web}", VOLUMES, false),
        ("{group: batch, name: web}", VOLUMES, false),
    ] {
        all.push((json_patch(target, path), is_conflict));
    }
    for (template, is_conflict) in [
        ("{metadata: {annotations: null}}", true),
        ("{metadata: null}", true),
        ("{metadata: {annotations: {$patch: replace, a: b}}}", true),
        ("{metadata: {annotations: {$patch: delete}}}", true),
        (
            "{spec: {containers: [{$patch: replace}, {name: web, image: web}]}}",
            true,
        ),
        ("{spec: {volumes: null}}", true),
        (
            "{spec: {$patch: replace, containers: [{name: web, image: web}]}}",
            true,
        ),
        (
            "{spec: {containers: [{name: mackerel-container-agent, $patch: delete}]}}",
            true,
        ),
        (
            "{spec: {containers: [{$patch: delete, name: mackerel-container-agent}, {name: web, image: web}]}}",
            true,
        ),
        (
            "{spec: {volumes: [{name: mackerel-agent-tmp, $patch: delete}]}}",
            true,
        ),
        (
            "{spec: {containers: [{name: mackerel-container-agent, $patch: replace, image: x}]}}",
            false,
        ),
        (
            "{spec: {initContainers: [{name: mackerel-container-agent, $patch: delete}]}}",
            false,
        ),
        ("{metadata: {annotations: {a: null}}}", false),
        ("{spec: {containers: []}}", false),
        (
            "{spec: {containers: [{name: web, $patch: replace, image: web}]}}",
            false,
        ),
        ("{spec: {volumes: [{name: data, $patch: delete}]}}", false),
    ] {
        all.push((merge_patch(template), is_conflict));
    }
    all
}

#[test]
fn a_patch_that_removes_a_part_of_the_agent_is_warned_of() {
    for (overlay, is_conflict) in overlays() {
        let found = conflicts(&with_overlay(&overlay), &["."]);
        assert_eq!(found.len(), usize::from(is_conflict), "{overlay} {found:?}");
        assert!(
            found
                .iter()
                .all(|line| line.contains("overlay/kustomization.yaml:5:5: this patch")),
            "{found:?}"
        );
    }
}

/// The annotation in a pod template.
fn requesting(value: &str) -> String {
    format!("{{metadata: {{annotations: {{agent-injector.contrib.mackerel.io/inject: {value}}}}}}}")
}

/// A file that is such a patch.
fn request_patch(value: &str) -> String {
    let head = "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: web}\n";
    format!("{head}spec:\n  template: {}\n", requesting(value))
}

const OF_FILE: &str = "resources: [../base]\npatches: [{path: patch.yaml}]\n";

/// The lines of `inject -v` about the patch.
fn lines_about_patch(folder: &Folder, args: &[&str]) -> Vec<String> {
    let ran = folder.run(&[&["inject", "-v", "--diff"], args].concat());
    ran.stderr
        .lines()
        .filter(|line| line.starts_with("overlay/patch.yaml"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_patch_that_opts_out_of_what_is_injected_is_warned_of() {
    let folder = with_overlay(OF_FILE);
    folder.write("overlay/patch.yaml", &request_patch("\"false\""));
    let warning = "overlay/patch.yaml:5:82: this patch opts out of injection, but base/web.yaml gets the agent";
    assert!(
        conflicts(&folder, &["."])[0].ends_with(warning),
        "{:?}",
        conflicts(&folder, &["."])
    );
    let of_patch = lines_about_patch(&folder, &["."]);
    assert_eq!(of_patch.len(), 1, "{of_patch:?}");
    assert!(
        of_patch[0].contains("info[kustomize-patch]"),
        "{of_patch:?}"
    );
    assert_eq!(folder.run(&["inject", "-i", "."]).code, Some(0));
    assert_eq!(
        conflicts(&folder, &["."]).len(),
        1,
        "also of an agent that is there already"
    );

    let key = "/spec/template/metadata/annotations/agent-injector.contrib.mackerel.io~1inject";
    for (overlay, is_conflict) in [
        (merge_patch(&requesting("\"False\"")), true),
        (merge_patch(&requesting("\"true\"")), false),
        (
            merge_patch("{metadata: {annotations: {example.com/inject: \"false\"}}}"),
            false,
        ),
        (
            json_patch("{name: web}", key).replace("[]", "\"false\""),
            true,
        ),
        (
            json_patch("{name: web}", key)
                .replace("[]", "\"false\"")
                .replace("op: add", "op: test"),
            false,
        ),
        (
            json_patch("{name: api}", key).replace("[]", "\"false\""),
            false,
        ),
        (
            json_patch(
                "{name: web}",
                "/metadata/annotations/agent-injector.contrib.mackerel.io~1inject",
            ),
            false,
        ),
        (
            json_patch("{name: web}", "/spec/template/metadata/annotations").replace(
                "[]",
                "{agent-injector.contrib.mackerel.io/inject: \"false\"}",
            ),
            true,
        ),
    ] {
        let found = conflicts(&with_overlay(&overlay), &["."]);
        assert_eq!(found.len(), usize::from(is_conflict), "{overlay} {found:?}");
        let message = "overlay/kustomization.yaml:5:5: this patch opts out of injection";
        assert!(found.iter().all(|line| line.contains(message)), "{found:?}");
    }
}

/// The warnings of `inject --diff` about the base that name a file of the overlay.
fn warnings_of_overlay(folder: &Folder, args: &[&str]) -> Vec<String> {
    let stderr = folder.run(&[&["inject", "--diff"], args].concat()).stderr;
    stderr
        .lines()
        .filter(|line| line.starts_with("warning[") && line.contains("overlay/"))
        .map(str::to_owned)
        .collect()
}

const INJECT_POINTER: &str =
    "/spec/template/metadata/annotations/agent-injector.contrib.mackerel.io~1inject";

/// Overlays of the base that opt out of injection after it, and the place of the annotation.
fn overlays_that_opt_out() -> Vec<(String, &'static str)> {
    let operation = format!("- {{op: add, path: {INJECT_POINTER}, value: \"false\"}}");
    let json_list = |list: &str| {
        format!(
            "resources: [../base]\n{list}:\n- target: {{kind: Deployment, name: web}}\n  patch: |-\n    {operation}\n"
        )
    };
    let annotations = "{agent-injector.contrib.mackerel.io/inject: \"false\"}";
    vec![
        (OF_FILE.to_owned(), "overlay/patch.yaml:5:"),
        (
            "resources: [../base]\npatchesStrategicMerge: [patch.yaml]\n".to_owned(),
            "overlay/patch.yaml:5:",
        ),
        (
            merge_patch(&requesting("\"false\"")),
            "overlay/kustomization.yaml:5:",
        ),
        (json_list("patches"), "overlay/kustomization.yaml:5:"),
        (
            json_list("patchesJson6902"),
            "overlay/kustomization.yaml:5:",
        ),
        (
            format!("resources: [../base]\ncommonAnnotations: {annotations}\n"),
            "overlay/kustomization.yaml:2:",
        ),
    ]
}

#[test]
fn an_overlay_that_opts_out_after_injection_is_warned_of_in_each_form() {
    for (overlay, place) in overlays_that_opt_out() {
        let folder = with_overlay(&overlay);
        folder.write("overlay/patch.yaml", &request_patch("\"false\""));
        for paths in [
            &["."][..],
            &["base", "overlay"],
            &["base/web.yaml", "overlay/kustomization.yaml"],
        ] {
            let warnings = warnings_of_overlay(&folder, paths);
            assert_eq!(warnings.len(), 1, "{overlay} {paths:?} {warnings:?}");
            assert!(warnings[0].contains(place), "{overlay} {warnings:?}");
        }
    }
}

/// The annotations that a component of this repository replaces are those of the agent too.
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
    let ran = folder.run(&["inject", "--diff", "src"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let component = "src/components/istio-proxy-hold-application-patch/kustomization.yaml";
    let named = ran.stderr.lines().filter(|line| line.contains(component));
    assert_eq!(named.count(), 1, "{}", ran.stderr);
}

#[test]
fn each_patch_that_conflicts_is_warned_of_once() {
    let annotations = "/spec/template/metadata/annotations";
    let sets = "{agent-injector.contrib.mackerel.io/inject: \"false\"}";
    let folder = with_overlay(&json_patch("{name: web}", annotations).replace("[]", sets));
    folder.write(
        "second/kustomization.yaml",
        &json_patch("{name: web}", VOLUMES),
    );
    for overlay in ["third", "fourth"] {
        let text = OF_FILE.replace("patch.yaml", "../overlay/patch.yaml");
        folder.write(&format!("{overlay}/kustomization.yaml"), &text);
    }
    folder.write("overlay/patch.yaml", &request_patch("\"false\""));
    let found = conflicts(&folder, &["."]);
    let places = [
        "overlay/kustomization.yaml:5:5:",
        "second/kustomization.yaml:5:5:",
        "overlay/patch.yaml:5:82:",
    ];
    assert_eq!(found.len(), places.len(), "{found:?}");
    for place in places {
        assert_eq!(
            found
                .iter()
                .filter(|line| line.contains(&format!(" {place}")))
                .count(),
            1,
            "{place} {found:?}"
        );
    }
    let explained = folder.run(&["explain", "-o", "json", "."]).stdout;
    assert_eq!(
        explained.matches(": this patch").count(),
        places.len(),
        "{explained}"
    );

    let more = WEB.replace("name: web", "name: api");
    folder.write("base/web.yaml", &format!("{WEB}---\n{more}"));
    folder.write(
        "second/kustomization.yaml",
        &json_patch("{kind: Deployment}", VOLUMES),
    );
    let folded = folder.run(&["inject", "--diff", "."]).stderr;
    assert_eq!(
        folded
            .matches("second/kustomization.yaml:5:5: this patch")
            .count(),
        1,
        "{folded}"
    );
    assert!(folded.contains("1 more: base/web.yaml:"), "{folded}");
}

/// A base with a CronJob too, and an overlay that annotates each object with this value of `inject`.
fn with_common_annotation(value: &str) -> Folder {
    let annotations = format!("{{agent-injector.contrib.mackerel.io/inject: {value}}}");
    let folder = with_overlay(&format!(
        "resources: [../base]\ncommonAnnotations: {annotations}\n"
    ));
    let pod = "{restartPolicy: Never, containers: [{name: job, image: job}]}";
    let job = format!(
        "{{schedule: \"* * * * *\", jobTemplate: {{spec: {{template: {{spec: {pod}}}}}}}}}"
    );
    folder.write(
        "base/job.yaml",
        &format!("apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: job}}\nspec: {job}\n"),
    );
    folder.write(
        "base/kustomization.yaml",
        "resources: [web.yaml, job.yaml]\n",
    );
    folder
}

#[test]
fn a_common_annotation_that_changes_the_decision_is_warned_of() {
    let warnings = |folder: &Folder, args: &[&str]| {
        let stderr = folder.run(&[&["inject", "--diff"], args].concat()).stderr;
        stderr
            .lines()
            .filter(|line| line.contains("[patch-conflict]"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let place = "warning[patch-conflict]: overlay/kustomization.yaml:2:64: this kustomization";
    let about = |what: &str| {
        ["job", "web"].map(|file| {
            format!(
                "{place} {}",
                what.replace("FILE", &format!("base/{file}.yaml"))
            )
        })
    };
    let folder = with_common_annotation("\"false\"");
    assert_eq!(
        warnings(&folder, &["."]),
        about("opts out of injection, but FILE gets the agent")
    );
    let annotated = ["--set", "injection=annotated", "."];
    assert_eq!(warnings(&folder, &annotated), [""; 0]);
    let folder = with_common_annotation("\"true\"");
    assert_eq!(warnings(&folder, &["."]), [""; 0]);
    assert_eq!(
        warnings(&folder, &annotated),
        about("requests injection, but FILE gets no agent")
    );
    folder.write(
        "base/web.yaml",
        &WEB.replace("apps/v1", "argoproj.io/v1alpha1")
            .replace("Deployment", "Rollout"),
    );
    assert_eq!(
        warnings(&folder, &annotated).len(),
        1,
        "only the kinds whose pod templates kustomize annotates"
    );
}

#[test]
fn kustomize_annotates_the_pod_templates_of_those_kinds() {
    for version in ["5.6.", "5.8."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let folder = with_common_annotation("\"false\"");
        let args = ["build", "overlay"];
        let output = Command::new(&kustomize)
            .args(args)
            .current_dir(folder.root())
            .output()
            .unwrap();
        let ran = folder.run_with(
            &["inject", "-v", "-"],
            String::from_utf8(output.stdout).unwrap(),
        );
        assert_eq!(ran.stderr.matches("[opted-out]").count(), 2, "{ran:?}");
    }
}

#[test]
fn a_template_may_acknowledge_a_patch() {
    let folder = with_overlay(OF_FILE);
    folder.write("overlay/patch.yaml", &request_patch("\"false\""));
    let annotation = "agent-injector.contrib.mackerel.io/ignore-warnings: patch-conflict";
    let base = WEB.replace(
        "      labels:\n",
        &format!("      annotations: {{{annotation}}}\n      labels:\n"),
    );
    folder.write("base/web.yaml", &base);
    assert_eq!(conflicts(&folder, &["."]), [""; 0]);
    assert_eq!(
        folder.run(&["inject", "--strict", "--diff", "."]).code,
        Some(0)
    );
}

#[test]
fn a_patch_that_requests_what_is_not_injected_is_warned_of() {
    let folder = with_overlay(OF_FILE);
    folder.write("overlay/patch.yaml", &request_patch("\"true\""));
    let annotated = ["--set", "injection=annotated", "."];
    let found = conflicts(&folder, &annotated);
    let warning =
        "overlay/patch.yaml:5:82: this patch requests injection, but base/web.yaml gets no agent";
    assert!(found.len() == 1 && found[0].ends_with(warning), "{found:?}");
    folder.write("overlay/patch.yaml", &request_patch("\"false\""));
    assert!(conflicts(&folder, &annotated).is_empty());
    let of_patch = lines_about_patch(&folder, &annotated);
    assert!(
        of_patch.len() == 1 && of_patch[0].contains("info[kustomize-patch]"),
        "{of_patch:?}"
    );
    folder.write("overlay/patch.yaml", &request_patch("\"maybe\""));
    let mistyped = folder.run(&["inject", "--diff", "."]);
    assert!(
        mistyped.stderr.contains("error[invalid-annotation]"),
        "{mistyped:?}"
    );
}

#[test]
fn the_built_workload_has_the_agent_that_its_patch_opts_out_of() {
    let Some(kustomize) = tools::find("kustomize", "5.8.") else {
        return;
    };
    let folder = with_overlay(OF_FILE);
    folder.write("overlay/patch.yaml", &request_patch("\"false\""));
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
fn what_kustomize_builds_has_all_of_the_agent_or_there_is_a_warning() {
    for version in ["5.6.", "5.8."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        for (overlay, is_conflict) in overlays() {
            let folder = with_overlay(&overlay);
            assert_eq!(folder.run(&["inject", "-i", "base/web.yaml"]).code, Some(0));
            let output = Command::new(&kustomize)
                .args(["build", "overlay"])
                .current_dir(folder.root())
                .output()
                .unwrap();
            assert!(output.status.success(), "{overlay} {output:?}");
            let built = String::from_utf8(output.stdout).unwrap();
            let parts = [
                "name: mackerel-container-agent\n",
                "emptyDir:",
                "mackerel.io/record:",
            ];
            assert_eq!(
                parts.iter().any(|part| !built.contains(part)),
                is_conflict,
                "{overlay} {built}"
            );
        }
    }
}

/// Two layers that rename the object, and an overlay whose patch removes a part of the agent; true if it names the object.
fn renaming_overlays() -> Vec<(Folder, String, bool)> {
    let merge = |name: &str| {
        merge_patch("{spec: {volumes: null}}").replace("{name: web}", &format!("{{name: {name}}}"))
    };
    let json = |name: &str| json_patch(&format!("{{kind: Deployment, name: {name}}}"), VOLUMES);
    let old_json = |name: &str| json(name).replace("patches:", "patchesJson6902:");
    let with_layers = |overlay: &str| {
        let folder = with_overlay(&overlay.replace("../base", "../second").replacen(
            '\n',
            "\nnamePrefix: own-\n",
            1,
        ));
        folder.write(
            "first/kustomization.yaml",
            "resources: [../base]\nnamePrefix: p-\n",
        );
        folder.write(
            "second/kustomization.yaml",
            "resources: [../first]\nnamePrefix: q-\nnameSuffix: -s\n",
        );
        folder
    };
    let mut all = Vec::new();
    for (name, by_merge, by_target, by_old_target) in [
        ("web", true, true, true),
        ("p-web", true, false, false),
        ("q-p-web-s", true, true, false),
        ("q-p-web", true, false, false),
        ("p-web-s", false, false, false),
        ("own-q-p-web-s", false, false, true),
    ] {
        for (overlay, is_conflict) in [
            (merge(name), by_merge),
            (json(name), by_target),
            (old_json(name), by_old_target),
        ] {
            all.push((with_layers(&overlay), overlay, is_conflict));
        }
    }
    all
}

#[test]
fn a_patch_names_an_object_as_the_layers_below_have_renamed_it() {
    for (folder, overlay, is_conflict) in renaming_overlays() {
        assert_eq!(
            conflicts(&folder, &["."]).len(),
            usize::from(is_conflict),
            "{overlay}"
        );
    }
}

#[test]
fn kustomize_finds_a_renamed_object_under_the_same_names() {
    for version in ["5.6.", "5.8."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        for (folder, overlay, is_conflict) in renaming_overlays() {
            assert_eq!(folder.run(&["inject", "-i", "base/web.yaml"]).code, Some(0));
            let output = Command::new(&kustomize)
                .args(["build", "overlay"])
                .current_dir(folder.root())
                .output()
                .unwrap();
            let built = String::from_utf8(output.stdout).unwrap();
            let fails = String::from_utf8_lossy(&output.stderr).contains("no resource matches");
            assert!(output.status.success() || fails, "{overlay} {built}");
            assert_eq!(
                output.status.success() && !built.contains("emptyDir:"),
                is_conflict,
                "{overlay} {built}"
            );
        }
    }
}

#[test]
fn the_place_of_a_patch_is_that_of_its_operation() {
    let folder = with_overlay("resources: [../base]\npatchesStrategicMerge: [merge.yaml]\n");
    let merge =
        "kind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {volumes: null}}}\n";
    folder.write("overlay/merge.yaml", merge);
    assert!(conflicts(&folder, &["."])[0].contains(" overlay/merge.yaml:3:35: this patch"));
    let patch = "[{\"op\": \"remove\", \"path\": \"/spec/template/spec/volumes\"}]";
    let overlay =
        format!("resources: [../base]\npatches:\n- target: {{name: web}}\n  patch: '{patch}'\n");
    folder.write("overlay/kustomization.yaml", &overlay);
    assert!(conflicts(&folder, &["."])[0].contains(" overlay/kustomization.yaml:4:10: this patch"));
    let late = json_patch("{name: web}", VOLUMES).replace(
        "    - op: add\n",
        "    - {op: test, path: /a}\n\n    - op: add\n",
    );
    folder.write("overlay/kustomization.yaml", &late);
    assert!(conflicts(&folder, &["."])[0].contains(" overlay/kustomization.yaml:7:5: this patch"));
}

#[test]
fn selectors_of_labels_count_as_matching_since_a_lower_layer_may_add_them() {
    let overlay = json_patch("{kind: Deployment, labelSelector: team=shop}", VOLUMES);
    assert_eq!(conflicts(&with_overlay(&overlay), &["."]).len(), 1);
}

#[test]
fn only_patches_of_kustomizations_that_have_the_file_count() {
    let overlay = json_patch("{name: web}", VOLUMES);
    let folder = with_overlay(&overlay.replace("../base", "../other"));
    folder.write("other/kustomization.yaml", "resources: [api.yaml]\n");
    folder.write(
        "other/api.yaml",
        WEB.replace("name: web", "name: api").as_str(),
    );
    assert!(conflicts(&folder, &["."]).is_empty(), "its patch fails");
    for (middle, name) in [
        ("resources: [../base]", "through another"),
        ("bases: [../base/]", "an old list"),
    ] {
        folder.write("other/kustomization.yaml", middle);
        assert_eq!(conflicts(&folder, &["."]).len(), 1, "{name}");
    }
    folder.write(
        "other/kustomization.yaml",
        "resources: [api.yaml]\ncomponents: [../overlay]\n",
    );
    folder.write(
        "overlay/kustomization.yaml",
        &overlay.replace("resources: [../base]", "kind: Component"),
    );
    assert!(
        conflicts(&folder, &["."]).is_empty(),
        "a component of another kustomization"
    );
    folder.write(
        "third/kustomization.yaml",
        "resources: [../base]\ncomponents: [../overlay]\n",
    );
    assert_eq!(conflicts(&folder, &["."]).len(), 1);
    folder.write(
        "base/kustomization.yaml",
        &overlay.replace("../base", "web.yaml"),
    );
    assert_eq!(
        conflicts(&folder, &["base/web.yaml"]).len(),
        1,
        "in its own folder"
    );
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
