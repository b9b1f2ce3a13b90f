//! Whole processes: how long they take and how much memory they held.

use crate::clock::{Of, Taken, timed};
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;

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

/// The instructions of one run, counted by callgrind; none where it is not installed.
pub(crate) fn instructions(program: &Path, arguments: &[&Path]) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments)
        .output()
        .ok()?;
    String::from_utf8_lossy(&output.stderr)
        .lines()
        .find_map(|line| line.split_once("Collected : ")?.1.parse().ok())
}

/// The figures of one run.
pub(crate) struct Run {
    pub(crate) taken: Taken,
    /// The most memory that was resident, in bytes.
    pub(crate) peak_memory: u64,
}

/// One run, which reads the file `input` if there is one, with its memory. Anything but success is an error.
///
/// The kernel counts what the parent held at the moment of the fork as the child's. So the parent is a copy of this
/// program that has nothing in memory yet.
pub(crate) fn run(program: &Path, arguments: &[&Path], input: Option<&Path>) -> io::Result<Run> {
    let mut parent = Command::new(std::env::current_exe()?);
    let output = parent
        .arg(ONE_CHILD)
        .arg(program)
        .args(arguments)
        .stdin(stdin(input)?)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<u64> = text
        .split_whitespace()
        .filter_map(|figure| figure.parse().ok())
        .collect();
    let [kibibytes, wall, cpu] = figures[..] else {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(text.trim().to_owned()));
    };
    Ok(Run {
        taken: Taken {
            wall: Duration::from_micros(wall),
            cpu: Duration::from_micros(cpu),
        },
        peak_memory: kibibytes * 1024,
    })
}

/// The child's side of [`run`]: runs the child, prints KiB and microseconds.
pub(crate) fn one_child(mut command: impl Iterator<Item = String>) -> ExitCode {
    let Some(program) = command.next() else {
        return ExitCode::FAILURE;
    };
    let mut child = Command::new(&program);
    child.args(command).stdout(Stdio::null());
    child.stderr(Stdio::null());
    let (status, taken) = timed(Of::Children, || child.status());
    match (status, children_peak()) {
        (Ok(status), Ok(peak)) if status.success() => {
            println!(
                "{peak} {} {}",
                taken.wall.as_micros(),
                taken.cpu.as_micros()
            );
            ExitCode::SUCCESS
        }
        (Ok(status), Ok(_)) => {
            eprintln!("{program} gave {status}");
            ExitCode::FAILURE
        }
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("{program}: {error}");
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
