//! A pod template that another key of the same name hides: Kubernetes reads the last one, and would have no template, or
//! none with containers.
//!
//! ```yaml
//! kind: Deployment
//! spec: {template: …}
//! spec: {replicas: 3}    # all that is seen of the two
//! ```
//!
//! Where an edit meets both keys, it is refused for them, and nothing else is said: see `Run::tell_lost`.

use crate::change::Again;
use crate::find::{Earlier, Hidden, earlier, holder, member};
use crate::missed::Missed;
use crate::report::{Finding, Reason};
use crate::resource::Resource;
use crate::template_form::MOST_LOOKED_AT;
use yaml_json_patch::ErrorKind;
use yaml_json_patch::{NodeId, Tree};

/// What to do about it.
const HELP: &str = "write the two as one";

/// What is said of the templates of a resource that keys behind them hide, where they would be missed.
pub(crate) fn lost_templates(
    tree: &Tree<'_>,
    resource: &Resource,
    hidden: &[Hidden],
    missed: Missed<'_>,
) -> Vec<Finding> {
    let mut is_missed = missed.of(tree, resource);
    let lost = hidden.iter().filter(|hidden| is_missed(&hidden.pointer, hidden.node)).take(MOST_LOOKED_AT + 1);
    lost.map(|Hidden { key, next, pointer, .. }| unseen(tree, *key, *next, "the pod template", pointer)).collect()
}

/// The same of the containers of a template, whose pointer is `at`, that has none as Kubernetes reads it.
pub(crate) fn lost_containers(tree: &Tree<'_>, template: NodeId, at: &str) -> Option<Finding> {
    let earlier_in = |mapping: NodeId, key: &'static str| {
        holder(tree, mapping, key).into_iter().flat_map(move |holder| earlier(tree, holder, key))
    };
    let specs = earlier_in(template, "spec").filter(|spec| has_items(tree, spec.value));
    let lists = member(tree, template, "spec").into_iter().flat_map(|spec| earlier_in(spec, "containers"));
    let lists = lists.filter(|list| is_list_of_some(tree, list.value));
    let Earlier { key, next, .. } = specs.chain(lists).next()?;
    Some(unseen(tree, key, next, "the list of containers", at))
}

fn has_items(tree: &Tree<'_>, spec: NodeId) -> bool {
    member(tree, spec, "containers").is_some_and(|list| is_list_of_some(tree, list))
}

fn is_list_of_some(tree: &Tree<'_>, list: NodeId) -> bool {
    tree.items(tree.resolve(list)).next().is_some()
}

/// What is said of a key that one more of its name hides, and of what it holds.
pub(crate) fn unseen(tree: &Tree<'_>, key: NodeId, next: NodeId, what: &str, pointer: &str) -> Finding {
    let offset = tree.span(key).start;
    let message = format!(
        "{}: `{}` stands twice in its mapping, {}, and Kubernetes reads the last one: {what} in this one goes unseen",
        ErrorKind::DuplicateKey.word(),
        tree.scalar(key).unwrap_or_default(),
        Again::of(tree.text(), offset, tree.span(next).start),
    );
    Finding::new(Reason::Uneditable, message, offset, pointer).with_help(HELP)
}
