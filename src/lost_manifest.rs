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

use crate::change::Again;
use crate::find::{Earlier, earlier, holder, is_list, member};
use crate::lost_template::unseen;
use crate::missed::Missed;
use crate::report::{Finding, Reason};
use crate::resource::{self, item_types, resources};
use kube_core::{GroupVersionKind, TypeMeta};
use std::collections::HashSet;
use std::ops::Range;
use yaml_json_patch::ErrorKind;
use yaml_json_patch::{self as yaml, NodeId, Style, Tree};

/// What is to part two manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parting {
    /// Documents of a stream.
    Marker,
    /// Items of a list.
    Dash,
    /// Anything in brackets.
    Braces,
}

impl Parting {
    /// Of a mapping to which a JSON Pointer, in two parts, leads from a document.
    pub(crate) fn of(tree: &Tree<'_>, mapping: NodeId, root: &str, pointer: &str) -> Self {
        match tree.style(tree.resolve(mapping)) {
            Style::Flow => Self::Braces,
            _ if root.is_empty() && pointer.is_empty() => Self::Marker,
            _ => Self::Dash,
        }
    }

    /// What to do about it.
    pub(crate) fn help(self) -> &'static str {
        match self {
            Self::Marker => "put a line `---` between the two manifests",
            Self::Dash => "begin the second manifest with `- `, as an item of its own",
            Self::Braces => "put each of the two manifests in braces of its own",
        }
    }
}

/// The manifests of a mapping that Kubernetes does not read, where one would be missed. `gvk`: as what it reads the mapping,
/// unless that is a list.
pub(crate) fn lost_manifests(
    tree: &Tree<'_>,
    mapping: NodeId,
    gvk: Option<&GroupVersionKind>,
    parting: Parting,
    missed: Missed<'_>,
) -> Vec<Finding> {
    let mapping = tree.resolve(mapping);
    if !says_twice_what_it_is(tree, mapping) {
        return Vec::new();
    }
    let manifests = manifests(tree, mapping);
    let [in_front @ .., _] = manifests.as_slice() else { return Vec::new() };
    let start = |node: NodeId| tree.span(node).start;
    let hidden = |name: &'static str| -> Vec<Earlier> { earlier(tree, mapping, name).collect() };
    let (kinds, versions) = (hidden("kind"), hidden("apiVersion"));
    let read = bodies(tree, mapping, gvk, missed);
    let lost = in_front.iter().filter_map(|manifest| {
        let within = |keys: &[Earlier]| {
            let first = keys.partition_point(|hidden| start(hidden.key) < manifest.start);
            keys.get(first).filter(|hidden| manifest.contains(&start(hidden.key))).copied()
        };
        let key = within(&kinds).or_else(|| within(&versions))?;
        let is_read = read.iter().any(|body| manifest.contains(body));
        let is_lost = !is_read && is_missed(tree, mapping, manifest.clone(), &key, missed);
        is_lost.then(|| lost_manifest(tree, mapping, &key, parting))
    });
    lost.collect()
}

/// Where the manifests in a mapping stand. One more begins with an `apiVersion` or `kind` that was there before, behind
/// other keys of the one in hand; `metadata` may stand in front of it.
fn manifests(tree: &Tree<'_>, mapping: NodeId) -> Vec<Range<usize>> {
    let end = tree.span(mapping).end;
    let mut begins = Vec::new();
    let mut seen = HashSet::new();
    let (mut has_body, mut metadata) = (false, None);
    for (key, _) in tree.entries(mapping) {
        let at = tree.outer_start(key);
        if begins.is_empty() {
            begins.push(at);
        }
        let name = match ["apiVersion", "kind", "metadata"].into_iter().find(|name| tree.is_key(key, name)) {
            Some(name) => name,
            None => {
                (has_body, metadata) = (true, None);
                continue;
            }
        };
        let stands_again = !seen.insert(name);
        if name == "metadata" {
            metadata = (stands_again && has_body).then_some(at);
            has_body = true;
        } else if stands_again && has_body {
            begins.push(metadata.take().unwrap_or(at));
            has_body = false;
        }
    }
    let ends = begins.iter().skip(1).copied().chain([end]);
    begins.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// Where that stands which Kubernetes reads of a mapping: its pod templates, or a list's items.
fn bodies(tree: &Tree<'_>, mapping: NodeId, gvk: Option<&GroupVersionKind>, missed: Missed<'_>) -> Vec<usize> {
    let start = |node: NodeId| tree.span(node).start;
    if item_types(tree, mapping).is_some() {
        return member(tree, mapping, "items").map(start).into_iter().collect();
    }
    let templates = gvk.map(|gvk| missed.table.templates(tree, mapping, gvk).seen).unwrap_or_default();
    templates.iter().map(|(_, template)| start(member(tree, *template, "spec").unwrap_or(*template))).collect()
}

/// Asks of a manifest, to which that key belongs, as though it stood alone.
fn is_missed(tree: &Tree<'_>, mapping: NodeId, manifest: Range<usize>, key: &Earlier, missed: Missed<'_>) -> bool {
    let text = alone(tree, mapping, manifest);
    let Ok(alone) = yaml::read(&text) else {
        // What an anchor stands for is elsewhere.
        let kind = tree.scalar(tree.resolve(key.value)).filter(|_| tree.is_key(key.key, "kind"));
        let may_hold = kind.is_none_or(|kind| missed.table.knows_kind(&kind) || is_list(&kind));
        return may_hold && missed.may_be_in(tree.text());
    };
    let Some(root) = alone.root() else { return false };
    let is_missed_in = |api_version: String| {
        let inherited = TypeMeta { api_version, kind: String::new() };
        resources(&alone, root, &inherited).iter().any(|resource| missed.is_in(&alone, resource))
    };
    if alone.get(root, "apiVersion").is_some() {
        return is_missed_in(String::new());
    }
    // A typed list may say it for its items: any group will do.
    let kind = resource::text(&alone, root, "kind").unwrap_or_default();
    let mut groups = missed.table.kinds().filter(|(_, known)| *known == kind).map(|(group, _)| group);
    groups.any(|group| is_missed_in(if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") }))
}

/// A manifest's text, in the column or the brackets that it stands in.
fn alone(tree: &Tree<'_>, mapping: NodeId, manifest: Range<usize>) -> String {
    let text = tree.text();
    let own = text.get(manifest.clone()).unwrap_or_default();
    if tree.style(mapping) == Style::Flow {
        return format!("{{{own}}}");
    }
    let line = text.get(..manifest.start).unwrap_or_default().rsplit(['\n', '\r']).next().unwrap_or_default();
    " ".repeat(line.trim_start_matches('\u{feff}').chars().count()) + own
}

fn lost_manifest(tree: &Tree<'_>, mapping: NodeId, key: &Earlier, parting: Parting) -> Finding {
    let start = |node: NodeId| tree.span(node).start;
    let name = tree.scalar(key.key).unwrap_or_default();
    let kind = if name == "kind" { Some(key.value) } else { tree.get(mapping, "kind") };
    let kind = kind.and_then(|kind| tree.scalar(tree.resolve(kind))).unwrap_or_default();
    let message = format!(
        "{}: `{name}` stands twice in one {}, {}, and Kubernetes reads the last one: nothing becomes of this {kind}",
        ErrorKind::DuplicateKey.word(),
        if parting == Parting::Marker { "document" } else { "mapping" },
        Again::of(tree.text(), start(key.key), start(key.next)),
    );
    Finding::new(Reason::Uneditable, message, start(key.value), "").with_help(parting.help())
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
