//! `plain-api-key`: an API key as plain text in a foreign agent.

use crate::options::Tense;
use mackerel::names::API_KEY;
use manifest::PodTemplate;
use report::{Finding, Reason};
use yaml_json_patch::{NodeId, Tree};

/// Returns a finding for each foreign agent of a template with an API key as plain text; `at` is the JSON Pointer from the
/// resource to the template. Adoption removes the key.
pub fn findings(
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
    let mut findings = Vec::new();
    for container in template.containers.iter().filter(|one| one.is_agent) {
        let key = tree
            .member_items(container.node, "env")
            .enumerate()
            .find_map(|(index, variable)| Some((index, plain_key(tree, variable)?)));
        if let Some((index, name)) = key {
            let pointer = format!("{at}{}/env/{index}/value", container.pointer());
            let start = tree.place(name).start;
            findings
                .push(Finding::new(Reason::PlainApiKey, message, start, &pointer).with_help(help));
        }
    }
    findings
}

/// Returns the name of an environment variable that has the API key as plain text: messages show no line that names one.
fn plain_key(tree: &Tree<'_>, variable: NodeId) -> Option<NodeId> {
    let is_key = tree.member_text(variable, "name")? == API_KEY;
    let is_plain = !tree.member_text(variable, "value")?.is_empty();
    if is_key && is_plain {
        tree.member(variable, "name")
    } else {
        None
    }
}
