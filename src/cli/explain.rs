//! `explain`: over files, folders or stdin, what would be decided and why. Nothing is changed.

use super::args::{Explain, ExplainFormat};
use super::messages::Messages;
use super::{Exit, stdout};
use crate::config::Config;
use crate::explain::{Chosen, Explanation, explain, sarif, text};
use crate::report::Severity;
use crate::surroundings::{Part, Requirement};
use crate::tolerance::Tolerance;

/// How the user wants it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Explaining<'a> {
    format: ExplainFormat,
    chosen: Chosen<'a>,
}

impl<'a> From<&'a Explain> for Explaining<'a> {
    fn from(asked: &'a Explain) -> Self {
        let chosen = asked.resource.as_deref().map_or(Chosen::All, Chosen::Resource);
        Self { format: asked.output.unwrap_or(ExplainFormat::Text), chosen }
    }
}

/// Prints it. What would be refused makes it trouble, as it would be to `inject`.
pub(crate) fn print(
    how: Explaining<'_>,
    names: &[String],
    parts: &[Part<'_>],
    requirements: &[Requirement],
    (config, tolerance): (&Config, Tolerance),
    messages: &Messages,
) -> anyhow::Result<Exit> {
    let explanation = explain(names, parts, requirements, config, tolerance, how.chosen);
    if let (Chosen::Resource(wanted), true) = (how.chosen, explanation.templates.is_empty()) {
        anyhow::bail!(
            "no resource {wanted} with a pod template; name it as in `web`, `Deployment/web` or `Deployment/shop/web`"
        );
    }
    let shown = match how.format {
        ExplainFormat::Text => text::text(&explanation),
        ExplainFormat::Json => serde_json::to_string_pretty(&explanation)? + "\n",
        ExplainFormat::Sarif => serde_json::to_string_pretty(&sarif::sarif(&explanation))? + "\n",
    };
    stdout::write([&*shown])?;
    messages.show(None);
    Ok(if has_errors(&explanation) || messages.has_errors() { Exit::Trouble } else { Exit::Done })
}

fn has_errors(explanation: &Explanation) -> bool {
    let templates =
        explanation.templates.iter().flat_map(|template| std::iter::once(&template.decision).chain(&template.warnings));
    templates.chain(&explanation.findings).any(|told| told.severity == Severity::Error)
}
