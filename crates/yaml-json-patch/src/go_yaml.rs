//! What Kubernetes cannot read although it is YAML: asked of every document before it is changed.
//!
//! [`to_json`] would tell, and builds the whole document to do so. Nearly every scalar can be told to be harmless by its
//! first byte; the others are read. Of tabs, [`tabs`] knows.

mod tabs;

pub use tabs::misplaced_tabs;

use crate::json::{self, is_merge_key, to_json};
use crate::tree::YamlError;
use crate::tree::{Kind, NodeId, Style, Tree};
use crate::value::is_word;

/// The first thing that sigs.k8s.io/yaml refuses in the document, or none.
///
/// Aliases multiply, and may stand in their own anchor: a document with one is read as a whole.
#[must_use]
pub fn rejected_by_go_yaml(tree: &Tree<'_>) -> Option<YamlError> {
    let root = tree.root()?;
    if let Some(tab) = tabs::misplaced_tabs(tree).first() {
        return Some(tabs::refused(tree.text(), *tab));
    }
    if tree.has_aliases() { to_json(tree, root).err() } else { node(tree, root).err() }
}

fn node(tree: &Tree<'_>, id: NodeId) -> Result<(), YamlError> {
    match tree.kind(id) {
        Kind::Mapping => tree.entries(id).try_for_each(|(key, value)| {
            if !is_plainly_a_key(tree, key) {
                if is_merge_key(tree, key) {
                    return merged(tree, value);
                }
                json::key(tree, key)?;
            }
            if is_plainly_a_value(tree, value) { Ok(()) } else { node(tree, value) }
        }),
        Kind::Sequence => tree.items(id).try_for_each(|item| node(tree, item)),
        Kind::Scalar if is_plainly_a_value(tree, id) => Ok(()),
        Kind::Scalar => json::scalar(tree, id).map(drop),
        // There is none: see above.
        Kind::Alias => Ok(()),
    }
}

/// The value of `<<`.
fn merged(tree: &Tree<'_>, value: NodeId) -> Result<(), YamlError> {
    let each = |source: NodeId| {
        if tree.kind(source) == Kind::Mapping { node(tree, source) } else { Err(json::not_to_merge(tree, source)) }
    };
    if tree.kind(value) == Kind::Sequence { tree.items(value).try_for_each(each) } else { each(value) }
}

/// False for a collection, and where it may be infinite, not a number, or something else than its tag says.
fn is_plainly_a_value(tree: &Tree<'_>, id: NodeId) -> bool {
    tree.kind(id) == Kind::Scalar
        && !tree.has_properties(id)
        && (tree.style(id) != Style::Plain || !matches!(tree.raw(id).as_bytes().first(), Some(b'.' | b'+' | b'-')))
}

/// False where it may be null, `<<`, a number too large for a key, a collection, or something else than its tag says.
fn is_plainly_a_key(tree: &Tree<'_>, id: NodeId) -> bool {
    tree.kind(id) == Kind::Scalar
        && !tree.has_properties(id)
        && (tree.style(id) != Style::Plain || is_word(tree.raw(id)))
}

#[cfg(test)]
mod tests {
    use super::rejected_by_go_yaml;
    use crate::json::to_json;
    use crate::read::read;

    /// What [`to_json`] cannot say, and nothing else.
    #[test]
    fn it_is_what_cannot_be_said_in_json() {
        for (text, readable) in [
            ("a: {n: 1, null: 2, 0x1F: 3, on: 4, .5: 5, 1e3: 6}\n", false),
            ("a: {n: 1, no: 2, 0x1F: 3, on: 4, .5: 5, 1e3: 6, name: 7, -1: 8, '~': 9, 'null': 10}\n", true),
            ("~: 1\n", false),
            (": 1\n", false),
            ("- {a: {Null: 1}}\n", false),
            ("18446744073709551615: 1\n", false),
            ("99999999999999999999: 1\n", true),
            ("9223372036854775807: 1\n", true),
            ("a: 18446744073709551616\n", true),
            ("a: [-1, +.5, -x, ., .x, -.1, 1e400, -1e400]\n", true),
            ("a: [.inf]\n", false),
            ("a: -.INF\n", false),
            ("a: '.inf'\n", true),
            ("a: .nan\n", false),
            ("a: !!int abc\n", false),
            ("a: !!int 12\n", true),
            ("a: !mine abc\n", true),
            ("a: !!binary '%'\n", false),
            ("!!int a: b\n", false),
            ("? [a]\n: b\n", false),
            ("a: {b: {{c}: d}}\n", false),
            ("a:\n  <<: [1, 2]\n", false),
            ("a:\n  <<: {b: .nan}\n", false),
            ("a:\n  <<: [{b: 1}, {c: 2}]\n", true),
            ("a:\n  <<:\n", false),
            ("a:\n  '<<': 1\n", true),
            ("x: &x [1]\na:\n  <<: *x\n", false),
            ("x: &x {y: 1}\na:\n  <<: *x\n  z: *x\n", true),
            ("a: &a [*a]\n", false),
            ("a: &a b\n*a : c\n", true),
        ] {
            let tree = read(text).unwrap();
            let (told, whole) = (rejected_by_go_yaml(&tree), to_json(&tree, tree.root().unwrap()).err());
            assert_eq!(told.is_none(), readable, "{text} {told:?}");
            assert_eq!(told.map(|error| error.message), whole.map(|error| error.message), "{text}");
        }
    }
}
