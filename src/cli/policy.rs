//! `policy`: the admission policies for a configuration, on stdout.

use crate::cli::args::{Common, PolicyArgs};
use crate::cli::messages::Messages;
use crate::cli::{configuration, stdout};
use crate::config::{ConfigReader, Constraint};
use crate::policy::{PolicyRequest, policies};

/// Prints the policies.
pub(crate) fn run(
    arguments: PolicyArgs,
    common: &Common,
    messages: &mut Messages,
) -> anyhow::Result<()> {
    let PolicyArgs {
        namespace_selector,
        object_selector,
        name,
    } = arguments;
    if let Err(violation) = Constraint::ObjectName.check(&name) {
        let help = violation.help.unwrap_or_default();
        anyhow::bail!("`--name` {}; {help}", violation.what);
    }
    let config = configuration::of_current_folder(ConfigReader::Policy, common, messages)?;
    let request = PolicyRequest {
        name,
        namespace_selector,
        object_selector,
    };
    let policies = policies(&config, &request)?;
    for note in policies.notes {
        messages.note_line(note)?;
    }
    stdout::write([&*policies.text])?;
    messages.show(None);
    Ok(())
}
