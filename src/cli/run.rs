//! The arguments of a run of `inject`, `uninject`, `explain` and `rbac`.

use crate::cli::args::{BuildArgs, Common, ExplainArgs, ExplainFormat, InjectArgs, Output};
use config::Config;
use injector::{Options, SeverityPolicy, Tense};
use std::path::PathBuf;
use std::thread;

/// Entry point of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPoint {
    /// No command: a post-renderer, unless a ResourceList comes.
    Helm,
    /// A command over stdin, such as `inject -`.
    Command,
    /// A legacy exec plugin of kustomize, whose input is never a ResourceList.
    LegacyPlugin,
}

/// Output of a run.
#[derive(Debug, Clone, Copy, Default)]
pub enum OutputMode<'a> {
    /// The manifests, on stdout
    #[default]
    Manifests,
    /// The files, which are replaced
    InPlace,
    /// A diff of the changes
    Diff,
    /// A list of the changes; the exit code says if there are any
    Check,
    /// A list and a diff of the changes, with that exit code
    CheckAndDiff,
    /// The changes and findings for programs and tools of code review, with that exit code
    CheckReport(ExplainFormat),
    /// JSON Patches (RFC 6902)
    Patches,
    /// The decisions with their causes
    Explanation(ExplainRequest<'a>),
    /// RBAC manifests
    Permissions,
}

impl From<&InjectArgs> for OutputMode<'_> {
    fn from(arguments: &InjectArgs) -> Self {
        if arguments.in_place {
            return OutputMode::InPlace;
        }
        match (arguments.output, arguments.check, arguments.diff) {
            (Some(Output::Report(format)), ..) => OutputMode::CheckReport(format),
            (Some(Output::Patch), ..) => OutputMode::Patches,
            (None, true, true) => OutputMode::CheckAndDiff,
            (None, true, false) => OutputMode::Check,
            (None, false, true) => OutputMode::Diff,
            (None, false, false) => OutputMode::Manifests,
        }
    }
}

impl OutputMode<'_> {
    /// Returns true for a report that a program reads, which has the errors too.
    pub fn is_report(self) -> bool {
        match self {
            OutputMode::CheckReport(_) => true,
            OutputMode::Explanation(request) => request.format != ExplainFormat::Text,
            _ => false,
        }
    }

    /// Returns the command that reports the same about another input.
    pub fn command(self) -> &'static str {
        match self {
            OutputMode::Explanation(_) => "explain",
            OutputMode::Permissions => "rbac",
            OutputMode::Manifests | OutputMode::InPlace | OutputMode::Patches => "inject",
            OutputMode::Diff => "inject --diff",
            OutputMode::Check | OutputMode::CheckAndDiff | OutputMode::CheckReport(_) => {
                "inject --check"
            }
        }
    }
}

/// Format and subject of an explanation.
#[derive(Debug, Clone, Copy)]
pub struct ExplainRequest<'a> {
    pub format: ExplainFormat,
    /// The resource to explain, if it is one only.
    pub resource: Option<&'a str>,
}

impl<'a> From<&'a ExplainArgs> for ExplainRequest<'a> {
    fn from(arguments: &'a ExplainArgs) -> Self {
        Self {
            format: arguments.output.unwrap_or(ExplainFormat::Text),
            resource: arguments.resource.as_deref(),
        }
    }
}

/// Arguments of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunRequest<'a> {
    /// Files and folders; `-` or none for stdin.
    pub paths: &'a [PathBuf],
    /// For `-k`: kustomize builds the folders.
    pub build: Option<&'a BuildArgs>,
    pub mode: OutputMode<'a>,
    pub options: Options,
}

/// Arguments and configuration of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunContext<'c> {
    pub mode: OutputMode<'c>,
    pub options: Options,
    pub config: &'c Config,
    pub common: &'c Common,
    /// The files and folders of the run; `-` or none for stdin.
    pub paths: &'c [PathBuf],
    /// For `-k`: kustomize builds the folders.
    pub build: Option<&'c BuildArgs>,
}

/// Bytes of a text for which further threads are worth it.
const LONG_TEXT: usize = 4 << 20;

impl<'c> RunContext<'c> {
    /// Returns the context of a run.
    pub fn new(request: RunRequest<'c>, common: &'c Common, config: &'c Config) -> Self {
        Self {
            mode: request.mode,
            options: Options {
                tense: match request.mode {
                    OutputMode::Manifests | OutputMode::InPlace => Tense::Past,
                    _ => Tense::Conditional,
                },
                ..request.options
            },
            config,
            common,
            paths: request.paths,
            build: request.build,
        }
    }

    /// Returns the options for one text. Without `--threads`, all processors work on a long one.
    pub fn options_for(self, text: &str) -> Options {
        let threads = match self.common.threads {
            None if text.len() >= LONG_TEXT => thread::available_parallelism().ok(),
            threads => threads,
        };
        Options {
            further_threads: threads.map_or(0, |threads| threads.get() - 1),
            ..self.options
        }
    }

    /// Returns true for a run over stdin.
    pub fn reads_stdin(self) -> bool {
        self.paths.iter().all(|path| path.as_os_str() == "-")
    }

    pub fn severity_policy(self) -> SeverityPolicy {
        SeverityPolicy::of(self.config, self.options)
    }
}
