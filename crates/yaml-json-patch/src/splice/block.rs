//! Edits inside block collections: whole lines come and go.

use super::blank_lines::BlankLine;
use super::comment;
use super::content::{Carrying, Name};
use super::edits::ends_open;
use super::error::{ErrorKind, SpliceError};
use super::layout::{self, BlockStyle, Layout};
use super::plan::{self, Element, New, SplicePlan, SpliceStep};
use super::render::{Block, BlockPlace};
use super::writer::{Slot, Writer};
use crate::json::is_json;
use crate::quote::Context;
use crate::tree::{Kind, NodeId, Style};
use std::ops::Range;

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
        if self.tree.has_explicit_key(node) {
            return Err(ErrorKind::ExplicitKey.at(first.start));
        }
        if plan.elements.iter().any(|element| element.mark.is_none()) {
            return Err(ErrorKind::Layout.at(first.start));
        }
        if plan.leaves_nothing() {
            return self.empty(node, plan, slot);
        }
        let column = self.lines.column(first.start)?;
        let shape = BlockStyle {
            kind: self.tree.kind(node),
            node: Some(node),
            goes: None,
            column,
            gap: layout::gap(self.tree, node),
            parted: self.is_parted(plan, column),
        };
        let replaces_one = self.alone || plan.replaces_one();
        let mut at = 0;
        while let Some(step) = plan.steps.get(at) {
            match *step {
                SpliceStep::Keep(_) => {}
                SpliceStep::Rename(index, name) => {
                    self.rename(plan.elements.get(index), name, Context::Block)?
                }
                SpliceStep::Descend(index, overlay) => self.element_inside(plan, index, overlay),
                SpliceStep::Replace(index, overlay) => {
                    let node = shape.node.filter(|_| replaces_one);
                    let shape = BlockStyle { node, ..shape };
                    self.replace(shape, plan.elements.get(index), overlay)?
                }
                SpliceStep::Remove(index) => self.remove(shape, plan, index)?,
                SpliceStep::Insert(_) => {
                    at += self.insert(shape, plan, at)?;
                    continue;
                }
            }
            at += 1;
        }
        Ok(())
    }

    /// Inserts the lines of the insertions from the step `at` on. They go after the last element that stays before them, or
    /// to the place of the first element. Returns their number.
    fn insert(
        &mut self,
        shape: BlockStyle,
        plan: &SplicePlan<'_>,
        at: usize,
    ) -> Result<usize, SpliceError> {
        let new = plan.insertions_from(at);
        let before = &plan.steps[..at];
        let kept = before.iter().rev().find_map(plan::kept);
        let Some(last) = kept.and_then(|kept| plan.elements.get(kept)) else {
            self.insert_first(shape, plan, at)?;
            return Ok(new.len());
        };
        let place = match before.last() {
            // Lines that follow a replaced item are those of its list.
            Some(SpliceStep::Replace(..)) if shape.kind == Kind::Sequence => {
                self.lines.below(last.end)?
            }
            _ => self.place_behind(shape, last)?,
        };
        let place = match plan.steps.get(at + new.len()) {
            Some(SpliceStep::Keep(next))
                if shape.kind == Kind::Mapping && !self.around.is_behind =>
            {
                self.place_in_front(shape, plan.elements.get(*next), place)
            }
            _ => place,
        };
        let lines = NewLines {
            blank: self.blank_line_at(place, shape, kept == plan.last_stays),
            ..NewLines::before(place)
        };
        let is_open = place > self.lines.text.len() && ends_open(self.tree, &self.lines);
        if is_open && !self.around.closes_blocks {
            // Nothing can follow the value of a block scalar that has no line break at its end.
            if shape.kind == Kind::Sequence {
                return Err(ErrorKind::OpenBlockScalar.at(last.start));
            }
            self.insert_first(shape, plan, at)?;
            return Ok(new.len());
        }
        let text = self.lines_of(shape, &new, lines)?;
        self.out.insert(place, text);
        Ok(new.len())
    }

    /// The place behind a member or item and the comments that are its own.
    fn place_behind(&self, shape: BlockStyle, last: &Element) -> Result<usize, SpliceError> {
        let lines = &self.lines;
        let place = lines.below_comments(lines.below(last.end)?, shape.column)?;
        let is_flush_list = || comment::is_flush_list(self.tree, last.value, shape.column);
        if shape.kind == Kind::Sequence || !is_flush_list() {
            return Ok(place);
        }
        let is_at_column = |mark| mark - lines.start(mark) == shape.column;
        let comments = place..lines.comments_below(place, is_at_column)?;
        lines.below_comments(comment::below_items(lines, comments), shape.column)
    }

    /// The place in front of a member that stays, where comments part it from the place behind the one before it: they may be the head of
    /// a section.
    fn place_in_front(&self, shape: BlockStyle, next: Option<&Element>, place: usize) -> usize {
        let own = next.map(|next| comment::own_lines_above(self.tree, next.start).start);
        match own.filter(|own| self.lines.next_line_with_content(place) < *own) {
            Some(own) if shape.parted => self.lines.blank_lines_above(place, own),
            own => own.unwrap_or(place),
        }
    }

    /// New lines before the first element. That one may be after the dash of a list around it.
    ///
    /// The comments right above it belong to it: a new member that is to be the first goes above them. One that would
    /// be the last, where nothing can be appended, goes below them: they may be the head of the document.
    fn insert_first(
        &mut self,
        shape: BlockStyle,
        plan: &SplicePlan<'_>,
        at: usize,
    ) -> Result<(), SpliceError> {
        let new = plan.insertions_from(at);
        let previous = plan.steps[..at].last();
        let Some(first) = plan.elements.first() else {
            return Ok(());
        };
        if let Some(indentation) = self.lines.indentation(first.start) {
            let line = first.start - indentation.len();
            let above = comment::above(self.tree, line, shape.column);
            let place = match (shape.kind, previous) {
                (Kind::Sequence, _) | (_, None) => above,
                _ => line,
            };
            let second = plan.elements.get(1);
            let is_parted = second
                .is_some_and(|second| self.has_blank_line(first.end..second.start, shape.column))
                && place == above;
            let blank = if is_parted {
                BlankLine::Below
            } else {
                BlankLine::None
            };
            let lines = NewLines {
                blank,
                ..NewLines::before(place)
            };
            let text = self.lines_of(shape, &new, lines)?;
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
        let place = NewLines {
            at: self.lines.start(first.start),
            first: FirstLine::AfterDash,
            ..NewLines::before(first.start)
        };
        let mut text = self.lines_of(shape, &new, place)?;
        if stays {
            text.extend(std::iter::repeat_n(' ', shape.column));
        }
        self.out.insert(first.start, text);
        Ok(())
    }

    pub(super) fn lines_of(
        &mut self,
        shape: BlockStyle,
        new: &[New<'_>],
        place: NewLines,
    ) -> Result<String, SpliceError> {
        let layout = if new.iter().any(New::depends_on_layout) {
            self.layout()
        } else {
            Layout::default()
        };
        let mut block = self.new_block(layout, shape.column, place);
        for new in new {
            if place.blank == BlankLine::Above {
                block.blank_line();
            }
            self.write_element(&mut block, shape, new, place.at)?;
            if place.blank == BlankLine::Below {
                block.blank_line();
            }
        }
        Ok(block.text)
    }

    fn write_element(
        &mut self,
        block: &mut Block,
        shape: BlockStyle,
        new: &New<'_>,
        at: usize,
    ) -> Result<(), SpliceError> {
        let place = BlockPlace {
            name: new.name,
            column: shape.column,
            gap: shape.gap,
            at,
        };
        if new.source.is_some() {
            let Range { start, end } = self.around.comments.above;
            block.comment(shape.column, self.lines.slice(start, end));
        }
        if let Some(source) = new.source
            && let Some(text) = self.carried(source, &place, block.layout)
        {
            return block.carried(&place, &text);
        }
        let styled = self.styled(shape, new);
        let content = styled.content(self.content(new));
        let shared = new.shared.filter(|_| !styled.is_needed());
        let layout = block.placement(shape.column, shape.gap);
        if let Some(value) = shared
            && let Some(text) = self.cache.text(new.name, value, &layout)
        {
            block.paste(&text);
            return Ok(());
        }
        let start = block.text.len();
        match new.name {
            Some(name) => block.member(shape.column, styled.name(name), content)?,
            None => block.item(shape.column, shape.gap, content)?,
        }
        if let Some(value) = shared {
            self.cache
                .remember_text(new.name, value, layout, &block.text[start..]);
        }
        Ok(())
    }

    /// Writes another name in the place of a key.
    pub(super) fn rename(
        &mut self,
        element: Option<&Element>,
        name: &str,
        place: Context,
    ) -> Result<(), SpliceError> {
        let Some(key) = element.and_then(|element| element.key) else {
            return Ok(());
        };
        let start = self.tree.outer_start(key);
        let text = match self.in_quotes_of(key, name) {
            Some(text) => text,
            None => Name::New(name).text(place, start)?,
        };
        self.out.replace(start..self.tree.span(key).end, text);
        Ok(())
    }

    pub(super) fn layout(&mut self) -> Layout {
        self.examples.measure(self.tree, &self.path)
    }

    pub(super) fn new_block(&self, layout: Layout, column: usize, place: NewLines) -> Block {
        let mut block = Block::new(
            layout,
            self.lines.break_before(place.at),
            place.at.min(self.lines.text.len()),
        );
        block.indented = place.first == FirstLine::AfterDash;
        block.block_scalars = self.may_follow_block_scalar(place.next, column);
        block
    }

    /// False if a comment or a blank line from `next` on would be text of a block scalar right above it, in a member or an item
    /// of the column.
    pub(super) fn may_follow_block_scalar(&self, next: usize, column: usize) -> bool {
        let content = self.lines.next_line_with_content(next);
        let mut blanks = self.lines.slice(next, content).split(['\n', '\r']);
        // Without a line break at the end of the text, the value has none.
        self.carrying != Carrying::QuotedValues
            && next <= self.lines.text.len()
            && blanks.all(|blank| blank.len() <= column)
    }

    /// The beginning of the element's lines; none if something else is before it on its line.
    pub(super) fn own_lines(&self, element: &Element) -> Option<usize> {
        let line = element.start - self.lines.indentation(element.start)?.len();
        let comment = &self.around.comments.above;
        Some(if comment.end == line {
            comment.start
        } else {
            line
        })
    }

    /// The start of the line below an element that goes, and below the comments that go with it.
    pub(super) fn below(&self, end: usize) -> Result<usize, SpliceError> {
        let below = self.lines.below(end)?;
        let comments = &self.around.comments.below;
        Ok(if comments.start == below {
            comments.end
        } else {
            below
        })
    }

    fn remove(
        &mut self,
        shape: BlockStyle,
        plan: &SplicePlan<'_>,
        index: usize,
    ) -> Result<(), SpliceError> {
        let Some(element) = plan.elements.get(index) else {
            return Ok(());
        };
        let below = self.below(element.end)?;
        let stays = plan.stays;
        let Some(start) = self.own_lines(element) else {
            return match stays {
                Some(stays) => self.remove_after_dash(&plan.elements, stays),
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
            let lines = self.removed_lines(shape, plan, index, start..below);
            self.out.delete(lines);
        }
        Ok(())
    }

    /// `- a: 1` without `a`: the first member that stays takes its place after the dash.
    fn remove_after_dash(&mut self, elements: &[Element], stays: usize) -> Result<(), SpliceError> {
        let (Some(gone), Some(stays)) = (elements.get(..stays), elements.get(stays)) else {
            return Ok(());
        };
        let Some(first) = gone.first() else {
            return Ok(());
        };
        let below = self.below(first.end)?;
        let mut blank = true;
        for (element, next) in gone.iter().zip(&elements[1..]) {
            let between = self.lines.slice(self.below(element.end)?, next.start);
            blank &= between.trim_matches(' ').is_empty();
        }
        if blank {
            self.out.delete(first.start..stays.start);
            return Ok(());
        }
        // Comments or blank lines are in between: the dash stays alone on its line.
        let dash = self.lines.slice(0, first.start).trim_end_matches(' ').len();
        self.out.delete(dash..self.lines.before_break(below));
        self.remove_lines(&gone[1..])
    }

    fn remove_lines(&mut self, elements: &[Element]) -> Result<(), SpliceError> {
        for element in elements {
            let start = self.own_lines(element).unwrap_or(element.start);
            self.out.delete(start..self.below(element.end)?);
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
                self.remove_lines(&plan.elements)?;
                let end = self.tree.properties_end(node).unwrap_or(mark).max(mark);
                self.out.insert(end, format!(" {text}"));
            }
            Slot::Behind(_) | Slot::Root => {
                self.out.replace(first..span.end, text.to_owned());
                self.out.delete(self.around.comments.below.clone());
            }
        }
        Ok(())
    }

    /// `a: {} # why` becomes `a: # why` with lines below it, where a removal of these writes the same bytes again. So does a document
    /// of `{}`, unless it may be JSON.
    pub(super) fn open_into_lines(
        &mut self,
        node: NodeId,
        plan: &SplicePlan<'_>,
        slot: Slot,
    ) -> Result<bool, SpliceError> {
        let (kind, layout, end) = (
            self.tree.kind(node),
            self.layout(),
            self.tree.span(node).end,
        );
        let Ok(below) = self.lines.below(end) else {
            return Ok(false);
        };
        let is_in_lines = |around: NodeId| {
            self.tree.kind(around) == Kind::Mapping && self.tree.style(around) == Style::Block
        };
        let start = self.lines.start(end);
        let place = match (slot, &*self.path) {
            (Slot::Behind(mark), [.., around, own])
                if is_in_lines(around.node)
                    && matches!(self.lines.slice(mark, end), " {}" | " []") =>
            {
                let key = own
                    .key
                    .map(|key| self.lines.column(self.tree.outer_start(key)));
                key.and_then(Result::ok)
                    .map(|key| (key + layout.below_key(kind), mark..end))
            }
            (Slot::Root, _) => (self.lines.slice(start, below).trim_end() == "{}"
                && !is_json(self.lines.text))
            .then_some((0, start..below)),
            _ => None,
        };
        let Some((column, gone)) = place else {
            return Ok(false);
        };
        let shape = BlockStyle {
            kind,
            node: None,
            goes: None,
            column,
            gap: layout.dash_gap,
            parted: false,
        };
        let text = self.lines_of(shape, &plan.insertions_from(0), NewLines::before(below))?;
        self.out.delete(gone);
        self.out.insert(below, text);
        Ok(true)
    }
}

/// The place of new lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewLines {
    pub(super) at: usize,
    /// The line that follows them.
    pub(super) next: usize,
    pub(super) first: FirstLine,
    pub(super) blank: BlankLine,
}

impl NewLines {
    /// Lines in front of the line at `at`.
    pub(super) fn before(at: usize) -> Self {
        Self::instead_of(at..at)
    }

    /// Lines that replace others.
    pub(super) fn instead_of(lines: Range<usize>) -> Self {
        Self {
            at: lines.start,
            next: lines.end,
            first: FirstLine::Own,
            blank: BlankLine::None,
        }
    }
}

/// The place of the first of several new lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstLine {
    /// A line of its own.
    Own,
    /// The rest of a line that begins with the dash of another list: `- - a`, `- a: 1`.
    AfterDash,
}
