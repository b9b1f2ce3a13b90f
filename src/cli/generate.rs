//! Completions and manual pages, made from what may be typed.

use crate::cli::args::Cli;
use crate::cli::stdout;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::io;
use std::path::Path;

/// The script for a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> io::Result<()> {
    let mut program = Cli::command();
    let name = program.get_name().to_owned();
    // The generator panics where it cannot write, so it writes where it always can.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, name, &mut script);
    stdout::write([&*String::from_utf8_lossy(&script)])
}

/// The page of the program, or of one of its commands: `["config", "validate"]`.
pub(crate) fn manual(of: &[String]) -> anyhow::Result<()> {
    let program = program();
    let mut command = &program;
    for name in of {
        let Some(inner) = command.find_subcommand(name) else {
            let known: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
            anyhow::bail!("there is no command `{}`; the commands are {}", of.join(" "), known.join(", "));
        };
        command = inner;
    }
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(stdout::write([&*String::from_utf8_lossy(&page)])?)
}

/// Writes every page into a folder, which is made where it does not exist.
pub(crate) fn manuals(folder: &Path) -> anyhow::Result<()> {
    let written = std::fs::create_dir_all(folder).and_then(|()| write_pages(&program(), folder));
    written.map_err(|error| {
        anyhow::anyhow!("the pages cannot be written to {}: {}", folder.display(), crate::cli::discover::plain(&error))
    })
}

fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    command.get_subcommands().try_for_each(|inner| write_pages(inner, folder))?;
    Man::new(command.clone()).generate_to(folder).map(drop)
}

fn program() -> Command {
    let mut program = Cli::command();
    program.build();
    with_usage(program)
}

/// The generator's own line of usage leaves the options' values away; that of `--help` is shorter and right.
fn with_usage(mut command: Command) -> Command {
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    command.override_usage(usage).mut_subcommands(with_usage)
}
