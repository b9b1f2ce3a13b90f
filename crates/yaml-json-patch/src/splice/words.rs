//! Text over several lines in which some words change: the other lines stay as they are.

use super::content::Carrying;
use super::writer::Writer;
use crate::quote::needs_escape;
use crate::tree::NodeId;
use serde_json::Value;
use std::ops::Range;

impl Writer<'_, '_> {
    /// Replaces what differs in text over several lines; none where that cannot be seen. Whether it was all shows when the text is read
    /// again.
    pub(super) fn replace_words(&mut self, old: NodeId, new: &Value) -> Option<()> {
        let span = self.tree.span(old);
        let start = if self.tree.style(old).is_block_scalar() {
            self.header(old).body
        } else {
            span.start
        };
        let raw = self.lines.slice(start, span.end);
        if self.carrying != Carrying::Text || !raw.contains('\n') {
            return None;
        }
        let written = |text: &str| self.in_quotes_of(old, text).unwrap_or(text.to_owned());
        let new = written(new.as_str()?);
        let (gone, new) = change(raw, &written(&self.tree.scalar(old)?), &new)?;
        if leaves_blanks(raw, &gone, new) {
            return None;
        }
        self.out
            .replace(start + gone.start..start + gone.end, new.to_owned());
        Some(())
    }
}

/// True if the line of a change would end in blanks, such as one whose words all go.
fn leaves_blanks(raw: &str, gone: &Range<usize>, new: &str) -> bool {
    let (before, after) = (&raw[..gone.start], &raw[gone.end..]);
    let front = before.rsplit('\n').next().unwrap_or_default();
    let back = after.split(['\r', '\n']).next().unwrap_or_default();
    format!("{front}{new}{back}").ends_with([' ', '\t'])
}

/// The place of what goes, and what comes there, where the text is written as it was before but for white space.
fn change<'n>(raw: &str, before: &str, new: &'n str) -> Option<(Range<usize>, &'n str)> {
    let [raw_front, front] = same(raw, before, new)?;
    let [raw_rest, before, rest] = [&raw[raw_front..], &before[front..], &new[front..]]
        .map(|text| text.chars().rev().collect::<String>());
    let [raw_back, back] = same(&raw_rest, &before, &rest)?;
    let new = &new[front..new.len() - back];
    (!new.chars().any(needs_escape)).then_some((raw_front..raw.len() - raw_back, new))
}

/// The length of what begins both texts: as it is written, and as it is read.
fn same(raw: &str, before: &str, new: &str) -> Option<[usize; 2]> {
    let pairs = before.chars().zip(new.chars());
    let equal = pairs.take_while(|(before, new)| before == new);
    let len = equal.map(|(one, _)| one.len_utf8()).sum();
    let mut rest = new[..len]
        .split_whitespace()
        .try_fold(raw, |rest, word| rest.trim_start().strip_prefix(word))?;
    if !new[..len].ends_with(|last: char| !last.is_whitespace()) {
        rest = rest.trim_start();
    }
    Some([raw.len() - rest.len(), len])
}
