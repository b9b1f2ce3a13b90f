//! Cuts a list into items, so that only one item's tree of a ResourceList of 50 MB is in memory at a time.
//!
//! [`cut`] looks at lines only. It takes a document whose root is a block mapping at column 0 with one plain `items:`,
//! below which a block sequence stands, its dashes in one column (0 or deeper):
//! ```yaml
//! kind: ResourceList      # the envelope
//! items:
//! - kind: ConfigMap       # an item: a text that is a sequence of one
//!   …
//! - kind: Deployment      # the next
//!   …
//! functionConfig: …       # the envelope again
//! ```
//!
//! Why that is sound. Claim: if [`Cut::envelope`] is given and every item reads as a sequence of one, then the whole
//! document is valid YAML, and its tree is the envelope's with the items' nodes in place of the null behind `items:`.
//! - A reader goes through the text from left to right. Up to `items:` it sees the same text in the document and in the
//!   envelope. That the envelope's tree has that key, with a null, at that very place shows that the line is a key of the
//!   root and not text within a scalar or brackets.
//! - Then it stands in the root mapping, waiting for a value. The first dash begins a block sequence in that column, and
//!   what belongs to its item is decided by columns counted from the dash: as it is at the beginning of a text. An item
//!   that reads by itself has closed all of its quotes and brackets, and ended its block scalars. (The last line of an
//!   item is followed by a line that is indented less than its content or ends the text: blank lines and comments between
//!   two items belong to the former, so that `|+` keeps what it keeps in the document.)
//! - So every next dash in that column is met in the same state, as the next item. No line indented less than the dashes
//!   stands between the first and the last, but for comments and blank lines.
//! - The line behind the last item stands at column 0: there the reader is in the root mapping again, as behind the null
//!   in the envelope.
//! - Anchors: an alias that reaches into another item or the envelope is unknown in its own text, which then does not
//!   read; one that finds its anchor in its own text finds the same one in the document, since the nearest before it
//!   counts. The envelope, in two pieces, has to be free of aliases. Directives are not taken.
//!
//! One difference remains: the document nests one level deeper than the items do by themselves.

use crate::lines::{Flush, ends_with_line_feeds, flush, flush_lines, is_nothing, lines};
use std::ops::Range;
use yaml_json_patch::{self as yaml, Kind, NodeId, Style, Tree};

/// A list in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The bytes of each item in the text, from the beginning of its dash's line to that of the next. They follow
    /// one another without a gap.
    pub items: Vec<Range<usize>>,
    /// The document without the items.
    envelope: String,
    /// Offset of the document in the text.
    pub start: usize,
    /// Offset of the key `items`, the same in document and envelope.
    key: usize,
}

impl Cut {
    /// Reads the envelope: the document without its items, `items:` with a null. Returns none if the claim above does not
    /// hold; then the document must be read as a whole.
    #[must_use]
    pub fn envelope(&self) -> Option<Tree<'_>> {
        let tree = yaml::read(&self.envelope).ok()?;
        let root = tree.root()?;
        let found = tree.entries(root).any(|(key, value)| {
            tree.place(key) == (self.key..self.key + "items".len())
                && tree.kind(value) == Kind::Scalar
                && tree.style(value) == Style::Plain
                && tree.place(value) == (self.key + "items:".len()..self.key + "items:".len())
        });
        let top = tree.kind(root) == Kind::Mapping && tree.style(root) == Style::Block;
        (top && found && !tree.has_aliases()).then_some(tree)
    }

    /// Returns the number of bytes of all items.
    pub fn size(&self) -> usize {
        self.items
            .first()
            .zip(self.items.last())
            .map_or(0, |(first, last)| last.end - first.start)
    }

    /// Converts an offset in the envelope to one in the text.
    #[must_use]
    pub fn place(&self, in_envelope: usize) -> usize {
        let offset = self.start + in_envelope;
        match self.items.first() {
            Some(first) if offset >= first.start => offset + self.size(),
            _ => offset,
        }
    }
}

/// Returns the only item of an item's text; none if that is not a sequence of one.
#[must_use]
pub fn item(tree: &Tree<'_>) -> Option<NodeId> {
    let root = tree
        .root()
        .filter(|root| tree.style(*root) == Style::Block)?;
    let mut items = tree.items(root);
    items.next().filter(|_| items.next().is_none())
}

/// Cuts a document of a text into envelope and items; none if it does not look like a list in block style, or is unusual in any
/// way.
#[must_use]
pub fn cut(text: &str, document: Range<usize>) -> Option<Cut> {
    let start = document.start;
    let document = text.get(document)?;
    if !ends_with_line_feeds(document) {
        return None;
    }
    let mut cutter = Cutter {
        document,
        position: Position::Above,
        key: None,
        column: 0,
        items: Vec::new(),
    };
    let mut lines = lines(document);
    while cutter.items.is_empty() {
        cutter.line(lines.next()?)?;
    }
    if cutter.column == 0 {
        let first = cutter.items.first()?.start;
        // Lines that begin with a space are inside an item, or below the last one. The others are found in less time.
        for line in flush_lines(&document[first..]).skip(1) {
            cutter.line(first + line.start..first + line.end)?;
        }
    } else {
        for line in lines {
            cutter.line(line)?;
        }
    }
    let Cutter { key, mut items, .. } = cutter;
    let (key, first, last) = (key?, items.first()?.start, items.last()?.end);
    let envelope = [&document[..first], &document[last..]].concat();
    for item in &mut items {
        *item = start + item.start..start + item.end;
    }
    Some(Cut {
        items,
        envelope,
        start,
        key,
    })
}

/// The position of a line in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Above `items:`
    Above,
    /// Between `items:` and the first dash
    BeforeItems,
    /// Between the first dash and the end of the last item
    Items,
    /// Below the last item
    Below,
}

/// Reads a document line by line.
struct Cutter<'t> {
    document: &'t str,
    /// The position of the next line.
    position: Position,
    /// Offset of the key `items`.
    key: Option<usize>,
    /// The column of the dashes, known from the first one on.
    column: usize,
    items: Vec<Range<usize>>,
}

impl Cutter<'_> {
    /// Reads one line; none if it is unusual.
    fn line(&mut self, line: Range<usize>) -> Option<()> {
        let start = line.start;
        let text = &self.document[line];
        let content = text.trim_start_matches(' ');
        let indent = text.len() - content.len();
        if self.position == Position::Items && indent > self.column {
            return Some(());
        }
        // A line of tabs between items may be an error; only the whole document tells.
        if content.starts_with('\t') {
            return None;
        }
        let is_blank = content.is_empty() || content.starts_with('#');
        match self.position {
            Position::BeforeItems | Position::Items if is_blank => {}
            Position::BeforeItems if is_dash(content) => {
                self.column = indent;
                self.begin_item(start);
                self.position = Position::Items;
            }
            Position::BeforeItems => return None,
            Position::Items if indent == self.column && is_dash(content) => {
                self.begin_item(start);
            }
            Position::Items if indent == 0 => {
                self.end_item(start);
                self.position = Position::Below;
                self.root_line(start, content)?;
            }
            // Indented, but less than the dashes.
            Position::Items => return None,
            Position::Above | Position::Below if indent == 0 => self.root_line(start, content)?,
            Position::Above | Position::Below => {}
        }
        Some(())
    }

    /// Reads a line at column 0 outside the items.
    fn root_line(&mut self, start: usize, content: &str) -> Option<()> {
        match flush(content) {
            Flush::Key("items", value) => {
                // Only a comment may follow: not `items: []`, `items: &a` and the like.
                let is_bare = value.is_empty() || is_nothing(&content["items:".len()..]);
                if self.key.is_some() || !is_bare {
                    return None;
                }
                self.key = Some(start);
                self.position = Position::BeforeItems;
            }
            Flush::Nothing | Flush::Key(..) | Flush::Marker | Flush::Dash => {}
            Flush::Other => return None,
        }
        Some(())
    }

    fn begin_item(&mut self, start: usize) {
        self.end_item(start);
        self.items.push(start..self.document.len());
    }

    fn end_item(&mut self, end: usize) {
        if let Some(item) = self.items.last_mut() {
            item.end = end;
        }
    }
}

fn is_dash(content: &str) -> bool {
    matches!(content.as_bytes(), [b'-'] | [b'-', b' ' | b'\t', ..])
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn lines_of_tabs_between_items_are_left_to_the_whole() {
        for text in [
            "items:\n- a: >-\n\n\t\t \n",
            "items:\n- a: 1\n\t\n- b: 1\n",
            "\t\nitems:\n- a: 1\n",
        ] {
            assert_eq!(cut(text, 0..text.len()), None, "{text:?}");
        }
        let text = "items:\n- a: |\n    x\n    \ty\n- b: 1\n";
        assert!(cut(text, 0..text.len()).is_some());
    }
}
