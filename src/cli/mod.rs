//! The command line: bytes in, bytes out, exit code. It makes no decision about a manifest.
//!
//! - `args`, `usage`: arguments, and help for wrong ones
//! - `discover`, `ignore_files`, `input`: the texts
//! - `kustomizations`: what kustomizations do with the texts
//! - `configuration`, `find_config`: the configuration of a run
//! - `files`, `stdin`: a run over files, a run over stdin
//! - `kustomize_build`: a run over what kustomize builds, the only one that starts a program
//! - `status`: a run over living pods
//! - `wait_for`: the command of the init container
//! - `webhook`: the admission server
//! - `policy`: the admission policies
//! - `output`, `stdout`, `concatenate`, `in_place`, `interrupt`: output
//! - `messages`: messages beside the output
//! - `progress`: a line about a run that takes long
//! - `reason_page`: the page of a reason
//! - `table`: the list of a check or an explanation on a terminal
//! - `mend`: the command that makes the changes of a check

mod args;
mod concatenate;
mod configuration;
mod discover;
mod files;
mod find_config;
mod generate;
mod ignore_files;
mod in_place;
mod input;
mod interrupt;
mod kustomizations;
mod kustomize_build;
mod mend;
mod messages;
mod output;
mod policy;
mod progress;
mod reason_page;
mod run;
mod session;
mod status;
mod stdin;
mod stdout;
mod table;
mod usage;
mod wait_for;
#[cfg(all(unix, feature = "webhook"))]
mod webhook;

use args::{
    Adoption, BuildArgs, Cli, Command, Common, ExplainArgs, InjectArgs, LOG_FILE_VARIABLE, Output,
};
use config::{Config, ConfigReader};
use injector::{Direction, Explanations, ForeignAgents, HandEdits, Options, Patches, Warnings};
use messages::{Messages, Verbosity};
use report::BUG;
use run::{EntryPoint, ExplainRequest, OutputMode, RunContext, RunRequest};
use session::Session;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;

/// The result of a command. The exit codes are those of `diff`; `wait-for` has more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// Success.
    Done,
    /// `--check` found a change, a missing agent or an injected agent without its `record`; or `status` found a pod without its agent.
    Found,
    /// An error: wrong usage, unreadable input, or a refusal.
    Trouble,
    /// `wait-for`: the host with this index is the first that accepts no connection.
    Closed { host: usize },
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Found => 1,
            Exit::Trouble => 2,
            // Shells use the exit codes above 125 themselves.
            Exit::Closed { host } => u8::try_from(host).unwrap_or(u8::MAX).min(114) + 11,
        })
    }
}

/// The error of a run whose messages name the cause.
#[derive(Debug, thiserror::Error)]
#[error("see the messages")]
struct AlreadyReported;

/// Runs the command of the arguments, and returns its exit code.
#[must_use]
pub fn run() -> ExitCode {
    panic::set_hook(Box::new(|panic| {
        let _ = writeln!(io::stderr(), "bug: {panic}");
    }));
    if let Some(configuration) = legacy_plugin_argument() {
        let common = Common {
            config: Some(configuration),
            ..Common::default()
        };
        return run_with_messages(Verbosity::default(), &common, |messages| {
            stdin::run(
                EntryPoint::LegacyPlugin,
                RunRequest::default(),
                &common,
                messages,
            )
        });
    }
    let Cli { command, common } = match usage::parse() {
        Ok(cli) => cli,
        Err(error) => return usage::answer(error).into(),
    };
    #[cfg(all(unix, feature = "webhook"))]
    if let Some(Command::Webhook(arguments)) = &command
        && let Err(error) = webhook::check_log_file(arguments, log_file(&common).as_deref())
    {
        return report_error(&error, &mut Messages::default()).into();
    }
    let verbosity = command.as_ref().map_or(Verbosity::default(), verbosity);
    run_with_messages(verbosity, &common, |messages| match command {
        Some(command) => run_command(command, &common, messages),
        None if io::stdin().is_terminal() => Ok(help(None)),
        None => stdin::run(EntryPoint::Helm, RunRequest::default(), &common, messages),
    })
}

/// Returns the verbosity that `-q` or `-v` asks for.
fn verbosity(command: &Command) -> Verbosity {
    let (quiet, verbose) = match command {
        Command::Inject { arguments, .. } | Command::Uninject(arguments) => {
            (arguments.read.quiet, arguments.read.verbose)
        }
        Command::Rbac { read, .. } => (read.quiet, read.verbose),
        // A program gets everything.
        Command::Explain(arguments) => (false, arguments.verbose || !table::fits()),
        Command::Status(arguments) => (arguments.quiet, false),
        _ => return Verbosity::Summary,
    };
    match (quiet, verbose) {
        (true, _) => Verbosity::Errors,
        (_, true) => Verbosity::Resources,
        _ => Verbosity::Summary,
    }
}

fn run_command(command: Command, common: &Common, messages: &mut Messages) -> anyhow::Result<Exit> {
    match command {
        Command::Inject {
            arguments,
            adopt,
            build,
        } => {
            let mut request = request(&arguments, Direction::Inject)?;
            request.build = requested(&build);
            if request.build.is_some() && arguments.in_place {
                anyhow::bail!(
                    "`-i` cannot be used with `-k`: no file has what kustomize builds; use `inject -i` on the files, or `inject -k DIR` without `-i`"
                );
            }
            request.options.foreign_agents = match adopt {
                None => ForeignAgents::Respect,
                Some(None) => ForeignAgents::Adopt,
                Some(Some(Adoption::Lossy)) => ForeignAgents::AdoptLossy,
            };
            return run_on_paths("inject", request, common, messages);
        }
        Command::Uninject(arguments) => {
            let request = request(&arguments, Direction::Uninject)?;
            return run_on_paths("uninject", request, common, messages);
        }
        Command::Explain(ExplainArgs {
            reason: Some(id), ..
        }) => reason_page::print(&id)?,
        Command::Explain(arguments) => {
            let request = RunRequest {
                paths: &arguments.paths,
                build: requested(&arguments.build),
                mode: OutputMode::Explanation(ExplainRequest::from(&arguments)),
                options: Options {
                    warnings: warnings_option(arguments.strict),
                    explanations: Explanations::Keep,
                    ..Options::default()
                },
            };
            return run_on_paths("explain", request, common, messages);
        }
        Command::Rbac { read, build } => {
            let request = RunRequest {
                paths: &read.paths,
                build: requested(&build),
                mode: OutputMode::Permissions,
                ..RunRequest::default()
            };
            return run_on_paths("rbac", request, common, messages);
        }
        Command::Status(arguments) => return status::run(&arguments, common, messages),
        Command::WaitFor {
            endpoints,
            timeout,
            interval,
        } => return wait_for::wait(&endpoints, timeout, interval, messages),
        Command::Config(command) => configuration::command(command, common, messages)?,
        #[cfg(all(unix, feature = "webhook"))]
        Command::Webhook(arguments) => webhook::run(arguments, common, messages)?,
        Command::Policy(arguments) => policy::run(arguments, common, messages)?,
        Command::Completions { shell } => generate::completions(shell)?,
        Command::Man {
            dir: Some(folder), ..
        } => generate::manuals(&folder)?,
        Command::Man { command, dir: None } => generate::manual(&command)?,
        Command::Version => stdout::write([&*usage::program().render_version()])?,
    }
    Ok(Exit::Done)
}

/// Returns the request of `inject` and `uninject`.
fn request(arguments: &InjectArgs, direction: Direction) -> anyhow::Result<RunRequest<'_>> {
    if arguments.check && arguments.output == Some(Output::Patch) {
        anyhow::bail!(
            "`--check` cannot be used with `--output patch`; use `--output json`, `--output github`, `--output gitlab`, `--output sarif` or `--output markdown`"
        );
    }
    let mode = OutputMode::from(arguments);
    let mut options = Options {
        warnings: warnings_option(arguments.strict),
        ..Options::new(direction)
    };
    if arguments.force {
        options.hand_edits = HandEdits::Overwrite;
    }
    if let OutputMode::Patches = mode {
        options.patches = Patches::Keep;
    }
    Ok(RunRequest {
        paths: &arguments.read.paths,
        mode,
        options,
        ..RunRequest::default()
    })
}

/// Returns the arguments of `-k`, if it is there.
fn requested(build: &BuildArgs) -> Option<&BuildArgs> {
    build.kustomize.then_some(build)
}

fn warnings_option(strict: bool) -> Warnings {
    if strict {
        Warnings::Refuse
    } else {
        Warnings::Tell
    }
}

/// Runs a command over its files and folders, or over stdin. An error that ends it is in the report that was asked for.
fn run_on_paths(
    command: &str,
    request: RunRequest<'_>,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    let error = match read_and_run(command, request, common, messages) {
        Err(error) if request.mode.is_report() && !error.is::<io::Error>() => error,
        result => return result,
    };
    if !error.is::<AlreadyReported>() {
        messages.error(format!("{error:#}"));
    }
    let config = Config::default();
    Session::new(RunContext::new(request, common, &config), messages).finish()
}

fn read_and_run(
    command: &str,
    request: RunRequest<'_>,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    if let Some(build) = request.build {
        return kustomize_build::run(build, request, common, messages);
    }
    if reads_stdin(request.paths)? {
        if matches!(request.mode, OutputMode::InPlace) {
            anyhow::bail!(
                "`-i` requires files; name at least one, or omit `-i` to write to stdout"
            );
        }
        if request.paths.is_empty() && io::stdin().is_terminal() {
            return Ok(help(Some(command)));
        }
        return stdin::run(EntryPoint::Command, request, common, messages);
    }
    let paths = request.paths;
    let discovered = discover::files(paths);
    // `uninject` needs no settings, so it must not fail for those of a file that it finds.
    let config = match request.options.direction {
        Direction::Inject => configuration::of_paths(paths, &discovered, common, messages)?,
        Direction::Uninject => {
            configuration::of_file(None, ConfigReader::Manifests, common, messages)?
        }
    };
    let run = RunContext::new(request, common, &config);
    files::run(paths, &discovered, run, messages)
}

/// Returns true if the paths of a command are `-` or none.
fn reads_stdin(paths: &[PathBuf]) -> anyhow::Result<bool> {
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    if paths.len() > 1 && paths.iter().any(is_stdin) {
        anyhow::bail!(
            "`-` (stdin) cannot be combined with files; for a file of that name, use `./-`"
        );
    }
    Ok(paths.iter().all(is_stdin))
}

/// Returns the configuration file if kustomize runs the program as a legacy exec plugin: it sets a variable, and passes the
/// file as the only argument.
fn legacy_plugin_argument() -> Option<PathBuf> {
    std::env::var_os("KUSTOMIZE_PLUGIN_CONFIG_STRING")?;
    let mut arguments = std::env::args_os().skip(1);
    let (file, None) = (arguments.next()?, arguments.next()) else {
        return None;
    };
    let is_option = file.as_encoded_bytes().starts_with(b"-");
    (!is_option).then(|| file.into())
}

/// Runs a command, and reports its error.
fn run_with_messages(
    verbosity: Verbosity,
    common: &Common,
    command: impl FnOnce(&mut Messages) -> anyhow::Result<Exit>,
) -> ExitCode {
    let mut messages = match Messages::new(verbosity, log_file(common).as_deref()) {
        Ok(messages) => messages,
        Err(error) => return report_error(&error, &mut Messages::default()).into(),
    };
    let mut exit = catch_panic(|| command(&mut messages))
        .unwrap_or_else(|error| report_error(&error, &mut messages));
    if let Err(error) = messages.write_log(None) {
        exit = report_error(&error.into(), &mut Messages::default());
    }
    exit.into()
}

/// Converts a panic of a command, or of one of its threads, to an error.
fn catch_panic(command: impl FnOnce() -> anyhow::Result<Exit>) -> anyhow::Result<Exit> {
    panic::catch_unwind(AssertUnwindSafe(command)).unwrap_or_else(|_| anyhow::bail!(BUG))
}

/// Shows an error and the messages before it.
fn report_error(error: &anyhow::Error, messages: &mut Messages) -> Exit {
    if is_broken_pipe(error) {
        return Exit::Done;
    }
    if !error.is::<AlreadyReported>() {
        messages.error(format!("{error:#}"));
    }
    messages.show(None);
    Exit::Trouble
}

/// Returns true if stdout was closed: `mackerel-agent-injector … | head` is no error, as in grep.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Returns the log file.
fn log_file(common: &Common) -> Option<PathBuf> {
    common.log_file.clone().or_else(log_file_of_variable)
}

/// Returns the log file that the environment names.
fn log_file_of_variable() -> Option<PathBuf> {
    variable(LOG_FILE_VARIABLE).map(PathBuf::from)
}

/// Returns the value of an environment variable, unless it is empty.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Prints the help of a command, or of the program, because stdin is a terminal and gives no manifest.
fn help(command: Option<&str>) -> Exit {
    let mut program = usage::program();
    program.build();
    let command = match command {
        Some(name) => program.find_subcommand_mut(name),
        None => Some(&mut program),
    };
    if let Some(command) = command {
        anstream::eprint!("{}", command.render_help().ansi());
    }
    Exit::Trouble
}

#[cfg(test)]
mod tests {
    use super::catch_panic;

    #[test]
    fn a_panic_is_an_error() {
        let error = catch_panic(|| panic!("of a test")).unwrap_err();
        assert!(error.to_string().starts_with("this is a bug"));
    }
}
