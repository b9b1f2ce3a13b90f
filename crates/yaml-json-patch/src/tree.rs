//! The located tree of one YAML document: flat, borrowed, cheap to build and to throw away.
//!
//! Places are bytes of [`Tree::source`], normalised so that no reader's habits show:
//! - plain and quoted scalars: exactly their characters, quotes included
//! - block scalars: from the `|` or `>` to the end of the last line that belongs to the value (all trailing blank
//!   lines with `+`, none otherwise), without that line's line break
//! - empty (null) nodes: zero width, just after the `:`, `-` or `?` or the properties they follow
//! - flow collections: brackets included
//! - block mappings: from their first key (or its properties, or `?`); block sequences: from their first dash;
//!   both to the end of their last descendant
//! - anchors and tags are outside: see [`Tree::outer_place`]

use std::collections::BTreeMap;
use std::ops::Range;

/// Index of a node in its [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `a: 1` or `{a: 1}`
    Mapping,
    /// `- 1` or `[1]`
    Sequence,
    /// Any scalar, also the empty one
    Scalar,
    /// `*name`
    Alias,
}

/// The style in which a node is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A collection by indentation
    Block,
    /// A collection in brackets
    Flow,
    /// A scalar without quotes, also the empty one; aliases too
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

impl Style {
    pub(crate) fn is_block_scalar(self) -> bool {
        matches!(self, Style::Literal | Style::Folded)
    }
}

/// No node: end of a sibling chain, no child, no alias target.
pub(crate) const NONE: u32 = u32::MAX;

/// Returns an offset as a tree has it. Offsets fit: the text's length was checked.
pub(crate) fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(NONE)
}

/// The child of a plain scalar of several lines, which are to be joined. A reader of a node sees its kind and style first, and a
/// flag of its own would make every node longer.
pub(crate) const SEVERAL_LINES: u32 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) style: Style,
    /// The mapping holds a `? ` key, which the splicer leaves alone.
    pub(crate) explicit_key: bool,
    /// The node has an anchor or tag, which is in `properties`.
    pub(crate) has_properties: bool,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Next sibling. In a mapping, keys and values alternate in one chain.
    pub(crate) next: u32,
    /// First child; of an alias: the node that it refers to; of a block scalar: its content's indentation in columns; of a plain
    /// scalar: none, or [`SEVERAL_LINES`].
    pub(crate) child: u32,
}

impl Node {
    /// Returns a node without properties and siblings.
    #[inline]
    pub(crate) fn new(kind: Kind, style: Style, range: Range<usize>, child: u32) -> Self {
        Node {
            kind,
            style,
            explicit_key: false,
            has_properties: false,
            start: narrow(range.start),
            end: narrow(range.end),
            next: NONE,
            child,
        }
    }
}

/// Anchor and tag of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Properties {
    pub(crate) node: u32,
    /// The beginning of the first of them.
    pub(crate) start: u32,
    /// Name without `&`.
    pub(crate) anchor: Option<Range<u32>>,
    /// The tag as written, with `!`.
    pub(crate) tag: Option<Range<u32>>,
    /// An alias refers to this anchor.
    pub(crate) aliased: bool,
}

/// A collection that the fast reader has not finished.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub(crate) node: u32,
    pub(crate) last_child: u32,
    /// The column of its dashes or keys; no meaning in flow style.
    pub(crate) column: u32,
    pub(crate) mapping: bool,
}

/// The memory of a tree, to be used again for the next one.
#[derive(Debug, Default)]
pub struct Buffer {
    pub(crate) nodes: Vec<Node>,
    pub(crate) open: Vec<Open>,
}

/// A parsed document with the place of each node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree<'t> {
    /// The text that the tree's own is a piece of, often all of it.
    pub(crate) source: &'t str,
    /// The offset of the tree's own text in the source.
    pub(crate) start: usize,
    pub(crate) text: &'t str,
    pub(crate) nodes: Vec<Node>,
    /// Sorted by node.
    pub(crate) properties: Vec<Properties>,
    /// The handles that `%TAG` directives at the head declare, with their prefixes.
    pub(crate) declared_tags: BTreeMap<&'t str, &'t str>,
}

/// A tree apart from its text.
#[derive(Debug, Clone)]
pub(crate) struct Nodes(Vec<Node>, Vec<Properties>);

impl<'t> Tree<'t> {
    pub(crate) fn of_nodes(text: &'t str, Nodes(nodes, properties): Nodes) -> Self {
        Self::new(text, nodes, properties)
    }

    /// The tree apart from its text; none if the text declares tags.
    pub(crate) fn into_nodes(self) -> Option<Nodes> {
        let has_all = self.declared_tags.is_empty();
        has_all.then_some(Nodes(self.nodes, self.properties))
    }

    /// The tree of a text that is no piece of another one and declares no tags.
    pub(crate) fn new(text: &'t str, nodes: Vec<Node>, properties: Vec<Properties>) -> Self {
        Self {
            source: text,
            start: 0,
            text,
            nodes,
            properties,
            declared_tags: BTreeMap::new(),
        }
    }

    /// Gives the tree's memory to the next one: see [`read_into`](crate::read_into).
    pub fn recycle(self, buffer: &mut Buffer) {
        buffer.nodes = self.nodes;
    }

    /// Returns the text of the document.
    #[must_use]
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Returns the text that [`Tree::place`] points into: the one that was read, or that the document is a piece of.
    #[must_use]
    pub fn source(&self) -> &'t str {
        self.source
    }

    /// Returns the byte offset of [`Tree::text`] in [`Tree::source`].
    #[must_use]
    pub fn start(&self) -> usize {
        self.start
    }

    /// Returns the document's root; none for an empty document.
    #[must_use]
    pub fn root(&self) -> Option<NodeId> {
        (!self.nodes.is_empty()).then_some(NodeId(0))
    }

    /// All nodes, each before those in it.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        (0u32..).map(NodeId).take(self.nodes.len())
    }

    /// A node and those in it.
    pub(crate) fn nodes_in(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let end = self.node(id).end;
        self.nodes
            .iter()
            .zip(0u32..)
            .skip(id.0 as usize)
            .map(|(node, at)| (node, NodeId(at)))
            .take_while(move |(node, at)| *at == id || node.start < end)
            .map(|(_, at)| at)
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Returns the kind of the node.
    #[must_use]
    pub fn kind(&self, id: NodeId) -> Kind {
        self.node(id).kind
    }

    /// Returns the style of the node.
    #[must_use]
    pub fn style(&self, id: NodeId) -> Style {
        self.node(id).style
    }

    /// Returns the node's range of bytes in [`Tree::source`], without anchor and tag.
    #[must_use]
    pub fn place(&self, id: NodeId) -> Range<usize> {
        let span = self.span(id);
        self.start + span.start..self.start + span.end
    }

    /// Returns the node's range of bytes in [`Tree::source`], its anchor and tag included.
    #[must_use]
    pub fn outer_place(&self, id: NodeId) -> Range<usize> {
        self.start + self.outer_start(id)..self.place(id).end
    }

    /// Returns the node's range of bytes in the document, without anchor and tag.
    pub(crate) fn span(&self, id: NodeId) -> Range<usize> {
        let node = self.node(id);
        node.start as usize..node.end as usize
    }

    /// Returns the node's text, as written, without anchor and tag.
    #[must_use]
    pub fn raw(&self, id: NodeId) -> &'t str {
        &self.text[self.span(id)]
    }

    /// Returns true if a byte of [`Tree::text`] is in a scalar. Outside of all scalars a `#` behind white space begins a comment.
    #[must_use]
    pub fn is_in_scalar(&self, at: usize) -> bool {
        // In the order of their first bytes.
        let begun = self.nodes.partition_point(|node| node.start as usize <= at);
        self.nodes[..begun]
            .last()
            .is_some_and(|node| node.kind == Kind::Scalar && at < node.end as usize)
    }

    /// Returns the byte offset of the node in the document, its anchor and tag included.
    pub(crate) fn outer_start(&self, id: NodeId) -> usize {
        self.properties(id).map_or(self.node(id).start, |p| p.start) as usize
    }

    /// True for a plain scalar on one line: its text is its value.
    #[inline]
    pub(crate) fn is_plain_line(&self, id: NodeId) -> bool {
        let node = self.node(id);
        node.kind == Kind::Scalar && node.style == Style::Plain && node.child == NONE
    }

    pub(crate) fn has_properties(&self, id: NodeId) -> bool {
        self.node(id).has_properties
    }

    /// The indentation of a block scalar's content, in columns.
    pub(crate) fn content_column(&self, id: NodeId) -> u32 {
        self.node(id).child
    }

    /// The keys and values of a mapping, or the items of a sequence; nothing for any other node.
    pub(crate) fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let kind = if self.kind(id) == Kind::Mapping {
            Kind::Mapping
        } else {
            Kind::Sequence
        };
        self.chain(id, kind)
    }

    /// The key of a value of a mapping; none for an item, or for a key that is a collection.
    pub(crate) fn key_of(&self, holder: NodeId, value: NodeId) -> Option<NodeId> {
        let before = value.0.checked_sub(1)?;
        let is_key =
            self.kind(holder) == Kind::Mapping && self.nodes.get(before as usize)?.next == value.0;
        is_key.then_some(NodeId(before))
    }

    /// The key or item behind a value in its collection.
    pub(crate) fn next(&self, value: NodeId) -> Option<NodeId> {
        let next = self.node(value).next;
        (next != NONE).then_some(NodeId(next))
    }

    pub(crate) fn properties(&self, id: NodeId) -> Option<&Properties> {
        if !self.node(id).has_properties {
            return None;
        }
        let at = self
            .properties
            .binary_search_by_key(&id.0, |p| p.node)
            .ok()?;
        self.properties.get(at)
    }

    /// The end of a node's anchor and tag.
    pub(crate) fn properties_end(&self, id: NodeId) -> Option<usize> {
        let properties = self.properties(id)?;
        [&properties.anchor, &properties.tag]
            .into_iter()
            .flatten()
            .map(|range| range.end as usize)
            .max()
    }

    /// The anchors and tags of a node and of those in it.
    pub(crate) fn properties_in(&self, id: NodeId) -> impl Iterator<Item = &Properties> {
        // They are sorted by node, and those of a node's descendants follow its own. So only the few that begin before its end
        // are looked at, however many the document has.
        let end = self.node(id).end;
        let first = self.properties.partition_point(|p| p.node < id.0);
        self.properties[first..]
            .iter()
            .take_while(move |p| p.node == id.0 || p.start < end)
    }

    /// Returns the anchor's name, without `&`.
    #[must_use]
    pub fn anchor(&self, id: NodeId) -> Option<&'t str> {
        let range = self.properties(id)?.anchor.as_ref()?;
        Some(self.slice(range))
    }

    /// Returns the tag as written, with its `!`.
    #[must_use]
    pub fn tag(&self, id: NodeId) -> Option<&'t str> {
        let range = self.properties(id)?.tag.as_ref()?;
        Some(self.slice(range))
    }

    fn slice(&self, range: &Range<u32>) -> &'t str {
        &self.text[range.start as usize..range.end as usize]
    }

    /// True when an alias refers to this node's anchor.
    #[must_use]
    pub fn is_aliased(&self, id: NodeId) -> bool {
        self.properties(id).is_some_and(|p| p.aliased)
    }

    /// True for a scalar whose anchor stays where its text is replaced.
    pub(crate) fn keeps_anchor(&self, id: NodeId) -> bool {
        let is_anchored = self.anchor(id).is_some() && self.tag(id).is_none();
        is_anchored && self.kind(id) == Kind::Scalar && !self.span(id).is_empty()
    }

    /// True if the document has an alias.
    #[must_use]
    pub fn has_aliases(&self) -> bool {
        self.properties.iter().any(|node| node.aliased)
    }

    /// Returns the column and the text of a node that reads the same wherever this text stands in this column; none where it
    /// may not: at the end of a text, and in a document with anchors or tags.
    #[must_use]
    pub fn portable(&self, id: NodeId) -> Option<(usize, &'t str)> {
        let next = self.text.as_bytes().get(self.span(id).end)?;
        (self.properties.is_empty() && matches!(next, b'\n' | b'\r'))
            .then(|| (self.column(id), self.raw(id)))
    }

    /// Returns the bytes from the beginning of the line. 0 for a node without a line break, which reads the same in every column:
    /// in JSON on one line, the search for its beginning would take each node through the whole text.
    pub(crate) fn column(&self, id: NodeId) -> usize {
        if memchr::memchr(b'\n', self.raw(id).as_bytes()).is_none() {
            return 0;
        }
        let start = self.span(id).start;
        let above = self.text.as_bytes().get(..start).unwrap_or_default();
        start - memchr::memrchr(b'\n', above).map_or(0, |feed| feed + 1)
    }

    /// True when the mapping holds a key written with `? `.
    #[must_use]
    pub fn has_explicit_key(&self, id: NodeId) -> bool {
        self.node(id).explicit_key
    }

    /// True for a mapping without braces in a list: `[key: value]`.
    pub(crate) fn is_flow_pair(&self, id: NodeId) -> bool {
        self.style(id) == Style::Flow && !self.raw(id).starts_with(['{', '['])
    }

    /// Returns the node that an alias refers to, or any other node itself.
    #[must_use]
    pub fn alias_target(&self, id: NodeId) -> NodeId {
        let node = self.node(id);
        if node.kind == Kind::Alias && node.child != NONE {
            NodeId(node.child)
        } else {
            id
        }
    }

    /// Returns the items of a sequence, in order; nothing for any other node.
    pub fn items(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.chain(id, Kind::Sequence)
    }

    /// Returns the keys and values of a mapping, in order; nothing for any other node. Keys may repeat.
    pub fn entries(&self, id: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let mut chain = self.chain(id, Kind::Mapping);
        std::iter::from_fn(move || Some((chain.next()?, chain.next()?)))
    }

    /// Returns the values of a mapping, or the items of a sequence, in order; nothing for any other node.
    pub(crate) fn values(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.entries(id)
            .map(|(_, value)| value)
            .chain(self.items(id))
    }

    fn chain(&self, id: NodeId, kind: Kind) -> impl Iterator<Item = NodeId> + '_ {
        let node = self.node(id);
        let mut at = if node.kind == kind { node.child } else { NONE };
        std::iter::from_fn(move || {
            let node = self.nodes.get(at as usize)?;
            let id = NodeId(at);
            at = node.next;
            Some(id)
        })
    }
}

/// A text that is not a YAML document: the place and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct YamlError {
    /// Byte offset into the text that was read.
    pub offset: usize,
    /// A description in lower case, without a full stop.
    pub message: String,
}

impl YamlError {
    /// An error at a byte of the text.
    #[must_use]
    pub fn new(offset: usize, message: String) -> Self {
        Self { offset, message }
    }
}

#[cfg(test)]
mod tests {
    use crate::read;

    #[test]
    fn a_byte_is_in_a_scalar_or_in_a_comment() {
        for (text, outside) in [
            ("#\n---\n# #\na: 1 #\n", 4),
            ("a: #\nb:\n- #\n- &x 1 #\n- *x #\n#", 5),
            ("a: ' #\n  #'\nb: \" #\" #\nc#: d#\n  #\n", 2),
            ("a: [b#, #\n  {c: #\n  d, e: #\n}, 'f # g', #\n]", 4),
            (
                "a: |+\n  #\n  # #\n\n #\nb: >\n  #\n\n#\nc:\n  #\n  |-\n  #",
                3,
            ),
            ("{\"a\": \" #\"}", 0),
            ("# #\n", 2),
        ] {
            let tree = read(text).unwrap();
            let found = text
                .match_indices('#')
                .filter(|(at, _)| !tree.is_in_scalar(*at));
            assert_eq!(found.count(), outside, "{text:?}");
        }
    }

    #[test]
    fn a_node_is_portable_where_its_text_and_column_say_all_of_it() {
        for (text, expected) in [
            ("a:\n- b: 1\n  c: 2\n", Some((2, "b: 1\n  c: 2"))),
            ("a:\n  - b\n", Some((0, "b"))),
            ("a: [b, c]\n", None),
            ("a: [b,\n  c]\n", None),
            ("a:\n- b: |\n    c", None),
            ("a:\n- b: 1 # why\n", None),
            ("a:\n- b: 1\nc: &x d\n", None),
        ] {
            let tree = read(text).unwrap();
            let list = tree.get(tree.root().unwrap(), "a").unwrap();
            let item = tree.items(list).next().unwrap();
            assert_eq!(tree.portable(item), expected, "{text:?}");
        }
    }
}
