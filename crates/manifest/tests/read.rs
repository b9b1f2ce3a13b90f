//! Lists cut into items against the same lists read as a whole; the prefilter against reading.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy.toml allows them in #[test] functions only, not in their helpers"
)]

use manifest::prefilter::prefilter;
use manifest::{Prefilter, list};
use support::corpus;
use yaml_json_patch::documents;
use yaml_json_patch::{self as yaml, Kind, NodeId, Tree};

/// The same node, `shift` bytes further on, and the same below it.
fn same(
    whole: &Tree<'_>,
    a: NodeId,
    part: &Tree<'_>,
    b: NodeId,
    shift: impl Fn(usize) -> usize + Copy,
) -> bool {
    let span = part.place(b);
    let properties = |tree: &Tree<'_>, id| {
        (
            tree.kind(id),
            tree.style(id),
            tree.anchor(id).map(str::to_owned),
            tree.tag(id).map(str::to_owned),
            tree.is_aliased(id),
            tree.has_explicit_key(id),
            tree.scalar(id).map(std::borrow::Cow::into_owned),
        )
    };
    let children = |tree: &Tree<'_>, id| -> Vec<NodeId> {
        tree.items(id)
            .chain(tree.entries(id).flat_map(|(key, value)| [key, value]))
            .collect()
    };
    let (ours, theirs) = (children(whole, a), children(part, b));
    whole.place(a) == (shift(span.start)..shift(span.end))
        && whole.outer_place(a).start == shift(part.outer_place(b).start)
        && properties(whole, a) == properties(part, b)
        && ours.len() == theirs.len()
        && ours
            .iter()
            .zip(&theirs)
            .all(|(a, b)| same(whole, *a, part, *b, shift))
}

enum CutResult {
    /// The list was cut, and its items equal those of the whole document.
    Cut,
    /// The list must be read as a whole: it was not cut, or a piece did not read.
    Whole,
}

/// The claim of the list module, tried on one document.
fn check_cut(text: &str, name: &str) -> CutResult {
    let whole = yaml::read(text);
    let Some(cut) = list::cut(text, 0..text.len()) else {
        return CutResult::Whole;
    };
    let Some(envelope) = cut.envelope() else {
        return CutResult::Whole;
    };
    let mut trees = Vec::new();
    for range in &cut.items {
        match yaml::read(&text[range.clone()]) {
            Ok(tree) if list::item(&tree).is_some() => trees.push((range.start, tree)),
            _ => return CutResult::Whole,
        }
    }
    let whole = whole.unwrap_or_else(|error| {
        panic!("{name}: all pieces read, the whole does not: {error:?}\n{text}")
    });
    let root = whole.root().unwrap();
    let entries: Vec<_> = whole.entries(root).collect();
    let pieces: Vec<_> = envelope.entries(envelope.root().unwrap()).collect();
    assert_eq!(entries.len(), pieces.len(), "{name}: the envelope's keys");
    for ((key, value), (k, v)) in entries.into_iter().zip(pieces) {
        let place = |at| cut.place(at);
        assert!(
            same(&whole, key, &envelope, k, place),
            "{name}: a key of the envelope"
        );
        if whole.is_key(key, "items")
            && whole.place(key).start + "items:".len() == envelope.place(v).start
        {
            let items: Vec<NodeId> = whole.items(value).collect();
            assert_eq!(items.len(), trees.len(), "{name}: the number of items");
            for (id, (start, tree)) in items.into_iter().zip(&trees) {
                let item = list::item(tree).unwrap();
                assert!(
                    same(&whole, id, tree, item, |at| at + start),
                    "{name}: item at {start}\n{text}"
                );
            }
        } else {
            assert!(
                same(&whole, value, &envelope, v, place),
                "{name}: a value of the envelope\n{text}"
            );
        }
    }
    let covered = cut
        .items
        .windows(2)
        .all(|pair| pair[0].end == pair[1].start);
    assert!(covered, "{name}: the items leave a gap");
    CutResult::Cut
}

/// The documents of a text as items of a list, with the dashes in `column`.
fn as_items(text: &str, column: usize) -> String {
    let mut out = String::new();
    for document in documents(text) {
        let body: Vec<&str> = text[document.span]
            .lines()
            .filter(|line| !line.starts_with("---"))
            .collect();
        let Some(first) = body
            .iter()
            .position(|line| !line.is_empty() && !line.starts_with(['#', ' ', '%']))
        else {
            continue;
        };
        for (index, line) in body[first..].iter().enumerate() {
            let lead = if index == 0 { "- " } else { "  " };
            if line.is_empty() {
                out.push('\n');
            } else {
                out.push_str(&format!("{:column$}{lead}{line}\n", ""));
            }
        }
    }
    out
}

#[test]
fn a_cut_list_is_the_whole_list() {
    let head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n";
    let config = "functionConfig:\n  kind: AgentInjector\n  spec: {}\n";
    let item = "- kind: Pod # c\n  spec:\n    a: |+\n      x\n\n\n- kind: Service\n\n# c\n- {kind: Deployment, x: [1,\n  2]}\n";
    let indented = "  # c\n  - a: 1\n  -\n    b: 2\n  - - 3\n";
    let cases = [
        ("flush", format!("{head}items:\n{item}"), true),
        (
            "flush, not last",
            format!("{head}items: # c\n{item}{config}"),
            true,
        ),
        (
            "indented",
            format!("{head}{config}items:\n{indented}"),
            true,
        ),
        (
            "indented, not last",
            format!("---\n{head}items:\n\n{indented}# c\n{config}results:\n- message: m\n...\n"),
            true,
        ),
        (
            "CRLF",
            format!("{head}items:\n{item}{config}").replace('\n', "\r\n"),
            true,
        ),
        (
            "byte order mark",
            format!("\u{feff}{head}items:\n{item}"),
            true,
        ),
        (
            "no final newline",
            format!("{head}items:\n- a: |\n    x"),
            true,
        ),
        (
            "an anchor with its alias",
            format!("{head}items:\n- a: &a 1\n  b: *a\n- a: &a 2\n  b: *a\n"),
            true,
        ),
        ("null items", format!("{head}items:\n-\n-\n"), true),
        (
            "an alias into another item",
            format!("{head}items:\n- a: &a 1\n- b: *a\n"),
            false,
        ),
        (
            "an alias into the envelope",
            format!("x: &a 1\n{head}items:\n- b: *a\n"),
            false,
        ),
        (
            "an alias in the envelope",
            "x: &a 1\nitems:\n- b: &a 2\ny: *a\n".to_owned(),
            false,
        ),
        ("no items", head.to_owned(), false),
        ("items empty", format!("{head}items: []\n"), false),
        ("items null", format!("{head}items:\n{config}"), false),
        (
            "items twice",
            format!("{head}items:\n- a\nitems:\n- b\n"),
            false,
        ),
        (
            "items with an anchor",
            format!("{head}items: &a\n- a\n"),
            false,
        ),
        ("items a scalar", format!("{head}items:\n  a\n"), false),
        (
            "a dash in quotes",
            format!("{head}items:\n- a: \"x\n- b\"\n"),
            false,
        ),
        (
            "items in quotes",
            "a: \"x\nitems:\n- foo\nb: y\"\nkind: List\n".to_owned(),
            false,
        ),
        (
            "items in a deeper mapping",
            format!("{head}a:\n  items:\n  - b\n"),
            false,
        ),
        (
            "an item of flow, unclosed",
            format!("{head}items:\n- [a,\n- b]\n"),
            false,
        ),
        (
            "less indented than the dashes",
            format!("{head}items:\n  - a\n - b\n"),
            false,
        ),
        (
            "more than one root",
            format!("{head}items:\n  - a\n- b\n"),
            false,
        ),
        (
            "quoted key",
            "\"kind\": List\nitems:\n- a\n".to_owned(),
            false,
        ),
        (
            "directive",
            format!("%YAML 1.2\n---\n{head}items:\n- a\n"),
            false,
        ),
        (
            "root indented",
            "  kind: List\n  items:\n  - a\n".to_owned(),
            false,
        ),
        (
            "bare carriage return",
            format!("{head}items:\n- a\r- b\n"),
            false,
        ),
        (
            "JSON",
            "{\"kind\": \"List\", \"items\": [1]}".to_owned(),
            false,
        ),
    ];
    for (name, text, expected) in cases {
        assert_eq!(
            matches!(check_cut(&text, name), CutResult::Cut),
            expected,
            "{name}\n{text}"
        );
    }
}

#[test]
fn a_cut_list_is_the_whole_list_on_the_corpus() {
    let Some(files) = corpus::manifests("lists") else {
        return;
    };
    let (mut cut, mut whole) = (0, 0);
    for (name, bytes) in files {
        // A third of the corpus has every situation; reading each list twice as a whole is what takes the time.
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        if text.len() % 3 != 0 || text.contains('\t') {
            continue;
        }
        for column in [0, 2] {
            let items = as_items(&text, column);
            if items.is_empty() {
                continue;
            }
            let list =
                format!("kind: ResourceList\nitems:\n{items}functionConfig:\n  kind: ConfigMap\n");
            match check_cut(&list, &name) {
                CutResult::Cut => cut += 1,
                CutResult::Whole => {
                    whole += 1;
                }
            }
        }
    }
    assert!(
        cut > 6_000 && whole * 20 < cut,
        "{cut} cut, {whole} left whole"
    );
}

/// A document that the prefilter skips holds no pod template when it is read.
#[test]
fn the_prefilter_is_right_on_the_corpus() {
    let Some(files) = corpus::manifests("prefilter") else {
        return;
    };
    let (mut passed, mut read) = (0, 0);
    for (name, bytes) in files {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            continue;
        };
        for document in documents(text) {
            let text = &text[document.span];
            let Prefilter::Skip { kind, .. } = prefilter(text, |kind, _| kind == "Deployment")
            else {
                read += 1;
                continue;
            };
            passed += 1;
            let Ok(tree) = yaml::read(text) else { continue };
            let root = tree.root().unwrap();
            assert_eq!(tree.kind(root), Kind::Mapping, "{name}");
            let found = tree.get(root, "kind").and_then(|id| tree.scalar(id));
            assert_eq!(found.as_deref(), Some(kind), "{name}");
        }
    }
    assert!(passed > read * 2, "{passed} passed, {read} to be read");
}
