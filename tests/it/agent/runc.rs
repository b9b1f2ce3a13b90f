//! The agent's container, run by runc as its kubelet would have it run, on the host's network.

use super::pod::AdmittedPod;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The entry point of the agent's image.
const PROGRAM: &str = "/usr/local/bin/mackerel-container-agent";

/// The environment of the agent's image.
const IMAGE: [&str; 2] = [
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "GODEBUG=http2client=0",
];

/// A running agent, killed with the test.
pub(super) struct RuncContainer {
    child: Child,
    name: String,
    folder: TempDir,
}

impl RuncContainer {
    /// Runs that binary as the agent of a pod. Mackerel is at that address, with a certificate of that authority.
    pub(super) fn run(
        binary: &Path,
        pod: &AdmittedPod,
        mackerel: Ipv4Addr,
        authority: &str,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let name = format!(
            "{}-{}",
            pod.object["metadata"]["namespace"].as_str().unwrap(),
            std::process::id()
        );
        fs::create_dir(folder.path().join("rootfs")).unwrap();
        let write = |file: &str, text: &str| -> PathBuf {
            let path = folder.path().join(file);
            fs::write(&path, text).unwrap();
            path
        };
        let bind = |source: &Path, destination: &str, read_only: bool| {
            let options = [
                "rbind",
                "nosuid",
                "nodev",
                if read_only { "ro" } else { "rw" },
            ];
            json!({"destination": destination, "type": "bind", "source": source, "options": options})
        };
        let mut mounts = vec![
            json!({"destination": "/proc", "type": "proc", "source": "proc"}),
            json!({"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]}),
            json!({"destination": "/sys", "type": "bind", "source": "/sys", "options": ["rbind", "ro"]}),
            bind(binary, PROGRAM, true),
            bind(
                &write(
                    "hosts",
                    &format!("127.0.0.1 localhost\n{mackerel} api.mackerelio.com\n"),
                ),
                "/etc/hosts",
                true,
            ),
            bind(
                &write("ca-certificates.crt", authority),
                "/etc/ssl/certs/ca-certificates.crt",
                true,
            ),
        ];
        // A binary that is linked dynamically finds the libraries of this machine.
        let libraries = ["/lib", "/lib64"]
            .into_iter()
            .filter(|folder| Path::new(folder).is_dir());
        mounts.extend(libraries.map(|folder| bind(Path::new(folder), folder, true)));
        mounts.extend(
            pod.mounts
                .iter()
                .map(|mount| bind(&mount.source, &mount.destination, mount.read_only)),
        );
        write("config.json", &configuration(pod, &mounts).to_string());

        let log = File::create(folder.path().join("log")).unwrap();
        let mut runc = Command::new("runc");
        runc.arg("--root")
            .arg(folder.path().join("state"))
            .args(["run", &name])
            .current_dir(folder.path());
        let child = runc
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Self {
            child,
            name,
            folder,
        }
    }

    /// The agent's log.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// True if it has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Ends it as kubelet does, by SIGTERM. Returns the exit code, None if the grace period does not suffice.
    pub(super) fn terminate(&mut self, grace: Duration) -> Option<i32> {
        self.kill("TERM");
        let asked = Instant::now();
        while asked.elapsed() < grace {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        None
    }

    fn kill(&self, signal: &str) {
        let mut runc = Command::new("runc");
        runc.arg("--root")
            .arg(self.folder.path().join("state"))
            .args(["kill", &self.name, signal]);
        let _ = runc.stdin(Stdio::null()).stderr(Stdio::null()).status();
    }
}

impl Drop for RuncContainer {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.kill("KILL");
            let _ = self.child.wait();
        }
    }
}

/// The container as OCI has it.
fn configuration(pod: &AdmittedPod, mounts: &[Value]) -> Value {
    // The container's own setting, else the pod's.
    let setting = |field: &str| {
        let own = &pod.container["securityContext"][field];
        if own.is_null() {
            &pod.object["spec"]["securityContext"][field]
        } else {
            own
        }
    };
    let number = |field: &str| setting(field).as_u64().unwrap_or(0);
    let (user, group) = (number("runAsUser"), number("runAsGroup"));
    assert!(
        user != 0 || setting("runAsNonRoot") != true,
        "kubelet starts no root with runAsNonRoot"
    );
    assert_eq!(setting("capabilities"), &json!({"drop": ["ALL"]}));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let list = |field: &str| {
        pod.container[field]
            .as_array()
            .map(|list| list.iter().map(text).collect::<Vec<_>>())
    };
    let arguments = [
        list("command").unwrap_or_else(|| vec![PROGRAM.to_owned()]),
        list("args").unwrap_or_default(),
    ];
    let variables = pod
        .environment
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let environment: Vec<String> = IMAGE
        .map(str::to_owned)
        .into_iter()
        .chain(variables)
        .collect();
    json!({
        "ociVersion": "1.0.2",
        "root": {"path": "rootfs", "readonly": setting("readOnlyRootFilesystem")},
        "process": {
            "user": {"uid": user, "gid": group}, "cwd": "/", "args": arguments.concat(), "env": environment,
            "capabilities": {}, "noNewPrivileges": setting("allowPrivilegeEscalation") == false,
        },
        "mounts": mounts,
        "linux": {"namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}]},
    })
}
