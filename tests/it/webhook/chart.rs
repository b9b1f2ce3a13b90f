//! `webhook/chart` and `webhook/base`: as Helm 3, Helm 4 and kustomize render them.

mod base;
mod documents;
#[cfg(feature = "webhook")]
mod image;
#[cfg(feature = "webhook")]
mod lives;
mod reaches;
mod readme;
mod release;
mod rendered;
#[cfg(feature = "webhook")]
mod server;
mod values;

use crate::real_tools::documents;
use crate::tools;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::root;

/// A release in a namespace.
const RELEASE: [&str; 3] = ["mackerel-agent-injector", "--namespace", "mackerel"];

/// Modes that render without a cluster.
const PROVIDED: &str =
    "tls.mode=provided,tls.provided.secretName=server,tls.provided.caBundle=QUJD";
const CERT_MANAGER: &str = "tls.mode=cert-manager";
pub(super) const OPENSHIFT: &str = "tls.mode=openshift";

fn chart() -> PathBuf {
    root().join("webhook/chart")
}

/// Both Helms, if they are installed.
fn helms() -> impl Iterator<Item = PathBuf> {
    ["3.", "4."]
        .into_iter()
        .filter_map(|version| tools::find("helm", version))
}

/// Runs a test with both Helms at once: most of its time is waiting.
#[cfg(feature = "webhook")]
fn with_helms(test: impl Fn(&Path) + Sync) {
    let helms: Vec<_> = helms().collect();
    std::thread::scope(|scope| {
        helms
            .iter()
            .for_each(|helm| drop(scope.spawn(|| test(helm))))
    });
}

/// Runs a tool that needs no cluster: standard output, or standard error where it fails.
fn run(tool: &Path, arguments: &[&str]) -> Result<String, String> {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(tool);
    let output = command
        .args(arguments)
        .current_dir(root())
        .env("HOME", home.path())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stderr))
    }
}

/// The objects of the chart with these `--set`, in the order of their kinds and names.
fn render(helm: &Path, sets: &[&str]) -> Result<Vec<Value>, String> {
    let chart = chart();
    let mut arguments = vec!["template"];
    arguments.extend(RELEASE);
    arguments.extend([chart.to_str().unwrap(), "--kube-version=1.30"]);
    arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
    run(helm, &arguments).map(|text| objects(&text))
}

/// The objects of a stream, in the order of their kinds and names.
fn objects(text: &str) -> Vec<Value> {
    let mut objects: Vec<Value> = documents(text)
        .iter()
        .filter(|object| !object.is_null())
        .map(|object| serde_json::to_value(object).unwrap())
        .collect();
    objects.sort_by_key(name);
    objects
}

/// `Kind/name`
fn name(object: &Value) -> String {
    format!(
        "{}/{}",
        object["kind"].as_str().unwrap(),
        object["metadata"]["name"].as_str().unwrap()
    )
}

/// The chart as both Helms render it with these values: the same for both. None, with a line on standard error, if no Helm is
/// installed.
pub(super) fn rendered(sets: &[&str]) -> Option<Rendered> {
    let mut all =
        helms().map(|helm| render(&helm, sets).unwrap_or_else(|said| panic!("{sets:?}: {said}")));
    let first = all.next()?;
    if let Some(second) = all.next() {
        assert_eq!(first, second, "{sets:?}");
    }
    Some(Rendered(first))
}

/// Returns the error of each Helm.
fn refused(sets: &[&str]) -> Vec<String> {
    helms()
        .map(|helm| {
            render(&helm, sets)
                .map(|_| sets)
                .expect_err("it is rendered")
        })
        .collect()
}

pub(super) struct Rendered(Vec<Value>);

impl Rendered {
    pub(super) fn of_kind(&self, kind: &str) -> Option<&Value> {
        let mut found = self.0.iter().filter(|object| object["kind"] == kind);
        let first = found.next();
        assert!(found.next().is_none(), "two of {kind}");
        first
    }

    /// A value in the one object of that kind.
    #[track_caller]
    fn at(&self, kind: &str, pointer: &str) -> &Value {
        let object = self.of_kind(kind).unwrap_or_else(|| panic!("no {kind}"));
        object
            .pointer(pointer)
            .unwrap_or_else(|| panic!("no {pointer} in {object:#}"))
    }

    /// The webhooks, with the names of their configurations.
    fn webhooks(&self) -> impl Iterator<Item = &Value> {
        let kinds = [
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ];
        let configurations = kinds.into_iter().filter_map(|kind| self.of_kind(kind));
        configurations.flat_map(|configuration| configuration["webhooks"].as_array().unwrap())
    }

    /// The webhook at a path.
    #[track_caller]
    fn webhook(&self, path: &str) -> &Value {
        let mut found = self
            .webhooks()
            .filter(|webhook| webhook.pointer("/clientConfig/service/path").unwrap() == path);
        found
            .next()
            .unwrap_or_else(|| panic!("no webhook at {path}"))
    }

    /// The configuration as the server reads it.
    fn configuration(&self) -> Value {
        let text = self
            .at("ConfigMap", "/data/agent-injector.yaml")
            .as_str()
            .unwrap();
        serde_yaml::from_str(text).unwrap()
    }
}
