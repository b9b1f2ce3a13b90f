//! Edits inside block collections: whole lines come and go.

use super::content::{Content, Name};
use super::edits::ends_open;
use super::error::{ErrorKind, SpliceError};
use super::layout::{self, Layout};
use super::operation::NullSource;
use super::overlay::Overlay;
use super::plan::{self, Element, New, SplicePlan, SpliceStep};
use super::reading::Source;
use super::render::{self, Block, BlockPlace};
use super::writer::{Slot, Writer};
use crate::quote::{Context, quote, single_quoted};
use crate::tree::{Kind, NodeId, Style};
use crate::value::{ScalarValue, scalar_value};
use serde_json::Value;

/// Kind and columns of a block collection.
#[derive(Debug, Clone, Copy)]
struct BlockStyle {
    kind: Kind,
    /// The column of its keys or dashes.
    column: usize,
    /// The number of blanks behind its dashes; 0 in a mapping.
    gap: usize,
}

impl Writer<'_, '_> {
    pub(super) fn block(
        &mut self,
        node: NodeId,
        plan: &SplicePlan<'_>,
        slot: Slot,
    ) -> Result<(), SpliceError> {
        let Some(first) = plan.elements.first() else {
            return Ok(());
        };
        if !plan.changes_itself() {
            self.inside(plan);
            return Ok(());
        }
        if self.tree.has_explicit_key(node) {
            return Err(ErrorKind::ExplicitKey.at(first.start));
        }
        if plan.elements.iter().any(|element| element.mark.is_none()) {
            return Err(ErrorKind::Layout.at(first.start));
        }
        if plan.leaves_nothing() {
            return self.empty(node, plan, slot);
        }
        let kind = self.tree.kind(node);
        let gap = if kind == Kind::Sequence {
            layout::gap(self.tree, &self.lines, node)
        } else {
            0
        };
        let shape = BlockStyle {
            kind,
            column: self.lines.column(first.start)?,
            gap,
        };
        let mut last: Option<usize> = None;
        let mut at = 0;
        while let Some(step) = plan.steps.get(at) {
            match *step {
                SpliceStep::Keep(_) => {}
                SpliceStep::Descend(index, overlay) => self.element_inside(plan, index, overlay),
                SpliceStep::Replace(index, overlay) => {
                    self.replace(shape, &plan.elements, index, overlay)?
                }
                SpliceStep::Remove(index) => self.remove(plan, index)?,
                SpliceStep::Insert(_) => {
                    let new: Vec<New<'_>> = plan.steps[at..]
                        .iter()
                        .map_while(|step| {
                            if let SpliceStep::Insert(new) = step {
                                Some(*new)
                            } else {
                                None
                            }
                        })
                        .collect();
                    let behind = plan.steps[..at].last();
                    self.insert(shape, plan, last, behind, &new)?;
                    at += new.len();
                    continue;
                }
            }
            last = plan::kept(step).or(last);
            at += 1;
        }
        Ok(())
    }

    /// Inserts lines behind the last element that stays, or at the place of the first one.
    fn insert(
        &mut self,
        shape: BlockStyle,
        plan: &SplicePlan<'_>,
        last: Option<usize>,
        behind: Option<&SpliceStep<'_>>,
        new: &[New<'_>],
    ) -> Result<(), SpliceError> {
        let Some(last) = last.and_then(|last| plan.elements.get(last)) else {
            return self.insert_first(shape, plan, behind, new);
        };
        let below = self.lines.below(last.end)?;
        let place = match behind {
            // Lines that follow a replaced item are those of its list.
            Some(SpliceStep::Replace(..)) if shape.kind == Kind::Sequence => below,
            _ => self.lines.below_comments(below, shape.column)?,
        };
        if place > self.lines.text.len() && ends_open(self.tree, &self.lines) {
            return match shape.kind {
                Kind::Mapping => self.insert_first(shape, plan, behind, new),
                _ => Err(ErrorKind::OpenBlockScalar.at(last.start)),
            };
        }
        let text = self.lines_of(shape, new, place, FirstLine::Own)?;
        self.out.insert(place, text);
        Ok(())
    }

    /// New lines before the first element. That one may be behind the dash of a list around it.
    ///
    /// The comments right above it belong to it: a new member that is to be the first goes above them. One that would
    /// be the last, where nothing can be appended, goes below them: they may be the head of the document.
    fn insert_first(
        &mut self,
        shape: BlockStyle,
        plan: &SplicePlan<'_>,
        behind: Option<&SpliceStep<'_>>,
        new: &[New<'_>],
    ) -> Result<(), SpliceError> {
        let Some(first) = plan.elements.first() else {
            return Ok(());
        };
        if let Some(indentation) = self.lines.indentation(first.start) {
            let line = first.start - indentation.len();
            let place = match (shape.kind, behind) {
                (Kind::Sequence, _) | (_, None) => self.lines.above_comments(line),
                _ => line,
            };
            let text = self.lines_of(shape, new, place, FirstLine::Own)?;
            self.out.insert(place, text);
            return Ok(());
        }
        let goes = plan
            .steps
            .iter()
            .any(|step| matches!(step, SpliceStep::Remove(0)));
        let stays = plan.stays.is_some();
        if goes && stays {
            return Err(ErrorKind::Layout.at(first.start));
        }
        let mut text = self.lines_of(
            shape,
            new,
            self.lines.start(first.start),
            FirstLine::AfterDash,
        )?;
        if stays {
            text.extend(std::iter::repeat_n(' ', shape.column));
        }
        self.out.insert(first.start, text);
        Ok(())
    }

    fn lines_of(
        &mut self,
        shape: BlockStyle,
        new: &[New<'_>],
        place: usize,
        first_line: FirstLine,
    ) -> Result<String, SpliceError> {
        let mut block = self.new_block(place, first_line);
        for new in new {
            let at = BlockPlace {
                name: new.name,
                column: shape.column,
                gap: shape.gap,
                at: place,
            };
            if let Some(source) = new.source
                && let Some(text) = self.carried(source, &at, block.layout)
            {
                block.carried(&at, &text)?;
                continue;
            }
            let layout = block.placement(shape.column, shape.gap);
            let known = new
                .shared
                .and_then(|value| self.cache.text(new.name, value, &layout));
            if let Some(text) = known {
                block.paste(&text);
                continue;
            }
            let start = block.text.len();
            match new.name {
                Some(name) => block.member(shape.column, Name::New(name), self.content(new))?,
                None => block.item(shape.column, shape.gap, self.content(new))?,
            }
            if let Some(value) = new.shared {
                self.cache
                    .remember_text(new.name, value, layout, &block.text[start..]);
            }
        }
        Ok(block.text)
    }

    fn layout(&mut self) -> Layout {
        self.examples.measure(self.tree, &self.path)
    }

    fn new_block(&mut self, place: usize, first_line: FirstLine) -> Block {
        let mut block = Block::new(
            self.layout(),
            self.lines.break_before(place),
            place.min(self.lines.text.len()),
        );
        block.indented = first_line == FirstLine::AfterDash;
        block
    }

    /// The beginning of the element's lines; none if something else is before it on its line.
    fn own_lines(&self, element: &Element) -> Option<usize> {
        self.lines
            .indentation(element.start)
            .map(|indentation| element.start - indentation.len())
    }

    fn remove(&mut self, plan: &SplicePlan<'_>, index: usize) -> Result<(), SpliceError> {
        let Some(element) = plan.elements.get(index) else {
            return Ok(());
        };
        let below = self.lines.below(element.end)?;
        let stays = plan.stays;
        let Some(start) = self.own_lines(element) else {
            return match stays {
                Some(stays) => self.remove_behind_dash(&plan.elements, stays),
                None => {
                    self.out.delete(element.start..below);
                    Ok(())
                }
            };
        };
        let compact = plan
            .elements
            .first()
            .is_some_and(|first| self.own_lines(first).is_none());
        if !(compact && stays.is_some_and(|stays| index < stays)) {
            self.out.delete(start..below);
        }
        Ok(())
    }

    /// `- a: 1` without `a`: the first member that stays takes its place behind the dash.
    fn remove_behind_dash(
        &mut self,
        elements: &[Element],
        stays: usize,
    ) -> Result<(), SpliceError> {
        let (Some(gone), Some(stays)) = (elements.get(..stays), elements.get(stays)) else {
            return Ok(());
        };
        let Some(first) = gone.first() else {
            return Ok(());
        };
        let mut below = self.lines.below(first.end)?;
        let mut blank = true;
        for (element, next) in gone.iter().zip(gone.iter().skip(1).chain([stays])) {
            blank &= self
                .lines
                .slice(self.lines.below(element.end)?, next.start)
                .trim_matches(' ')
                .is_empty();
        }
        if blank {
            self.out.delete(first.start..stays.start);
            return Ok(());
        }
        // Comments or blank lines are in between: the dash stays alone on its line.
        let dash = self.lines.slice(0, first.start).trim_end_matches(' ').len();
        self.out.delete(dash..self.lines.before_break(below));
        for element in gone.iter().skip(1) {
            below = self.lines.below(element.end)?;
            self.out
                .delete(self.own_lines(element).unwrap_or(element.start)..below);
        }
        Ok(())
    }

    /// Writes `{}` or `[]` for a collection of which nothing is left.
    fn empty(
        &mut self,
        node: NodeId,
        plan: &SplicePlan<'_>,
        slot: Slot,
    ) -> Result<(), SpliceError> {
        let text = if self.tree.kind(node) == Kind::Mapping {
            "{}"
        } else {
            "[]"
        };
        let span = self.tree.span(node);
        let first = layout::first(self.tree, node).min(span.start);
        match slot {
            Slot::Behind(mark) if self.lines.indentation(first).is_some() => {
                for element in &plan.elements {
                    self.out.delete(
                        self.own_lines(element).unwrap_or(element.start)
                            ..self.lines.below(element.end)?,
                    );
                }
                let behind = self.properties_end(node).unwrap_or(mark).max(mark);
                self.out.insert(behind, format!(" {text}"));
            }
            Slot::Behind(_) | Slot::Root => self.out.replace(first..span.end, text.to_owned()),
        }
        Ok(())
    }

    /// The end of a node's anchor and tag.
    fn properties_end(&self, node: NodeId) -> Option<usize> {
        let properties = self.tree.properties(node)?;
        let ends = [&properties.anchor, &properties.tag]
            .into_iter()
            .flatten()
            .map(|range| range.end as usize);
        ends.max()
    }

    fn replace(
        &mut self,
        shape: BlockStyle,
        elements: &[Element],
        index: usize,
        new: &Overlay,
    ) -> Result<(), SpliceError> {
        let Some(element) = elements.get(index) else {
            return Ok(());
        };
        let Some(mark) = element.mark else {
            return Err(ErrorKind::Layout.at(element.start));
        };
        let old = element.value;
        let new = match new {
            Overlay::Null(source) => return self.restore(element, mark, source),
            _ => plan::new(None, new),
        };
        let is_inline = plan::is_inline(self.tree, old);
        if let Some(source) = new.source {
            if let Some(text) = self.carried_on_one_line(source).filter(|_| is_inline) {
                self.token(element, mark, text);
                return Ok(());
            }
            if shape.kind == Kind::Mapping && self.replace_carried(shape, element, mark, source)? {
                return Ok(());
            }
        }
        let layout = self.layout();
        let inline = self
            .in_style_of(old, new.value)
            .or_else(|| render::inline(self.content(&new), layout));
        match (is_inline, inline) {
            (true, Some(text)) => {
                self.token(element, mark, text);
                Ok(())
            }
            _ if shape.kind == Kind::Sequence => self.replace_item(shape, element, new),
            (true, None) => self.fill(shape, element, mark, new),
            (false, inline) => self.replace_children(shape, element, mark, new, inline),
        }
    }

    /// Replaces the value of a member with the text of another one.
    fn replace_carried(
        &mut self,
        shape: BlockStyle,
        element: &Element,
        mark: usize,
        source: Source,
    ) -> Result<bool, SpliceError> {
        let below = self.lines.below(element.end)?;
        let place = BlockPlace {
            name: Some(""),
            column: shape.column,
            gap: shape.gap,
            at: below,
        };
        let layout = self.layout();
        let Some(text) = self.carried(source, &place, layout) else {
            return Ok(false);
        };
        let is_on_one_line =
            plan::is_inline(self.tree, element.value) && self.lines.line_end(mark) >= element.end;
        if text.first.is_empty() && text.comment.is_empty() && is_on_one_line {
            // The comment behind the old value stays.
            self.out.delete(mark..element.end);
            self.out.insert(below, text.below);
            return Ok(true);
        }
        let blank = if text.first.is_empty() { "" } else { " " };
        let text = text.behind_mark(self.lines.break_before(below));
        self.out.replace(mark..below, format!("{blank}{text}"));
        Ok(true)
    }

    /// The text of a string in the quotes of the scalar that it replaces, if it has any.
    fn in_style_of(&self, old: NodeId, new: &Value) -> Option<String> {
        match (new, self.tree.style(old)) {
            (Value::String(text), Style::SingleQuoted) => single_quoted(text),
            (Value::String(text), Style::DoubleQuoted) => {
                Some(quote(text, Context::Json).into_owned())
            }
            _ => None,
        }
    }

    /// `a: 1` becomes `a: 2`, `a:` becomes `a: 2`.
    fn token(&mut self, element: &Element, mark: usize, text: String) {
        let start = self.tree.outer_start(element.value).max(mark);
        if start < element.end {
            // `a: *x` or `a:"b"` in JSON's manner: a plain word needs its space.
            let space = if start == mark { " " } else { "" };
            self.out
                .replace(start..element.end, format!("{space}{text}"));
        } else {
            self.out.insert(mark, format!(" {text}"));
        }
    }

    /// Restores a null that a collection had replaced, as it was written.
    fn restore(
        &mut self,
        element: &Element,
        mark: usize,
        source: &NullSource,
    ) -> Result<(), SpliceError> {
        let NullSource::Block(raw) = source else {
            return Err(ErrorKind::Layout.at(element.start));
        };
        if plan::is_inline(self.tree, element.value) {
            self.out.replace(mark..element.end, raw.clone());
            return Ok(());
        }
        let first = layout::first(self.tree, element.value);
        match self.lines.indentation(first) {
            Some(indentation) => {
                let behind = self.properties_end(element.value).unwrap_or(mark).max(mark);
                self.out.replace(mark..behind, raw.clone());
                self.out
                    .delete(first - indentation.len()..self.lines.below(element.end)?);
            }
            None => self.out.replace(mark..element.end, raw.clone()),
        }
        Ok(())
    }

    /// The whole item: its lines, its comment at the end.
    fn replace_item(
        &mut self,
        shape: BlockStyle,
        element: &Element,
        new: New<'_>,
    ) -> Result<(), SpliceError> {
        let below = self.lines.below(element.end)?;
        let (start, first_line) = match self.own_lines(element) {
            Some(start) => (start, FirstLine::Own),
            None => (element.start, FirstLine::AfterDash),
        };
        let text = self.lines_of(shape, &[new], self.lines.start(start), first_line)?;
        self.out.replace(start..below, text);
        Ok(())
    }

    /// `a: null # why` becomes `a: # why` with lines below it.
    fn fill(
        &mut self,
        shape: BlockStyle,
        element: &Element,
        mark: usize,
        new: New<'_>,
    ) -> Result<(), SpliceError> {
        let start = self.tree.outer_start(element.value).max(mark);
        let below = self.lines.below(element.end)?;
        if self.lines.line_end(mark) < start {
            if matches!(
                scalar_value(self.tree, element.value),
                Ok(ScalarValue::Null)
            ) {
                return Err(ErrorKind::OddNull.at(start));
            }
            let Some(indentation) = self.lines.indentation(start) else {
                return Err(ErrorKind::Layout.at(start));
            };
            let place = start - indentation.len();
            let text = self.children_of(shape, new, place)?;
            self.out.replace(place..below, text);
            return Ok(());
        }
        let text = self.children_of(shape, new, below)?;
        self.out.delete(mark..element.end);
        self.out.insert(below, text);
        Ok(())
    }

    /// `a: {} # why` becomes `a: # why` with lines below it, where a removal of these writes the same bytes again.
    pub(super) fn open_into_lines(
        &mut self,
        node: NodeId,
        plan: &SplicePlan<'_>,
        slot: Slot,
    ) -> Result<bool, SpliceError> {
        let (Slot::Behind(mark), [.., around, own]) = (slot, &*self.path) else {
            return Ok(false);
        };
        let is_in_lines = self.tree.kind(around.node) == Kind::Mapping
            && self.tree.style(around.node) == Style::Block;
        let end = self.tree.span(node).end;
        if !is_in_lines || !matches!(self.lines.slice(mark, end), " {}" | " []") {
            return Ok(false);
        }
        let key = own
            .key
            .and_then(|key| self.lines.column(self.tree.outer_start(key)).ok());
        let (Some(key), Ok(below)) = (key, self.lines.below(end)) else {
            return Ok(false);
        };
        let (
            kind,
            Layout {
                sequence_offset,
                dash_gap,
                indent,
                ..
            },
        ) = (self.tree.kind(node), self.layout());
        let (further, gap) = if kind == Kind::Sequence {
            (sequence_offset, dash_gap)
        } else {
            (indent, 0)
        };
        let new: Vec<New<'_>> = plan
            .steps
            .iter()
            .filter_map(|step| {
                if let SpliceStep::Insert(new) = step {
                    Some(*new)
                } else {
                    None
                }
            })
            .collect();
        let text = self.lines_of(
            BlockStyle {
                kind,
                column: key + further,
                gap,
            },
            &new,
            below,
            FirstLine::Own,
        )?;
        self.out.delete(mark..end);
        self.out.insert(below, text);
        Ok(true)
    }

    fn children_of(
        &mut self,
        shape: BlockStyle,
        new: New<'_>,
        place: usize,
    ) -> Result<String, SpliceError> {
        let mut block = self.new_block(place, FirstLine::Own);
        block.children(shape.column, self.content(&new))?;
        Ok(block.text)
    }

    /// Replaces the lines of a block collection below its key.
    fn replace_children(
        &mut self,
        shape: BlockStyle,
        element: &Element,
        mark: usize,
        new: New<'_>,
        inline: Option<String>,
    ) -> Result<(), SpliceError> {
        let first = layout::first(self.tree, element.value);
        let Some(indentation) = self.lines.indentation(first) else {
            return Err(ErrorKind::Layout.at(first));
        };
        let place = first - indentation.len();
        let below = self.lines.below(element.end)?;
        let behind = self.properties_end(element.value).unwrap_or(mark).max(mark);
        match inline {
            Some(text) => {
                self.out.replace(mark..behind, format!(" {text}"));
                self.out.delete(place..below);
            }
            None => {
                self.out.delete(mark..behind);
                let text = self.children_of(shape, new, place)?;
                self.out.replace(place..below, text);
            }
        }
        Ok(())
    }

    /// The whole document.
    pub(super) fn replace_root(&mut self, new: &Value) -> Result<(), SpliceError> {
        let Some(root) = self.tree.root() else {
            let text = self.lines.text;
            let end = self.lines.end();
            if text.lines().any(|line| line.starts_with("...")) {
                return Err(ErrorKind::Layout.at(0));
            }
            let rendered = self.whole(new, end)?;
            self.out.insert(end, rendered);
            return Ok(());
        };
        let span = self.tree.span(root);
        let start = self.tree.outer_start(root);
        let inline = plan::is_inline(self.tree, root);
        let is_json = inline && matches!(self.tree.kind(root), Kind::Mapping | Kind::Sequence);
        let own = self
            .lines
            .indentation(start)
            .map(|indentation| start - indentation.len());
        match own.filter(|_| !is_json) {
            Some(place) => {
                let below = self.lines.below(span.end)?;
                let rendered = self.whole(new, place)?;
                self.out.replace(place..below, rendered);
            }
            None => {
                let text = self.in_brackets(root, new, start)?;
                self.out.replace(start..span.end, text);
            }
        }
        Ok(())
    }

    fn whole(&mut self, new: &Value, place: usize) -> Result<String, SpliceError> {
        let new = Content::Value(new);
        if let Some(text) = render::inline(new, self.layout()) {
            return Ok([&text, self.lines.break_before(place)].concat());
        }
        let mut block = self.new_block(place, FirstLine::Own);
        block.parts(0, new)?;
        Ok(block.text)
    }
}

/// The place of the first of several new lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstLine {
    /// A line of its own.
    Own,
    /// The rest of a line that begins with the dash of another list: `- - a`, `- a: 1`.
    AfterDash,
}
