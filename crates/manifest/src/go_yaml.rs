//! YAML that go-yaml rejects, and with it everything that reads by sigs.k8s.io/yaml: kubectl, Helm, kustomize.
//!
//! [`to_json`] would say so, but builds the whole document, so that it is asked where [`is_plainly_json`] does not know.

use std::ops::Range;
use yaml_json_patch::{NodeId, Style, Tree, YamlError, is_plainly_json, to_json};

const TAB: &str = "a tab cannot be used for indentation; use spaces";

/// Returns the first reason why sigs.k8s.io/yaml rejects the document, if there is one.
#[must_use]
pub fn rejected_by_go_yaml(tree: &Tree<'_>) -> Option<YamlError> {
    let root = tree.root()?;
    let error = if let Some(tab) = misplaced_tabs(tree).first() {
        YamlError::new(*tab, TAB.to_owned())
    } else if is_plainly_json(tree) {
        return None;
    } else {
        to_json(tree, root).err()?
    };
    Some(YamlError::new(tree.start() + error.offset, error.message))
}

/// Returns the tabs that go-yaml rejects, although YAML 1.2 permits some of them: the first of each line of block style that
/// has one in its leading white space, `-`, `?` and `:` included.
///
/// Behind a plain scalar go-yaml permits lines of white space, and comments, that are indented deeper than the scalar's key:
///
/// ```yaml
/// key: plain
///    →         # permitted
/// next: 'quoted'
///    →         # rejected
/// ```
#[must_use]
pub fn misplaced_tabs(tree: &Tree<'_>) -> Vec<usize> {
    let text = tree.text();
    let mut found = Vec::new();
    // JSON is read as JSON. Hardly any other document has a tab.
    let is_json = tree
        .root()
        .is_none_or(|root| tree.style(root) == Style::Flow);
    if is_json || memchr::memchr(b'\t', text.as_bytes()).is_none() {
        return found;
    }
    let mut leaves = Vec::new();
    leaves_of(tree, tree.root(), &mut leaves);
    let mut above = None;
    let mut end = 0;
    // Tabs inside scalars and brackets are text, or no concern of go-yaml.
    for leaf in leaves {
        let place = tree.place(leaf);
        let span = place.start - tree.start()..place.end - tree.start();
        if span.start >= end {
            found.extend(rejected_tabs(text, above.as_ref(), end..span.start));
            end = span.end;
            above = (tree.style(leaf) == Style::Plain && !span.is_empty()).then_some(span);
        }
    }
    found.extend(rejected_tabs(text, above.as_ref(), end..text.len()));
    found
}

/// The scalars, aliases and brackets, in their order.
fn leaves_of(tree: &Tree<'_>, node: Option<NodeId>, leaves: &mut Vec<NodeId>) {
    let Some(node) = node else { return };
    if tree.style(node) != Style::Block {
        leaves.push(node);
    }
    for (key, value) in tree.entries(node) {
        leaves_of(tree, Some(key), leaves);
        leaves_of(tree, Some(value), leaves);
    }
    for item in tree.items(node) {
        leaves_of(tree, Some(item), leaves);
    }
}

/// The leading tabs between two nodes, but for those that go-yaml takes for a part of the plain scalar above, which might go on
/// after them.
fn rejected_tabs(
    text: &str,
    above: Option<&Range<usize>>,
    within: Range<usize>,
) -> impl Iterator<Item = usize> {
    let mut tabs = leading_tabs(text, within).peekable();
    let permitted = above.filter(|_| tabs.peek().is_some()).map(|scalar| {
        let indentation = before(text, scalar.start)
            .bytes()
            .take_while(|byte| b" -?:".contains(byte))
            .count();
        let white = text[scalar.end..]
            .bytes()
            .take_while(u8::is_ascii_whitespace)
            .count();
        (indentation, scalar.end + white)
    });
    tabs.filter(move |tab| {
        permitted
            .is_none_or(|(indentation, end)| *tab > end || before(text, *tab).len() <= indentation)
    })
}

/// The first tab of each line, if only spaces and the signs of keys and items are before it.
fn leading_tabs(text: &str, within: Range<usize>) -> impl Iterator<Item = usize> {
    let mut at = within.start;
    std::iter::from_fn(move || {
        let tab = at + memchr::memchr(b'\t', text.as_bytes().get(at..within.end)?)?;
        let rest = &text.as_bytes()[tab..within.end];
        at = tab + memchr::memchr2(b'\n', b'\r', rest).map_or(rest.len(), |end| end + 1);
        Some(tab)
    })
    .filter(|tab| {
        before(text, *tab)
            .split_ascii_whitespace()
            .all(|sign| matches!(sign, "-" | "?" | ":"))
    })
}

/// The part of a line that is before the offset.
fn before(text: &str, at: usize) -> &str {
    let line = text[..at].rsplit(['\n', '\r']).next().unwrap_or_default();
    line.strip_prefix('\u{feff}').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::{misplaced_tabs, rejected_by_go_yaml};
    use yaml_json_patch::{read, to_json};

    /// The documents that [`to_json`] rejects, and no others.
    #[test]
    fn it_is_what_cannot_be_said_in_json() {
        for (text, readable) in [
            ("a: {n: 1, null: 2, 0x1F: 3, on: 4, .5: 5, 1e3: 6}\n", false),
            (
                "a: {n: 1, no: 2, 0x1F: 3, on: 4, .5: 5, 1e3: 6, name: 7, -1: 8, '~': 9, 'null': 10}\n",
                true,
            ),
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
            let (found, whole) = (
                rejected_by_go_yaml(&tree),
                to_json(&tree, tree.root().unwrap()).err(),
            );
            assert_eq!(found.is_none(), readable, "{text} {found:?}");
            assert_eq!(
                found.map(|error| error.message),
                whole.map(|error| error.message),
                "{text}"
            );
        }
    }

    /// Each was read, or refused there, by kubectl 1.37, kustomize 5.6 and 5.8, and kpt.
    #[test]
    fn they_are_those_that_kubernetes_does_not_read() {
        for text in [
            "a:\tb\n",
            "a:\t\n  b: 1\n",
            "a: \t# c\n  b: 1\n",
            "a: b\t# c\n",
            "a: b\t\nc: d\n",
            "a: 'b'\t\n",
            "a\t: b\n",
            "a:\n  b: c\n    \t\n  d: 1\n",
            "a:\n  b: c\n    \t# d\n  e: 1\n",
            "a:\n  b: c\n    \t\n",
            "a:\n  b: c\n     \td\n",
            "a: {\n\t\n  b: c\n  }\n",
            "a: {\n\t# c\n  b: c\n  }\n",
            "a: {\tb:\tc\t}\n",
            "{\n\t\"a\": {\n\t\t\"b\": \"c\"\n\t}\n}\n",
            "\t{\"a\": 1}\n\t\n",
            "a: |\n  b\n  \tc\n",
            "a: |\t\n  b\n",
            "a: |+\n  b\n\n  \t\nc: 1\n",
            "a: |2\n  \tb\n",
            "a: &b\tc\n",
            "- &a\tb\n",
            "- &a\tb: c\n",
            "a: !!str\tb\n",
            "---\t\na: b\n",
            "---\t# c\na: b\n",
            "a: b\n...\t\n",
            "a: '\tb\tc'\n",
            "a: \"\tb\"\n",
            "a: b\tc\n",
            "# \ta\na: b #\tc\n",
        ] {
            assert_eq!(rejected_by_go_yaml(&read(text).unwrap()), None, "{text:?}");
        }
        for text in [
            "a:\n →b: c\n",
            "a:\n  →b: c\n",
            "a:\n  →{b: c}\n",
            "a:\n  b:\n   →'c'\n",
            "a:\n  →- b\n",
            "→\na: b\n",
            "→# c\na: b\n",
            "a:\n→\n  b: c\n",
            "a:\n   →\n  b: c\n",
            "a:\n→# c\n  b: c\n",
            "a:\n  b: c\n→\n  d: e\n",
            "a:\n  b: c\n  →\n  d: e\n",
            "a:\n  b: c\n→# d\n  e: f\n",
            "a:\n  b: 'c'\n→\n  d: e\n",
            "a:\n  b: 'c'\n    →\n  d: e\n",
            "a:\n  b: 'c'\n→# d\n",
            "a: {b: c}\n→\n",
            "a:\n  b: c\n→\n",
            "a:\n  b: c\n→",
            "a: |\n→\n",
            "a: |\n  b\n→\n",
            "a: |\n  b\n →\nc: 1\n",
            "- →a\n",
            "-→a\n",
            "-→'a'\n",
            "-→a: b\n",
            "-→# c\n  a\n",
            "-→\n  a\n",
            "- -→a\n",
            "?→a\n: b\n",
            "? a\n:→b\n",
        ] {
            let at = text.find('→').unwrap();
            let text = text.replace('→', "\t");
            let error = read(&text).map_or_else(Some, |tree| rejected_by_go_yaml(&tree));
            let found = error.map(|error| (error.offset, error.message.starts_with("a tab")));
            assert_eq!(found, Some((at, true)), "{text:?}");
        }
    }

    #[test]
    fn each_misplaced_tab_is_found() {
        let text = "a:\n b: |\n  c\n →\n d:\n→ → # e\n  - →f\n".replace('→', "\t");
        let tree = read(&text).unwrap();
        assert_eq!(misplaced_tabs(&tree), [14, 20, 32]);
    }
}
