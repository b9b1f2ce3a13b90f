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
    /// True if two elements or more stay, each parted from the next by a blank line.
    pub(super) fn are_parted(&self, plan: &SplicePlan<'_>) -> bool {
        let kept: Vec<&Element> = plan
            .steps
            .iter()
            .filter_map(plan::kept)
            .filter_map(|at| plan.elements.get(at))
            .collect();
        kept.len() > 1
            && kept
                .windows(2)
                .all(|pair| self.has_blank_line(pair[0].end..pair[1].start))
    }

    /// True if a blank line is below content that ends at the beginning of the range.
    fn has_blank_line(&self, between: Range<usize>) -> bool {
        let Ok(below) = self.lines.below(between.start) else {
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
        let is_blank = self.lines.next_line_with_content(place) > self.lines.line_end(place);
        let is_text = block_scalar_before(self.tree, place).is_some_and(|before| {
            block_scalar::header(self.lines.text, before.start as usize).chomping == Chomping::Keep
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
