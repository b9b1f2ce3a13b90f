//! The plain reader: the YAML that manifests are made of, in one pass and without an allocation per node.
//!
//! It takes block mappings and sequences (flush or indented), plain and quoted scalars and keys on one line, literal and
//! folded blocks, comments, and flow collections whose entries are unremarkable, JSON among them. At anything else it
//! says "not mine" (none), valid or not, and the reference reader decides: anchors, aliases, tags, `<<`, `? `, directives,
//! tabs between tokens, scalars of several lines, indentation indicators, pairs in flow sequences, control characters,
//! line separators beyond ASCII, deep nesting.
//!
//! What it takes, it reads exactly as the reference reader does: nodes, styles and spans. So it must also leave whatever
//! that one refuses. A wrong tree is worse than none.

use super::flow;
use super::tree::{Buffer, Kind, NONE, Node, Style, Tree};

/// Collections within collections. Fewer than the reference reader takes, so that no limit is ours.
const MAX_DEPTH: usize = 100;

/// Longer keys are refused by YAML; near that, leave the counting (of characters) to the reference reader.
const MAX_KEY: usize = 1000;

/// Reads one document with the plain reader alone; none where it is not its own. [`super::read`] gives the same tree;
/// this is here so that tests and fuzzing can say so.
#[must_use]
pub fn read(text: &str) -> Option<Tree<'_>> {
    read_into(text, &mut Buffer::default())
}

pub(crate) fn read_into<'t>(text: &'t str, buffer: &mut Buffer) -> Option<Tree<'t>> {
    let bytes = text.as_bytes();
    if text.len() >= NONE as usize || !is_unremarkable(bytes) {
        return None;
    }
    let mut nodes = std::mem::take(&mut buffer.nodes);
    nodes.clear();
    let mut open = std::mem::take(&mut buffer.open);
    open.clear();
    let mut reader = Plain { bytes, nodes, open, last_end: 0, awaiting: None };
    let read = reader.document();
    buffer.open = reader.open;
    if read.is_none() {
        buffer.nodes = reader.nodes;
        return None;
    }
    Some(Tree { text, nodes: reader.nodes, properties: Vec::new(), declares_tags: false })
}

/// No control characters, no bare carriage returns, and nothing that some reader takes for a line break or refuses.
fn is_unremarkable(bytes: &[u8]) -> bool {
    let control = |byte: &u8| (*byte < b' ' && !matches!(byte, b'\n' | b'\r' | b'\t')) || *byte == 0x7f;
    // Without a branch, so that it is compiled to vector instructions.
    if bytes.iter().fold(false, |any, byte| any | control(byte)) {
        return false;
    }
    if !memchr::memchr_iter(b'\r', bytes).all(|at| bytes.get(at + 1) == Some(&b'\n')) {
        return false;
    }
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    body.is_ascii()
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

/// A collection that has not ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    node: u32,
    last_child: u32,
    /// Of its dashes or keys; no meaning in flow.
    column: u32,
    mapping: bool,
}

pub(super) struct Plain<'b> {
    pub(super) bytes: &'b [u8],
    nodes: Vec<Node>,
    open: Vec<Open>,
    /// Where the last leaf or flow collection has ended: there its parents end, too.
    pub(super) last_end: usize,
    /// The innermost collection has a key or a dash whose value has not come; were it null, it would stand here.
    awaiting: Option<usize>,
}

impl Plain<'_> {
    fn document(&mut self) -> Option<()> {
        let mut at = if self.bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut marked = false;
        while at < self.bytes.len() {
            let start = at;
            let pos = self.spaces(at);
            at = match self.byte(pos) {
                None => break,
                Some(b'\n' | b'\r' | b'#') => self.next_line(pos),
                Some(b'-') if pos == start && self.is_marker(pos, b"---") => {
                    if marked || !self.nodes.is_empty() {
                        return None;
                    }
                    marked = true;
                    self.rest(pos + 3)?
                }
                Some(b'.') if pos == start && self.is_marker(pos, b"...") => {
                    let at = self.rest(pos + 3)?;
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
        let dash = self.is_dash(pos);
        let Some(top) = self.open.last() else {
            // The root; there is only one.
            return if self.nodes.is_empty() { self.node(start, pos, None) } else { None };
        };
        if self.awaiting.is_some() {
            // The dashes of a sequence may stand in the column of the key above it.
            if column > top.column as usize || (column == top.column as usize && dash && top.mapping) {
                return self.node(start, pos, None);
            }
            self.null();
        }
        while self.open.last()?.column as usize > column {
            self.close();
        }
        if !dash && !self.open.last()?.mapping {
            self.close();
        }
        let top = self.open.last()?;
        // Deeper than the collection it should belong to: more lines of a scalar, or an error.
        if top.column as usize != column || top.mapping == dash {
            return None;
        }
        if dash { self.item(start, pos) } else { self.entry(pos) }
    }

    /// A new node, at the beginning of its line or behind a dash, whose column is then given.
    fn node(&mut self, start: usize, pos: usize, dash: Option<usize>) -> Option<usize> {
        let column = pos - start;
        match self.byte(pos)? {
            b'-' if self.is_dash(pos) => {
                self.begin(Kind::Sequence, Style::Block, pos, column)?;
                return self.item(start, pos);
            }
            b'[' | b'{' => {
                self.awaiting = None;
                let end = flow::collection(self, pos)?;
                return self.rest(end);
            }
            b'|' | b'>' => return self.block(pos, dash?),
            _ => {}
        }
        let (style, end) = self.scalar(pos)?;
        if self.colon(end).is_some() {
            self.begin(Kind::Mapping, Style::Block, pos, column)?;
            return self.entry_of(pos, style, end);
        }
        // A scalar as the whole document is rare, and has rules of its own.
        if self.open.is_empty() {
            return None;
        }
        self.leaf(style, pos, end, NONE);
        self.rest(end)
    }

    /// An item, from its dash.
    fn item(&mut self, start: usize, dash: usize) -> Option<usize> {
        let pos = self.spaces(dash + 1);
        self.awaiting = Some(dash + 1);
        match self.byte(pos) {
            None | Some(b'\n' | b'\r' | b'#') => Some(self.next_line(pos)),
            Some(_) => self.node(start, pos, Some(dash - start)),
        }
    }

    /// A key and what stands behind it.
    fn entry(&mut self, pos: usize) -> Option<usize> {
        let (style, end) = self.scalar(pos)?;
        self.entry_of(pos, style, end)
    }

    fn entry_of(&mut self, pos: usize, style: Style, end: usize) -> Option<usize> {
        let colon = self.colon(end)?;
        if end - pos > MAX_KEY || (style == Style::Plain && self.bytes.get(pos..end) == Some(b"<<")) {
            return None;
        }
        self.leaf(style, pos, end, NONE);
        let value = self.spaces(colon + 1);
        self.awaiting = Some(colon + 1);
        match self.byte(value) {
            None | Some(b'\n' | b'\r' | b'#') => Some(self.next_line(value)),
            Some(b'[' | b'{') => {
                self.awaiting = None;
                let end = flow::collection(self, value)?;
                self.rest(end)
            }
            Some(b'|' | b'>') => {
                let column = self.open.last()?.column as usize;
                self.block(value, column)
            }
            Some(_) => {
                let (style, end) = self.scalar(value)?;
                self.leaf(style, value, end, NONE);
                self.rest(end)
            }
        }
    }

    /// A block scalar in a collection whose column is given.
    fn block(&mut self, pos: usize, parent: usize) -> Option<usize> {
        let style = if self.byte(pos) == Some(b'|') { Style::Literal } else { Style::Folded };
        let chomping = self.byte(pos + 1);
        let keep = chomping == Some(b'+');
        let header = if keep || chomping == Some(b'-') { pos + 2 } else { pos + 1 };
        let mut at = self.rest(header)?;
        let (mut indent, mut widest) = (None, 0);
        let mut end = header;
        while at < self.bytes.len() {
            let (stop, next) = self.line_end(at);
            let text = self.spaces(at).min(stop);
            let spaces = text - at;
            let blank = text == stop;
            match indent {
                None if blank => widest = widest.max(spaces),
                None => {
                    // Less indented than a blank line above it, or hardly a beginning.
                    if spaces <= parent || widest > spaces || self.byte(text) == Some(b'\t') {
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

    /// A scalar on one line: its style, and where it ends.
    fn scalar(&self, pos: usize) -> Option<(Style, usize)> {
        match self.byte(pos)? {
            b'"' => Some((Style::DoubleQuoted, self.double_quoted(pos)?)),
            b'\'' => Some((Style::SingleQuoted, self.single_quoted(pos)?)),
            _ => Some((Style::Plain, self.plain(pos)?)),
        }
    }

    fn plain(&self, pos: usize) -> Option<usize> {
        if !self.begins_plain(pos) {
            return None;
        }
        let mut at = pos + 1;
        loop {
            match self.byte(at) {
                None | Some(b'\n' | b'\r') => break,
                Some(b':') if matches!(self.byte(at + 1), None | Some(b' ' | b'\n' | b'\r' | b'\t')) => break,
                Some(b'#') if self.bytes.get(at - 1) == Some(&b' ') => break,
                Some(b'\t') => return None,
                Some(_) => at += 1,
            }
        }
        while self.bytes.get(at - 1) == Some(&b' ') {
            at -= 1;
        }
        Some(at)
    }

    /// True where a plain scalar may begin, without looking at what follows it.
    pub(super) fn begins_plain(&self, pos: usize) -> bool {
        match self.byte(pos) {
            Some(b'-') => !matches!(
                self.byte(pos + 1),
                None | Some(b' ' | b'\n' | b'\r' | b'\t' | b',' | b'[' | b']' | b'{' | b'}')
            ),
            Some(
                b'?' | b':' | b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"'
                | b'%' | b'@' | b'`' | b'\t' | b'\n' | b'\r',
            )
            | None => false,
            Some(_) => true,
        }
    }

    pub(super) fn single_quoted(&self, pos: usize) -> Option<usize> {
        let mut at = pos + 1;
        loop {
            at += memchr::memchr2(b'\'', b'\n', self.bytes.get(at..)?)?;
            match (self.byte(at), self.byte(at + 1)) {
                (Some(b'\''), Some(b'\'')) => at += 2,
                (Some(b'\''), _) => return Some(at + 1),
                _ => return None,
            }
        }
    }

    pub(super) fn double_quoted(&self, pos: usize) -> Option<usize> {
        let mut at = pos + 1;
        loop {
            at += memchr::memchr3(b'"', b'\\', b'\n', self.bytes.get(at..)?)?;
            match self.byte(at) {
                Some(b'"') => return Some(at + 1),
                Some(b'\\') => at = self.escape(at + 1)?,
                _ => return None,
            }
        }
    }

    /// The escapes of everyday; surrogate pairs and rarities are not ours.
    fn escape(&self, at: usize) -> Option<usize> {
        let digits = match self.byte(at)? {
            b'n' | b't' | b'r' | b'"' | b'\\' | b'/' | b'0' | b'a' | b'b' | b'e' | b'f' | b'v' => return Some(at + 1),
            b'x' => 2,
            b'u' => 4,
            _ => return None,
        };
        let code = self.bytes.get(at + 1..at + 1 + digits)?;
        let surrogate = digits == 4 && matches!(code[0], b'd' | b'D') && code[1] > b'7';
        (code.iter().all(u8::is_ascii_hexdigit) && !surrogate).then_some(at + 1 + digits)
    }

    /// The colon that makes a key of what ended at `end`.
    fn colon(&self, end: usize) -> Option<usize> {
        let at = self.spaces(end);
        (self.byte(at) == Some(b':') && matches!(self.byte(at + 1), None | Some(b' ' | b'\n' | b'\r'))).then_some(at)
    }

    /// The rest of a line behind a token, if it holds no more than white space and a comment. Gives the next line.
    fn rest(&self, at: usize) -> Option<usize> {
        let end = self.spaces(at);
        match self.byte(end) {
            None | Some(b'\n' | b'\r') => Some(self.next_line(end)),
            Some(b'#') if end > at => Some(self.next_line(end)),
            Some(_) => None,
        }
    }

    fn nothing_from(&self, at: usize) -> Option<()> {
        let mut at = at;
        while at < self.bytes.len() {
            let pos = self.spaces(at);
            if !matches!(self.byte(pos), None | Some(b'\n' | b'\r' | b'#')) {
                return None;
            }
            at = self.next_line(pos);
        }
        Some(())
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn spaces(&self, at: usize) -> usize {
        let mut at = at;
        while self.bytes.get(at) == Some(&b' ') {
            at += 1;
        }
        at
    }

    /// The end of the line, without its break, and where the next one begins.
    fn line_end(&self, at: usize) -> (usize, usize) {
        let rest = self.bytes.get(at..).unwrap_or_default();
        match memchr::memchr(b'\n', rest) {
            None => (self.bytes.len(), self.bytes.len()),
            Some(found) if found > 0 && rest.get(found - 1) == Some(&b'\r') => (at + found - 1, at + found + 1),
            Some(found) => (at + found, at + found + 1),
        }
    }

    pub(super) fn next_line(&self, at: usize) -> usize {
        self.line_end(at).1
    }

    fn is_dash(&self, at: usize) -> bool {
        self.byte(at) == Some(b'-') && matches!(self.byte(at + 1), None | Some(b' ' | b'\n' | b'\r'))
    }

    pub(super) fn is_marker(&self, at: usize, marker: &[u8]) -> bool {
        self.bytes.get(at..at + 3) == Some(marker)
            && matches!(self.byte(at + 3), None | Some(b' ' | b'\t' | b'\n' | b'\r'))
    }

    /// The value that was awaited has not come.
    fn null(&mut self) {
        if let Some(at) = self.awaiting {
            self.leaf(Style::Plain, at, at, NONE);
        }
    }

    pub(super) fn leaf(&mut self, style: Style, start: usize, end: usize, child: u32) {
        self.awaiting = None;
        self.add(Kind::Scalar, style, start, end, child);
        self.last_end = end;
    }

    pub(super) fn begin(&mut self, kind: Kind, style: Style, start: usize, column: usize) -> Option<()> {
        if self.open.len() >= MAX_DEPTH {
            return None;
        }
        self.awaiting = None;
        let node = self.add(kind, style, start, start, NONE);
        let column = u32::try_from(column).ok()?;
        self.open.push(Open { node, last_child: NONE, column, mapping: kind == Kind::Mapping });
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

    fn add(&mut self, kind: Kind, style: Style, start: usize, end: usize, child: u32) -> u32 {
        // There are fewer nodes than bytes, or about as many in `[[[[`, and bytes are few enough.
        let id = narrow(self.nodes.len());
        if let Some(parent) = self.open.last_mut() {
            if let Some(elder) = self.nodes.get_mut(parent.last_child as usize) {
                elder.next = id;
            } else if let Some(node) = self.nodes.get_mut(parent.node as usize) {
                node.child = id;
            }
            parent.last_child = id;
        }
        self.nodes.push(Node {
            kind,
            style,
            explicit_key: false,
            has_properties: false,
            start: narrow(start),
            end: narrow(end),
            next: NONE,
            child,
        });
        id
    }
}

/// Offsets fit: the text's length was checked.
fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(NONE)
}
