//! Blank lines between the elements of block collections: what an addition takes, its removal gives back.

use super::edits::block_scalar_before;
use super::layout::BlockStyle;
use super::plan::{self, Element, SplicePlan};
use super::writer::Writer;
use crate::block_scalar::{self, Chomping};
use std::ops::Range;

/// The blank line that a new element has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlankLine {
    None,
    Above,
    Below,
}

impl Writer<'_, '_> {
    /// True if two elements or more stay, each parted from the next by a blank line.
    pub(super) fn are_parted(&self, plan: &SplicePlan<'_>) -> bool {
        let kept = || plan.steps.iter().filter_map(plan::kept);
        let pairs = kept().zip(kept().skip(1));
        let mut parted = pairs.map(|(one, next)| {
            let (one, next) = (plan.elements.get(one)?, plan.elements.get(next)?);
            self.blank_line_between(one, next)
        });
        kept().nth(1).is_some() && parted.all(|blank| blank.is_some())
    }

    fn blank_line_between(&self, one: &Element, next: &Element) -> Option<()> {
        let between = self
            .lines
            .slice(self.lines.below(one.end).ok()?, next.start);
        let mut lines = between.split_inclusive('\n');
        let is_blank = |line: &str| line.ends_with('\n') && line.trim().is_empty();
        lines.any(is_blank).then_some(())
    }

    /// The blank line of new elements that are written at a place behind others.
    pub(super) fn blank_line_at(
        &self,
        place: usize,
        shape: BlockStyle,
        is_last: bool,
    ) -> BlankLine {
        let is_blank = self.lines.next_line_with_content(place) > self.lines.line_end(place);
        let before = block_scalar_before(self.tree, place);
        let is_text = before.is_some_and(|before| {
            let header = block_scalar::header(self.lines.text, before.start as usize);
            header.chomping == Chomping::Keep
        });
        if shape.parted && (is_last || is_blank) && !is_text {
            BlankLine::Above
        } else {
            BlankLine::None
        }
    }

    /// The lines of an element that goes, with a blank line that would be left over.
    pub(super) fn removed_lines(
        &self,
        shape: BlockStyle,
        plan: &SplicePlan<'_>,
        index: usize,
        lines: Range<usize>,
    ) -> Range<usize> {
        let Range { start, end } = lines;
        let content = self.lines.next_line_with_content(end);
        let is_end = content >= self.lines.text.len();
        let next = self.lines.start(content);
        if plan.stays.is_none_or(|stays| index < stays) {
            let has_comment = self.lines.above_comments(start) < start;
            return start..if has_comment || is_end { end } else { next };
        }
        let before = index
            .checked_sub(1)
            .and_then(|before| plan.elements.get(before));
        let from = before.and_then(|before| self.lines.below(before.end).ok());
        let above = self.lines.blank_lines_above(from.unwrap_or(start), start);
        let is_last = plan.last_stays.is_none_or(|last| last < index);
        if is_end || next > end || (is_last && shape.parted) {
            above..end
        } else {
            start..end
        }
    }
}
