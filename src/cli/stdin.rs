//! A run over stdin: a function call of kustomize or kpt, Helm's stream, or a stream for a command.

use crate::cli::args::Common;
use crate::cli::input::{STDIN, read_stdin};
use crate::cli::messages::{Ending, Messages, NO_FILE_CHANGED, RunEnd};
use crate::cli::run::{EntryPoint, OutputMode, RunContext, RunRequest};
use crate::cli::session::{NO_RESOURCES, Session, Source, has_no_resources};
use crate::cli::{AlreadyReported, Exit, configuration, stdout};
use crate::krm_fn::{self, Call, CallStatus};
use crate::post_renderer;
use config::{Config, ConfigReader, KIND};
use injector::{
    Direction, Injection, Outcome, ProcessedText, Unmatched, inject, plural, unmatched_namespaces,
};
use report::{Cause, Diagnostic, Finding, Place, Reason, shell_word};
use std::ops::Range;
use std::path::Path;
use yaml_json_patch::YamlError;
use yaml_json_patch::edit::pieces;

/// Reads stdin, and ends the run.
pub fn run(
    entry_point: EntryPoint,
    request: RunRequest<'_>,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    let text = messages.readable(STDIN, read_stdin())?;
    if entry_point != EntryPoint::LegacyPlugin
        && let Some(document) = krm_fn::document_of_call(&text)
    {
        return answer_call(text, document, request, common, messages);
    }
    let mut unused = None;
    if entry_point != EntryPoint::LegacyPlugin && request.options.direction == Direction::Inject {
        unused = configuration::find(Path::new("."), common)?;
    }
    if let (EntryPoint::Helm, Some(file)) = (entry_point, &unused) {
        // Helm hides warnings.
        let name = file.to_string_lossy();
        let option = format!("--config={}", shell_word(&name));
        anyhow::bail!(
            "{name} is not used for a stream without a command; add `{option}`, in Helm as `--post-renderer-args={option}`, or `--no-config` for the defaults"
        );
    }
    let config = configuration::of_file(None, ConfigReader::Manifests, common, messages)?;
    let run = RunContext::new(request, common, &config);
    let mut injection = match entry_point {
        EntryPoint::Helm => post_renderer::render(&text, &config, run.options_for(&text)),
        EntryPoint::Command | EntryPoint::LegacyPlugin => {
            inject(&text, &config, run.options_for(&text))
        }
    };
    if entry_point != EntryPoint::Command {
        warn_of_removals(&mut injection);
    } else if let Some(file) = unused {
        report_unused(&file, &injection, run, messages);
    }
    let mut session = Session::new(run, messages);
    if entry_point == EntryPoint::Command && has_no_resources(&injection) {
        session.warn(Path::new(STDIN), Reason::NoResources, NO_RESOURCES);
    }
    if !matches!(run.mode, OutputMode::Permissions) {
        session.requirements.clone_from(&injection.requirements);
    }
    if injection.kinds_without_template.has(KIND) {
        session.report_configuration(Path::new(STDIN), &text);
    }
    session.add(Path::new(STDIN), Source::default(), text, injection);
    session.finish()
}

/// Warns of agents that a function or post-renderer removes.
fn warn_of_removals(injection: &mut Injection) {
    // A template may opt out by itself.
    let is_by_setting = |outcome: &&Outcome| {
        outcome.decision.reason == Reason::Removed
            && matches!(outcome.cause, Some(Cause::Setting(_)))
    };
    let agents = match injection.outcomes.iter().filter(is_by_setting).count() {
        0 => return,
        count => plural(count, "agent"),
    };
    let message = format!("the input has {agents} that this configuration does not want");
    let help = "if another function or post-renderer added them, use one configuration for both, or run one of them alone";
    let finding = Finding::about_input(Reason::AgentsRemoved, message).with_help(help);
    injection.findings.push(finding);
}

/// Reports a configuration file that is not used: as a warning where an injected agent changes, which may lose what the file gave it.
fn report_unused(file: &Path, injection: &Injection, run: RunContext<'_>, messages: &mut Messages) {
    let is_agent_changed =
        |outcome: &Outcome| matches!(outcome.decision.reason, Reason::Updated | Reason::Removed);
    if !injection.outcomes.iter().any(is_agent_changed)
        || matches!(run.mode, OutputMode::Permissions)
    {
        return configuration::note_unused(file, messages);
    }
    let name = file.to_string_lossy();
    let message =
        format!("{name} is not used for stdin, where an injected agent differs from the defaults");
    let help = format!(
        "to use it, add `--config {}`; for the defaults, add `--no-config`",
        shell_word(&name)
    );
    let finding = Finding::about_input(Reason::ConfigurationUnused, message).with_help(help);
    messages.add_about(STDIN, finding, run.severity_policy());
}

/// Reports namespaces of `select` that the items have not: a warning is a result.
fn check_selection(injection: &mut Injection, config: &Config, messages: &mut Messages) {
    let items = ProcessedText {
        name: STDIN,
        text: "",
        injection,
    };
    let Some(Unmatched { origin, finding }) = unmatched_namespaces(&[items], config) else {
        return;
    };
    let message = format!("{origin}: {}", finding.message);
    if finding.is_note {
        return messages.note_line(&format!("info: {message}"));
    }
    injection.findings.push(Finding { message, ..finding });
}

/// Answers a function call. After its ResourceList is read, every failure is a result in the list that goes back.
fn answer_call(
    text: String,
    document: Result<Range<usize>, YamlError>,
    request: RunRequest<'_>,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    let is_check = matches!(request.mode, OutputMode::Check);
    if !is_check && !matches!(request.mode, OutputMode::Manifests) {
        let command = match (request.mode, request.options.direction) {
            (OutputMode::Explanation(_), _) => "explain",
            (OutputMode::Permissions, _) => "rbac",
            (_, Direction::Inject) => "inject …",
            (_, Direction::Uninject) => "uninject …",
        };
        // kustomize and kpt would take the output for the new package.
        messages.error(format!(
            "a function call of kustomize or kpt (ResourceList) gets no other answer than its items; \
             use `mackerel-agent-injector {command} PKG`, \
             or `kpt fn source PKG -o unwrap | mackerel-agent-injector {command} -`"
        ));
        messages.show(None);
        return Ok(Exit::Trouble);
    }
    let call = document.map(|document| Call::new(&text, document));
    let envelope = match call.as_ref().map_err(Clone::clone).and_then(Call::envelope) {
        Ok(envelope) => envelope,
        Err(error) => {
            let place = Place::of_lines(STDIN, text.as_bytes(), error.offset..error.offset);
            messages.diagnostic(
                &Diagnostic::error(format!("invalid ResourceList: {}", error.message)).at(place),
            );
            return Err(AlreadyReported.into());
        }
    };
    let config = configuration::of_call(&envelope, &text, common, messages);
    let (answer, injection, options) = match config {
        Ok(config) => {
            let run = RunContext::new(request, common, &config);
            let mut injection = envelope.inject(&config, run.options_for(&text));
            if is_check && has_no_resources(&injection) {
                let finding = Finding::about_input(Reason::NoResources, NO_RESOURCES);
                injection.findings.push(finding);
            }
            if run.options.direction == Direction::Inject {
                warn_of_removals(&mut injection);
                check_selection(&mut injection, &config, messages);
            }
            let answer = envelope.answer(&mut injection, run.options.tense);
            (answer, injection, run.options)
        }
        Err(error) => {
            if !error.is::<AlreadyReported>() {
                messages.error(error);
            }
            let answer = envelope.failure(messages.rows());
            (answer, Injection::default(), request.options)
        }
    };
    // The results of a refusal are its errors alone.
    let is_refused = answer.status == CallStatus::Refused;
    messages.set_call(envelope.is_run_by_kpt() && !is_refused);
    let exit = match answer.status {
        CallStatus::Done => Exit::Done,
        CallStatus::Found | CallStatus::HeldBack => Exit::Found,
        CallStatus::Refused => Exit::Trouble,
    };
    let ending = match answer.status {
        CallStatus::Refused => Ending::Failed("items returned unchanged"),
        _ if is_check => Ending::Done(Some(NO_FILE_CHANGED.to_owned())),
        CallStatus::HeldBack => Ending::Failed("items returned unchanged"),
        CallStatus::Done | CallStatus::Found => Ending::Done(None),
    };
    let processed = ProcessedText {
        name: STDIN,
        text: &text,
        injection: &injection,
    };
    let end = RunEnd {
        ending,
        texts: vec![processed],
        requirements: &injection.requirements,
        options,
        rbac: "mackerel-agent-injector rbac PATH... | kubectl apply -f -".to_owned(),
        next: None,
        has_folder: false,
        configuration: None,
    };
    messages.end(&end, || Ok(stdout::write(pieces(&text, &answer.edits))?))?;
    Ok(exit)
}
