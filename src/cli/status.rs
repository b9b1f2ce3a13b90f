//! `status`: the agents of living pods.

use crate::cli::args::{Common, StatusArgs, StatusFormat};
use crate::cli::input::{STDIN, read_stdin, read_text};
use crate::cli::messages::{Messages, colour_of};
use crate::cli::table::{Workload, fits, table};
use crate::cli::{AlreadyReported, Exit, configuration, discover, help, reads_stdin, stdout};
use crate::krm_fn::is_call;
use config::{Config, ConfigReader};
use injector::plural;
use report::{BOLD, Diagnostic, Place, visible, visible_json};
use status::{NextStep, Row, State, StatusError, StatusReport, report_on_namespaces, text};
use std::cmp::Reverse;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

/// A text of the input.
struct NamedText {
    name: String,
    text: String,
}

/// Reads the pods, and prints the report.
pub(super) fn run(
    arguments: &StatusArgs,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    let reads_stdin = reads_stdin(&arguments.paths)?;
    if arguments.paths.is_empty() && io::stdin().is_terminal() {
        return Ok(help(Some("status")));
    }
    let input = if reads_stdin {
        Input::of_stdin(common, messages)?
    } else {
        Input::of_files(&arguments.paths, common, messages)?
    };
    let texts: Vec<&str> = input.texts.iter().map(|named| &*named.text).collect();
    let selector = arguments.namespace_selector.as_ref();
    let report = match report_on_namespaces(&texts, &input.config, selector) {
        Ok(report) => report,
        Err(error) => return fail(error, &input.texts, messages),
    };
    let output = match arguments.output {
        _ if arguments.quiet => String::new(),
        Some(StatusFormat::Json) => visible_json(&serde_json::to_string_pretty(&report)?) + "\n",
        Some(StatusFormat::Text) | None
            if fits() && !arguments.verbose && !report.workloads.is_empty() =>
        {
            screen(&report)
        }
        Some(StatusFormat::Text) | None => text::text(&report),
    };
    messages.write_log(None)?;
    stdout::write([&*output])?;
    messages.show(None);
    Ok(exit(&report, arguments.strict))
}

/// Returns the report for a terminal, with the workloads that need attention last.
fn screen(report: &StatusReport) -> String {
    let colour = colour_of(&io::stdout());
    let mut rows: Vec<&Row> = report.workloads.iter().collect();
    rows.sort_by_key(|row| Reverse(row.state));
    let workloads: Vec<Workload> = rows.into_iter().map(workload).collect();
    let next = report.workloads.first().and_then(|row| {
        let Workload {
            name, namespace, ..
        } = workload(row);
        let next = match row.next.as_ref()? {
            NextStep::Command(command) => command.clone(),
            NextStep::Advice(advice) => format!("{name} in {namespace}: {advice}"),
        };
        Some(format!(
            "{} {}\n",
            colour.paint("next:", BOLD),
            visible(&next)
        ))
    });
    table(&workloads, colour) + &text::counts(&report.summary) + &next.unwrap_or_default()
}

fn workload(row: &Row) -> Workload {
    let (advice, command) = match &row.next {
        Some(NextStep::Command(command)) if row.state == State::NotReady => ("", &**command),
        Some(next) => (next.text(), ""),
        None => ("", ""),
    };
    let mut why = text::cause(row);
    if !why.is_empty() && !advice.is_empty() {
        why.push_str("; ");
    }
    why.push_str(advice);
    Workload {
        mark: match row.state {
            State::Ready => '=',
            State::Missed => '+',
            State::Outdated => '~',
            State::Refused | State::NotReady => 'x',
            State::Unknown => '?',
        },
        name: format!("{}/{}", row.workload.kind, row.workload.name),
        namespace: row.workload.namespace.clone(),
        region: row.workload.namespace.clone(),
        place: plural(row.pods.len(), "pod"),
        state: row.state.words(),
        why,
        below: command.to_owned(),
        ..Workload::default()
    }
}

/// The texts and the configuration of a run.
struct Input {
    texts: Vec<NamedText>,
    config: Config,
}

impl Input {
    fn of_stdin(common: &Common, messages: &mut Messages) -> anyhow::Result<Self> {
        let text = messages.readable(STDIN, read_stdin())?;
        if is_call(&text) {
            anyhow::bail!("`status` reads the pods of a cluster, not a ResourceList");
        }
        if let Some(file) = configuration::find(Path::new("."), common)? {
            configuration::note_unused(&file, messages);
        }
        let named = NamedText {
            name: STDIN.to_owned(),
            text,
        };
        Ok(Self {
            texts: vec![named],
            config: configuration::of_file(None, ConfigReader::Manifests, common, messages)?,
        })
    }

    fn of_files(
        paths: &[PathBuf],
        common: &Common,
        messages: &mut Messages,
    ) -> anyhow::Result<Self> {
        let discovered = discover::files(paths);
        discovered.report(messages);
        if messages.has_errors() {
            return Err(AlreadyReported.into());
        }
        let config = configuration::of_paths(paths, &discovered, common, messages)?;
        let mut texts = Vec::new();
        for file in &discovered.files {
            let name = file.path.display().to_string();
            let text = messages.readable(&name, read_text(&file.path))?;
            texts.push(NamedText { name, text });
        }
        Ok(Self { texts, config })
    }
}

/// Reports an input that gives no report.
fn fail(error: StatusError, texts: &[NamedText], messages: &mut Messages) -> anyhow::Result<Exit> {
    let mut diagnostic = Diagnostic::error(error.to_string());
    let StatusError::Unreadable { text, error } = error else {
        return Err(error.into());
    };
    if let Some(NamedText { name, text }) = texts.get(text) {
        let span = error.offset..error.offset.saturating_add(1);
        diagnostic = diagnostic.at(Place::of_lines(&**name, text.as_bytes(), span));
        let help = "give it all that `kubectl get pods -A -o json` prints, without messages of kubectl (`2>&1`)";
        diagnostic = diagnostic.with_help(Some(help.to_owned()));
    }
    messages.diagnostic(&diagnostic);
    Err(AlreadyReported.into())
}

/// Returns the exit code for the pods that lack their agent.
fn exit(report: &StatusReport, is_strict: bool) -> Exit {
    let fails = report.workloads.iter().any(|row| match row.state {
        State::Missed | State::NotReady | State::Unknown => true,
        State::Refused | State::Outdated => is_strict,
        State::Ready => false,
    });
    if fails { Exit::Found } else { Exit::Done }
}
