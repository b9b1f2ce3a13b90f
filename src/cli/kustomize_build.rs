//! A run over what kustomize builds (`-k`). This is the only place that starts a program, and only arguments of the command line
//! reach it.

use crate::cli::args::{BuildArgs, Common};
use crate::cli::discover::DiscoveredFiles;
use crate::cli::input::{canonical, io_message, text};
use crate::cli::kustomizations::Kustomizations;
use crate::cli::mend::{build_command, kustomize_options};
use crate::cli::messages::{Messages, Verbosity};
use crate::cli::run::{RunContext, RunRequest};
use crate::cli::session::{NO_RESOURCES, Session, Source, build_name, has_no_resources};
use crate::cli::{Exit, configuration};
use anyhow::Context as _;
use config::KIND;
use injector::{Input, SharedWork, inject_templates};
use manifest::kustomization::NAMES;
use report::{Reason, visible};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// Bytes that a build may print.
const MAX_OUTPUT: u64 = 1 << 30;
/// Bytes of its messages.
const MAX_MESSAGES: u64 = 4 << 20;
/// Time after which a line says that a build still runs.
const PATIENCE: Duration = Duration::from_secs(5);

/// Builds the folders, and ends the run.
pub fn run(
    build: &BuildArgs,
    request: RunRequest<'_>,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    let folders = request.paths;
    if folders.is_empty() {
        anyhow::bail!(
            "`-k` needs a directory with a kustomization, such as `-k overlays/production`"
        );
    }
    let (mut kustomizations, mut known) = (Vec::new(), BTreeSet::new());
    for folder in folders {
        if known.insert(canonical(folder)) {
            kustomizations.push((folder, kustomization_of(folder)?));
        }
    }
    let mut discovered = DiscoveredFiles::default();
    discovered.folders.extend(known);
    let found = Kustomizations::of_input(&discovered);
    for folder in folders {
        let canonical = canonical(folder);
        let injector = found.build(&canonical).and_then(|build| build.injector);
        if injector.is_some() {
            let (verb, arguments) = (request.mode.command(), &build.kustomize_args);
            let command = build_command(verb, folder, injector, arguments, common);
            anyhow::bail!(
                "`kustomize build {}` injects the agent itself, by a transformer; instead of `-k`, use `{command}`",
                folder.display()
            );
        }
    }
    let config = configuration::of_paths(folders, &discovered, common, messages)?;
    let run = RunContext::new(request, common, &config);
    let mut session = Session::new(run, messages);
    for (folder, kustomization) in kustomizations {
        let Some(text) = built(folder, &build.kustomize_args, session.messages)? else {
            continue;
        };
        let input = Input {
            text: &text,
            patch: None,
            cut: None,
        };
        let options = session.run.options_for(&text);
        let injection = inject_templates(input, &config, options, &mut SharedWork::default());
        let name = build_name(folder);
        if has_no_resources(&injection) {
            session.warn(Path::new(&name), Reason::NoResources, NO_RESOURCES);
        }
        if injection.kinds_without_template.has(KIND) {
            session.report_configuration(Path::new(&name), &text);
        }
        let source = Source {
            kustomization: Some(kustomization.to_string_lossy().into_owned()),
            ..Source::default()
        };
        session.add(folder, source, text, injection);
    }
    session.check_related();
    session.finish()
}

/// Returns the kustomization of a folder.
fn kustomization_of(folder: &Path) -> anyhow::Result<PathBuf> {
    NAMES
        .iter()
        .map(|name| folder.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| {
            anyhow::anyhow!(
                "{}: not a directory with a {}, which `-k` needs",
                folder.display(),
                NAMES[0]
            )
        })
}

/// Returns what kustomize prints for a folder; kubectl, if there is no kustomize. Nothing is returned for a build that fails, whose error
/// is reported.
fn built(
    folder: &Path,
    arguments: &[String],
    messages: &mut Messages,
) -> anyhow::Result<Option<String>> {
    let name = build_name(folder);
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Another entry, such as an empty one, would be a folder of the repository.
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let path = std::env::join_paths(folders)?;
    let is_quiet = messages.verbosity() == Verbosity::Errors;
    // Where a directory of the PATH cannot be read, a program that is in none is "permission denied".
    let is_there = |output: &io::Result<Output>| {
        let error = output.as_ref().err().map(io::Error::kind);
        !matches!(
            error,
            Some(ErrorKind::NotFound | ErrorKind::PermissionDenied)
        )
    };
    let output = [("kustomize", "build"), ("kubectl", "kustomize")]
        .into_iter()
        .filter(|_| !path.is_empty())
        .map(|(program, command)| {
            let mut build = Command::new(program);
            build.arg(command).args(arguments).arg(local(folder));
            output(build.env("PATH", &path), (!is_quiet).then_some(&name))
        })
        .find(is_there)
        .context("`-k` needs `kustomize` or `kubectl` in the PATH")?
        .map_err(|error| anyhow::anyhow!("{name}: {}", io_message(&error)))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let mut words: Vec<&str> = stderr.lines().filter(|line| !line.is_empty()).collect();
    words.dedup();
    // Warnings are above an error, which may have several lines.
    let start = if output.status.success() {
        words.len()
    } else {
        words
            .iter()
            .rposition(|line| line.starts_with("Error:"))
            .unwrap_or_default()
    };
    let mut error = words.split_off(start).join(" ");
    for line in words {
        messages.note_line(&format!("{name}: {line}"));
    }
    if !output.status.success() {
        if error.is_empty() {
            error = output.status.to_string();
        }
        let mut help = String::new();
        if let Some(several) = arguments
            .iter()
            .find(|argument| argument.contains(char::is_whitespace))
        {
            help = format!(
                "; for several arguments, write `{}`",
                kustomize_options(several.split_whitespace()).trim()
            );
        } else if error.contains("--enable-helm") {
            help = "; add `--kustomize-args=--enable-helm`".to_owned();
        }
        messages.error(format!("{name}: {error}{help}"));
        return Ok(None);
    }
    match text(output.stdout) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            messages.unreadable(&name, &error);
            Ok(None)
        }
    }
}

/// Returns the output of a build. If it takes long and has a name, a line on stderr says so.
fn output(build: &mut Command, name: Option<&String>) -> io::Result<Output> {
    let mut child = build
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = read(child.stdout.take(), MAX_OUTPUT);
    let errors = read(child.stderr.take(), MAX_MESSAGES);
    let stdout = output
        .recv_timeout(PATIENCE)
        .or_else(|_| {
            if let Some(name) = name {
                anstream::eprintln!("waiting for {}", visible(name));
            }
            output.recv()
        })
        .map_err(io::Error::other)??;
    if stdout.len() as u64 > MAX_OUTPUT {
        return Err(io::Error::other("the output has more than 1 GiB"));
    }
    Ok(Output {
        stdout,
        stderr: errors.recv().map_err(io::Error::other)??,
        status: child.wait()?,
    })
}

/// Reads a pipe to its end, or beyond the bound. Then it closes, which ends a program that goes on writing.
fn read(pipe: Option<impl Read + Send + 'static>, max: u64) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let end = pipe.map(|pipe| pipe.take(max + 1).read_to_end(&mut bytes));
        sender.send(end.transpose().map(|_| bytes))
    });
    receiver
}

/// Returns a path that kustomize takes neither for an option nor for a URL, such as `./github.com/team`.
fn local(folder: &Path) -> PathBuf {
    match folder.components().next() {
        Some(Component::Normal(_)) => Path::new(".").join(folder),
        _ => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_never_an_option_or_a_url() {
        for (folder, expected) in [
            ("github.com/team/web", "./github.com/team/web"),
            ("-o", "./-o"),
            ("../base", "../base"),
            ("/srv/base", "/srv/base"),
            (".", "."),
        ] {
            assert_eq!(local(Path::new(folder)), Path::new(expected));
        }
    }

    #[test]
    fn a_pipe_is_read_to_its_end_or_to_a_bound() {
        let length = |pipe: Option<Box<dyn Read + Send>>| {
            let bytes = read(pipe, 10).recv().unwrap().unwrap();
            bytes.len()
        };
        assert_eq!(length(None), 0);
        assert_eq!(length(Some(Box::new(&b"abc"[..]))), 3);
        assert_eq!(length(Some(Box::new(io::repeat(b'x')))), 11);
    }
}
