//! `explain`: over files, folders or stdin, what would be decided and why; and `inject --check` for tools of code review. Nothing
//! is changed.

use crate::agent::prerequisites::Requirement;
use crate::checks::ProcessedText;
use crate::cli::args::{ExplainArgs, ExplainFormat};
use crate::cli::messages::Messages;
use crate::cli::{Exit, stdout};
use crate::config::Config;
use crate::explain::{Explanation, Filter, explain, github, sarif, text};

/// Format and filter of an explanation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExplainRequest<'a> {
    format: ExplainFormat,
    filter: Filter<'a>,
}

impl<'a> From<&'a ExplainArgs> for ExplainRequest<'a> {
    fn from(arguments: &'a ExplainArgs) -> Self {
        let filter = arguments
            .resource
            .as_deref()
            .map_or(Filter::All, Filter::Resource);
        Self {
            format: arguments.output.unwrap_or(ExplainFormat::Text),
            filter,
        }
    }
}

/// Prints the explanation. It fails where `inject` would.
pub(crate) fn print(
    request: ExplainRequest<'_>,
    texts: &[ProcessedText<'_>],
    requirements: &[Requirement],
    config: &Config,
    messages: &Messages,
) -> anyhow::Result<Exit> {
    let explanation = explain(texts, requirements, config, request.filter);
    if let (Filter::Resource(wanted), true) = (request.filter, explanation.templates.is_empty()) {
        anyhow::bail!(
            "no resource {wanted} with a pod template; use for example `web`, `Deployment/web` or `Deployment/shop/web`"
        );
    }
    stdout::write([&*formatted(&explanation, request.format, messages)?])?;
    messages.show(None);
    Ok(if explanation.has_errors() || messages.has_errors() {
        Exit::Trouble
    } else {
        Exit::Done
    })
}

/// The report of a check: each change and each missing agent is an error.
pub(crate) fn check_report(
    format: ExplainFormat,
    texts: &[ProcessedText<'_>],
    config: &Config,
    messages: &Messages,
) -> serde_json::Result<String> {
    let explanation = explain(texts, &[], config, Filter::Check);
    formatted(&explanation, format, messages)
}

fn formatted(
    explanation: &Explanation,
    format: ExplainFormat,
    messages: &Messages,
) -> serde_json::Result<String> {
    Ok(match format {
        ExplainFormat::Text => text::text(explanation),
        ExplainFormat::Json => serde_json::to_string_pretty(explanation)? + "\n",
        ExplainFormat::Github => {
            let mut commands = github::github(explanation);
            for error in messages.run_errors() {
                commands += &github::run_error(error.reason, &error.text);
            }
            commands
        }
        ExplainFormat::Sarif => serde_json::to_string_pretty(&sarif::sarif(explanation))? + "\n",
    })
}
