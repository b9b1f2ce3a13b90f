//! The check of a patch against the object: one that does not apply rejects the pod, even under `failurePolicy: Ignore`.

use crate::findings::Findings;
use crate::verdict::Verdict;
use injector::TemplatePatch;
use manifest::ItemCache;
use report::Finding;
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
        None => Verdict::Allow {
            decision,
            patch: patch.seen_from(""),
            findings: warnings,
        },
        Some(path) => Verdict::Fault(format!("the operation at {path} does not apply")),
    }
}

/// Returns the path of the first operation that does not apply. Only additions are expected: nothing is replaced or removed.
fn first_that_fails(tree: &Tree<'_>, operations: &[(Operation, Option<NodeId>)]) -> Option<String> {
    // The number of additions to each mapping or list.
    let mut added: HashMap<&str, usize> = HashMap::new();
    let mut items = ItemCache::default();
    for (operation, _) in operations {
        let (Operation::Add { path, .. } | Operation::InsertBefore { path, .. }) = operation else {
            return Some("an unexpected operation".to_owned());
        };
        let path = path.as_str();
        let Some((parent, token)) = path.rsplit_once('/') else {
            return Some(path.to_owned());
        };
        let added = added.entry(parent).or_default();
        let applies = match find(tree, parent, &mut items).map(|node| (node, tree.kind(node))) {
            Some((_, Kind::Mapping)) => true,
            Some((list, Kind::Sequence)) => {
                let length = tree.items(list).count() + *added;
                token == "-" || token.parse::<usize>().is_ok_and(|index| index <= length)
            }
            _ => false,
        };
        if !applies {
            return Some(path.to_owned());
        }
        *added += 1;
    }
    None
}

/// Returns the node at a JSON Pointer.
fn find(tree: &Tree<'_>, pointer: &str, items: &mut ItemCache) -> Option<NodeId> {
    pointer
        .split('/')
        .skip(1)
        .try_fold(tree.root()?, |node, token| items.child(tree, node, token))
}
