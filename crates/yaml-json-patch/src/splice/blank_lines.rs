//! Blank lines between the elements of block collections: what an addition takes, its removal gives back.

use super::comment;
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
    /// True if a new last element is parted from those that stay. In most files sections are parted, and short lines are not: the nearest
    /// pair decides, and behind a short line the pair before, too.
    pub(super) fn is_parted(&self, plan: &SplicePlan<'_>, column: usize) -> bool {
        let kept = plan.steps.iter().rev().filter_map(plan::kept);
        let last: Vec<&Element> = kept
            .filter_map(|at| plan.elements.get(at))
            .take(3)
            .collect();
        let is_section = |last: &&Element| self.lines.line_end(last.start) < last.end;
        let pairs = if last.first().is_some_and(is_section) {
            1
        } else {
            2
        };
        let is_parted = |pair: &[&Element]| self.has_blank_line(pair[1].end..pair[0].start, column);
        last.len() > 1 && last.windows(2).take(pairs).all(is_parted)
    }

    /// True if a blank line is below an element of the column, and below its comments, that ends at the beginning of the range.
    pub(super) fn has_blank_line(&self, between: Range<usize>, column: usize) -> bool {
        let below = self.lines.below(between.start);
        let Ok(below) = below.and_then(|below| self.lines.below_comments(below, column)) else {
            return false;
        };
        self.lines
            .slice(below, between.end)
            .split_inclusive('\n')
            .any(|line| line.ends_with('\n') && line.trim().is_empty())
    }

    /// The blank line of new elements that are written at a place behind others.
    pub(super) fn blank_line_at(
        &self,
        place: usize,
        shape: BlockStyle,
        is_last: bool,
    ) -> BlankLine {
        let is_parted = if is_last {
            shape.parted
        } else {
            self.lines.next_line_with_content(place) > self.lines.line_end(place)
        };
        let is_text = block_scalar_before(self.tree, place).is_some_and(|before| {
            block_scalar::header(self.lines.text, before.start as usize).chomping == Chomping::Keep
        });
        if is_parted && !is_text {
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
            let has_comment = comment::above(self.tree, start, shape.column) < start;
            return start..if has_comment || is_end { end } else { next };
        }
        let from = index
            .checked_sub(1)
            .and_then(|before| plan.elements.get(before))
            .and_then(|before| self.lines.below(before.end).ok())
            .unwrap_or(start);
        let above = self.lines.blank_lines_above(from, start);
        let is_last = plan.last_stays.is_none_or(|last| last < index);
        if is_end || next > end || (is_last && shape.parted) {
            above..end
        } else {
            start..end
        }
    }
}
