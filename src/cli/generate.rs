//! Completions and manual pages, made from what may be typed.

use super::args::Cli;
use super::stdout;
use clap::CommandFactory;
use std::io;

/// The script for a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> io::Result<()> {
    let mut program = Cli::command();
    let name = program.get_name().to_owned();
    // The generator panics where it cannot write, so it writes where it always can.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, name, &mut script);
    stdout::write([&*String::from_utf8_lossy(&script)])
}

/// The page of the program, or of one of its commands.
pub(crate) fn manual(of: Option<&str>) -> anyhow::Result<()> {
    let mut program = Cli::command();
    program.build();
    let command = match of {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => {
                let known: Vec<_> = program.get_subcommands().map(|command| command.get_name()).collect();
                anyhow::bail!("there is no command `{name}`; the commands are {}", known.join(", "));
            }
        },
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(stdout::write([&*String::from_utf8_lossy(&page)])?)
}
