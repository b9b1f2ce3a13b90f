//! Two manifests that no `---` parts are one to YAML, of which the last says what it is: a workload that stands first would
//! be gone without a word.
//!
//! ```yaml
//! kind: Deployment
//! spec: …
//! kind: Service     # all that is seen of the two
//! spec: …
//! ```

use crate::find::Table;
use crate::report::{Finding, Reason};
use crate::resource::Resource;
use crate::splice::Refusal;
use crate::yaml::{NodeId, Tree};
use std::collections::HashSet;

/// What to do about it.
pub(crate) const HELP: &str = "put a line `---` between the two manifests";

/// The kinds with a pod template that stand in a resource in front of what it says that it is.
pub(crate) fn lost_manifests(tree: &Tree<'_>, resource: &Resource, table: &Table<'_>) -> Vec<Finding> {
    let entries = tree.entries(tree.resolve(resource.node));
    let kinds: Vec<NodeId> =
        entries.filter(|(key, _)| tree.is_key(*key, "kind")).map(|(_, value)| tree.resolve(value)).collect();
    let [earlier @ .., _] = kinds.as_slice() else { return Vec::new() };
    let lost = earlier.iter().filter_map(|kind| {
        let name = tree.scalar(*kind).filter(|name| table.knows_kind(name))?;
        let message = format!(
            "{}: `kind` stands twice in one document, and Kubernetes reads the last one: nothing becomes of this {name}",
            Refusal::DuplicateKey.word()
        );
        Some(Finding::new(Reason::Uneditable, message, tree.span(*kind).start, "").with_help(HELP))
    });
    lost.collect()
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
