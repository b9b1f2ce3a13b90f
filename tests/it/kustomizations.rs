//! Files that a kustomization of the input names as patches. They need a folder of files, so they cannot be cases.

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
const OVERLAY: &str = "kind: Kustomization\nresources: [../base]\npatches:\n- path: ../patches/web.yaml\n";

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
    let of_patch = ran.stderr.lines().find(|line| line.contains("patches/web.yaml"));
    of_patch.unwrap_or_else(|| panic!("{ran:?}")).to_owned()
}

#[test]
fn a_patch_that_is_named_is_left_alone_and_explained() {
    let folder = package();
    let ran = folder.run(&["inject", "-i", "."]);
    assert!(ran.stderr.starts_with("1 injected, 1 skipped (kustomize-patch), 2 without pod template"), "{ran:?}");
    assert_eq!(folder.read("patches/web.yaml"), PATCH);
    assert!(folder.read("base/web.yaml").contains("mackerel-container-agent"));

    let explained = folder.run(&["explain", "."]).stdout;
    let line = explained.lines().find(|line| line.contains("kustomize-patch")).unwrap_or_else(|| panic!("{explained}"));
    assert!(line.ends_with("patches[0].path (overlay/kustomization.yaml:4:9)"), "{line}");
}

#[test]
fn the_kustomizations_of_the_input_and_above_it_count() {
    let folder = package();
    let both = ["overlay/kustomization.yaml", "patches/web.yaml"];
    assert!(decision(&folder, &both).contains("overlay/kustomization.yaml:4:9 uses this file as a patch"));
    assert!(decision(&folder, &["patches", "overlay"]).contains("[kustomize-patch]"));
    assert!(decision(&folder, &["patches", "base"]).contains("[injected]"));
    folder.write(".ignore", "overlay/\n");
    assert!(decision(&folder, &["."]).contains("[injected]"));
    folder.write("kustomization.yaml", "patches: [{path: patches/web.yaml}]\n");
    assert!(decision(&folder, &["patches/web.yaml"]).contains("kustomization.yaml:1:18 uses this file as a patch"));
    std::fs::create_dir(folder.path("patches/.git")).unwrap();
    assert!(decision(&folder, &["patches/web.yaml"]).contains("[injected]"), "another repository");
}

/// The warnings `patch-conflict` for a base with this overlay.
fn conflicts(overlay: &str) -> Vec<String> {
    let folder = Folder::with(&[("base/web.yaml", WEB), ("overlay/kustomization.yaml", overlay)]);
    folder.write(
        "overlay/merge.yaml",
        "kind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {volumes: null}}}\n",
    );
    let ran = folder.run(&["inject", "--diff", "."]);
    ran.stderr.lines().filter(|line| line.contains("[patch-conflict]")).map(str::to_owned).collect()
}

#[test]
fn a_patch_that_replaces_a_list_with_a_part_of_the_agent_is_warned_of() {
    let json_patch = |target: &str, path: &str| {
        format!("patches:\n- target: {target}\n  patch: |-\n    - op: add\n      path: {path}\n      value: []\n")
    };
    let web = "{kind: Deployment, name: web}";
    for path in ["/spec/template/spec/volumes", "/spec/template/spec", "/spec/template/metadata/annotations"] {
        let found = conflicts(&json_patch(web, path));
        assert!(found.len() == 1 && found[0].contains("web.yaml:1:1: warning"), "{path} {found:?}");
        assert!(found[0].contains("overlay/kustomization.yaml:3:10: this patch"), "{found:?}");
    }
    for (target, path) in [
        (web, "/spec/template/spec/volumes/-"),
        (web, "/spec/template/spec/initContainers"),
        (web, "/spec/template/spec/volumesX"),
        ("{kind: Deployment, name: other}", "/spec/template/spec/volumes"),
        ("{kind: StatefulSet, name: web}", "/spec/template/spec/volumes"),
    ] {
        assert!(conflicts(&json_patch(target, path)).is_empty(), "{target} {path}");
    }
    let found = conflicts("patchesStrategicMerge: [merge.yaml]\n");
    assert!(found.len() == 1 && found[0].contains("overlay/merge.yaml:3:35: this patch"), "{found:?}");
}

#[test]
fn a_file_that_is_a_resource_somewhere_is_a_workload() {
    let folder = package();
    folder.write("other/kustomization.yml", "resources: [../patches/web.yaml]\n");
    assert!(decision(&folder, &["."]).contains("[injected]"));
}

#[test]
fn a_component_may_name_it_and_its_file_need_no_extension() {
    let folder = package();
    folder.write("overlay/kustomization.yaml", "kind: Kustomization\n");
    folder.write("patches/Kustomization", "kind: Component\npatchesStrategicMerge: [web.yaml]\n");
    assert!(decision(&folder, &["."]).contains("patches/Kustomization:2:25 uses this file as a patch"));
}

#[test]
fn a_kustomization_that_cannot_be_read_is_as_it_was() {
    let folder = package();
    folder.write("overlay/kustomization.yaml", "patches: [{path: ../patches/web.yaml}\n");
    assert!(decision(&folder, &["."]).contains("[injected]"));
}

#[test]
fn an_agent_that_an_earlier_run_put_into_a_patch_goes() {
    let folder = package();
    assert_eq!(folder.run(&["inject", "-i", "patches"]).code, Some(0));
    let ran = folder.run(&["inject", "-v", "-i", "."]);
    assert!(ran.stderr.contains("the agent was removed: overlay/kustomization.yaml:4:9 uses"), "{ran:?}");
    assert_eq!(folder.read("patches/web.yaml"), PATCH);
}

#[test]
fn the_built_workload_has_one_agent() {
    let Some(kustomize) = tools::find("kustomize", "5.8.") else { return };
    let folder = package();
    let build = || {
        let args = ["build", "--load-restrictor", "LoadRestrictionsNone", "overlay"];
        let output = Command::new(&kustomize).args(args).current_dir(folder.root()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(build().contains("image: web:2"), "the patch is one");
    assert_eq!(folder.run(&["inject", "-i", "."]).code, Some(0));
    let built = build();
    assert!(built.contains("image: web:2") && built.matches("name: mackerel-container-agent\n").count() > 0, "{built}");
    assert_eq!(built.matches("image: mackerel/mackerel-container-agent").count(), 1, "{built}");
    let piped = folder.run_with(&["inject", "--check", "-"], built);
    assert_eq!(piped.code, Some(0), "kustomize build gives what inject would: {piped:?}");
}
