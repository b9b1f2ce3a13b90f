//! The check of a patch against the object: one that does not apply rejects the pod, even under `failurePolicy: Ignore`.

use crate::admission::Verdict;
use crate::admission::response::Findings;
use crate::manifest::item_cache::ItemCache;
use crate::reconcile::patch::TemplatePatch;
use crate::report::Finding;
use std::collections::HashMap;
use yaml_json_patch::{Kind, NodeId, Operation, Tree};

/// Answers with the operations, or with a fault if one of them does not apply.
pub(super) fn verdict(
    tree: &Tree<'_>,
    decision: Finding,
    patch: TemplatePatch,
    warnings: Findings,
) -> Verdict {
    match first_that_fails(tree, &patch.operations) {
        None => Verdict::Patch(decision, patch.seen_from(""), warnings),
        Some(path) => Verdict::Fault(format!("the operation at {path} does not apply")),
    }
}

/// Returns the path of the first operation that does not apply. Only additions are expected: nothing is replaced or removed.
fn first_that_fails(tree: &Tree<'_>, operations: &[Operation]) -> Option<String> {
    let mut added: HashMap<&str, usize> = HashMap::new();
    let mut items = ItemCache::default();
    operations.iter().find_map(|operation| {
        let (Operation::Add { path, .. } | Operation::InsertBefore { path, .. }) = operation else {
            return Some("an unexpected operation".to_owned());
        };
        let path = path.as_str();
        let applies = path.rsplit_once('/').is_some_and(|(parent, token)| {
            let before = added.entry(parent).or_default();
            let Some(node) = find(tree, parent, &mut items) else {
                return false;
            };
            let applies = match tree.kind(node) {
                Kind::Mapping => true,
                Kind::Sequence => {
                    token == "-"
                        || token
                            .parse::<usize>()
                            .is_ok_and(|at| at <= tree.items(node).count() + *before)
                }
                _ => false,
            };
            *before += 1;
            applies
        });
        (!applies).then(|| path.to_owned())
    })
}

/// The node at a JSON Pointer.
fn find(tree: &Tree<'_>, pointer: &str, items: &mut ItemCache) -> Option<NodeId> {
    pointer
        .split('/')
        .skip(1)
        .try_fold(tree.root()?, |node, token| items.child(tree, node, token))
}
