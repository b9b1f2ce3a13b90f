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
    // The generator panics if its writer fails, which a vector never does.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, name, &mut script);
    stdout::write([&*String::from_utf8_lossy(&script)])
}

/// Prints the page of the program, or of one of its commands: `["config", "validate"]`.
pub(crate) fn manual(command_path: &[String]) -> anyhow::Result<()> {
    let program = program();
    let mut command = &program;
    for name in command_path {
        let Some(subcommand) = command.find_subcommand(name) else {
            let known: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
            anyhow::bail!(
                "unknown command `{}`; the commands are {}",
                command_path.join(" "),
                known.join(", ")
            );
        };
        command = subcommand;
    }
    Ok(stdout::write([&*String::from_utf8_lossy(&page(
        command, &program,
    )?)])?)
}

/// Writes every page into a directory, which is created if it does not exist.
pub(crate) fn manuals(directory: &Path) -> anyhow::Result<()> {
    let program = program();
    if let Err(error) = write_pages(&program, &program, directory) {
        let (directory, error) = (directory.display(), io_message(&error));
        anyhow::bail!("cannot write the pages to {directory}: {error}");
    }
    Ok(())
}

/// Writes the pages of a command and of its subcommands.
fn write_pages(command: &Command, program: &Command, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for subcommand in command.get_subcommands() {
        write_pages(subcommand, program, directory)?;
    }
    let path = directory.join(Man::new(command.clone()).get_filename());
    fs::write(path, page(command, program)?)
}

/// Renders a page. The paragraphs of the help text become its sections. Most commands have the exit codes of the program.
fn page(command: &Command, program: &Command) -> io::Result<Vec<u8>> {
    let help = help(command);
    let about = command.get_about().map(ToString::to_string);
    let mut description: Vec<&str> = about.as_deref().into_iter().collect();
    let program_help = self::help(program);
    let mut exit_codes = exit_codes(&program_help).unwrap_or_default();
    let mut examples = None;
    for paragraph in help.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        if let Some(text) = paragraph.strip_prefix(EXAMPLES) {
            examples = Some(text);
        } else if let Some(text) = paragraph.strip_prefix(EXIT_CODES) {
            exit_codes = text;
        } else {
            description.push(paragraph);
        }
    }
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
    sections.text([roman(exit_codes)]);
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

/// Returns the sentence about exit codes in a help text.
fn exit_codes(help: &str) -> Option<&str> {
    help.split("\n\n")
        .find_map(|paragraph| paragraph.strip_prefix(EXIT_CODES))
}

/// Returns the text below the options in the help of a command.
fn help(command: &Command) -> String {
    command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Returns the commands with the changes for manual pages.
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
