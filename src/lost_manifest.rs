//! What is not seen of a document because keys stand in it twice. Two manifests that no `---` parts are one to YAML, of
//! which the last says what it is:
//!
//! ```yaml
//! kind: Deployment
//! spec: …
//! kind: Service     # all that is seen of the two
//! spec: …
//! ```
//!
//! And of a list with `items` twice, the last ones are all that it has.

use crate::find::{Earlier, earlier, holder};
use crate::lost_template::unseen;
use crate::missed::Missed;
use crate::report::{Finding, Reason};
use crate::resource::{item_types, resources};
use crate::splice::{Again, Refusal};
use crate::yaml::{self, NodeId, Style, Tree};
use kube_core::TypeMeta;
use std::collections::HashSet;
use std::ops::Range;

/// What is to part two manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parting {
    /// Documents of a stream.
    Marker,
    /// Items of a list.
    Dash,
}

impl Parting {
    /// By the JSON Pointer, in two parts, that leads from a document to where they stand.
    pub(crate) fn at(root: &str, pointer: &str) -> Self {
        if root.is_empty() && pointer.is_empty() { Self::Marker } else { Self::Dash }
    }

    /// What to do about it.
    pub(crate) fn help(self) -> &'static str {
        match self {
            Self::Marker => "put a line `---` between the two manifests",
            Self::Dash => "begin the second manifest with `- `, as an item of its own",
        }
    }
}

/// The manifests that stand in a mapping in front of the one that Kubernetes reads, where one would be missed.
pub(crate) fn lost_manifests(tree: &Tree<'_>, mapping: NodeId, parting: Parting, missed: Missed<'_>) -> Vec<Finding> {
    let mapping = tree.resolve(mapping);
    let mut kinds = earlier(tree, mapping, "kind").peekable();
    if kinds.peek().is_none() {
        return Vec::new();
    }
    let manifests = manifests(tree, mapping);
    let lost = kinds.filter(|kind| {
        let at = tree.span(kind.key).start;
        let manifest = manifests.get(manifests.partition_point(|manifest| manifest.end <= at));
        manifest.is_some_and(|manifest| is_missed(tree, mapping, manifest.clone(), kind, missed))
    });
    lost.map(|kind| lost_kind(tree, &kind, parting)).collect()
}

/// Where each of the manifests in a mapping stands: one more begins with the first key that stands there again.
fn manifests(tree: &Tree<'_>, mapping: NodeId) -> Vec<Range<usize>> {
    let Range { start, end } = tree.span(mapping);
    let mut begins = vec![start];
    let mut seen = HashSet::new();
    for (key, _) in tree.entries(mapping) {
        let Some(name) = tree.scalar(key) else { continue };
        if seen.contains(&name) {
            begins.push(tree.outer_start(key));
            seen.clear();
        }
        seen.insert(name);
    }
    let ends = begins.iter().skip(1).copied().chain([end]);
    begins.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// Asks of the manifest as though it stood alone.
fn is_missed(tree: &Tree<'_>, mapping: NodeId, manifest: Range<usize>, kind: &Earlier, missed: Missed<'_>) -> bool {
    let text = tree.text();
    let before = text.get(..manifest.start).unwrap_or_default();
    let indentation = before.chars().rev().take_while(|character| !matches!(character, '\n' | '\r')).count();
    let alone = " ".repeat(indentation) + text.get(manifest).unwrap_or_default();
    let is_block = tree.style(mapping) == Style::Block;
    match yaml::read(&alone).ok().filter(|_| is_block) {
        Some(tree) => tree.root().is_some_and(|root| {
            resources(&tree, root, &TypeMeta::default()).iter().any(|resource| missed.is_in(&tree, resource))
        }),
        None => missed.may_be_in(&alone, &tree.scalar(tree.resolve(kind.value)).unwrap_or_default()),
    }
}

fn lost_kind(tree: &Tree<'_>, kind: &Earlier, parting: Parting) -> Finding {
    let start = |node: NodeId| tree.span(node).start;
    let message = format!(
        "{}: `kind` stands twice in one {}, {}, and Kubernetes reads the last one: nothing becomes of this {}",
        Refusal::DuplicateKey.word(),
        match parting {
            Parting::Marker => "document",
            Parting::Dash => "item",
        },
        Again::of(tree.text(), start(kind.key), start(kind.next)),
        tree.scalar(tree.resolve(kind.value)).unwrap_or_default()
    );
    Finding::new(Reason::Uneditable, message, start(kind.value), "").with_help(parting.help())
}

/// The items of a list that more items behind them hide, where one would be missed.
pub(crate) fn lost_items(tree: &Tree<'_>, list: NodeId, missed: Missed<'_>) -> Option<Finding> {
    let mut hidden = earlier(tree, holder(tree, list, "items")?, "items").peekable();
    hidden.peek()?;
    let inherited = item_types(tree, tree.resolve(list))?;
    // Aliases may lead to them from many keys.
    let mut looked_at = HashSet::new();
    let is_missed =
        |item: NodeId| resources(tree, item, &inherited).iter().any(|resource| missed.is_in(tree, resource));
    let Earlier { key, next, .. } = hidden.find(|items| {
        let items = tree.resolve(items.value);
        looked_at.insert(items) && tree.items(items).any(is_missed)
    })?;
    Some(unseen(tree, key, next, "a workload", ""))
}

/// True where more than one manifest may stand in a mapping.
pub(crate) fn says_twice_what_it_is(tree: &Tree<'_>, mapping: NodeId) -> bool {
    ["apiVersion", "kind"].into_iter().any(|name| earlier(tree, mapping, name).next().is_some())
}

/// Where the second of them begins.
pub(crate) fn second_manifest(tree: &Tree<'_>, mapping: NodeId) -> Option<usize> {
    if !says_twice_what_it_is(tree, mapping) {
        return None;
    }
    manifests(tree, tree.resolve(mapping)).get(1).map(|second| second.start)
}
