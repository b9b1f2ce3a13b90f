//! Two manifests that no `---` parts are one to YAML, of which the last says what it is: a workload that stands first would
//! be gone without a word.
//!
//! ```yaml
//! kind: Deployment
//! spec: …
//! kind: Service     # all that is seen of the two
//! spec: …
//! ```

use crate::find::{Table, is_list};
use crate::lost_template::unseen;
use crate::report::{Finding, Reason};
use crate::resource::{Resource, text};
use crate::splice::Refusal;
use crate::yaml::{NodeId, Tree};
use std::collections::HashSet;

/// What to do about it.
pub(crate) const HELP: &str = "put a line `---` between the two manifests";

/// The kinds with a pod template that stand in a resource in front of what it says that it is.
pub(crate) fn lost_manifests(tree: &Tree<'_>, resource: &Resource, table: &Table<'_>) -> Vec<Finding> {
    let kinds = members(tree, tree.resolve(resource.node), "kind");
    let [earlier @ .., _] = kinds.as_slice() else { return Vec::new() };
    let is_known = |kind: NodeId| tree.scalar(kind).is_some_and(|name| table.knows_kind(&name));
    let lost = earlier.iter().map(|(_, kind)| tree.resolve(*kind)).filter(|kind| is_known(*kind));
    lost.map(|kind| lost_kind(tree, kind)).collect()
}

/// What is said of the list in a document of which items are not read, one of a kind with a pod template among them:
/// another `kind`, or more `items`, stand behind them.
pub(crate) fn lost_items(tree: &Tree<'_>, document: NodeId, table: &Table<'_>) -> Option<Finding> {
    let document = tree.resolve(document);
    let (kinds, mut items) = (members(tree, document, "kind"), members(tree, document, "items"));
    if kinds.len() < 2 && items.len() < 2 {
        return None;
    }
    let (last, earlier) = kinds.split_last()?;
    let list = |(_, kind): &(NodeId, NodeId)| {
        let kind = tree.resolve(*kind);
        tree.scalar(kind).filter(|name| is_list(name)).map(|name| (kind, name))
    };
    if list(last).is_some() {
        // They are read.
        items.pop();
    }
    let lost_list = earlier.iter().rev().find_map(list);
    let (_, typed) = lost_list.clone().or_else(|| list(last))?;
    let is_of_known_kind = |item: NodeId| match text(tree, item, "kind") {
        Some(kind) => table.knows_kind(&kind),
        None => typed.strip_suffix("List").is_some_and(|kind| table.knows_kind(kind)),
    };
    let (key, _) = *items.iter().find(|(_, items)| tree.items(tree.resolve(*items)).any(is_of_known_kind))?;
    Some(match lost_list {
        Some((kind, _)) => lost_kind(tree, kind),
        None => unseen(tree, key, "a workload", "/items"),
    })
}

fn lost_kind(tree: &Tree<'_>, kind: NodeId) -> Finding {
    let message = format!(
        "{}: `kind` stands twice in one document, and Kubernetes reads the last one: nothing becomes of this {}",
        Refusal::DuplicateKey.word(),
        tree.scalar(kind).unwrap_or_default()
    );
    Finding::new(Reason::Uneditable, message, tree.span(kind).start, "").with_help(HELP)
}

/// Keys of this name and their values, in order of the text.
fn members(tree: &Tree<'_>, mapping: NodeId, name: &str) -> Vec<(NodeId, NodeId)> {
    tree.entries(mapping).filter(|(key, _)| tree.is_key(*key, name)).collect()
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
