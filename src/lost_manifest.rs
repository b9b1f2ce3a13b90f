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

/// Where a second manifest begins in a resource: the first key that says once more what it is.
pub(crate) fn second_manifest(tree: &Tree<'_>, resource: NodeId) -> Option<usize> {
    let names = ["apiVersion", "kind"];
    let mut seen = [false; 2];
    tree.entries(tree.resolve(resource)).map(|(key, _)| key).find_map(|key| {
        let at = names.iter().position(|name| tree.is_key(key, name))?;
        std::mem::replace(seen.get_mut(at)?, true).then(|| tree.span(key).start)
    })
}
