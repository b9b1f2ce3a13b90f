//! A user who runs the tools in a folder of their own.

use super::PROGRAM;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use support::root;
use tempfile::TempDir;

/// A user with a home folder, which holds copies of `examples/`, `helm-plugin/`, `krm-fn/` and `webhook/`, and with the injector on the PATH.
pub(crate) struct User {
    folder: Rc<TempDir>,
    /// The folder on the PATH: `with` the injector, or `without` it and with `cat` under its name.
    bin: &'static str,
    /// The user's environment variables.
    variables: Vec<(&'static str, OsString)>,
}

/// The exit code and output of a tool.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl User {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = root();
        for part in ["examples", "helm-plugin", "krm-fn", "webhook"] {
            copy(&repository.join(part), &folder.path().join(part));
        }
        for (bin, program) in [
            (
                "with",
                Path::new(env!("CARGO_BIN_EXE_mackerel-agent-injector")),
            ),
            ("without", &repository.join("tests/tools/identity")),
        ] {
            let bin = folder.path().join(bin);
            let plugin = bin
                .join("kustomize/plugin/agent-injector.contrib.mackerel.io/v1alpha1/agentinjector");
            fs::create_dir_all(&plugin).unwrap();
            symlink(program, plugin.join("AgentInjector")).unwrap();
            symlink(program, bin.join(PROGRAM)).unwrap();
        }
        Self {
            folder: Rc::new(folder),
            bin: "with",
            variables: Vec::new(),
        }
    }

    pub(crate) fn without_us(&self) -> Self {
        Self {
            folder: Rc::clone(&self.folder),
            bin: "without",
            variables: self.variables.clone(),
        }
    }

    /// Adds a program to the PATH.
    pub(crate) fn has(&self, name: &str, program: &Path) {
        let tools = self.path("tools");
        fs::create_dir_all(&tools).unwrap();
        symlink(program, tools.join(name)).unwrap();
    }

    /// The same user, with a variable set.
    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    pub(crate) fn tries(&self, tool: &Path, arguments: &[&str]) -> Said {
        let folder = self.folder.path();
        let bin = folder.join(self.bin);
        let path = std::env::join_paths(
            [bin.clone(), self.path("tools")]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let mut command = Command::new(tool);
        command
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .stdin(Stdio::null());
        command
            .env("PATH", path.unwrap())
            .env("HOME", folder)
            .env("XDG_CONFIG_HOME", bin);
        // Helm 3 cannot read a plugin of Helm 4.
        if tool.to_string_lossy().contains("helm-4") {
            command.env("HELM_PLUGINS", folder.join("helm-plugin/helm4"));
        }
        command.envs(
            self.variables
                .iter()
                .map(|(variable, value)| (variable, value)),
        );
        let output = command.output().unwrap();
        Said {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a tool, which must succeed. Returns its standard output.
    #[track_caller]
    pub(crate) fn runs(&self, tool: &Path, arguments: &[&str]) -> String {
        let said = self.tries(tool, arguments);
        assert_eq!(
            said.code,
            0,
            "{} {arguments:?} said\n{}",
            tool.display(),
            said.stderr
        );
        said.stdout
    }

    /// Runs a tool. Returns its standard output, or its standard error if it fails.
    pub(crate) fn prints(&self, tool: &Path, arguments: &[&str]) -> Result<String, String> {
        let said = self.tries(tool, arguments);
        if said.code == 0 {
            Ok(said.stdout)
        } else {
            Err(said.stderr)
        }
    }

    /// A place in the user's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn reads(&self, file: &str) -> String {
        fs::read_to_string(self.path("examples").join(file)).unwrap()
    }

    pub(crate) fn files(&self, folder: &str) -> BTreeMap<PathBuf, String> {
        let entries = fs::read_dir(self.path("examples").join(folder)).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
            .collect()
    }

    /// Writes an annotation that the injector must refuse into the pod template of this file.
    pub(crate) fn asks_badly(&self, file: &str) {
        let (head, tail) = (
            "  template:\n    metadata:\n",
            "      annotations: {agent-injector.contrib.mackerel.io/inject: maybe}\n",
        );
        let text = self.reads(file);
        assert!(text.contains(head), "{text}");
        let text = text.replace(head, &[head, tail].concat());
        fs::write(self.path("examples").join(file), text).unwrap();
    }
}

impl Said {
    /// Panics unless the tool failed and showed the injector's message.
    #[track_caller]
    pub(crate) fn says_why_on_stderr(&self) {
        assert_ne!(self.code, 0);
        assert!(
            self.stderr.contains("invalid-annotation") && self.stderr.contains("maybe"),
            "{}",
            self.stderr
        );
    }
}

/// Copies a folder and its content.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
