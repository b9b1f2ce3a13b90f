//! `policy`: the admission policies for a configuration, on stdout.

use crate::cli::args::{Common, PolicyArgs};
use crate::cli::messages::Messages;
use crate::cli::{configuration, stdout};
use config::{ConfigReader, ObjectName};
use policy::{PolicyRequest, policies};
use std::path::Path;

/// The most characters of a label's value.
const MAX_NAME: usize = 63;

/// Prints the policies.
pub fn run(arguments: PolicyArgs, common: &Common, messages: &mut Messages) -> anyhow::Result<()> {
    let PolicyArgs {
        namespace_selector,
        object_selector,
        name,
    } = arguments;
    if let Err(violation) = name.parse::<ObjectName>() {
        let help = violation.help.unwrap_or_default();
        anyhow::bail!("`--name` {}; {help}", violation.what);
    }
    if name.len() > MAX_NAME {
        anyhow::bail!(
            "`--name` has {} characters, but it is the value of a label too, which has at most {MAX_NAME}",
            name.len()
        );
    }
    let found = configuration::find(Path::new("."), common)?;
    let config = configuration::of_file(found.as_deref(), ConfigReader::Policy, common, messages)?;
    let request = PolicyRequest {
        name,
        namespace_selector,
        object_selector,
    };
    let policies = policies(&config, &request)?;
    for note in policies.notes {
        messages.note_line(&note);
    }
    messages.write_log(None)?;
    stdout::write([&*policies.text])?;
    messages.show(None);
    Ok(())
}
