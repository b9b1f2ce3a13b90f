//! Whatever comes on stdin: a function call of kustomize or kpt, Helm's stream, or a stream for a command.

use crate::cli::args::Common;
use crate::cli::findings::{self, Wording};
use crate::cli::inject::{self, Asked, Door, Give, Run};
use crate::cli::input::{STDIN, read_stdin};
use crate::cli::messages::{Ending, Messages};
use crate::cli::{Exit, Told, configuration, stdout};
use crate::diagnostic::{Diagnostic, Place};
use crate::krm_fn::{self, Call, Verdict};
use crate::options::Permissions;
use crate::post_renderer;
use yaml_json_patch::edit::pieces;

pub(crate) fn answer(door: Door, asked: Asked<'_>, common: &Common, messages: &mut Messages) -> anyhow::Result<Exit> {
    let text = match read_stdin() {
        Ok(text) => text,
        Err(error) => {
            messages.unreadable(STDIN, &error)?;
            return Err(Told.into());
        }
    };
    if door != Door::LegacyPlugin && krm_fn::is_call(&text) {
        return call(text, door, asked, common, messages);
    }
    let config = asked.give.configured(configuration::base(common, messages)?);
    let run = Run::new(asked, &config).with(Permissions::Documents);
    let injection = match door {
        Door::Helm => post_renderer::render(&text, &config, run.options),
        Door::Command | Door::LegacyPlugin => crate::engine::inject(&text, &config, run.options),
    };
    inject::text(text, door, injection, run, messages)
}

/// A function call: whatever goes wrong from here on, the orchestrator gets its ResourceList back.
fn call(text: String, door: Door, asked: Asked<'_>, common: &Common, messages: &mut Messages) -> anyhow::Result<Exit> {
    let call = Call::new(&text);
    let envelope = match call.as_ref().map_err(Clone::clone).and_then(Call::envelope) {
        Ok(envelope) => envelope,
        Err(error) => {
            let place = Place::of_lines(STDIN, text.as_bytes(), error.offset..error.offset);
            messages
                .diagnostic(&Diagnostic::error(format!("not a readable ResourceList: {}", error.message)).at(place))?;
            return Err(Told.into());
        }
    };
    let config = configuration::of_call(&envelope, &text, common, messages);
    // `inject - --diff`: nobody waits for results.
    if !matches!(asked.give, Give::Manifests) {
        drop(envelope);
        drop(call);
        let config = asked.give.configured(config?);
        let run = Run::new(asked, &config).with(Permissions::Items);
        let injection = crate::engine::inject(&text, &config, run.options);
        return inject::text(text, door, injection, run, messages);
    }
    messages.for_orchestrator();
    let mut requirements = Vec::new();
    let answer = match config {
        Ok(config) => {
            let run = Run::new(asked, &config).with(Permissions::Items);
            let injection = crate::engine::inject(&text, &config, run.options);
            findings::report(messages, Wording::Resources, &injection, run.options)?;
            requirements.clone_from(&injection.requirements);
            envelope.answer(injection)
        }
        Err(error) => {
            if !error.is::<Told>() {
                messages.error(error)?;
            }
            envelope.failure(messages.error_lines())
        }
    };
    let (ending, exit) = match answer.verdict {
        Verdict::Done => (Ending::Given, Exit::Done),
        Verdict::Refused => (Ending::GivenBack, Exit::Trouble),
    };
    messages.log_summary(ending)?;
    if answer.verdict == Verdict::Done {
        messages.needed(&requirements)?;
    }
    stdout::write(pieces(&text, &answer.edits))?;
    messages.show(Some(ending));
    Ok(exit)
}
