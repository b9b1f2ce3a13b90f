//! The image as a release runs it: podman gets arguments, files, user and restrictions of the Deployment.

use super::helms;
use super::release::Release;
use super::server::{ChartServer, strings};
use crate::kubernetes::cluster::cluster;
use crate::packages::image;
use crate::program::Folder;
use serde_json::{Value, json};
use std::process::Command;

/// A container that is removed with the test, however that ends.
struct PodmanContainer {
    name: String,
}

impl PodmanContainer {
    fn podman() -> Option<Command> {
        image::podman()
    }

    /// The command that runs the container of a pod.
    fn command(&self, folder: &Folder, pod: &Value) -> Command {
        let container = &pod["containers"][0];
        let security = (&pod["securityContext"], &container["securityContext"]);
        assert_eq!(security.1["readOnlyRootFilesystem"], true);
        assert_eq!(security.1["allowPrivilegeEscalation"], false);
        assert_eq!(security.1["capabilities"], json!({"drop": ["ALL"]}));
        let user = format!(
            "--user={}:{}",
            security.0["runAsUser"], security.0["runAsGroup"]
        );
        let mut command = Self::podman().unwrap();
        // Its ports are those of this machine, where the API server calls.
        command.args([
            "run",
            "--rm",
            "--network=host",
            "--name",
            &self.name,
            "--timeout=300",
        ]);
        command.args([
            "--read-only",
            "--read-only-tmpfs=false",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
        ]);
        command.arg(user);
        for mount in container["volumeMounts"].as_array().unwrap() {
            let place = mount["mountPath"].as_str().unwrap();
            let source = folder.path(place.trim_start_matches('/'));
            command.arg(format!("--volume={}:{place}:ro", source.display()));
        }
        for variable in container["env"].as_array().unwrap() {
            let [name, value] = ["name", "value"].map(|key| variable[key].as_str().unwrap());
            command.arg(format!("--env={name}={value}"));
        }
        command
            .arg(container["image"].as_str().unwrap())
            .args(strings(&container["args"]));
        command
    }
}

impl Drop for PodmanContainer {
    fn drop(&mut self) {
        let _ = Self::podman()
            .unwrap()
            .args(["rm", "--force", "--ignore", "--time=0", &self.name])
            .output();
    }
}

#[test]
fn the_image_injects_with_arguments_files_and_user_of_the_deployment() {
    let Some(cluster) = cluster() else { return };
    let Some(helm) = helms().last() else { return };
    if PodmanContainer::podman().is_none() {
        return;
    }
    let release = Release::new(cluster, &helm, "image");
    release.upgrade(&["extraEnv[0].name=TZ,extraEnv[0].value=Asia/Tokyo"]);
    let container = PodmanContainer {
        name: format!("{}-{}", release.namespace, std::process::id()),
    };
    let mut server = ChartServer::start_by(&release, |folder, pod| container.command(folder, pod));
    release.until("pods are injected", || release.injects());
    // The first process of a container has no handler for a signal but its own.
    let kill = PodmanContainer::podman()
        .unwrap()
        .args(["kill", "--signal=TERM", &container.name])
        .output()
        .unwrap();
    assert!(kill.status.success(), "{kill:?}");
    assert_eq!(
        server.process.wait().unwrap().code(),
        Some(0),
        "{}",
        server.log()
    );
    assert!(server.log().contains("finished"), "{}", server.log());
}
