//! Whole processes: how long they take and how much memory they held.

use crate::clock::{Of, Taken, timed};
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

/// The argument that makes this program measure one child in place of everything else.
pub(crate) const ONE_CHILD: &str = "--one-child";

/// Start to end of one run, which reads the file `input` if there is one. Anything but success is an error.
pub(crate) fn time(program: &Path, arguments: &[&Path], input: Option<&Path>) -> io::Result<Taken> {
    let (status, taken) = time_and_status(program, arguments, input)?;
    if status.success() {
        Ok(taken)
    } else {
        Err(io::Error::other(format!(
            "{} gave {status}",
            program.display()
        )))
    }
}

/// Start to end of one run that may fail: a check does. Standard output goes to /dev/null.
pub(crate) fn time_and_status(
    program: &Path,
    arguments: &[&Path],
    input: Option<&Path>,
) -> io::Result<(ExitStatus, Taken)> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(stdin(input)?)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let (status, taken) = timed(Of::Children, || command.status());
    Ok((status?, taken))
}

fn stdin(input: Option<&Path>) -> io::Result<Stdio> {
    Ok(input
        .map(File::open)
        .transpose()?
        .map_or_else(Stdio::null, Stdio::from))
}

/// The size of what one run writes to standard output, in bytes.
pub(crate) fn written(
    program: &Path,
    arguments: &[&Path],
    input: Option<&Path>,
) -> io::Result<u64> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(stdin(input)?)
        .stderr(Stdio::null())
        .output()?;
    Ok(output.stdout.len() as u64)
}

/// The most memory that one run held resident, in bytes.
///
/// The kernel counts what the parent held at the moment of the fork as the child's. So the parent is a copy of this
/// program that has nothing in memory yet.
pub(crate) fn peak_memory(
    program: &Path,
    arguments: &[&Path],
    input: Option<&Path>,
) -> io::Result<u64> {
    let mut parent = Command::new(std::env::current_exe()?);
    let output = parent
        .arg(ONE_CHILD)
        .arg(program)
        .args(arguments)
        .stdin(stdin(input)?)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let kibibytes = text.trim().parse::<u64>();
    kibibytes.map(|kibibytes| kibibytes * 1024).map_err(|_| {
        io::Error::other(format!(
            "{}: {text}{}",
            program.display(),
            String::from_utf8_lossy(&output.stderr)
        ))
    })
}

/// The child's side of [`peak_memory`]: runs the child, prints KiB.
pub(crate) fn one_child(mut command: impl Iterator<Item = String>) -> ExitCode {
    let Some(program) = command.next() else {
        return ExitCode::FAILURE;
    };
    let run = Command::new(program)
        .args(command)
        .stdout(Stdio::null())
        .status();
    match (run, children_peak()) {
        (Ok(status), Ok(peak)) if status.success() => {
            println!("{peak}");
            ExitCode::SUCCESS
        }
        (run, peak) => {
            eprintln!("{run:?}, {peak:?}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(unix)]
fn children_peak() -> io::Result<i64> {
    use nix::sys::resource::{UsageWho, getrusage};
    Ok(getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss())
}

#[cfg(not(unix))]
fn children_peak() -> io::Result<i64> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "no peak memory on this system",
    ))
}
