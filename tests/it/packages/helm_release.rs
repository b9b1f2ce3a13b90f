//! The example chart in a cluster, by the installed plugins: dry run, install, upgrade, rollback, uninstall.

use super::helm_plugins::{helms, packages, post_renderer};
use crate::kubernetes::cluster::{Cluster, cluster};
use crate::real_tools::{SHOP_CHART_INJECTED, User, documents};
use serde_yaml::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const WORKLOADS: &str = "cronjobs,deployments,statefulsets,jobs";

#[test]
fn helm_installs_upgrades_and_rolls_back_the_example_chart() {
    let Some(packages) = packages() else { return };
    let Some(cluster) = cluster() else { return };
    for (helm, namespace) in helms().zip(["helm3", "helm4"]) {
        let user = packages
            .user(&helm, "")
            .with("KUBECONFIG", cluster.kubeconfig());
        let release = PluginRelease {
            cluster,
            user,
            helm: &helm,
            namespace,
        };
        release.lives();
    }
}

struct PluginRelease<'a> {
    cluster: &'a Cluster,
    user: User,
    helm: &'a Path,
    namespace: &'a str,
}

impl PluginRelease<'_> {
    fn lives(&self) {
        self.cluster
            .namespace(self.namespace, &serde_json::json!({}));
        let post_renderer = post_renderer(&self.user, self.helm);
        let chart = [
            "shop",
            "examples/helm/shop",
            "--post-renderer",
            &post_renderer,
        ];
        let dry = self.helm(&[&["install", "--dry-run=server"], &chart[..]].concat());
        assert_eq!(
            dry.matches("mackerel/mackerel-container-agent:").count(),
            SHOP_CHART_INJECTED.len(),
            "{dry}"
        );
        assert_eq!(self.agents(), [] as [String; 0]);

        self.helm(&[&["install"], &chart[..]].concat());
        let installed = self.workloads();
        assert_eq!(self.agents(), SHOP_CHART_INJECTED);
        assert!(
            installed.contains("name: shop-migrate"),
            "the hook, in:\n{installed}"
        );

        let newer = [
            "--set",
            "image.tag=2",
            "--post-renderer-args",
            "--set=apiKey.secretKeyRef.name=team-key",
        ];
        self.helm(&[&["upgrade"], &chart[..], &newer].concat());
        let upgraded = self.workloads();
        assert_eq!(self.agents(), SHOP_CHART_INJECTED);
        assert_eq!(
            upgraded.matches("name: team-key").count(),
            SHOP_CHART_INJECTED.len(),
            "{upgraded}"
        );

        // A rollback renders nothing: it takes the manifest that was stored.
        self.helm(&["rollback", "shop", "1"]);
        assert_eq!(
            self.templates(&self.workloads()),
            self.templates(&installed)
        );

        self.helm(&["uninstall", "shop"]);
        assert_eq!(self.agents(), [] as [String; 0]);
    }

    /// Runs Helm, while Jobs come to their end as they would in a cluster with controllers.
    fn helm(&self, arguments: &[&str]) -> String {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    self.cluster.complete_jobs(self.namespace);
                    std::thread::sleep(Duration::from_millis(100));
                }
            });
            let ran = self.user.prints(
                self.helm,
                &[arguments, &["--namespace", self.namespace]].concat(),
            );
            done.store(true, Ordering::Relaxed);
            ran.unwrap_or_else(|said| panic!("helm {arguments:?}: {said}"))
        })
    }

    /// The workloads of the namespace as `kubectl get` prints them.
    fn workloads(&self) -> String {
        let get = [
            "get",
            WORKLOADS,
            "--output=yaml",
            "--namespace",
            self.namespace,
        ];
        let (succeeded, stdout, stderr) = self.cluster.kubectl(&get, "");
        assert!(succeeded, "{stderr}");
        stdout
    }

    /// The workloads that have an agent, as `Kind/name` and the list with the agent.
    fn agents(&self) -> Vec<String> {
        let mut agents = Vec::new();
        for (name, spec) in self.templates(&self.workloads()) {
            for list in ["containers", "initContainers"] {
                let containers = spec[list].as_sequence().into_iter().flatten();
                let ours =
                    containers.filter(|container| container["name"] == "mackerel-container-agent");
                agents.extend(ours.map(|_| format!("{name} {list}")));
            }
        }
        agents.sort();
        agents
    }

    /// The pods' specs, but for the hook's Job, which is a new one each time. Those of a Job of the release are named as in
    /// the first revision.
    fn templates(&self, workloads: &str) -> Vec<(String, Value)> {
        let lists = documents(workloads);
        let items = lists
            .iter()
            .flat_map(|list| list["items"].as_sequence().unwrap());
        let items = items.filter(|item| item["metadata"]["name"] != "shop-migrate");
        let template = |item: &Value| match &item["spec"]["jobTemplate"] {
            Value::Null => item["spec"]["template"]["spec"].clone(),
            job => job["spec"]["template"]["spec"].clone(),
        };
        let name = |item: &Value| {
            let name = item["metadata"]["name"]
                .as_str()
                .unwrap()
                .replace("-import-2", "-import-1");
            format!("{}/{name}", item["kind"].as_str().unwrap())
        };
        items.map(|item| (name(item), template(item))).collect()
    }
}
