//! Two manifests that no `---` parts are one to YAML, of which the last says what it is: a workload that stands first would
//! be gone without a word.
//!
//! ```yaml
//! kind: Deployment
//! spec: …
//! kind: Service     # all that is seen of the two
//! spec: …
//! ```

use crate::find::{Earlier, Table, earlier, is_list};
use crate::lost_template::unseen;
use crate::report::{Finding, Reason};
use crate::resource::{Resource, text};
use crate::splice::{Again, Refusal};
use crate::yaml::{NodeId, Tree};
use std::borrow::Cow;
use std::collections::HashSet;

/// What to do about it.
pub(crate) const HELP: &str = "put a line `---` between the two manifests";

/// The kinds with a pod template that stand in a resource in front of what it says that it is.
pub(crate) fn lost_manifests(tree: &Tree<'_>, resource: &Resource, table: &Table<'_>) -> Vec<Finding> {
    let kinds = earlier(tree, resource.node, "kind");
    let lost = kinds.filter(|kind| name(tree, kind.value).is_some_and(|kind| table.knows_kind(&kind)));
    lost.map(|kind| lost_kind(tree, &kind)).collect()
}

/// What is said of the list in a document of which items are not read, one of a kind with a pod template among them:
/// another `kind`, or more `items`, stand behind them.
pub(crate) fn lost_items(tree: &Tree<'_>, document: NodeId, table: &Table<'_>) -> Option<Finding> {
    let document = tree.resolve(document);
    let as_list = |kind: NodeId| name(tree, kind).filter(|kind| is_list(kind));
    let read_list = tree.get(document, "kind").and_then(as_list);
    let lost_list = earlier(tree, document, "kind").filter(|kind| as_list(kind.value).is_some()).last();
    let list = lost_list.as_ref().and_then(|kind| as_list(kind.value)).or_else(|| read_list.clone())?;
    let is_of_known_kind = |item: NodeId| match text(tree, item, "kind") {
        Some(kind) => table.knows_kind(&kind),
        None => list.strip_suffix("List").is_some_and(|kind| table.knows_kind(kind)),
    };
    let holds_some = |items: NodeId| tree.items(tree.resolve(items)).any(is_of_known_kind);
    let hidden = earlier(tree, document, "items").find(|items| holds_some(items.value));
    match lost_list {
        Some(kind) => {
            let last = tree.get(document, "items").filter(|_| read_list.is_none());
            (hidden.is_some() || last.is_some_and(holds_some)).then(|| lost_kind(tree, &kind))
        }
        None => hidden.map(|Earlier { key, next, .. }| unseen(tree, key, next, "a workload", "/items")),
    }
}

fn name<'t>(tree: &Tree<'t>, kind: NodeId) -> Option<Cow<'t, str>> {
    tree.scalar(tree.resolve(kind))
}

fn lost_kind(tree: &Tree<'_>, kind: &Earlier) -> Finding {
    let start = |node: NodeId| tree.span(node).start;
    let message = format!(
        "{}: `kind` stands twice in one document, {}, and Kubernetes reads the last one: nothing becomes of this {}",
        Refusal::DuplicateKey.word(),
        Again::of(tree.text(), start(kind.key), start(kind.next)),
        name(tree, kind.value).unwrap_or_default()
    );
    Finding::new(Reason::Uneditable, message, start(kind.value), "").with_help(HELP)
}

/// Where a second manifest begins in a resource that says twice what it is: with the first key that stands there again.
pub(crate) fn second_manifest(tree: &Tree<'_>, resource: NodeId) -> Option<usize> {
    let resource = tree.resolve(resource);
    let keys = || tree.entries(resource).map(|(key, _)| key);
    let count = |name: &str| keys().filter(|key| tree.is_key(*key, name)).count();
    if count("apiVersion") < 2 && count("kind") < 2 {
        return None;
    }
    let mut seen = HashSet::new();
    let again = keys().find(|key| tree.scalar(*key).is_some_and(|name| !seen.insert(name)))?;
    Some(tree.span(again).start)
}
