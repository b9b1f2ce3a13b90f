//! The complete reader: granit's events become a [`Tree`]. Slow; the fast reader must agree with it.
//!
//! granit's spans are exact for flow scalars and closing brackets only. Everything else is found again by walking the
//! text from node to node ([`TreeBuilder::cursor`]); where text and events disagree, the document is refused, so that a
//! wrong span cannot leave this module.
//!
//! Indentation inside flow collections is read leniently, as go-yaml does. Strict YAML 1.2 would refuse the very common
//! ```yaml
//! args: [
//!   "a"
//! ]
//! ```

use super::error::{TAB, explain};
use super::scanner::Scan;
use super::unindented_quotes;
use crate::tree::{Kind, NONE, Node, Properties, SEVERAL_LINES, Style, Tree, YamlError, narrow};
use crate::{block_scalar, tag};
use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StructureStyle};
use std::borrow::Cow;

use std::ops::Range;

/// Collections within collections, the root included.
pub(crate) const MAX_DEPTH: usize = 255;

/// Reads into a buffer that an earlier tree has left.
pub(crate) fn read_into(text: &str, mut nodes: Vec<Node>) -> Result<Tree<'_>, YamlError> {
    if text.len() >= NONE as usize {
        return Err(error(0, "the document is larger than 4 GiB"));
    }
    let bom = if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    };
    let mut shown = Cow::Borrowed(text);
    let mut more = unindented_quotes::MAX_SCALARS;
    loop {
        nodes.clear();
        let mut builder = TreeBuilder {
            tree: Tree::new(text, nodes, Vec::new()),
            open: Vec::new(),
            cursor: bom,
            anchors: Vec::new(),
            documents: 0,
        };
        let stop = match builder.run(&shown) {
            Ok(()) => return Ok(builder.tree),
            Err(stop) => stop,
        };
        let joined = match &stop {
            Stop::Unindented { inside, .. } if more > 0 => {
                unindented_quotes::joined(&shown, builder.cursor, *inside)
            }
            _ => None,
        };
        shown = Cow::Owned(joined.ok_or(stop)?);
        more -= 1;
        nodes = builder.tree.nodes;
    }
}

/// Refuses a tab at the beginning of a line inside quotes, as YAML 1.2 does and granit does not.
fn indented_by_spaces(quoted: &str, start: usize) -> Result<(), YamlError> {
    let mut at = start;
    for (index, line) in quoted.split_inclusive('\n').enumerate() {
        if index > 0 && line.starts_with('\t') && !line.trim().is_empty() {
            return Err(error(at, TAB));
        }
        at += line.len();
    }
    Ok(())
}

/// A reason why reading came to an end.
enum Stop {
    /// A line inside quotes is not indented.
    Unindented { inside: usize, error: YamlError },
    /// Anything else.
    Broken(YamlError),
}

impl From<Stop> for YamlError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Unindented { error, .. } | Stop::Broken(error) => error,
        }
    }
}

impl From<YamlError> for Stop {
    fn from(error: YamlError) -> Self {
        Stop::Broken(error)
    }
}

/// A collection whose end has not come yet.
#[derive(Clone, Copy)]
struct OpenCollection {
    node: u32,
    last_child: u32,
    kind: Kind,
    style: Style,
    /// Flow, and written with its brackets; false for the pair in `[a: b]`.
    bracketed: bool,
    /// In a mapping: a key has been read, its value comes next.
    at_value: bool,
    /// In a mapping: that key was written with `? `.
    explicit: bool,
}

/// Anchor and tag of the node to come, as spans.
#[derive(Default)]
struct Before {
    /// The span of the anchor, with the `&`.
    anchor: Option<Range<usize>>,
    anchor_id: usize,
    tag: Option<Range<usize>>,
}

impl Before {
    fn ranges(&self) -> impl Iterator<Item = &Range<usize>> {
        self.anchor.iter().chain(&self.tag)
    }

    fn start(&self) -> Option<usize> {
        self.ranges().map(|range| range.start).min()
    }

    fn end(&self) -> Option<usize> {
        self.ranges().map(|range| range.end).max()
    }
}

struct TreeBuilder<'t> {
    tree: Tree<'t>,
    open: Vec<OpenCollection>,
    /// The place up to which the text has been matched with events.
    cursor: usize,
    /// granit's anchor id and the node that bears it, ids ascending.
    anchors: Vec<(usize, u32)>,
    documents: usize,
}

impl TreeBuilder<'_> {
    /// `shown` is what granit gets to see: the text, or one as long with the same nodes in the same places.
    fn run(&mut self, shown: &str) -> Result<(), Stop> {
        let options = granit_parser::options! {
            emit_anchor_events: true,
            emit_comments: false,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
        };
        let mut parser = Parser::new_from_str_with_options(shown, options);
        while let Some(next) = parser.next_event() {
            let (event, span) = next.map_err(|error| self.stop(&error))?;
            let mut before = Before {
                tag: span.tag_span().and_then(|tag| tag.byte_range()),
                ..Before::default()
            };
            // The anchor's event follows that of its node.
            if event.is_node()
                && let Some(Ok((Event::Anchor(id, _), anchor))) = parser.peek()
            {
                before.anchor = anchor.byte_range();
                before.anchor_id = *id;
            }
            self.event(&event, &span, &before)?;
        }
        Ok(())
    }

    fn stop(&self, scan: &ScanError) -> Stop {
        // Only what follows it shows that a plain scalar of several lines is none.
        let doubtful = self.tree.nodes.last().filter(|node| {
            let (start, end) = (node.start as usize, node.end as usize);
            let text = self.tree.text.get(start..end).unwrap_or_default();
            node.kind == Kind::Scalar
                && node.style == Style::Plain
                && end == self.cursor
                && text.contains('\n')
        });
        let from = doubtful.map_or(self.cursor, |node| node.start as usize);
        let error = explain(scan, self.tree.text, from);
        match scan.kind() {
            ErrorKind::InvalidQuotedScalarIndent => Stop::Unindented {
                inside: scan.marker().byte_offset().unwrap_or(self.cursor),
                error,
            },
            _ => Stop::Broken(error),
        }
    }

    fn event(&mut self, event: &Event<'_>, span: &Span, before: &Before) -> Result<(), YamlError> {
        let range = span.byte_range().unwrap_or(self.cursor..self.cursor);
        self.in_brackets_indented_by_spaces(range.start)?;
        match event {
            Event::DocumentStart(explicit, _) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(error(
                        range.start,
                        "expected one document, but a second document starts here",
                    ));
                }
                if *explicit {
                    self.cursor = range.end;
                    let head = self.tree.text.get(..range.start).unwrap_or_default();
                    self.tree.declared_tags = tag::declared(head);
                }
            }
            Event::Scalar(_, ScalarStyle::Plain, ..) if range.is_empty() => self.null(before)?,
            Event::Scalar(_, style, ..) => self.scalar(*style, range, before)?,
            Event::Alias(id) => self.alias(*id, range)?,
            Event::SequenceStart(style, ..) => self.start(Kind::Sequence, *style, range, before)?,
            Event::MappingStart(style, ..) => self.start(Kind::Mapping, *style, range, before)?,
            Event::SequenceEnd | Event::MappingEnd => self.end(range)?,
            _ => {}
        }
        Ok(())
    }

    /// Refuses a tab that indents a line in brackets deeper than the block around them, as YAML 1.2 does. granit takes it behind a
    /// first scalar or collection, which an edit may remove.
    fn in_brackets_indented_by_spaces(&self, next: usize) -> Result<(), YamlError> {
        let between = self.tree.text.get(self.cursor..next).unwrap_or_default();
        let is_flow = |open: &OpenCollection| open.style == Style::Flow;
        if !between.contains('\t') || !self.open.last().is_some_and(is_flow) {
            return Ok(());
        }
        let Some(block) = self.open.iter().rfind(|open| !is_flow(open)) else {
            return Ok(());
        };
        let column = self.column_of(block.node);
        for (feed, _) in between.match_indices('\n') {
            let spaces = Scan(between.as_bytes()).spaces(feed + 1);
            let tab = between.get(spaces..).unwrap_or_default();
            let content = tab.trim_start_matches([' ', '\t']);
            let is_indentation = tab.starts_with('\t') && spaces - feed - 1 <= column;
            if is_indentation && !content.starts_with(['\n', '\r', '#']) {
                return Err(error(self.cursor + spaces, TAB));
            }
        }
        Ok(())
    }

    fn null(&mut self, before: &Before) -> Result<(), YamlError> {
        let bare = before.end().is_none();
        if bare && self.open.is_empty() {
            // `---` and nothing else: an empty document, not a null.
            return Ok(());
        }
        self.lead_in(bare)?;
        let at = before.end().unwrap_or(self.cursor);
        self.leaf(Node::new(Kind::Scalar, Style::Plain, at..at, NONE), before)
    }

    fn scalar(
        &mut self,
        style: ScalarStyle,
        range: Range<usize>,
        before: &Before,
    ) -> Result<(), YamlError> {
        let at = self.begin(before)?;
        let (style, mark) = match style {
            ScalarStyle::SingleQuoted => (Style::SingleQuoted, Some(b'\'')),
            ScalarStyle::DoubleQuoted => (Style::DoubleQuoted, Some(b'"')),
            ScalarStyle::Literal => (Style::Literal, Some(b'|')),
            ScalarStyle::Folded => (Style::Folded, Some(b'>')),
            _ => (Style::Plain, None),
        };
        if mark.is_some() && self.byte(at) != mark {
            return Err(lost(at));
        }
        if style.is_block_scalar() {
            let header = block_scalar::header(self.tree.text, at);
            // granit's span begins with the content, after its indentation.
            let (indent, end) = if range.is_empty() || range.start < header.body {
                block_scalar::blank(self.tree.text, &header)
            } else {
                let indent = self.column(range.start);
                (indent, block_scalar::end(self.tree.text, &header, indent))
            };
            return self.leaf(
                Node::new(Kind::Scalar, style, at..end, narrow(indent)),
                before,
            );
        }
        if range.start != at {
            return Err(lost(at));
        }
        let text = self.tree.text.get(range.clone()).unwrap_or_default();
        let is_in_block = self
            .open
            .last()
            .is_some_and(|open| open.style == Style::Block);
        if style != Style::Plain && is_in_block {
            indented_by_spaces(text, range.start)?;
        }
        let child = match style {
            Style::Plain if text.contains(['\n', '\r']) => SEVERAL_LINES,
            _ => NONE,
        };
        self.leaf(Node::new(Kind::Scalar, style, range, child), before)
    }

    /// Steps to the beginning of a node, behind its anchor and tag.
    fn begin(&mut self, before: &Before) -> Result<usize, YamlError> {
        self.lead_in(false)?;
        self.cursor = before.end().unwrap_or(self.cursor);
        Ok(self.skip())
    }

    fn alias(&mut self, id: usize, range: Range<usize>) -> Result<(), YamlError> {
        let at = self.begin(&Before::default())?;
        let known = self.anchors.binary_search_by_key(&id, |(known, _)| *known);
        let (Ok(found), true) = (known, range.start == at) else {
            return Err(lost(at));
        };
        let (_, target) = self.anchors[found];
        let properties = &mut self.tree.properties;
        if let Ok(found) = properties.binary_search_by_key(&target, |p| p.node) {
            properties[found].aliased = true;
        }
        self.leaf(
            Node::new(Kind::Alias, Style::Plain, range, target),
            &Before::default(),
        )
    }

    fn start(
        &mut self,
        kind: Kind,
        style: StructureStyle,
        range: Range<usize>,
        before: &Before,
    ) -> Result<(), YamlError> {
        let at = self.begin(before)?;
        let bracket = if kind == Kind::Mapping { b'{' } else { b'[' };
        let style = if style == StructureStyle::Flow {
            Style::Flow
        } else {
            Style::Block
        };
        // The pair in `[a: b]` has an empty span, or that of its `?`.
        let bracketed =
            style == Style::Flow && range.len() == 1 && self.byte(range.start) == Some(bracket);
        if (bracketed && range.start != at)
            || (style == Style::Block && kind == Kind::Sequence && self.byte(at) != Some(b'-'))
        {
            return Err(lost(at));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(error(
                at,
                "the document is nested more than 255 levels deep",
            ));
        }
        self.cursor = if bracketed { at + 1 } else { at };
        let node = self.push(Node::new(kind, style, at..at, NONE), before)?;
        self.open.push(OpenCollection {
            node,
            last_child: NONE,
            kind,
            style,
            bracketed,
            at_value: false,
            explicit: false,
        });
        Ok(())
    }

    fn end(&mut self, range: Range<usize>) -> Result<(), YamlError> {
        let Some(open) = self.open.pop() else {
            return Err(lost(self.cursor));
        };
        if open.bracketed {
            let bracket = if open.kind == Kind::Mapping {
                b'}'
            } else {
                b']'
            };
            if range.len() != 1
                || self.byte(range.start) != Some(bracket)
                || range.start < self.cursor
            {
                return Err(lost(self.cursor));
            }
            self.cursor = range.end;
        }
        // A block collection, or a pair, ends where its last descendant does: at the cursor.
        self.tree.nodes[open.node as usize].end = narrow(self.cursor);
        self.done();
        Ok(())
    }

    /// Steps over what leads to the next node in its parent: `,`, `?`, `:` or `-`.
    fn lead_in(&mut self, bare_null: bool) -> Result<(), YamlError> {
        let Some(open) = self.open.last().copied() else {
            return Ok(());
        };
        if open.style == Style::Flow && !open.at_value && open.last_child != NONE {
            self.step_over(self.skip(), b',')?;
        }
        let at = self.skip();
        match (open.kind, open.style, open.at_value) {
            (Kind::Sequence, Style::Block, _) => self.step_over(at, b'-')?,
            (Kind::Mapping, style, false) => {
                let explicit = self.byte(at) == Some(b'?') && self.ends_indicator(at + 1, style);
                if explicit {
                    self.cursor = at + 1;
                    self.tree.nodes[open.node as usize].explicit_key = true;
                } else {
                    self.cursor = at;
                }
                if let Some(open) = self.open.last_mut() {
                    open.explicit = explicit;
                }
            }
            (Kind::Mapping, style, true) => {
                // Below `? ? a`, a `:` may be that of an outer mapping: its column tells.
                let is_valid = style == Style::Flow
                    || !open.explicit
                    || self.column(at) == self.column_of(open.node);
                if self.byte(at) == Some(b':') && is_valid {
                    self.cursor = at + 1;
                } else if !bare_null {
                    return Err(lost(at));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Steps over the indicator that has to be there.
    fn step_over(&mut self, at: usize, indicator: u8) -> Result<(), YamlError> {
        if self.byte(at) != Some(indicator) {
            return Err(lost(at));
        }
        self.cursor = at + 1;
        Ok(())
    }

    fn leaf(&mut self, node: Node, before: &Before) -> Result<(), YamlError> {
        if (node.start as usize) < self.cursor || node.end < node.start {
            return Err(lost(self.cursor));
        }
        self.cursor = node.end as usize;
        self.push(node, before)?;
        self.done();
        Ok(())
    }

    /// Notes the end of a node.
    fn done(&mut self) {
        if let Some(parent) = self.open.last_mut()
            && parent.kind == Kind::Mapping
        {
            parent.at_value = !parent.at_value;
        }
    }

    fn push(&mut self, node: Node, before: &Before) -> Result<u32, YamlError> {
        let id = narrow(self.tree.nodes.len());
        if id == NONE {
            return Err(error(
                node.start as usize,
                "the document has too many nodes",
            ));
        }
        if let Some(parent) = self.open.last_mut() {
            if parent.last_child == NONE {
                self.tree.nodes[parent.node as usize].child = id;
            } else {
                self.tree.nodes[parent.last_child as usize].next = id;
            }
            parent.last_child = id;
        }
        let start = before.start();
        self.tree.nodes.push(Node {
            has_properties: start.is_some(),
            ..node
        });
        if let Some(start) = start {
            let part = |range: &Range<usize>, skip| narrow(range.start + skip)..narrow(range.end);
            self.tree.properties.push(Properties {
                node: id,
                start: narrow(start),
                anchor: before.anchor.as_ref().map(|range| part(range, 1)),
                tag: before.tag.as_ref().map(|range| part(range, 0)),
                aliased: false,
            });
        }
        if before.anchor.is_some() {
            self.anchors.push((before.anchor_id, id));
        }
        Ok(id)
    }

    /// The next byte from the cursor that is neither white space nor in a comment.
    fn skip(&self) -> usize {
        let bytes = self.tree.text.as_bytes();
        let mut at = self.cursor;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => at += 1,
                b'#' => at = block_scalar::line_end(bytes, at).0,
                _ => break,
            }
        }
        at
    }

    /// True where a `?` before `at` is an indicator and not the beginning of a plain scalar.
    fn ends_indicator(&self, at: usize, style: Style) -> bool {
        match self.byte(at) {
            None | Some(b' ' | b'\t' | b'\n' | b'\r') => true,
            Some(b',' | b'[' | b']' | b'{' | b'}') => style == Style::Flow,
            Some(_) => false,
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.tree.text.as_bytes().get(at).copied()
    }

    /// The column in which a node begins.
    fn column_of(&self, node: u32) -> usize {
        self.column(self.tree.nodes[node as usize].start as usize)
    }

    fn column(&self, at: usize) -> usize {
        let line = self
            .tree
            .text
            .as_bytes()
            .get(..at)
            .unwrap_or_default()
            .rsplit(|byte| matches!(byte, b'\n' | b'\r'))
            .next()
            .unwrap_or_default();
        line.strip_prefix("\u{feff}".as_bytes())
            .unwrap_or(line)
            .len()
    }
}

fn error(offset: usize, message: &str) -> YamlError {
    YamlError::new(offset, message.to_owned())
}

fn lost(offset: usize) -> YamlError {
    error(
        offset,
        "this way of writing YAML is not understood here; write it more plainly",
    )
}
