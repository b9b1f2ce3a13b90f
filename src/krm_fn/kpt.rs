//! Calls by kpt, which shows the results of a function beside stderr, and runs the functions of subpackages first.

use config::KIND;
use report::{Finding, Reason};
use std::collections::BTreeMap;

/// Returns true for an item of a function that kpt runs. For `kpt fn source` and kustomize nothing but stderr is shown.
pub(super) fn is_run_by_kpt(item: &str) -> bool {
    item.contains("/seqindent")
        && item.contains("/annotations-migration-resource-id")
        && !item.contains("kustomize.config.k8s.io/id")
}

/// Returns the warnings about subpackages that have this program or a configuration of it in them.
pub(super) fn configured_subpackages<'t>(items: impl Iterator<Item = &'t str>) -> Vec<Finding> {
    let configuration = format!("kind: {KIND}");
    let mut packages: BTreeMap<&str, bool> = BTreeMap::new();
    for item in items {
        let (_, package) = item
            .split_once("internal.config.kubernetes.io/package-path: '")
            .unwrap_or_default();
        let (package, _) = package.split_once('\'').unwrap_or_default();
        let is_configured = item.contains(&configuration)
            || item.contains("kind: Kptfile") && item.contains(env!("CARGO_PKG_NAME"));
        *packages.entry(package).or_default() |= is_configured;
    }
    // The path of a package precedes those of its subpackages.
    let root = packages.pop_first().map_or("", |(root, _)| root);
    packages.retain(|_, is_configured| *is_configured);
    let warning = |package: &str| {
        let name = package.trim_start_matches(root).trim_start_matches('/');
        let message = format!(
            "the configuration of the subpackage `{name}` does not count: this function runs last"
        );
        let help = "name the function in the Kptfiles of the subpackages, or in this one alone";
        Finding::about_input(Reason::ConfigurationUnused, message).with_help(help)
    };
    packages.into_keys().map(warning).collect()
}
