//! A pod template that another key of the same name hides: Kubernetes reads the last one, and would have no template, or
//! none with containers.
//!
//! ```yaml
//! kind: Deployment
//! spec: {template: …}
//! spec: {replicas: 3}    # all that is seen of the two
//! ```
//!
//! Where the last one has the template too, the edit meets both keys and is refused for them.

use crate::decide::{Terms, is_skipped};
use crate::find::{Hidden, earlier, member};
use crate::inject::Direction;
use crate::pod_template::PodTemplate;
use crate::report::{Finding, Reason};
use crate::resource::Resource;
use crate::splice::Refusal;
use crate::template_form::MOST_LOOKED_AT;
use crate::yaml::{NodeId, Tree};

/// What to do about it.
const HELP: &str = "write the two as one";

/// What is said of the templates of a resource that keys behind them hide. Silent where they would be passed by anyway.
pub(crate) fn lost_templates(
    tree: &Tree<'_>,
    resource: &Resource,
    hidden: Vec<Hidden>,
    terms: Terms<'_>,
    direction: Direction,
) -> Vec<Finding> {
    let lost = hidden.into_iter().take(MOST_LOOKED_AT).filter_map(|Hidden { key, pointer, node }| {
        let matters = match direction {
            Direction::Inject => !is_skipped(tree, resource, &pointer, node, terms),
            Direction::Uninject => PodTemplate::view(tree, node).ours.is_some(),
        };
        matters.then(|| finding(tree, key, "the pod template", &pointer))
    });
    lost.collect()
}

/// The same of the containers of a template, whose pointer is `at`, that has none as Kubernetes reads it.
pub(crate) fn lost_containers(tree: &Tree<'_>, template: NodeId, at: &str) -> Option<Finding> {
    let specs = earlier(tree, template, "spec").filter(|(_, spec)| has_items(tree, *spec));
    let lists = member(tree, template, "spec").into_iter().flat_map(|spec| earlier(tree, spec, "containers"));
    let lists = lists.filter(|(_, list)| is_list_of_some(tree, *list));
    let key = specs.chain(lists).map(|(key, _)| key).next()?;
    Some(finding(tree, key, "the list of containers", at))
}

fn has_items(tree: &Tree<'_>, spec: NodeId) -> bool {
    member(tree, spec, "containers").is_some_and(|list| is_list_of_some(tree, list))
}

fn is_list_of_some(tree: &Tree<'_>, list: NodeId) -> bool {
    tree.items(tree.resolve(list)).next().is_some()
}

fn finding(tree: &Tree<'_>, key: NodeId, what: &str, pointer: &str) -> Finding {
    let message = format!(
        "{}: `{}` stands twice in its mapping, and Kubernetes reads the last one: {what} in this one goes unseen",
        Refusal::DuplicateKey.word(),
        tree.scalar(key).unwrap_or_default()
    );
    Finding::new(Reason::Uneditable, message, tree.span(key).start, pointer).with_help(HELP)
}
