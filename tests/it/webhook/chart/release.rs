//! A release of the chart in the test cluster, whose API server finds the webhook on this machine.

use super::chart;
use crate::free_ports;
use crate::kubernetes::cluster::{ApiVerdict, Cluster, Run};
use crate::real_tools::User;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) const NAME: &str = "mackerel-agent-injector";

/// The most time that the API server takes to notice a webhook, and the webhook's server to notice a file.
const PATIENCE: Duration = Duration::from_secs(120);

/// A release in a namespace of its own. It is about that namespace alone, since other tests use the cluster meanwhile.
pub(super) struct Release<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) namespace: String,
    /// The ports of the server: the one that the API server calls, and the one without TLS.
    pub(super) ports: [u16; 2],
    helm: &'a Path,
    user: User,
    label: String,
}

impl<'a> Release<'a> {
    /// The namespace with its label, and nothing in it yet.
    pub(super) fn new(cluster: &'a Cluster, helm: &'a Path, test: &str) -> Self {
        let version = if helm.to_string_lossy().contains("helm-3") {
            "helm3"
        } else {
            "helm4"
        };
        let namespace = format!("chart-{test}-{version}");
        cluster.namespace(&namespace, &json!({"chart-test": namespace}));
        let ports = free_ports::two();
        let user = User::new().with("KUBECONFIG", cluster.kubeconfig());
        Self {
            cluster,
            label: namespace.clone(),
            namespace,
            ports,
            helm,
            user,
        }
    }

    /// Installs or upgrades the release with these `--set` beside those of the test. Helm does not wait for pods: there are no nodes.
    #[track_caller]
    pub(super) fn upgrade(&self, sets: &[&str]) {
        let [port, metrics] = self.ports;
        let own = format!(
            "webhook.namespaceSelector.matchLabels.chart-test={},port={port},service.port={port},metricsPort={metrics},drain=100ms",
            self.label
        );
        let chart = chart();
        let mut arguments = vec![
            "upgrade",
            "--install",
            NAME,
            chart.to_str().unwrap(),
            "--set",
            &own,
        ];
        arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
        self.helm(&arguments);
        // No route leads to pods. The chart leaves `type` alone, so upgrades keep this.
        let service = json!({"spec": {"type": "ExternalName", "externalName": "localhost", "clusterIP": null, "clusterIPs": null}});
        if self.get("service", NAME).unwrap()["spec"]["type"] == "ClusterIP" {
            self.patch("service", NAME, &service);
        }
    }

    /// Runs Helm in the namespace.
    #[track_caller]
    pub(super) fn helm(&self, arguments: &[&str]) -> String {
        self.user.runs(
            self.helm,
            &[arguments, &["--namespace", &self.namespace]].concat(),
        )
    }

    /// Runs kubectl in the namespace: whether it succeeded, and what it said.
    pub(super) fn kubectl(&self, arguments: &[&str], input: &str) -> (bool, String) {
        let all = [arguments, &["--namespace", &self.namespace]].concat();
        let (succeeded, stdout, stderr) = self.cluster.kubectl(&all, input);
        (succeeded, stdout + &stderr)
    }

    /// Applies an object of the namespace.
    #[track_caller]
    pub(super) fn apply(&self, object: &Value) {
        let mut object = object.clone();
        object["metadata"]["namespace"] = self.namespace.as_str().into();
        self.cluster.apply(&object);
    }

    /// Changes an object as another program than Helm does.
    #[track_caller]
    pub(super) fn patch(&self, kind: &str, name: &str, patch: &Value) {
        let patch = format!("--patch={patch}");
        let (succeeded, said) = self.kubectl(
            &[
                "patch",
                kind,
                name,
                "--type=merge",
                "--field-manager=another",
                &patch,
            ],
            "",
        );
        assert!(succeeded, "{said}");
    }

    /// An object, if it is there.
    pub(super) fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let (version, namespace) = match kind {
            "deployment" => ("apps/v1", Some(&*self.namespace)),
            "mutatingwebhookconfiguration" | "validatingwebhookconfiguration" => {
                ("admissionregistration.k8s.io/v1", None)
            }
            _ => ("v1", Some(&*self.namespace)),
        };
        let metadata = json!({"name": name, "namespace": namespace});
        self.cluster
            .get(&json!({"apiVersion": version, "kind": kind, "metadata": metadata}))
    }

    /// The kinds of webhook configurations that there are, with the configurations.
    pub(super) fn webhook_configurations(&self) -> Vec<(&'static str, Value)> {
        let name = self.cluster_name();
        let kinds = [
            "mutatingwebhookconfiguration",
            "validatingwebhookconfiguration",
        ];
        kinds
            .into_iter()
            .filter_map(|kind| Some((kind, self.get(kind, &name)?)))
            .collect()
    }

    /// The name of objects that are in no namespace.
    pub(super) fn cluster_name(&self) -> String {
        format!("{NAME}.{}", self.namespace)
    }

    /// The CAs by which the API server knows the server; one, unless a webhook is new.
    pub(super) fn ca_bundles(&self) -> Vec<String> {
        let configurations = self.webhook_configurations();
        let webhooks = configurations
            .iter()
            .flat_map(|(_, configuration)| configuration["webhooks"].as_array().unwrap());
        let bundle = |webhook: &Value| {
            webhook["clientConfig"]["caBundle"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let mut bundles: Vec<_> = webhooks.map(bundle).collect();
        bundles.dedup();
        bundles
    }

    /// The CA of all webhooks.
    #[track_caller]
    pub(super) fn ca_bundle(&self) -> String {
        let bundles = self.ca_bundles();
        assert_eq!(bundles.len(), 1, "{bundles:?}");
        bundles[0].clone()
    }

    /// Creates an object in the namespace, without storing it.
    pub(super) fn creates(&self, object: &Value) -> ApiVerdict {
        self.cluster.create(Run::Dry, &self.namespace, object)
    }

    /// Waits until a condition holds: the API server and the webhook's server notice changes late.
    #[track_caller]
    pub(super) fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let started = Instant::now();
        while !holds() {
            assert!(
                started.elapsed() < PATIENCE,
                "{}: not after {PATIENCE:?}: {what}",
                self.namespace
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Objects outside of the namespace would be found by the next tests.
impl Drop for Release<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.helm(&["uninstall", NAME]);
            assert_eq!(
                self.webhook_configurations(),
                [],
                "what is left of {}",
                self.namespace
            );
        }
    }
}

/// A pod as people write it.
pub(super) fn pod(annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "annotations": annotations},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    })
}

/// A Deployment with the pod of that template.
pub(super) fn deployment(name: &str) -> Value {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        }},
    })
}
