//! Runs the built program as a user's shell does, in a folder of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A Deployment without an agent.
pub(crate) const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
        - name: web          # the app
          image: \"web:1\"
";

/// Returns what stands before the counts of a run that injects the agent, with the arguments of the command `rbac`.
pub(crate) fn needed(arguments: &str) -> String {
    format!(
        "before you deploy:\n  \
         in the namespace of the pods: Secret mackerel-container-agent with the key MACKEREL_APIKEY (not in the input)\n  \
         RBAC for the agents: `mackerel-agent-injector rbac {arguments} | kubectl apply -f -`\n\n"
    )
}

/// A folder with files, and the program run in it.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mackerel-agent-injector"));
        command.current_dir(self.root()).args(args);
        for variable in ["CONFIG", "LOG_FILE"] {
            command.env_remove(format!("MACKEREL_AGENT_INJECTOR_{variable}"));
        }
        command
    }

    /// Runs without stdin.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, "")
    }

    pub(crate) fn run_with(&self, args: &[&str], stdin: impl AsRef<[u8]>) -> Ran {
        ran(self.command(args), stdin.as_ref())
    }
}

/// The exit code and output of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn ran(mut command: Command, stdin: &[u8]) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    // The program may answer, or give up, before it has read everything.
    let writer = std::thread::spawn(move || pipe.write_all(&stdin));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
