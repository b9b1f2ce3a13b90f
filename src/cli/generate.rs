//! Completions and manual pages, made from the definition of the commands.

use crate::cli::args::Cli;
use crate::cli::input::io_message;
use crate::cli::stdout;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fs;
use std::io;
use std::path::Path;

/// Prints the completion script for a shell.
pub fn completions(shell: clap_complete::Shell) -> io::Result<()> {
    let mut program = Cli::command();
    let name = program.get_name().to_owned();
    // The generator panics if its writer fails, which a vector never does.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, name, &mut script);
    stdout::write([&*String::from_utf8_lossy(&script)])
}

/// Prints the page of the program, or of one of its commands: `["config", "validate"]`.
pub fn manual(command_path: &[String]) -> anyhow::Result<()> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut command = &program;
    for name in command_path {
        let Some(subcommand) = command.find_subcommand(name) else {
            let known = Vec::from_iter(command.get_subcommands().map(Command::get_name));
            anyhow::bail!(
                "unknown command `{}`; the commands are {}",
                command_path.join(" "),
                known.join(", ")
            );
        };
        command = subcommand;
    }
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(stdout::write([&*String::from_utf8_lossy(&page)])?)
}

/// Writes every page into a directory, which is created if it does not exist.
pub fn manuals(directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
        .map_err(|error| {
            let (directory, error) = (directory.display(), io_message(&error));
            anyhow::anyhow!("cannot write the pages to {directory}: {error}")
        })
}
