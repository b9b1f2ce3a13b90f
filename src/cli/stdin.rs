//! A run over stdin: a function call of kustomize or kpt, Helm's stream, or a stream for a command.

use crate::cli::args::Common;
use crate::cli::findings::{self, MessageWriter};
use crate::cli::inject;
use crate::cli::input::{STDIN, read_stdin};
use crate::cli::messages::{Messages, RunOutcome};
use crate::cli::run::{EntryPoint, OutputMode, RunContext, RunRequest};
use crate::cli::{AlreadyReported, Exit, configuration, stdout};
use crate::diagnostic::{Diagnostic, Place};
use crate::krm_fn::{self, Call, CallStatus};
use crate::options::Permissions;
use crate::post_renderer;
use crate::rbac::RbacCoverage;
use yaml_json_patch::edit::pieces;

pub(crate) fn answer(
    entry_point: EntryPoint,
    request: RunRequest<'_>,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    let text = match read_stdin() {
        Ok(text) => text,
        Err(error) => {
            messages.unreadable(STDIN, &error)?;
            return Err(AlreadyReported.into());
        }
    };
    if entry_point != EntryPoint::LegacyPlugin && krm_fn::is_call(&text) {
        return call(text, entry_point, request, common, messages);
    }
    let config = request
        .mode
        .configured(configuration::base(common, messages)?);
    let run = RunContext::new(request, &config).with(Permissions::Documents);
    let injection = match entry_point {
        EntryPoint::Helm => post_renderer::render(&text, &config, run.options),
        EntryPoint::Command | EntryPoint::LegacyPlugin => {
            crate::engine::inject(&text, &config, run.options)
        }
    };
    inject::text(text, entry_point, injection, run, messages)
}

/// Answers a function call. From here on every failure gives the orchestrator its ResourceList back.
fn call(
    text: String,
    entry_point: EntryPoint,
    request: RunRequest<'_>,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    let call = Call::new(&text);
    let envelope = match call.as_ref().map_err(Clone::clone).and_then(Call::envelope) {
        Ok(envelope) => envelope,
        Err(error) => {
            let place = Place::of_lines(STDIN, text.as_bytes(), error.offset..error.offset);
            messages.diagnostic(
                &Diagnostic::error(format!("invalid ResourceList: {}", error.message)).at(place),
            )?;
            return Err(AlreadyReported.into());
        }
    };
    let config = configuration::of_call(&envelope, &text, common, messages);
    // `inject - --diff` prints no results.
    if !matches!(request.mode, OutputMode::Manifests) {
        drop(envelope);
        drop(call);
        let config = request.mode.configured(config?);
        let run = RunContext::new(request, &config).with(Permissions::Items);
        let injection = crate::engine::inject(&text, &config, run.options);
        return inject::text(text, entry_point, injection, run, messages);
    }
    messages.for_orchestrator();
    let mut requirements = Vec::new();
    let mut has_rbac = false;
    let answer = match config {
        Ok(config) => {
            let run = RunContext::new(request, &config).with(Permissions::Items);
            let injection = crate::engine::inject(&text, &config, run.options);
            findings::report(
                messages,
                MessageWriter::resource_names(messages.colour()),
                &injection,
                run.options,
            )?;
            requirements.clone_from(&injection.requirements);
            let mut rbac = RbacCoverage::default();
            rbac.require(injection.outcomes.iter());
            rbac.read(&text, &injection, &config);
            has_rbac = rbac.is_complete(&config);
            envelope.answer(injection)
        }
        Err(error) => {
            if !error.is::<AlreadyReported>() {
                messages.error(error)?;
            }
            envelope.failure(messages.run_errors())
        }
    };
    let (ending, exit) = match answer.status {
        CallStatus::Done => (RunOutcome::Given, Exit::Done),
        CallStatus::Refused => (RunOutcome::GivenBack, Exit::Trouble),
    };
    messages.log_summary(ending)?;
    if answer.status == CallStatus::Done {
        messages.needed(&requirements, has_rbac)?;
    }
    stdout::write(pieces(&text, &answer.edits))?;
    messages.show(Some(ending));
    Ok(exit)
}
