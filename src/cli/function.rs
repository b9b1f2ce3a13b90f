//! Whatever comes on stdin: a function call of kustomize or kpt, Helm's stream, or a stream for a command.

use super::Exit;
use super::args::Common;
use super::inject::{self, Give};
use super::input::{STDIN, read_stdin};
use super::messages::Messages;
use crate::config::Config;
use crate::inject::Options;
use crate::post_renderer;

/// What was typed before stdin came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stdin {
    pub(crate) door: Door,
    pub(crate) give: Give,
    pub(crate) options: Options,
}

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// No command: a post-renderer, unless a ResourceList comes.
    Helm,
    /// `inject -` or `uninject -`.
    Command,
}

pub(crate) fn stdin(stdin: Stdin, common: &Common, messages: &mut Messages) -> anyhow::Result<Exit> {
    let text = match read_stdin() {
        Ok(text) => text,
        Err(error) => {
            messages.unreadable(STDIN, &error)?;
            messages.show(None);
            return Ok(Exit::Trouble);
        }
    };
    let config = Config::default();
    let _ = common;
    let injection = match stdin.door {
        Door::Helm => post_renderer::render(&text, &config, stdin.options),
        Door::Command => crate::inject::inject(&text, &config, stdin.options),
    };
    inject::text(text, injection, stdin.give, &config, messages)
}

pub(crate) fn legacy_plugin(common: &Common, messages: &mut Messages) -> anyhow::Result<Exit> {
    let call = Stdin { door: Door::Command, give: Give::Manifests, options: Options::default() };
    stdin(call, common, messages)
}
