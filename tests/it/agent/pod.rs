//! An injected workload's pod, as the API server admits it and a kubelet prepares its agent: environment, files and user.

use crate::kubernetes::cluster::{ApiVerdict, Cluster, Run};
use crate::program::Folder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use tempfile::TempDir;

const AGENT: &str = "mackerel-container-agent";
/// The files of the ConfigMap `mackerel-plugin`: the agent's configuration file and the plugin that it names.
pub(super) const PLUGIN: [(&str, &str); 2] = [
    (
        "mackerel-agent.conf",
        include_str!("../../../examples/plugin/mackerel-agent.conf"),
    ),
    (
        "queue.sh",
        include_str!("../../../examples/plugin/queue.sh"),
    ),
];

const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

pub(super) struct AdmittedPod {
    /// The Pod as the API server stored it.
    pub(super) object: Value,
    /// The agent's container.
    pub(super) container: Value,
    /// The agent's environment.
    pub(super) environment: BTreeMap<String, String>,
    pub(super) mounts: Vec<Mount>,
    /// A folder for each volume.
    volumes: TempDir,
}

/// A folder of the host in the container.
pub(super) struct Mount {
    pub(super) source: PathBuf,
    pub(super) destination: String,
    pub(super) read_only: bool,
}

/// The cluster's contents for the agent.
pub(super) struct PodInputs<'g> {
    pub(super) host: Ipv4Addr,
    pub(super) node: &'g str,
    /// The value of the Secret that the documents name.
    pub(super) api_key: &'g str,
    /// The agent's configuration file in the ConfigMap `agent-config`.
    pub(super) file: &'g str,
}

impl AdmittedPod {
    /// Injects the agent into a workload, and creates the pod of its template on a node.
    pub(super) fn admit(
        cluster: &Cluster,
        manifest: &str,
        settings: &[&str],
        given: &PodInputs<'_>,
    ) -> Self {
        let sets = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = ["inject", "-"].into_iter().chain(sets).collect();
        let ran = Folder::with(&[]).run_with(&arguments, manifest);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let workload: Value = serde_yaml::from_str(&ran.stdout).unwrap();
        let namespace = workload["metadata"]["namespace"].as_str().unwrap();
        let template = &workload["spec"]["template"];
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"]});
        pod["metadata"]["name"] = "web-abcde".into();
        pod["spec"]["nodeName"] = given.node.into();
        let object = match cluster.create(Run::Wet, namespace, &pod) {
            ApiVerdict::Accepted { object, .. } => object,
            ApiVerdict::Refused(why) => panic!("{namespace}: {why}"),
        };
        let lists = ["containers", "initContainers"].map(|list| object["spec"][list].as_array());
        let container = lists
            .into_iter()
            .flatten()
            .flatten()
            .find(|container| container["name"] == AGENT);
        let container = container
            .unwrap_or_else(|| panic!("no agent in {object}"))
            .clone();
        let volumes = tempfile::tempdir().unwrap();
        // The agent's user is another one than the tests'.
        fs::set_permissions(volumes.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut pod = Self {
            object,
            container,
            environment: BTreeMap::new(),
            mounts: Vec::new(),
            volumes,
        };
        pod.environment = pod.environment(cluster, given);
        pod.mounts = pod.mounts(cluster, given);
        pod
    }

    /// The pod as its kubelet shows it when its containers run.
    pub(super) fn running(&self, host: Ipv4Addr) -> Value {
        let mut pod = self.object.clone();
        let names = pod["spec"]["containers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|container| &container["name"]);
        let statuses: Vec<Value> = names
            .map(|name| json!({"name": name, "containerID": format!("containerd://{name}"), "ready": true}))
            .collect();
        pod["status"] = json!({
            "phase": "Running", "hostIP": host, "podIP": host, "startTime": pod["metadata"]["creationTimestamp"],
            "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": statuses,
        });
        pod
    }

    fn environment(&self, cluster: &Cluster, given: &PodInputs<'_>) -> BTreeMap<String, String> {
        let server = cluster.server;
        let mut environment = BTreeMap::from([
            (
                "KUBERNETES_SERVICE_HOST".to_owned(),
                server.ip().to_string(),
            ),
            (
                "KUBERNETES_SERVICE_PORT".to_owned(),
                server.port().to_string(),
            ),
        ]);
        for variable in self.container["env"].as_array().unwrap() {
            let from = &variable["valueFrom"];
            let value = if let Some(path) = from["fieldRef"]["fieldPath"].as_str() {
                self.field(path, given)
            } else if from["secretKeyRef"].is_object() {
                assert_eq!(from["secretKeyRef"]["name"], AGENT);
                assert_eq!(from["secretKeyRef"]["key"], "MACKEREL_APIKEY");
                given.api_key.to_owned()
            } else {
                let value = variable["value"].as_str().unwrap_or_default().to_owned();
                environment.iter().fold(value, |value, (known, text)| {
                    value.replace(&format!("$({known})"), text)
                })
            };
            environment.insert(variable["name"].as_str().unwrap().to_owned(), value);
        }
        environment
    }

    fn field(&self, path: &str, given: &PodInputs<'_>) -> String {
        match path {
            "status.hostIP" => given.host.to_string(),
            "spec.nodeName" => given.node.to_owned(),
            _ => {
                let label = path.strip_prefix("metadata.labels['");
                let value = match label.and_then(|rest| rest.strip_suffix("']")) {
                    Some(key) => self.object["metadata"]["labels"].get(key),
                    None => self.object.pointer(&format!("/{}", path.replace('.', "/"))),
                };
                let value = value.and_then(Value::as_str);
                value.unwrap_or_else(|| panic!("{path}")).to_owned()
            }
        }
    }

    fn mounts(&self, cluster: &Cluster, given: &PodInputs<'_>) -> Vec<Mount> {
        let mount = |mount: &Value| {
            let name = &mount["name"];
            let volumes = self.object["spec"]["volumes"].as_array().unwrap();
            let volume = volumes
                .iter()
                .find(|volume| volume["name"] == *name)
                .unwrap();
            let source = self.volumes.path().join(name.as_str().unwrap());
            fs::create_dir_all(&source).unwrap();
            if volume["emptyDir"].is_object() {
                fs::set_permissions(&source, fs::Permissions::from_mode(0o777)).unwrap();
            }
            for (file, text) in self.files(cluster, volume, given) {
                let file = source.join(file);
                fs::write(&file, text).unwrap();
                if let Some(mode) = volume["configMap"]["defaultMode"].as_u64() {
                    let mode = u32::try_from(mode).unwrap();
                    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
                }
            }
            let destination = mount["mountPath"].as_str().unwrap().to_owned();
            Mount {
                source,
                destination,
                read_only: mount["readOnly"] == true,
            }
        };
        self.container["volumeMounts"]
            .as_array()
            .unwrap()
            .iter()
            .map(mount)
            .collect()
    }

    fn files(
        &self,
        cluster: &Cluster,
        volume: &Value,
        given: &PodInputs<'_>,
    ) -> Vec<(String, String)> {
        let items = |source: &Value| source["items"].as_array().cloned().unwrap_or_default();
        let path = |item: &Value| item["path"].as_str().unwrap().to_owned();
        if volume["configMap"]["name"] == "mackerel-plugin" {
            let owned = |(file, text): (&str, &str)| (file.to_owned(), text.to_owned());
            return PLUGIN.map(owned).to_vec();
        }
        if volume["configMap"].is_object() {
            assert_eq!(volume["configMap"]["name"], "agent-config");
            let named = items(&volume["configMap"]).iter().map(path).next();
            return vec![(
                named.unwrap_or_else(|| "mackerel-agent.conf".to_owned()),
                given.file.to_owned(),
            )];
        }
        let mut files = Vec::new();
        for source in volume["projected"]["sources"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let token = &source["serviceAccountToken"];
            if token.is_object() {
                files.push((
                    path(token),
                    self.token(cluster, &token["expirationSeconds"]),
                ));
            }
            for item in items(&source["configMap"]) {
                assert_eq!(source["configMap"]["name"], "kube-root-ca.crt");
                files.push((path(&item), cluster.authorities()));
            }
            for item in items(&source["downwardAPI"]) {
                files.push((
                    path(&item),
                    self.field(item["fieldRef"]["fieldPath"].as_str().unwrap(), given),
                ));
            }
        }
        files
    }

    fn token(&self, cluster: &Cluster, expiration: &Value) -> String {
        let text = |pointer: &str| {
            self.object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap()
        };
        let (namespace, account) = (
            text("/metadata/namespace"),
            text("/spec/serviceAccountName"),
        );
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {
            "expirationSeconds": expiration, "boundObjectRef": {
                "kind": "Pod", "apiVersion": "v1", "name": text("/metadata/name"), "uid": text("/metadata/uid"),
            },
        }});
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        cluster.ask(&path, &request)["status"]["token"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// A file of the ServiceAccount, as the agent reads it.
    pub(super) fn service_account(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.on_host(&format!("{TOKEN}/{file}"))?).ok()
    }

    /// The file of the host that has this path in the agent's container.
    pub(super) fn on_host(&self, path: &str) -> Option<PathBuf> {
        self.mounts.iter().find_map(|mount| {
            let below = path.strip_prefix(&mount.destination)?.strip_prefix('/')?;
            Some(mount.source.join(below))
        })
    }

    /// The command of the agent's readiness probe.
    pub(super) fn probe(&self) -> Option<Vec<String>> {
        let command = self.container.pointer("/readinessProbe/exec/command")?;
        let words = command.as_array()?.iter().filter_map(Value::as_str);
        Some(words.map(str::to_owned).collect())
    }
}
