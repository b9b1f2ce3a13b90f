//! The plugins for Helm as they lie in a clone.

use super::helm_plugins::{helms, is_helm3, post_renderer};
use crate::real_tools::{PROGRAM, SHOP_CHART_INJECTED, User, same_but_for_the_agent};
use crate::tools;
use std::fs;
use std::path::Path;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const TEMPLATE: [&str; 3] = ["template", "shop", "examples/helm/shop"];

/// A user with the injector on the PATH and without plugins, below a folder with a blank in its name.
pub(super) fn user() -> User {
    let user = User::new();
    let data = user.path("my data");
    user.with("HELM_PLUGINS", data.join("plugins"))
        .with("HELM_DATA_HOME", data)
}

#[test]
fn helm_installs_the_folders_of_a_clone() {
    for helm in helms() {
        let user = user();
        let folders: &[&str] = if is_helm3(&helm) {
            &["helm3"]
        } else {
            &["helm4/command", "helm4/post-renderer"]
        };
        for folder in folders {
            let folder = format!("./helm-plugin/{folder}");
            user.runs(&helm, &["plugin", "install", &folder]);
        }
        runs_as_command_and_post_renderer(&user, &helm);
        // The program alone, not the plugin.
        fs::remove_file(user.path("with").join(PROGRAM)).unwrap();
        let missing = user.tries(&helm, &["mackerel", "version"]);
        assert_ne!(missing.code, 0);
        assert!(missing.stderr.contains(PROGRAM), "{}", missing.stderr);
    }
}

/// Helm tells the namespace to the script of Helm 3's plugin, which passes it on.
#[test]
fn helm3_passes_the_namespace_to_the_plugin_of_a_clone() {
    let Some(helm) = tools::find("helm", "3.") else {
        return;
    };
    let user = user().with("HELM_NAMESPACE", "shop");
    user.runs(&helm, &["plugin", "install", "./helm-plugin/helm3"]);
    let select = "--set=select.namespaces=shop";
    let command = ["mackerel", "inject", "--diff", select];
    let diff = user.runs(
        &helm,
        &[&command[..], &["examples/kustomize/base"]].concat(),
    );
    assert!(diff.contains("mackerel-container-agent"), "{diff}");
    let path = post_renderer(&user, &helm);
    let render = ["--post-renderer", &path, "--post-renderer-args", select];
    let with = user.runs(&helm, &[&TEMPLATE[..], &render].concat());
    assert!(with.contains("mackerel-container-agent"), "{with}");
}

/// Panics unless `helm mackerel` runs the program, and Helm renders with it.
pub(super) fn runs_as_command_and_post_renderer(user: &User, helm: &Path) {
    let version = user.runs(helm, &["mackerel", "version"]);
    assert_eq!(version, format!("{PROGRAM} {VERSION}\n"));
    let path = post_renderer(user, helm);
    let with = user.runs(helm, &[&TEMPLATE[..], &["--post-renderer", &path]].concat());
    if is_helm3(helm) {
        same_but_for_the_agent(&with, &user.runs(helm, &TEMPLATE), &SHOP_CHART_INJECTED);
    } else {
        assert!(with.contains("mackerel-container-agent"), "{with}");
    }
}
