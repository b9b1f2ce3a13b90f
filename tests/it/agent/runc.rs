//! The agent's container, run by runc as its kubelet would have it run, on the host's network.

use super::pod::AdmittedPod;
use crate::tools;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The entry point of the agent's image.
const PROGRAM: &str = "/usr/local/bin/mackerel-container-agent";

/// The environment of the agent's image.
const IMAGE: [&str; 2] = [
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "GODEBUG=http2client=0",
];

/// The agent's container of a pod, as runc gets it.
struct Bundle {
    folder: TempDir,
    name: String,
    mounts: Vec<Value>,
}

impl Bundle {
    fn new(pod: &AdmittedPod, purpose: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("rootfs")).unwrap();
        let namespace = pod.object["metadata"]["namespace"].as_str().unwrap();
        let mut bundle = Self {
            folder,
            name: format!("{namespace}-{purpose}-{}", std::process::id()),
            mounts: vec![
                json!({"destination": "/proc", "type": "proc", "source": "proc"}),
                json!({"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]}),
                json!({"destination": "/sys", "type": "bind", "source": "/sys", "options": ["rbind", "ro"]}),
            ],
        };
        // The shell for commands, and the libraries of programs that are linked dynamically, are those of this machine.
        let own = ["/bin", "/lib", "/lib64"].map(Path::new).into_iter();
        for folder in own.filter(|folder| folder.is_dir()) {
            bundle.bind(folder, &folder.to_string_lossy(), true);
        }
        for mount in &pod.mounts {
            bundle.bind(&mount.source, &mount.destination, mount.read_only);
        }
        bundle
    }

    fn bind(&mut self, source: &Path, destination: &str, read_only: bool) {
        let access = if read_only { "ro" } else { "rw" };
        self.mounts.push(json!({
            "destination": destination, "type": "bind", "source": source,
            "options": ["rbind", "nosuid", "nodev", access],
        }));
    }

    /// Writes a file, and mounts it.
    fn add(&mut self, file: &str, text: &str, destination: &str) {
        let path = self.folder.path().join(file);
        fs::write(&path, text).unwrap();
        self.bind(&path, destination, true);
    }

    fn configure(&self, pod: &AdmittedPod, arguments: &[String]) {
        let configuration = configuration(pod, &self.mounts, arguments).to_string();
        fs::write(self.folder.path().join("config.json"), configuration).unwrap();
    }

    /// Begins a command of runc with the container's name as its first argument.
    fn runc(&self, command: &str) -> Command {
        let mut runc = Command::new("runc");
        runc.arg("--root")
            .arg(self.folder.path().join("state"))
            .args([command, &self.name])
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        runc
    }
}

/// True where a container can be run. Root may.
pub(super) fn is_usable() -> bool {
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        return tools::on_path(&["runc"]);
    }
    tools::not_checked("commands in the agent's container", "run the tests as root");
    false
}

/// Runs a command in a container like the agent's, with its files, environment and user.
pub(super) fn output(pod: &AdmittedPod, command: &[String]) -> Output {
    let bundle = Bundle::new(pod, "command");
    bundle.configure(pod, command);
    bundle.runc("run").output().unwrap()
}

/// A running agent, killed with the test.
pub(super) struct RuncContainer {
    child: Child,
    bundle: Bundle,
}

impl RuncContainer {
    /// Runs that binary as the agent of a pod. Mackerel is at that address, with a certificate of that authority.
    pub(super) fn run(
        binary: &Path,
        pod: &AdmittedPod,
        mackerel: Ipv4Addr,
        authority: &str,
    ) -> Self {
        let mut bundle = Bundle::new(pod, "agent");
        bundle.bind(binary, PROGRAM, true);
        let hosts = format!("127.0.0.1 localhost\n{mackerel} api.mackerelio.com\n");
        bundle.add("hosts", &hosts, "/etc/hosts");
        let authorities = "/etc/ssl/certs/ca-certificates.crt";
        bundle.add("ca-certificates.crt", authority, authorities);
        let list = |field: &str| {
            let words = pod.container[field].as_array()?.iter();
            Some(words.map(|word| word.as_str().unwrap().to_owned()))
        };
        let mut arguments: Vec<String> = match list("command") {
            Some(command) => command.collect(),
            None => vec![PROGRAM.to_owned()],
        };
        arguments.extend(list("args").into_iter().flatten());
        bundle.configure(pod, &arguments);

        let log = File::create(bundle.folder.path().join("log")).unwrap();
        let mut runc = bundle.runc("run");
        let runc = runc.stdout(log.try_clone().unwrap()).stderr(log);
        let child = runc.spawn().unwrap();
        Self { child, bundle }
    }

    /// Runs a command in the container, as kubelet does for a probe.
    pub(super) fn output(&self, command: &[String]) -> Output {
        self.bundle.runc("exec").args(command).output().unwrap()
    }

    /// The agent's log.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.bundle.folder.path().join("log")).unwrap()
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
        let mut runc = self.bundle.runc("kill");
        let _ = runc.arg(signal).stderr(Stdio::null()).status();
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
fn configuration(pod: &AdmittedPod, mounts: &[Value], arguments: &[String]) -> Value {
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
            "user": {"uid": user, "gid": group}, "cwd": "/", "args": arguments, "env": environment,
            "capabilities": {}, "noNewPrivileges": setting("allowPrivilegeEscalation") == false,
        },
        "mounts": mounts,
        "linux": {"namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}]},
    })
}
