//! Completions and manual pages, made from the definition of the commands.

use crate::cli::args::{Cli, ENVIRONMENT};
use crate::cli::input::io_message;
use crate::cli::stdout;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::fs;
use std::io;
use std::path::Path;

/// The first words of the paragraphs of a help text that are sections of a manual page.
const EXAMPLES: &str = "Examples:\n";
const EXIT_CODES: &str = "Exit codes: ";

/// Prints the completion script for a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> io::Result<()> {
    let mut program = Cli::command();
    let name = program.get_name().to_owned();
    // The generator panics where it cannot write, so it writes where it always can.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, name, &mut script);
    stdout::write([&*String::from_utf8_lossy(&script)])
}

/// Prints the page of the program, or of one of its commands: `["config", "validate"]`.
pub(crate) fn manual(command_path: &[String]) -> anyhow::Result<()> {
    let program = program();
    let mut command = &program;
    for name in command_path {
        let Some(inner) = command.find_subcommand(name) else {
            let known: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
            anyhow::bail!(
                "unknown command `{}`; the commands are {}",
                command_path.join(" "),
                known.join(", ")
            );
        };
        command = inner;
    }
    Ok(stdout::write([&*String::from_utf8_lossy(&page(
        command, &program,
    )?)])?)
}

/// Writes every page into a directory, which is created if it does not exist.
pub(crate) fn manuals(directory: &Path) -> anyhow::Result<()> {
    let program = program();
    let written =
        fs::create_dir_all(directory).and_then(|()| write_pages(&program, &program, directory));
    written.map_err(|error| {
        anyhow::anyhow!(
            "cannot write the pages to {}: {}",
            directory.display(),
            io_message(&error)
        )
    })
}

fn write_pages(command: &Command, program: &Command, directory: &Path) -> io::Result<()> {
    command
        .get_subcommands()
        .try_for_each(|inner| write_pages(inner, program, directory))?;
    fs::write(
        directory.join(Man::new(command.clone()).get_filename()),
        page(command, program)?,
    )
}

/// Renders a page. Its sections come from the paragraphs of the help text; exit codes that a command does not name are the program's.
fn page(command: &Command, program: &Command) -> io::Result<Vec<u8>> {
    let help = help(command);
    let examples = help
        .split("\n\n")
        .find_map(|paragraph| paragraph.strip_prefix(EXAMPLES));
    let exit_codes = |help: &str| {
        help.split("\n\n")
            .find_map(|it| it.strip_prefix(EXIT_CODES))
            .map(str::to_owned)
    };
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let rest = help
        .split("\n\n")
        .filter(|it| !it.starts_with(EXAMPLES) && !it.starts_with(EXIT_CODES));
    let description: Vec<_> = std::iter::once(&*about)
        .chain(rest)
        .filter(|it| !it.is_empty())
        .collect();
    let man = Man::new(command.clone().long_about(description.join("\n\n")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    man.render_options_section(&mut page)?;
    let mut sections = Roff::new();
    sections.control("SH", ["EXIT STATUS"]);
    sections.text([roman(
        exit_codes(&help)
            .or_else(|| exit_codes(&self::help(program)))
            .unwrap_or_default(),
    )]);
    sections.control("SH", ["ENVIRONMENT"]);
    for (variable, meaning) in ENVIRONMENT {
        sections.control("TP", []);
        sections.text([bold(*variable)]);
        sections.text([roman(*meaning)]);
    }
    if let Some(examples) = examples {
        sections.control("SH", ["EXAMPLES"]);
        sections.control("nf", []);
        sections.text([roman(examples)]);
        sections.control("fi", []);
    }
    sections.to_writer(&mut page)?;
    Ok(page)
}

fn help(command: &Command) -> String {
    command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn program() -> Command {
    let mut program = Cli::command()
        .disable_help_subcommand(true)
        .subcommand_help_heading("COMMANDS");
    program.build();
    with_usage(program)
}

/// Replaces the generator's usage line, which omits the values of options, by that of `--help`.
fn with_usage(mut command: Command) -> Command {
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    command.override_usage(usage).mut_subcommands(with_usage)
}
