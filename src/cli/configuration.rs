//! The configuration of a run: a functionConfig, else `--config`, else the variable, else the defaults; never two of them.

use crate::cli::args::{CONFIG_VARIABLE, Common, ConfigCommand};
use crate::cli::input::{STDIN, Unreadable, read_file, read_stdin};
use crate::cli::messages::Messages;
use crate::cli::{AlreadyReported, Exit, stdout, variable};
use crate::config::{Base, Config, ConfigReader, Sources, example, load, schema};
use crate::diagnostic::Diagnostic;
use crate::krm_fn::{Envelope, FunctionConfig};
use std::path::{Path, PathBuf};

/// The configuration of everything but a function call that brings its own.
pub(crate) fn base(common: &Common, messages: &mut Messages) -> anyhow::Result<Config> {
    base_for(ConfigReader::Manifests, common, messages)
}

/// The same for a reader.
pub(crate) fn base_for(
    reader: ConfigReader,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    let Some(path) = named(common) else {
        return loaded(sources(Base::Defaults, reader, common), messages);
    };
    let name = path.display().to_string();
    // The file may lie among the manifests, or come from the environment: the message names its source.
    let shown = format!(
        "{}: {name}",
        if common.config.is_some() {
            "--config"
        } else {
            CONFIG_VARIABLE
        }
    );
    let text = readable(&shown, read_file(&path).map(|file| file.text), messages)?;
    loaded(
        sources(
            Base::Text {
                name: &name,
                text: &text,
            },
            reader,
            common,
        ),
        messages,
    )
}

/// The configuration of a function call.
pub(crate) fn of_call(
    envelope: &Envelope<'_>,
    text: &str,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Config> {
    let Some(function_config) = envelope.function_config() else {
        return base(common, messages);
    };
    if common.config.is_some() {
        anyhow::bail!(
            "`--config` cannot be combined with the functionConfig of the ResourceList; remove one of them"
        );
    }
    if variable(CONFIG_VARIABLE).is_some() {
        let line = format!(
            "info: {CONFIG_VARIABLE} is ignored because the ResourceList has a functionConfig"
        );
        messages.note_line(line)?;
    }
    // Users cannot see stdin of a function: places are those of the configuration's own text.
    let file = function_config.file();
    let (name, own) = (
        file.clone().unwrap_or_else(|| function_config.name()),
        function_config.own_text(),
    );
    let base = match &own {
        Some(own) => Base::Text {
            name: &name,
            text: own,
        },
        None => {
            let FunctionConfig { tree, node, start } = function_config;
            Base::Node {
                name: STDIN,
                text,
                start,
                tree,
                node,
            }
        }
    };
    load(&sources(base, ConfigReader::Manifests, common)).or_else(|mut diagnostics| {
        if file.is_none() {
            let note =
                "kustomize or kpt may have reformatted the file; the line numbers are those of the reformatted text";
            diagnostics.iter_mut().for_each(|diagnostic| diagnostic.notes.push(note.to_owned()));
        }
        tell(&diagnostics, messages)
    })
}

/// `config schema`, `config example`, `config validate`.
pub(crate) fn command(
    command: ConfigCommand,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    match command {
        ConfigCommand::Schema => stdout::write([&*serde_json::to_string_pretty(&schema())?, "\n"])?,
        ConfigCommand::Example => stdout::write([&*example()])?,
        ConfigCommand::Validate { file, webhook } => {
            let reader = if webhook {
                ConfigReader::Webhook
            } else {
                ConfigReader::Manifests
            };
            let Some(path) = file.or_else(|| named(common)) else {
                if common.set.is_empty() && common.namespace.is_none() {
                    anyhow::bail!(
                        "no configuration file; use `config validate FILE`, with `-` for stdin"
                    );
                }
                loaded(sources(Base::Defaults, reader, common), messages)?;
                stdout::write(["the options: valid\n"])?;
                return Ok(Exit::Done);
            };
            let is_stdin = path.as_path() == Path::new("-");
            let name = if is_stdin {
                STDIN.to_owned()
            } else {
                path.display().to_string()
            };
            let text = if is_stdin {
                read_stdin()
            } else {
                read_file(&path).map(|file| file.text)
            };
            let text = readable(&name, text, messages)?;
            loaded(
                sources(
                    Base::Text {
                        name: &name,
                        text: &text,
                    },
                    reader,
                    common,
                ),
                messages,
            )?;
            stdout::write([&*name, ": valid\n"])?;
        }
    }
    Ok(Exit::Done)
}

/// The configuration's file.
pub(crate) fn named(common: &Common) -> Option<PathBuf> {
    common
        .config
        .clone()
        .or_else(|| variable(CONFIG_VARIABLE).map(PathBuf::from))
}

fn readable(
    name: &str,
    text: Result<String, Unreadable>,
    messages: &mut Messages,
) -> anyhow::Result<String> {
    text.or_else(|error| {
        messages.unreadable(name, &error)?;
        Err(AlreadyReported.into())
    })
}

fn sources<'a>(base: Base<'a>, reader: ConfigReader, common: &'a Common) -> Sources<'a> {
    Sources {
        base,
        set: &common.set,
        namespace: common.namespace.as_deref(),
        reader,
    }
}

fn loaded(sources: Sources<'_>, messages: &mut Messages) -> anyhow::Result<Config> {
    load(&sources).or_else(|diagnostics| tell(&diagnostics, messages))
}

fn tell(diagnostics: &[Diagnostic<'_>], messages: &mut Messages) -> anyhow::Result<Config> {
    diagnostics
        .iter()
        .try_for_each(|diagnostic| messages.diagnostic(diagnostic))?;
    Err(AlreadyReported.into())
}
