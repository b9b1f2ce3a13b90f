//! The server of a release, run as the kubelet would run it.

use super::release::{NAME, Release, pod};
use crate::kubernetes::cluster::ApiVerdict;
use crate::program::Folder;
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The server, run as the kubelet would, from the objects that the API server has.
pub(super) struct ChartServer {
    folder: Folder,
    pub(super) process: Child,
}

impl ChartServer {
    /// Runs the program on this machine, with its files below a folder.
    pub(super) fn start(release: &Release<'_>) -> Self {
        Self::start_by(release, |folder, pod| {
            let container = &pod["containers"][0];
            let below = |argument: &str| match argument.split_once("=/") {
                Some((flag, path)) => format!("{flag}={}", folder.path(path).display()),
                None => argument.to_owned(),
            };
            let arguments: Vec<String> = strings(&container["args"]).map(below).collect();
            let mut command =
                folder.command(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
            for variable in container["env"].as_array().into_iter().flatten() {
                command.env(
                    variable["name"].as_str().unwrap(),
                    variable["value"].as_str().unwrap(),
                );
            }
            command
        })
    }

    /// Runs the command for the Deployment's pod, whose volumes stand in the folder by their mount paths.
    pub(super) fn start_by(
        release: &Release<'_>,
        command: impl FnOnce(&Folder, &Value) -> Command,
    ) -> Self {
        let folder = Folder::with(&[]);
        place_volumes(release, folder.root());
        let deployment = release.get("deployment", NAME).unwrap();
        let pod = &deployment["spec"]["template"]["spec"];
        let log = fs::File::create(folder.path("log")).unwrap();
        let process = command(&folder, pod)
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut server = Self { folder, process };
        let probe = &pod["containers"][0]["readinessProbe"]["httpGet"];
        let ready = format!(
            "http://127.0.0.1:{}{}",
            release.ports[1],
            probe["path"].as_str().unwrap()
        );
        release.until("the server is ready", || {
            let ended = server.process.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "{}: the server ended: {}",
                release.namespace,
                server.log()
            );
            ureq::get(&ready).call().is_ok()
        });
        server
    }

    /// True if the server has reloaded its certificate so many times.
    pub(super) fn has_reloaded(&self, release: &Release<'_>, times: usize) -> bool {
        let metrics = ureq::get(format!("http://127.0.0.1:{}/metrics", release.ports[1])).call();
        let metrics = metrics.unwrap().body_mut().read_to_string().unwrap();
        let mut lines = metrics
            .lines()
            .filter(|line| line.ends_with(&format!(" {times}")));
        lines.any(|line| {
            line.contains("_reloads_total{")
                && line.contains("certificate")
                && line.contains("done")
        })
    }

    pub(super) fn log(&self) -> String {
        self.folder.read("log")
    }

    /// Does what the kubelet does when a Secret or ConfigMap has changed.
    pub(super) fn update_volumes(&self, release: &Release<'_>) {
        place_volumes(release, self.folder.root());
    }
}

impl Drop for ChartServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(super) fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Writes the files of the Deployment's volumes below the folder.
fn place_volumes(release: &Release<'_>, root: &Path) {
    let deployment = release.get("deployment", NAME).unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    for mount in pod["containers"][0]["volumeMounts"].as_array().unwrap() {
        let volume = pod["volumes"]
            .as_array()
            .unwrap()
            .iter()
            .find(|volume| volume["name"] == mount["name"])
            .unwrap();
        let files: BTreeMap<String, Vec<u8>> = match (&volume["secret"], &volume["configMap"]) {
            (Value::Null, map) => {
                let map = release
                    .get("configmap", map["name"].as_str().unwrap())
                    .unwrap();
                let files = map["data"].as_object().unwrap().iter();
                files
                    .map(|(name, text)| (name.clone(), text.as_str().unwrap().into()))
                    .collect()
            }
            (secret, _) => {
                let secret = release
                    .get("secret", secret["secretName"].as_str().unwrap())
                    .unwrap();
                let files = secret["data"].as_object().unwrap().iter();
                files
                    .map(|(name, text)| (name.clone(), base64(text.as_str().unwrap())))
                    .collect()
            }
        };
        let folder = root.join(mount["mountPath"].as_str().unwrap().trim_start_matches('/'));
        fs::create_dir_all(&folder).unwrap();
        for (name, bytes) in files {
            // At once, as the kubelet's links do.
            fs::write(folder.join("new"), bytes).unwrap();
            fs::rename(folder.join("new"), folder.join(name)).unwrap();
        }
    }
}

pub(super) fn base64(text: &str) -> Vec<u8> {
    serde_json::from_value::<ByteString>(text.into()).unwrap().0
}

impl Release<'_> {
    /// True if a pod that is created now gets the agent.
    pub(super) fn injects(&self) -> bool {
        match self.creates(&pod(&json!({}))) {
            ApiVerdict::Accepted { object, .. } => object
                .to_string()
                .contains("mackerel/mackerel-container-agent"),
            ApiVerdict::Refused(why) => panic!("{why}"),
        }
    }
}
