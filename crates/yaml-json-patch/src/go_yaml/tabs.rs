//! Tabs that YAML 1.2 permits and go-yaml does not: where a key could begin, and in indentation that decides something.
//!
//! It is libyaml's scanner in small. In a block, a tab is white space only behind something on the same line that is no
//! `-`, no `?` and no `:` of a `? `; behind a plain scalar, also on the next lines, where they are indented deeper than
//! what is around it. In brackets, tabs are left to the reader of the document.

use crate::block_scalar;
use crate::read::TAB;
use crate::tree::YamlError;
use crate::tree::{Kind, NodeId, Style, Tree};

const BEHIND_A_SIGN: &str = "a tab cannot stand behind this sign; use a space";

/// The tabs that go-yaml refuses, in order of the text: of white space that holds several, the first.
#[must_use]
pub fn misplaced_tabs(tree: &Tree<'_>) -> Vec<usize> {
    let bytes = tree.text().as_bytes();
    // JSON is read as JSON.
    let root = tree.root().filter(|root| tree.style(*root) != Style::Flow);
    // Hardly any manifest has one.
    let Some(root) = root.filter(|_| memchr::memchr(b'\t', bytes).is_some()) else { return Vec::new() };
    let bom = if tree.text().starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut scan = Scan { tree, bytes, at: bom, key_may_begin: true, found: Vec::new() };
    scan.node(root, None);
    scan.until(bytes.len());
    scan.found
}

/// What is said of a tab that go-yaml refuses.
pub(super) fn refused(text: &str, offset: usize) -> YamlError {
    let indents = before(text.as_bytes(), offset).iter().all(|byte| matches!(byte, b' ' | b'\t'));
    YamlError { offset, message: if indents { TAB } else { BEHIND_A_SIGN }.to_owned() }
}

/// What stands before it on its line.
fn before(bytes: &[u8], at: usize) -> &[u8] {
    let before = bytes.get(..at).unwrap_or_default();
    let line = before.rsplit(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
}

struct Scan<'a, 't> {
    tree: &'a Tree<'t>,
    bytes: &'t [u8],
    /// Everything before it has been looked at.
    at: usize,
    key_may_begin: bool,
    found: Vec<usize>,
}

impl Scan<'_, '_> {
    /// A node in a block collection whose keys or dashes stand in that column.
    fn node(&mut self, id: NodeId, column: Option<usize>) {
        let span = self.tree.span(id);
        self.until(span.start);
        match (self.tree.kind(id), self.tree.style(id)) {
            (Kind::Mapping | Kind::Sequence, Style::Block) => {
                let column = String::from_utf8_lossy(before(self.bytes, span.start)).chars().count();
                return self.tree.children(id).for_each(|child| self.node(child, Some(column)));
            }
            (_, Style::Literal | Style::Folded) => return self.block_scalar(id),
            // No value, where one could be.
            (Kind::Scalar, Style::Plain) if span.is_empty() => return,
            _ => {}
        }
        self.at = span.end;
        self.key_may_begin = false;
        if (self.tree.kind(id), self.tree.style(id)) == (Kind::Scalar, Style::Plain) {
            self.behind_plain(column.map_or(0, |column| column + 1));
        }
    }

    /// A tab that cannot stand there, and the white space that it begins.
    fn misplaced(&mut self) {
        self.found.push(self.at);
        self.at += self.bytes.iter().skip(self.at).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    }

    /// White space that belongs to a plain scalar, since the scalar might go on behind it.
    fn behind_plain(&mut self, indentation: usize) {
        let mut line = self.at;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' | b'\r' => {
                    self.key_may_begin = true;
                    line = self.at + 1;
                }
                b'\t' if self.key_may_begin && self.at - line < indentation => {
                    self.misplaced();
                    continue;
                }
                b' ' | b'\t' => {}
                _ => break,
            }
            self.at += 1;
        }
    }

    /// Up to the end of the lines that may belong to it.
    fn block_scalar(&mut self, id: NodeId) {
        let span = self.tree.span(id);
        let header = block_scalar::header(self.tree.text(), span.start);
        let indentation = self.tree.content_column(id) as usize;
        let mut is_known = header.indicator.is_some();
        self.at = header.body;
        self.key_may_begin = true;
        while let Some(line) = self.bytes.get(self.at..).filter(|line| !line.is_empty()) {
            let spaces = line.iter().take_while(|byte| **byte == b' ').count();
            match line.get(spaces) {
                Some(b'\t') if !is_known || spaces < indentation => self.found.push(self.at + spaces),
                None | Some(b'\n' | b'\r') => {}
                Some(_) if self.at >= span.end => break,
                Some(_) => is_known = true,
            }
            self.at = block_scalar::line_end(self.bytes, self.at).1;
        }
    }

    /// What stands between nodes, up to `to`: white space, comments, signs, markers, directives, anchors and tags.
    fn until(&mut self, to: usize) {
        while self.at < to {
            match self.bytes.get(self.at) {
                Some(b'\t') if self.key_may_begin => self.misplaced(),
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\n' | b'\r') => {
                    self.key_may_begin = true;
                    self.at += 1;
                }
                Some(b'#' | b'%') => self.at = block_scalar::line_end(self.bytes, self.at).0,
                _ => {
                    let rest = self.bytes.get(self.at..to).unwrap_or_default();
                    let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
                    self.key_may_begin = match rest.get(..end) {
                        Some(b"-" | b"?") => true,
                        Some(b":") => before(self.bytes, self.at).iter().all(|byte| matches!(byte, b' ' | b'-' | b'?')),
                        _ => false,
                    };
                    self.at += end.max(1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::go_yaml::rejected_by_go_yaml;
    use crate::read::read;

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
            "a: |\n  →b\n",
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
            let told = error.map(|error| (error.offset, error.message.starts_with("a tab")));
            assert_eq!(told, Some((at, true)), "{text:?}");
        }
    }

    #[test]
    fn each_is_told() {
        let text = "a:\n b: |\n  c\n →\n d:\n→ → # e\n  - →f\n".replace('→', "\t");
        let tree = read(&text).unwrap();
        assert_eq!(super::misplaced_tabs(&tree), [14, 20, 32]);
    }
}
