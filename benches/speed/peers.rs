//! Other programs beside this one, each as a whole process that gets the same stream.

use crate::children::{self, Run};
use crate::{MB, Times, human};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most rounds over all programs.
const ROUNDS: usize = 15;
/// A program that has taken so long in all is not run again on the same stream.
const ENOUGH: Duration = Duration::from_secs(5);

/// A command for `sh`: the stream is its standard input, and the stream's path is `$1`.
pub(crate) struct Peer {
    name: String,
    command: String,
}

impl Peer {
    fn new(name: &str, command: String) -> Self {
        Self {
            name: name.to_owned(),
            command,
        }
    }

    /// Reads `NAME=COMMAND`.
    pub(crate) fn parse(argument: &str) -> Option<Self> {
        let (name, command) = argument.split_once('=')?;
        Some(Self::new(name, command.to_owned()))
    }

    fn run(&self, stream: &Path) -> std::io::Result<Run> {
        let arguments = ["-c", &self.command, "sh"].map(Path::new);
        let arguments = [&arguments[..], &[stream]].concat();
        children::run(Path::new("sh"), &arguments, Some(stream))
    }
}

/// The runs of one program on one stream.
#[derive(Default)]
struct Runs {
    times: Times,
    total: Duration,
    /// The most memory of all runs, in bytes.
    peak: u64,
    /// Why there are no more runs.
    failure: Option<String>,
}

impl Runs {
    fn add(&mut self, run: std::io::Result<Run>) {
        match run {
            Ok(run) => {
                self.times.add(run.taken);
                self.total += run.taken.wall;
                self.peak = self.peak.max(run.peak_memory);
            }
            Err(error) => self.failure = Some(error.to_string()),
        }
    }
}

/// Prints a table: this program with one thread and with its default, `cat`, and the peers.
pub(crate) fn print(program: &Path, peers: Vec<Peer>, streams: &[PathBuf]) {
    let ours = format!("'{}'", program.display());
    let one_thread = format!("{ours} --threads=1");
    let mut programs = vec![
        Peer::new("this program, one thread", one_thread),
        Peer::new("this program", ours),
        Peer::new("cat", "cat".to_owned()),
    ];
    programs.extend(peers);
    println!("| stream | program | runs | processor time | wall time | peak memory | times ours |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
    for stream in streams {
        let runs = take_turns(&programs, stream);
        let name = stream.file_stem().expect("a file name").to_string_lossy();
        let our_time = runs[0].times.cpu();
        for (program, runs) in programs.iter().zip(&runs) {
            let name = format!("| {name} | {}", program.name);
            if let Some(failure) = &runs.failure {
                println!("{name} | – | – | – | – | {failure} |");
                continue;
            }
            println!(
                "{name} | {} | {} | {} | {:.1} MB | {:.1} |",
                runs.times.0.len(),
                human(runs.times.cpu()),
                human(runs.times.wall()),
                runs.peak as f64 / MB as f64,
                runs.times.cpu() / our_time,
            );
        }
    }
}

fn take_turns(programs: &[Peer], stream: &Path) -> Vec<Runs> {
    let mut runs: Vec<Runs> = programs.iter().map(|_| Runs::default()).collect();
    for _ in 0..ROUNDS {
        for (program, runs) in programs.iter().zip(&mut runs) {
            if runs.failure.is_none() && runs.total < ENOUGH {
                runs.add(program.run(stream));
            }
        }
    }
    runs
}
