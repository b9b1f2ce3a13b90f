//! Collections of an edited text that were read before, in the text as it was or in another one: their nodes are copied.
//!
//! A collection in block style reads the same wherever the same bytes stand in the same column, if there are no anchors and tags,
//! and if the line after it cannot belong to it. So only places are guessed, from the edits; the bytes are compared.

use super::FastReader;
use crate::read::fast;
use crate::read::scanner::Scan;
use crate::tree::{Buffer, Kind, NONE, Node, Style, Tree, narrow};

/// A part of a text that no edit has changed, with its offsets before and after.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unchanged {
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) len: usize,
}

/// A collection in block style, apart from the text in which it was read.
#[derive(Debug)]
pub(crate) struct Fragment {
    column: usize,
    text: Box<str>,
    nodes: Vec<Node>,
}

impl Fragment {
    /// Reads a text whose first line begins in the column, as far as the fast reader takes it; other texts have no nodes.
    pub(crate) fn read(column: usize, text: &str) -> Self {
        let line = format!("{:column$}{text}\n", "");
        let nodes = match fast::read_into(&line, None, &mut Buffer::default()) {
            Some(tree) if tree.properties.is_empty() => tree.nodes,
            _ => Vec::new(),
        };
        Self {
            column,
            text: text.into(),
            nodes,
        }
    }

    pub(crate) fn is(&self, column: usize, text: &str) -> bool {
        self.column == column && *self.text == *text
    }
}

/// The collections that were read before: those of the text before its edits, and fragments that stood in other texts.
pub(crate) struct Reuse<'r> {
    nodes: &'r [Node],
    text: &'r [u8],
    unchanged: Vec<Unchanged>,
    fragments: &'r [Fragment],
}

impl<'r> Reuse<'r> {
    pub(crate) fn new(
        before: &'r Tree<'_>,
        unchanged: Vec<Unchanged>,
        fragments: &'r [Fragment],
    ) -> Self {
        let text = before.text.as_bytes();
        // A byte order mark has bytes and no columns.
        let is_usable = before.properties.is_empty() && !text.starts_with(b"\xef\xbb\xbf");
        Self {
            nodes: if is_usable { &before.nodes } else { &[] },
            text,
            unchanged,
            fragments,
        }
    }
}

/// The nodes of a collection that was read before, and its bytes.
struct Known<'r> {
    nodes: &'r [Node],
    /// The index of the first of them in its tree.
    first: usize,
    text: &'r [u8],
}

impl Known<'_> {
    fn stands_at(&self, scan: Scan<'_>, pos: usize) -> bool {
        scan.0.get(pos..pos + self.text.len()) == Some(self.text)
    }
}

/// The way through a [`Reuse`], along the edited text.
pub(super) struct Cursor<'r> {
    reuse: &'r Reuse<'r>,
    unchanged: usize,
    node: usize,
}

impl<'r> Cursor<'r> {
    pub(super) fn new(reuse: &'r Reuse<'r>) -> Self {
        Self {
            reuse,
            unchanged: 0,
            node: 0,
        }
    }

    /// The collection that stands at a place of the edited text.
    fn known(&mut self, scan: Scan<'_>, pos: usize, column: usize) -> Option<Known<'r>> {
        let known = match self.unchanged_at(pos) {
            Some(part) => self.before(part, pos, column)?,
            None => return self.fragment(scan, pos, column),
        };
        known.stands_at(scan, pos).then_some(known)
    }

    fn unchanged_at(&mut self, pos: usize) -> Option<Unchanged> {
        while let Some(part) = self.reuse.unchanged.get(self.unchanged) {
            if pos < part.after + part.len {
                return (pos >= part.after).then_some(*part);
            }
            self.unchanged += 1;
        }
        None
    }

    /// The collection that stood there before the edits, if they have left it whole.
    fn before(&mut self, part: Unchanged, pos: usize, column: usize) -> Option<Known<'r>> {
        let Reuse { nodes, text, .. } = self.reuse;
        let offset = pos - part.after + part.before;
        while (nodes.get(self.node)?.start as usize) < offset {
            self.node += 1;
        }
        let root = nodes.get(self.node)?;
        let end = root.end as usize;
        let is_whole = end <= part.before + part.len;
        if root.start as usize != offset || root.style != Style::Block || !is_whole {
            return None;
        }
        let line = memchr::memrchr(b'\n', text.get(..offset)?).map_or(0, |feed| feed + 1);
        if offset - line != column {
            return None;
        }
        let rest = nodes.get(self.node..)?;
        // The last node may be a null, which begins where the collection ends.
        let len = rest.partition_point(|node| node.start <= root.end);
        Some(Known {
            nodes: rest.get(..len)?,
            first: self.node,
            text: text.get(offset..end)?,
        })
    }

    fn fragment(&self, scan: Scan<'_>, pos: usize, column: usize) -> Option<Known<'r>> {
        for fragment in self.reuse.fragments {
            let known = Known {
                nodes: &fragment.nodes,
                first: 0,
                text: fragment.text.as_bytes(),
            };
            if fragment.column == column && known.stands_at(scan, pos) {
                return Some(known);
            }
        }
        None
    }
}

/// Gives where the next line begins, if the collection before it cannot go on there.
fn line_after(scan: Scan<'_>, end: usize, column: usize, kind: Kind) -> Option<usize> {
    let next = scan.rest(end)?;
    let mut at = next;
    loop {
        let content = scan.spaces(at);
        match scan.byte(content) {
            None => return Some(next),
            Some(b'\n' | b'\r' | b'#') => at = scan.next_line(content),
            Some(_) => {
                // The dashes of a sequence may be in the column of its key, and so of the next key.
                let is_key = kind == Kind::Sequence && !scan.is_dash(content);
                let below = content - at;
                let has_ended = below < column || below == column && is_key;
                return has_ended.then_some(next);
            }
        }
    }
}

impl FastReader<'_> {
    /// Copies the nodes of a collection that was read before. Gives where the next line begins.
    ///
    /// It may be too deep for this reader at its new place, never for the complete one.
    #[inline]
    pub(super) fn reused(&mut self, pos: usize, column: usize) -> Option<usize> {
        let known = self.reuse.as_mut()?.known(self.scan, pos, column)?;
        let (root, below) = known.nodes.split_first()?;
        // A block scalar may go on in the lines after it, and an anchor names what follows it.
        let is_open = below.last()?.style.is_block_scalar();
        if is_open || self.anchor.is_some() {
            return None;
        }
        let end = pos + known.text.len();
        let next = line_after(self.scan, end, column, root.kind)?;
        self.awaiting = None;
        let id = self.add(Node::new(root.kind, root.style, pos..end, NONE));
        let shift = Shift {
            nodes: id.wrapping_sub(narrow(known.first)),
            bytes: narrow(pos).wrapping_sub(root.start),
        };
        if let Some(copy) = self.nodes.last_mut() {
            *copy = Node {
                next: NONE,
                ..shift.of(root)
            };
        }
        self.nodes.extend(below.iter().map(|node| shift.of(node)));
        self.last_end = end;
        Some(next)
    }
}

/// From a node of one tree to its copy in another.
struct Shift {
    nodes: u32,
    bytes: u32,
}

impl Shift {
    fn node(&self, id: u32) -> u32 {
        if id == NONE {
            NONE
        } else {
            id.wrapping_add(self.nodes)
        }
    }

    fn of(&self, node: &Node) -> Node {
        Node {
            start: node.start.wrapping_add(self.bytes),
            end: node.end.wrapping_add(self.bytes),
            next: self.node(node.next),
            child: match node.kind {
                Kind::Mapping | Kind::Sequence => self.node(node.child),
                // Of a block scalar, it is a number of columns.
                Kind::Scalar | Kind::Alias => node.child,
            },
            ..*node
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::edit::{self, Edit};
    use crate::read::{Fragment, Reuse, read, read_fast};
    use crate::tree::{Buffer, NodeId};

    /// Edits a text, and returns the collections of the result that were copied, without those that are within another.
    fn copied(before: &str, edit: Edit, fragments: &[Fragment]) -> Vec<String> {
        let edits = [edit];
        let after = edit::apply(before, &edits);
        let mut tree = read_fast(before).unwrap();
        // Marks what was read before: no other node has this flag.
        for node in &mut tree.nodes {
            node.explicit_key = true;
        }
        let reuse = Reuse::new(&tree, edit::unchanged(before, &edits), fragments);
        let mut again = super::fast::read_into(&after, Some(&reuse), &mut Buffer::default());
        let again = again.get_or_insert_with(|| panic!("left to the complete reader: {after:?}"));
        let mut found = Vec::new();
        let mut end = 0;
        for (index, node) in again.nodes.iter_mut().enumerate() {
            let is_copied = std::mem::take(&mut node.explicit_key);
            if is_copied && node.start as usize >= end {
                end = node.end as usize;
                found.push(NodeId(u32::try_from(index).unwrap()));
            }
        }
        assert_eq!(Ok(&*again), read(&after).as_ref(), "{after:?}");
        found
            .into_iter()
            .map(|id| again.raw(id).to_owned())
            .collect()
    }

    #[test]
    fn collections_that_the_edits_leave_whole_are_copied() {
        let text = "a:\n  b: 1 # one\n  c:\n  - d: |\n      e\n    f: g\n\n# h\ni:\n- j\n";
        for (at, new, expected) in [
            (
                text.len(),
                "k: l\n",
                &["b: 1 # one\n  c:\n  - d: |\n      e\n    f: g", "- j"][..],
            ),
            (
                text.len(),
                "- l\n",
                &["b: 1 # one\n  c:\n  - d: |\n      e\n    f: g"],
            ),
            (
                text.find("\n# h").unwrap(),
                "  l: m\n",
                &["- d: |\n      e\n    f: g", "- j"],
            ),
            (text.find("\n# h").unwrap(), "    l: m\n", &["- j"]),
            (
                0,
                "k: l\n",
                &["b: 1 # one\n  c:\n  - d: |\n      e\n    f: g", "- j"],
            ),
        ] {
            assert_eq!(
                copied(text, Edit::insert(at, new), &[]),
                expected,
                "{new:?}"
            );
        }
    }

    /// Lines of white space and what looks like a comment may belong to the block scalar above them.
    #[test]
    fn a_collection_that_ends_in_a_block_scalar_is_read() {
        let text = "a:\n  b: |+\n    c\nd: 1\n";
        for new in ["\n", "    # c\n", "    c\n"] {
            let edit = Edit::insert(text.find("d:").unwrap(), new);
            assert_eq!(copied(text, edit, &[]), Vec::<String>::new(), "{new:?}");
        }
    }

    #[test]
    fn collections_of_other_texts_are_copied_in_their_column() {
        let mut fragments = [Fragment::read(4, "b: 1\n    c: [d]")];
        for node in &mut fragments[0].nodes {
            node.explicit_key = true;
        }
        let text = "a:\n  - e: 2\n";
        for (new, expected) in [
            ("  - b: 1\n    c: [d]\n", &["e: 2", "b: 1\n    c: [d]"][..]),
            ("  - b: 1\n    c: [d] # e\n", &["e: 2", "b: 1\n    c: [d]"]),
            ("  - b: 1\n    c: [d]\n    e: 3\n", &["e: 2"]),
            ("f:\n  - b: 1\n    c: [e]\n", &["- e: 2"]),
        ] {
            let edit = Edit::insert(text.len(), new);
            assert_eq!(copied(text, edit, &fragments), expected, "{new:?}");
        }
    }
}
