//! `explain`: over files, folders or stdin, what would be decided and why. Nothing is changed.

use crate::agent::prerequisites::Requirement;
use crate::checks::ProcessedText;
use crate::cli::args::{ExplainArgs, ExplainFormat};
use crate::cli::messages::Messages;
use crate::cli::{Exit, stdout};
use crate::config::Config;
use crate::diagnostic::closest::closest;
use crate::explain::{Filter, explain, sarif, text};
use crate::manifest::identity::Identity;

/// Format and filter of an explanation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExplainRequest<'a> {
    format: ExplainFormat,
    filter: Filter<'a>,
}

impl<'a> From<&'a ExplainArgs> for ExplainRequest<'a> {
    fn from(asked: &'a ExplainArgs) -> Self {
        let filter = asked.resource.as_deref().map_or(Filter::All, Filter::Resource);
        Self { format: asked.output.unwrap_or(ExplainFormat::Text), filter }
    }
}

/// Prints the explanation. It fails where `inject` would.
pub(crate) fn print(
    how: ExplainRequest<'_>,
    names: &[String],
    parts: &[ProcessedText<'_>],
    requirements: &[Requirement],
    config: &Config,
    messages: &Messages,
) -> anyhow::Result<Exit> {
    let explanation = explain(names, parts, requirements, config, how.filter);
    if let (Filter::Resource(wanted), true) = (how.filter, explanation.templates.is_empty()) {
        let help = match meant(wanted, parts, config) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "name it as in `web`, `Deployment/web` or `Deployment/shop/web`".to_owned(),
        };
        anyhow::bail!("no resource {wanted} with a pod template; {help}");
    }
    let shown = match how.format {
        ExplainFormat::Text => text::text(&explanation),
        ExplainFormat::Json => serde_json::to_string_pretty(&explanation)? + "\n",
        ExplainFormat::Sarif => serde_json::to_string_pretty(&sarif::sarif(&explanation))? + "\n",
    };
    stdout::write([&*shown])?;
    messages.show(None);
    Ok(if explanation.has_errors() || messages.has_errors() { Exit::Trouble } else { Exit::Done })
}

/// The resource name closest to `wanted`, in the same form.
fn meant(wanted: &str, parts: &[ProcessedText<'_>], config: &Config) -> Option<String> {
    let identities = parts.iter().flat_map(|part| &part.injection.outcomes).map(|outcome| &outcome.identity);
    let names = identities.filter_map(|identity| {
        let Identity { kind, name, .. } = identity;
        match wanted.split('/').count() {
            1 => Some(name.clone()),
            2 => Some(format!("{kind}/{name}")),
            _ => Some(format!("{kind}/{}/{name}", identity.namespace_or(config.spec.namespace.as_ref())?)),
        }
    });
    let names: Vec<String> = names.collect();
    closest(wanted, names.iter().map(String::as_str)).map(str::to_owned)
}
