//! An API key as plain text in an agent that somebody else put there, whatever is decided about its template.

use crate::agent::existing::is_agent;
use crate::mackerel::names::API_KEY;
use crate::manifest::pod_template::PodTemplate;
use crate::manifest::resource::text;
use crate::report::{Finding, Reason};
use yaml_json_patch::Tree;

/// One finding for each such container of a template, which `at` points to from its resource.
pub(crate) fn findings(tree: &Tree<'_>, at: &str, template: &PodTemplate) -> Vec<Finding> {
    let agents = template.containers.iter().filter(|container| is_agent(container));
    let of = agents.filter_map(|container| {
        let env = tree.member(container.node, "env").map(|env| tree.resolve(env))?;
        let value = tree.items(env).enumerate().find_map(|(index, variable)| {
            let is_key = text(tree, variable, "name").as_deref() == Some(API_KEY);
            let is_plain = text(tree, variable, "value").is_some_and(|value| !value.is_empty());
            (is_key && is_plain).then_some((index, tree.member(variable, "value")?))
        });
        let (index, value) = value?;
        let place = format!("{at}/spec/{}/{}/env/{index}/value", container.list.field(), container.index);
        let message = "the API key stands in the manifest for all to read";
        let help = "put it into a Secret, with `valueFrom.secretKeyRef` here, and have Mackerel issue a new one";
        Some(Finding::new(Reason::PlainApiKey, message, tree.span(value).start, &place).with_help(help))
    });
    of.collect()
}
