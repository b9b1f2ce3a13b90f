//! The fast reader: the YAML that manifests are made of, in one pass and without an allocation per node.
//!
//! It takes block mappings and sequences (flush or indented), plain and quoted scalars, on several lines too, literal and
//! folded blocks, comments, anchors and aliases of values, and flow collections whose entries are unremarkable, JSON
//! among them. At anything else it returns none, valid or not, and the complete reader decides: tags, `<<`,
//! `? `, anchors of keys, directives, tabs between tokens, indentation indicators, pairs in flow sequences, control
//! characters, line separators beyond ASCII, deep nesting.
//!
//! A text that it takes is read exactly as by the complete reader: nodes, styles and spans. So it must also leave whatever
//! that one refuses. A wrong tree is worse than none.

mod flow;
#[cfg(feature = "kubernetes")]
mod json;
mod reuse;

#[cfg(feature = "kubernetes")]
pub use json::read_json;
pub(crate) use reuse::{Fragment, Reuse, Unchanged};

use self::reuse::Cursor;
use super::scanner::Scan;
use crate::block_scalar::line_end;
use crate::tree::{Buffer, Kind, NONE, Node, Open, Properties, SEVERAL_LINES, Style, Tree, narrow};

/// Levels of nesting. Fewer than the complete reader takes, which alone rejects a text.
const MAX_DEPTH: usize = 100;

/// An alias is looked up by going through the anchors before it; documents with more of them are left to the reference
/// reader, which has a table.
const MAX_ANCHORS: usize = 64;

/// Reads a text, and copies what was read before.
pub(crate) fn read_into<'t>(
    text: &'t str,
    reuse: Option<&Reuse<'_>>,
    buffer: &mut Buffer,
) -> Option<Tree<'t>> {
    let bytes = text.as_bytes();
    if text.len() >= NONE as usize || !is_unremarkable(bytes) {
        return None;
    }
    let mut nodes = std::mem::take(&mut buffer.nodes);
    nodes.clear();
    // About as many as manifests of this length have, so that it need not grow again and again.
    nodes.reserve(text.len() / 16 + 8);
    let mut open = std::mem::take(&mut buffer.open);
    open.clear();
    let mut reader = FastReader::new(bytes, nodes, open);
    reader.reuse = reuse.map(Cursor::new);
    let read = reader.document();
    buffer.open = reader.open;
    if read.is_none() {
        buffer.nodes = reader.nodes;
        return None;
    }
    Some(Tree::new(text, reader.nodes, reader.properties))
}

/// No control characters, no bare carriage returns, and nothing that some reader takes for a line break or refuses.
fn is_unremarkable(bytes: &[u8]) -> bool {
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let (mut has_control, mut has_return, mut bits) = (false, false, 0);
    // Without a branch, so that it is compiled to vector instructions.
    for &byte in body {
        let is_white = (byte == b'\n') | (byte == b'\r') | (byte == b'\t');
        has_control |= (byte < b' ') & !is_white | (byte == 0x7f);
        has_return |= byte == b'\r';
        bits |= byte;
    }
    let is_bare = |at: usize| body.get(at + 1) != Some(&b'\n');
    if has_control || (has_return && memchr::memchr_iter(b'\r', body).any(is_bare)) {
        return false;
    }
    bits.is_ascii()
        || memchr::memchr3_iter(0xc2, 0xe2, 0xef, body).all(|at| match body.get(at..at + 3) {
            // U+0080 to U+009F
            Some([0xc2, second, _]) => *second >= 0xa0,
            // U+2028 and U+2029
            Some([0xe2, 0x80, third]) => !matches!(third, 0xa8 | 0xa9),
            // The byte order mark, and what is no character
            Some([0xef, 0xbb, 0xbf] | [0xef, 0xbf, 0xbe | 0xbf]) => false,
            Some(_) => true,
            None => false,
        })
}

pub(super) struct FastReader<'b> {
    pub(super) scan: Scan<'b>,
    nodes: Vec<Node>,
    properties: Vec<Properties>,
    open: Vec<Open>,
    /// The end of the last leaf or flow collection, and so of its parents.
    pub(super) last_end: usize,
    /// The innermost collection has a key or a dash whose value has not come; a null would be here.
    awaiting: Option<usize>,
    /// The anchor of the next node, with its `&`.
    anchor: Option<(usize, usize)>,
    /// The collections that were read before.
    reuse: Option<Cursor<'b>>,
}

impl<'b> FastReader<'b> {
    fn new(bytes: &'b [u8], nodes: Vec<Node>, open: Vec<Open>) -> Self {
        Self {
            scan: Scan(bytes),
            nodes,
            properties: Vec::new(),
            open,
            last_end: 0,
            awaiting: None,
            anchor: None,
            reuse: None,
        }
    }

    fn document(&mut self) -> Option<()> {
        let scan = self.scan;
        let mut at = if scan.0.starts_with(b"\xef\xbb\xbf") {
            3
        } else {
            0
        };
        let mut marked = false;
        while at < scan.0.len() {
            let start = at;
            let pos = scan.spaces(at);
            at = match scan.byte(pos) {
                None => break,
                Some(b'\n' | b'\r' | b'#') => scan.next_line(pos),
                Some(b'-') if pos == start && scan.is_marker(pos, b"---") => {
                    if marked || !self.nodes.is_empty() {
                        return None;
                    }
                    marked = true;
                    scan.rest(pos + 3)?
                }
                Some(b'.') if pos == start && scan.is_marker(pos, b"...") => {
                    let at = scan.rest(pos + 3)?;
                    self.nothing_from(at)?;
                    break;
                }
                Some(_) => self.line(start, pos)?,
            };
        }
        self.null();
        while !self.open.is_empty() {
            self.close();
        }
        Some(())
    }

    /// A line with content, which begins at `pos`. Gives where the next line begins.
    fn line(&mut self, start: usize, pos: usize) -> Option<usize> {
        let column = pos - start;
        let dash = self.scan.is_dash(pos);
        let Some(top) = self.open.last() else {
            // The root; there is only one.
            return if self.nodes.is_empty() {
                self.node(start, pos, None)
            } else {
                None
            };
        };
        if self.awaiting.is_some() {
            // The dashes of a sequence may be in the column of the key above it.
            if column > top.column as usize
                || (column == top.column as usize && dash && top.mapping)
            {
                return self.node(start, pos, None);
            }
            self.null();
        }
        while self.open.last()?.column as usize > column {
            self.close();
        }
        if self.open.last()?.column as usize != column {
            return if dash { None } else { self.further_line(pos) };
        }
        if !dash && !self.open.last()?.mapping {
            self.close();
        }
        let top = self.open.last()?;
        // Behind a flush sequence, its mapping goes on.
        if top.column as usize != column || top.mapping == dash {
            return None;
        }
        if dash {
            self.item(start, pos)
        } else {
            self.entry(pos)
        }
    }

    /// A line that is indented deeper than what is open: one more of the plain scalar that ended the line above.
    fn further_line(&mut self, pos: usize) -> Option<usize> {
        let last = self.nodes.len().checked_sub(1)?;
        if self.open.last()?.last_child as usize != last {
            return None;
        }
        let node = self.nodes.get_mut(last)?;
        let is_plain =
            node.kind == Kind::Scalar && node.style == Style::Plain && node.start < node.end;
        let between = self.scan.0.get(node.end as usize..pos)?;
        // Behind a comment, a plain scalar does not go on.
        if !is_plain
            || !between
                .iter()
                .all(|byte| matches!(byte, b' ' | b'\n' | b'\r'))
        {
            return None;
        }
        let end = self.scan.further_plain(pos)?;
        node.end = narrow(end);
        node.child = SEVERAL_LINES;
        self.last_end = end;
        self.scan.rest(end)
    }

    /// A new node, at the beginning of its line or after a dash, whose column is then given.
    fn node(&mut self, start: usize, pos: usize, dash: Option<usize>) -> Option<usize> {
        let column = pos - start;
        if let Some(next) = self.reused(pos, column) {
            return Some(next);
        }
        // `- &a b: c` names the key, not the mapping.
        let anchored_key = dash.is_some() && self.anchor.is_some();
        match self.scan.byte(pos)? {
            b'-' if self.scan.is_dash(pos) => {
                if anchored_key {
                    return None;
                }
                self.begin(Kind::Sequence, Style::Block, pos, column)?;
                return self.item(start, pos);
            }
            b'[' | b'{' => return self.flow(pos),
            b'|' | b'>' => return self.block(pos, dash?),
            _ => {}
        }
        let Some((style, end)) = self.scan.scalar(pos) else {
            let parent = self.open.last()?.column as usize;
            let (style, end) = self.scan.quoted(pos, Some(dash.unwrap_or(parent)))?;
            return self.value(style, pos, end);
        };
        if self.scan.colon(end).is_some() {
            if anchored_key {
                return None;
            }
            self.begin(Kind::Mapping, Style::Block, pos, column)?;
            return self.entry_of(pos, style, end);
        }
        // A scalar as the whole document is rare, and has rules of its own.
        if self.open.is_empty() {
            return None;
        }
        self.value(style, pos, end)
    }

    /// An item, from its dash.
    fn item(&mut self, start: usize, dash: usize) -> Option<usize> {
        let pos = self.awaited(dash + 1)?;
        match self.scan.byte(pos) {
            None | Some(b'\n' | b'\r' | b'#') => Some(self.scan.next_line(pos)),
            Some(b'*') => self.alias(pos),
            Some(_) => self.node(start, pos, Some(dash - start)),
        }
    }

    /// A key and the text after it.
    fn entry(&mut self, pos: usize) -> Option<usize> {
        let (style, end) = self.scan.scalar(pos)?;
        self.entry_of(pos, style, end)
    }

    fn entry_of(&mut self, pos: usize, style: Style, end: usize) -> Option<usize> {
        let colon = self.scan.colon(end)?;
        if !self.scan.may_be_key(style, pos, end) {
            return None;
        }
        self.leaf(style, pos, end, NONE);
        let value = self.awaited(colon + 1)?;
        match self.scan.byte(value) {
            None | Some(b'\n' | b'\r' | b'#') => Some(self.scan.next_line(value)),
            Some(b'[' | b'{') => self.flow(value),
            Some(b'|' | b'>') => self.block(value, self.open.last()?.column as usize),
            Some(b'*') => self.alias(value),
            Some(_) => {
                let lines = || {
                    let parent = self.open.last()?.column as usize;
                    self.scan.quoted(value, Some(parent))
                };
                let (style, end) = self.scan.scalar(value).or_else(lines)?;
                self.value(style, value, end)
            }
        }
    }

    /// Behind a colon or dash, which ends at `at`: notes that a value is to come, and its anchor. Gives where it begins,
    /// if it is on this line.
    #[inline]
    fn awaited(&mut self, at: usize) -> Option<usize> {
        self.awaiting = Some(at);
        let pos = self.scan.spaces(at);
        if self.scan.byte(pos) != Some(b'&') {
            return Some(pos);
        }
        let end = self.scan.name(pos + 1)?;
        if self.properties.len() >= MAX_ANCHORS {
            return None;
        }
        self.anchor = Some((pos, end));
        self.awaiting = Some(end);
        Some(self.scan.spaces(end))
    }

    /// A scalar as a value, and the rest of its line.
    #[inline]
    fn value(&mut self, style: Style, pos: usize, end: usize) -> Option<usize> {
        self.leaf(style, pos, end, NONE);
        self.scan.rest(end)
    }

    fn flow(&mut self, pos: usize) -> Option<usize> {
        self.awaiting = None;
        let end = flow::collection(self, pos)?;
        self.scan.rest(end)
    }

    /// An alias of a node that has ended.
    fn alias(&mut self, pos: usize) -> Option<usize> {
        let end = self.scan.name(pos + 1)?;
        let bytes = self.scan.0;
        let name = bytes.get(pos + 1..end)?;
        let is_named = |properties: &&mut Properties| {
            properties.anchor.as_ref().is_some_and(|anchor| {
                bytes.get(anchor.start as usize..anchor.end as usize) == Some(name)
            })
        };
        let properties = self.properties.iter_mut().rev().find(is_named)?;
        let target = properties.node;
        // An anchor of its own, and a node that holds itself, are errors.
        if self.anchor.is_some() || self.open.iter().any(|open| open.node == target) {
            return None;
        }
        properties.aliased = true;
        self.awaiting = None;
        self.add(Node::new(Kind::Alias, Style::Plain, pos..end, target));
        self.last_end = end;
        self.scan.rest(end)
    }

    /// A block scalar in a collection whose column is given.
    fn block(&mut self, pos: usize, parent: usize) -> Option<usize> {
        let style = if self.scan.byte(pos) == Some(b'|') {
            Style::Literal
        } else {
            Style::Folded
        };
        let chomping = self.scan.byte(pos + 1);
        let keep = chomping == Some(b'+');
        let header = if keep || chomping == Some(b'-') {
            pos + 2
        } else {
            pos + 1
        };
        let mut at = self.scan.rest(header)?;
        let (mut indent, mut widest) = (None, 0);
        let mut end = header;
        while at < self.scan.0.len() {
            let (stop, next) = line_end(self.scan.0, at);
            let text = self.scan.spaces(at).min(stop);
            let spaces = text - at;
            let blank = text == stop;
            match indent {
                None if blank => widest = widest.max(spaces),
                None => {
                    // Less indented than a blank line above it, or hardly a beginning.
                    if spaces <= parent || widest > spaces || self.scan.byte(text) == Some(b'\t') {
                        return None;
                    }
                    indent = Some(spaces);
                    end = stop;
                }
                Some(indent) if blank && spaces <= indent => {
                    if keep && next > stop {
                        end = stop;
                    }
                }
                Some(indent) if spaces >= indent => end = stop,
                Some(_) => break,
            }
            at = next;
        }
        // Blank lines above the first content have been kept with it.
        let indent = u32::try_from(indent?).ok()?;
        self.leaf(style, pos, end, indent);
        Some(at)
    }

    fn nothing_from(&self, at: usize) -> Option<()> {
        let mut at = at;
        while at < self.scan.0.len() {
            let pos = self.scan.spaces(at);
            if !matches!(self.scan.byte(pos), None | Some(b'\n' | b'\r' | b'#')) {
                return None;
            }
            at = self.scan.next_line(pos);
        }
        Some(())
    }

    /// The value that was awaited has not come.
    fn null(&mut self) {
        if let Some(at) = self.awaiting {
            self.leaf(Style::Plain, at, at, NONE);
        }
    }

    #[inline]
    pub(super) fn leaf(&mut self, style: Style, start: usize, end: usize, child: u32) {
        self.awaiting = None;
        self.add(Node::new(Kind::Scalar, style, start..end, child));
        self.last_end = end;
    }

    pub(super) fn begin(
        &mut self,
        kind: Kind,
        style: Style,
        start: usize,
        column: usize,
    ) -> Option<()> {
        if self.open.len() >= MAX_DEPTH {
            return None;
        }
        self.awaiting = None;
        let node = self.add(Node::new(kind, style, start..start, NONE));
        let column = u32::try_from(column).ok()?;
        self.open.push(Open {
            node,
            last_child: NONE,
            column,
            mapping: kind == Kind::Mapping,
        });
        Some(())
    }

    /// Ends the innermost collection where its last descendant has ended.
    pub(super) fn close(&mut self) {
        if let Some(open) = self.open.pop()
            && let Some(node) = self.nodes.get_mut(open.node as usize)
        {
            node.end = narrow(self.last_end);
        }
    }

    #[inline]
    fn add(&mut self, node: Node) -> u32 {
        // There are fewer nodes than bytes, or about as many in `[[[[`, and bytes are few enough.
        let id = narrow(self.nodes.len());
        if let Some(parent) = self.open.last_mut() {
            if let Some(elder) = self.nodes.get_mut(parent.last_child as usize) {
                elder.next = id;
            } else if let Some(parent) = self.nodes.get_mut(parent.node as usize) {
                parent.child = id;
            }
            parent.last_child = id;
        }
        let anchor = self.anchor.take();
        self.nodes.push(Node {
            has_properties: anchor.is_some(),
            ..node
        });
        if let Some((start, end)) = anchor {
            self.properties.push(Properties {
                node: id,
                start: narrow(start),
                anchor: Some(narrow(start + 1)..narrow(end)),
                tag: None,
                aliased: false,
            });
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use crate::read::{read_complete, read_fast};

    fn is_taken(text: &str) -> bool {
        let Some(plain) = read_fast(text) else {
            return false;
        };
        assert_eq!(Ok(plain), read_complete(text), "{text:?}");
        true
    }

    #[test]
    fn takes_anchors_and_aliases_of_values() {
        for text in [
            "a: &x\n  b: 1\nc: *x\n",
            "a: &x\n- 1\nb: *x\n",
            "a: &x [1]\nb:\n- *x\n- &y 'z'\n- *y # why\n",
            "a: &x\nb: *x\n",
            "- &x\n  a: 1\n- *x\n",
            "a: &x |\n  text\nb: *x\n",
            "a: &x 1\nb: &x 2\nc: *x\n",
        ] {
            assert!(is_taken(text), "{text:?}");
        }
        for text in [
            "- &x a: 1\n",
            "&x a: 1\n",
            "a: *x\n",
            "a: &x\n  b: *x\n",
            "a: &x 1\n*x : 2\n",
            "a: &x\n  &y b: 1\n",
            "a: &x *x\n",
        ] {
            assert!(!is_taken(text), "{text:?}");
        }
    }

    #[test]
    fn takes_scalars_of_several_lines() {
        for text in [
            "a: one\n  two\n\n  three # why\nb: 1\n",
            "a:\n  one\n  two\n",
            "- one\n  two\n- three\n",
            "a: 'one\n\n  it''s'\nb: 1\n",
            "a: \"one\\\n  two\\n\n  three\"\n",
            "a:\n- \"one\r\n  two\"\r\n",
            "a: one\n  `two` and\n  \"three\", [four]\n  'five'\n  {six\n  *seven\n  &eight !nine\n  %ten\nb: 1\n",
            "a: one\n  | two\n  > three\n  @four\n  , five\n  ] six\n  :80\n  -8\n  ? nine\n",
            "a: \"one\\\n  \\  two\"\n",
        ] {
            assert!(is_taken(text), "{text:?}");
        }
        for text in [
            "a: one # why\n  two\n",
            "a: one\n  # why\n  two\n",
            "a: one\n  b: two\n",
            "a: one\n  - two\n",
            "a: one\n  : two\n",
            "a: one\n  \"two\": three\n",
            "a: 'one\ntwo'\n",
            "a: 'one\n\ttwo'\n",
            "'one\n two': 1\n",
            "a: one\n\ttwo\n",
        ] {
            assert!(!is_taken(text), "{text:?}");
        }
    }
}
