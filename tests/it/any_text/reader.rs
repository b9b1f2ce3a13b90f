//! Any text: the documents cover it, both readers agree, every span lies inside, a cut list is its whole.

use manifest::list;
use manifest::prefilter::prefilter;
use yaml_json_patch::documents;
use yaml_json_patch::{self as yaml, Kind, NodeId, Tree};

pub(crate) fn hold(text: &str) {
    let mut at = 0;
    for document in documents(text) {
        assert_eq!(document.span.start, at, "the documents leave a gap");
        at = document.span.end;
        one(&text[document.span]);
    }
    assert_eq!(at, text.len(), "the documents do not reach the end");
}

fn one(text: &str) {
    let reference = yaml::read_complete(text);
    if let Some(plain) = yaml::read_fast(text) {
        assert_eq!(Ok(&plain), reference.as_ref(), "the readers differ");
    }
    let _ = prefilter(text, |kind, _| kind == "Pod");
    cut(text, reference.is_ok());
    if let Ok(tree) = reference
        && let Some(root) = tree.root()
    {
        spans(&tree, root);
        let _ = yaml::to_json(&tree, root);
    }
}

/// Every node inside its parent, behind its elder sibling; every scalar decodes.
fn spans(tree: &Tree<'_>, id: NodeId) {
    let span = tree.place(id);
    assert!(span.end <= tree.text().len());
    let _ = tree.scalar(id);
    let children: Vec<NodeId> = match tree.kind(id) {
        Kind::Mapping => tree
            .entries(id)
            .flat_map(|(key, value)| [key, value])
            .collect(),
        Kind::Sequence => tree.items(id).collect(),
        Kind::Scalar | Kind::Alias => Vec::new(),
    };
    let mut at = span.start;
    for child in children {
        assert!(tree.outer_place(child).start >= at);
        at = tree.place(child).end;
        spans(tree, child);
    }
    assert!(at <= span.end);
}

/// If all pieces of a list read, the whole does, with as many items.
fn cut(text: &str, whole: bool) {
    let Some(cut) = list::cut(text, 0..text.len()) else {
        return;
    };
    let Some(envelope) = cut.envelope() else {
        return;
    };
    let reads = |range: &std::ops::Range<usize>| {
        yaml::read(&text[range.clone()]).is_ok_and(|tree| list::item(&tree).is_some())
    };
    // Deep nesting is the one difference.
    if cut.items.iter().all(reads)
        && envelope.root().is_some()
        && text.matches(['[', '{', '-', ':']).count() < 250
    {
        assert!(whole, "all pieces read, the whole does not");
    }
}
