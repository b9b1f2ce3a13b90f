//! `plain-api-key`: an API key as plain text, in the settings of the agent or in a foreign agent.

use crate::agent::existing::is_agent;
use crate::config::{AgentSettings, Config};
use crate::decide::Evaluation;
use crate::mackerel::names::API_KEY;
use crate::manifest::pod_template::PodTemplate;
use crate::options::Tense;
use crate::report::{Finding, Reason};
use yaml_json_patch::Tree;

impl Evaluation<'_, '_> {
    pub(super) fn warn_of_plain_api_key(&mut self, config: &Config) {
        let mut keys = config
            .spec
            .agent
            .env
            .iter()
            .filter(|variable| variable.name == API_KEY);
        if keys
            .next()
            .and_then(|variable| variable.value.as_ref())
            .is_some_and(|value| !value.is_empty())
        {
            let message = format!(
                "`{}` adds the API key to every pod as plain text",
                AgentSettings::env()
            );
            let help = "remove it; the agent reads the key from the Secret of `apiKey`";
            self.warnings
                .push(self.finding(Reason::PlainApiKey, message).with_help(help));
        }
    }
}

/// Returns a finding for each foreign agent of a template with an API key as plain text; `at` is the JSON Pointer from the
/// resource to the template. Adoption removes the key.
pub(crate) fn findings(
    tree: &Tree<'_>,
    at: &str,
    template: &PodTemplate,
    adopted: Option<Tense>,
) -> Vec<Finding> {
    let message = match adopted {
        Some(Tense::Past) => "the API key was in the manifest as plain text",
        Some(Tense::Conditional) | None => "the API key is in the manifest as plain text",
    };
    let help = match adopted {
        Some(_) => {
            "issue a new key for the Secret of `apiKey`: version control still has the old one"
        }
        None => "move the key to a Secret, use `valueFrom.secretKeyRef`, and issue a new key",
    };
    let agents = template
        .containers
        .iter()
        .filter(|container| is_agent(tree, container));
    let found = agents.filter_map(|container| {
        let env = tree
            .member(container.node, "env")
            .map(|env| tree.alias_target(env))?;
        let value = tree.items(env).enumerate().find_map(|(index, variable)| {
            let is_key = tree.member_text(variable, "name").as_deref() == Some(API_KEY);
            let is_plain = tree
                .member_text(variable, "value")
                .is_some_and(|value| !value.is_empty());
            (is_key && is_plain).then_some((index, tree.member(variable, "value")?))
        });
        let (index, value) = value?;
        let place = format!(
            "{at}/spec/{}/{}/env/{index}/value",
            container.list.field(),
            container.index
        );
        Some(
            Finding::new(
                Reason::PlainApiKey,
                message,
                tree.place(value).start,
                &place,
            )
            .with_help(help),
        )
    });
    found.collect()
}
