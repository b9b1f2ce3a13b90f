//! Edits inside brackets: JSON, and YAML's flow style.

use super::content::{Content, Name};
use super::error::{ErrorKind, SpliceError};
use super::overlay::Overlay;
use super::plan::{self, Element, New, SplicePlan, SpliceStep};
use super::render::{Brackets, OwnLines};
use super::writer::{Slot, Writer};
use crate::quote::Context;
use crate::tree::{Kind, NodeId, Style};
use serde_json::Value;
use std::ops::Range;

/// Comma and comment after an element on its line.
#[derive(Debug, Clone, Copy)]
struct Tail {
    /// The end of its comma.
    comma: Option<usize>,
    /// The end of its comment.
    comment: Option<usize>,
}

impl<'t> Writer<'_, 't> {
    pub(super) fn flow(
        &mut self,
        node: NodeId,
        plan: &SplicePlan<'_>,
        slot: Slot,
    ) -> Result<(), SpliceError> {
        let span = self.tree.span(node);
        if self.tree.has_explicit_key(node) {
            return Err(ErrorKind::ExplicitKey.at(span.start));
        }
        if plan.elements.is_empty() && self.open_into_lines(node, plan, slot)? {
            return Ok(());
        }
        let brackets = self.brackets(node, &plan.elements, None);
        if plan.elements.is_empty() {
            return self.fill_empty(node, plan, brackets);
        }
        if plan.leaves_nothing() {
            self.empty_brackets(node, &plan.elements);
            return Ok(());
        }
        let replaces_one = self.alone || plan.replaces_one();
        let mut last: Option<usize> = None;
        let mut front = Vec::new();
        let mut following: Vec<New<'_>> = Vec::new();
        let mut gone: Option<(usize, usize)> = None;
        for step in &plan.steps {
            if let Some(index) = plan::kept(step) {
                self.append(&brackets, plan, last, &std::mem::take(&mut following))?;
                last = Some(index);
            }
            match *step {
                SpliceStep::Remove(index) => {
                    gone = Some((gone.map_or(index, |(first, _)| first), index));
                    continue;
                }
                SpliceStep::Keep(_) => {}
                SpliceStep::Rename(index, name) => {
                    self.rename(plan.elements.get(index), name, brackets.place)?;
                    continue;
                }
                SpliceStep::Descend(index, overlay) => self.element_inside(plan, index, overlay),
                SpliceStep::Replace(index, new) => {
                    if let Some(element) = plan.elements.get(index) {
                        // The style of the old value does not count. Of a scalar among others it shows nothing that they do not.
                        let is_among = 0 < index && index + 1 < plan.elements.len();
                        let has_none = self.tree.children(element.value).next().is_none();
                        let others =
                            if replaces_one && !(is_among && has_none && new.is_new_scalar()) {
                                &self.brackets(node, &plan.elements, Some(element.value))
                            } else {
                                &brackets
                            };
                        if plan.steps.len() > 1 || !self.replace_list(node, element, others, new)? {
                            self.replace_element(others, element, new)?;
                        }
                    }
                }
                SpliceStep::Insert(new) if last.is_none() => {
                    front.push(new);
                    continue;
                }
                SpliceStep::Insert(new) => {
                    following.push(new);
                    continue;
                }
            }
            self.remove_elements(plan, gone.take(), false);
        }
        self.remove_elements(plan, gone, !following.is_empty());
        self.append(&brackets, plan, last, &following)?;
        self.prepend(&brackets, plan, &front)
    }

    fn elements_of(
        &self,
        brackets: &Brackets,
        new: &[New<'_>],
        at: usize,
    ) -> Result<Vec<String>, SpliceError> {
        new.iter()
            .map(|new| match new.name {
                Some(name) => brackets.member(Name::New(name), self.content(new), 0, at),
                None => brackets.value(self.content(new), 0, at),
            })
            .collect()
    }

    /// `[a]` becomes `[a, X]`.
    fn append(
        &mut self,
        brackets: &Brackets,
        plan: &SplicePlan<'_>,
        last: Option<usize>,
        new: &[New<'_>],
    ) -> Result<(), SpliceError> {
        let Some(anchor) = last
            .and_then(|last| plan.elements.get(last))
            .filter(|_| !new.is_empty())
        else {
            return Ok(());
        };
        let brackets = self.beside(brackets, anchor);
        let texts = self.elements_of(&brackets, new, anchor.end)?;
        let (lead, has_lines) = (brackets.lead(0), brackets.lines.is_some());
        let tail = self.tail(anchor.end);
        match (tail.comment, tail.comma) {
            (Some(end), Some(_)) if has_lines => {
                // `a, # why` keeps its comment; the new lines go below it, with commas of their own.
                let lines = texts.iter().map(|text| format!("{lead}{text},")).collect();
                self.out.insert(end, lines);
            }
            (Some(end), None) if has_lines => {
                let comma = self.lines.next_content(end);
                if self.lines.is_at(comma, b',') {
                    // The comma has a line of its own.
                    let text = texts.iter().map(|text| format!(", {text}")).collect();
                    self.out.insert(comma, text);
                } else {
                    self.out.insert(anchor.end, ",".to_owned());
                    let text = texts.join(&format!(",{lead}"));
                    self.out.insert(end, [lead, text].concat());
                }
            }
            _ => {
                let between = brackets.between();
                let text = texts
                    .iter()
                    .map(|text| format!("{between}{text}"))
                    .collect();
                self.out.insert(anchor.end, text);
            }
        }
        Ok(())
    }

    /// `[a]` becomes `[X, a]`.
    fn prepend(
        &mut self,
        brackets: &Brackets,
        plan: &SplicePlan<'_>,
        new: &[New<'_>],
    ) -> Result<(), SpliceError> {
        let Some(first) = plan.elements.first().filter(|_| !new.is_empty()) else {
            return Ok(());
        };
        let brackets = self.beside(brackets, first);
        let texts = self.elements_of(&brackets, new, first.start)?;
        let stays = plan.stays.is_some();
        let between = brackets.between();
        let mut text = texts.join(&between);
        if stays {
            text.push_str(&between);
        }
        self.out.insert(first.start, text);
        Ok(())
    }

    /// `[ ]` becomes `[X ]`; the brackets of JSON that is written over several lines open up.
    fn fill_empty(
        &mut self,
        node: NodeId,
        plan: &SplicePlan<'_>,
        mut brackets: Brackets,
    ) -> Result<(), SpliceError> {
        let new = plan.insertions_from(0);
        if self.tree.kind(node) == Kind::Sequence {
            let items: Vec<Content<'_>> = new.iter().map(|new| self.content(new)).collect();
            brackets.fit(&items);
        }
        let span = self.tree.span(node);
        let text = brackets.inside(&self.elements_of(&brackets, &new, span.start)?);
        self.out.insert(span.start + 1, text);
        Ok(())
    }

    /// The exact inverse of [`Self::fill_empty`].
    fn empty_brackets(&mut self, node: NodeId, elements: &[Element]) {
        let (Some(first), Some(last)) = (elements.first(), elements.last()) else {
            return;
        };
        let span = self.tree.span(node);
        let comma = self.lines.next_content(last.end);
        let end = if self.lines.is_at(comma, b',') {
            comma + 1
        } else {
            last.end
        };
        let before = self.lines.slice(span.start + 1, first.start);
        let after = self.lines.slice(end, span.end.saturating_sub(1));
        let own_line = before.contains(['\n', '\r']);
        if own_line && !before.contains('#') && !after.contains('#') {
            self.out.delete(span.start + 1..span.end.saturating_sub(1));
        } else {
            self.out.delete(first.start..end);
        }
    }

    /// Removes neighbours, from the first to the last. `followed`: new elements come after them.
    fn remove_elements(
        &mut self,
        plan: &SplicePlan<'_>,
        gone: Option<(usize, usize)>,
        followed: bool,
    ) {
        let elements = &plan.elements;
        let Some((first, last)) = gone else { return };
        let (Some(from), Some(to)) = (elements.get(first), elements.get(last)) else {
            return;
        };
        let Some(before) = first.checked_sub(1).and_then(|before| elements.get(before)) else {
            // Nothing is before them: up to the next element, if there is one.
            let end = elements.get(last + 1).map_or(to.end, |next| next.start);
            self.out.delete(from.start..end);
            return;
        };
        let (above, own) = (self.tail(before.end), self.tail(to.end));
        let previous = elements.get(last - 1).unwrap_or(before);
        let shares_line = !self
            .lines
            .slice(previous.end, to.start)
            .contains(['\n', '\r']);
        // `a, b # why`: the comment is of the line, which stays.
        let own_comment = own.comment.filter(|_| !shares_line);
        // What is behind it on its line does not go into the comment above.
        let below = |comment: usize, end: usize| {
            let is_last = self.lines.skip_blanks(end) == self.lines.line_end(end);
            (if is_last { comment } else { from.start })..end
        };
        match (above.comment, above.comma, own.comma, own_comment) {
            // The comment of the element above stays.
            (Some(comment), Some(_), Some(comma), _) => {
                self.out
                    .delete(below(comment, own_comment.unwrap_or(comma)));
            }
            (Some(comment), Some(comma), None, _) => {
                if !followed {
                    self.out.delete(comma - 1..comma);
                }
                self.out
                    .delete(below(comment, own_comment.unwrap_or(to.end)));
            }
            // The comma is on a line of its own, or before the element.
            (Some(_), None, ..) => self.out.delete(self.lines.next_content(before.end)..to.end),
            (None, Some(comma), Some(_), Some(end)) => self.out.delete(comma..end),
            (None, _, None, Some(end)) => self.out.delete(before.end..end),
            _ => self.out.delete(before.end..to.end),
        }
    }

    /// Writes a list anew whose only item is replaced, where `[{` comes or goes.
    fn replace_list(
        &mut self,
        node: NodeId,
        item: &Element,
        brackets: &Brackets,
        overlay: &Overlay,
    ) -> Result<bool, SpliceError> {
        let span = self.tree.span(node);
        let inside = span.start + 1..span.end.saturating_sub(1);
        let around = [inside.start..item.start, item.end..inside.end];
        let has_comment = |part: Range<usize>| self.lines.slice(part.start, part.end).contains('#');
        let mut brackets = brackets.clone();
        let new = [plan::new(None, overlay)];
        let is_other = self.tree.kind(node) == Kind::Sequence
            && matches!(overlay, Overlay::New(_) | Overlay::Carried { .. })
            && !self.tree.has_properties(item.value)
            && brackets.fit(&[self.content(&new[0])])
            && !around.into_iter().any(has_comment);
        if is_other {
            let items = self.elements_of(&brackets, &new, span.start)?;
            let text = brackets.inside(&items);
            let is_cuddled = brackets.lines.is_some_and(|lines| lines.in_cuddled_list);
            let pad = if is_cuddled { brackets.pads[0] } else { "" };
            self.out.replace(inside, [pad, &text, pad].concat());
        }
        Ok(is_other)
    }

    fn replace_element(
        &mut self,
        brackets: &Brackets,
        element: &Element,
        new: &Overlay,
    ) -> Result<(), SpliceError> {
        let span = self.value_start(element.value)..element.end;
        if let Overlay::Null(source) = new {
            return self.restore_in_brackets(element, source);
        }
        let new = plan::new(None, new);
        if self.replace_words(element.value, new.value).is_some() {
            return Ok(());
        }
        let text = match self.in_style_of(element.value, new.value) {
            Some(text) => text,
            None => self
                .beside(brackets, element)
                .value(self.content(&new), 0, element.start)?,
        };
        let is_plain = element
            .key
            .is_some_and(|key| self.tree.style(key) == Style::Plain);
        match element.mark {
            Some(mark) if span.start.max(mark) >= span.end => {
                if is_plain
                    && [b',', b']', b'}']
                        .into_iter()
                        .any(|next| self.lines.is_at(mark, next))
                {
                    return Err(ErrorKind::OddColon.at(mark));
                }
                self.out.insert(
                    mark,
                    format!("{}{text}", brackets.colon.trim_start_matches(':')),
                );
            }
            // `{a}`: a key without a colon.
            None if element.key.is_some() => {
                let colon = if is_plain { ": " } else { brackets.colon };
                self.out.insert(element.end, [colon, &text].concat());
            }
            Some(mark) if span.start == mark && brackets.place == Context::Flow => {
                self.out.replace(span, format!(" {text}"));
            }
            _ => self.out.replace(span, text),
        }
        Ok(())
    }

    /// A value in brackets for the whole document, or for a place in it that had none.
    pub(super) fn in_brackets(
        &mut self,
        node: NodeId,
        value: &Value,
        at: usize,
    ) -> Result<String, SpliceError> {
        let elements = match self.tree.style(node) {
            Style::Flow => plan::elements_of(self.tree, &self.lines, node)?,
            _ => Vec::new(),
        };
        let brackets = self.brackets(node, &elements, None);
        // The value is one step further out than its elements.
        let has_lines = |first: &Element| self.lines.indentation(first.start).is_some();
        let outer = brackets
            .lines
            .as_ref()
            .filter(|_| elements.first().is_some_and(has_lines))
            .map(OwnLines::outer);
        brackets
            .behind(outer)
            .value(Content::Value(value, None), 0, at)
    }

    fn tail(&self, end: usize) -> Tail {
        let mut at = self.lines.skip_blanks(end);
        let comma = self.lines.is_at(at, b',').then_some(at + 1);
        if let Some(comma) = comma {
            at = self.lines.skip_blanks(comma);
        }
        Tail {
            comma,
            comment: self.lines.is_at(at, b'#').then(|| self.lines.line_end(at)),
        }
    }

    /// The layout for a new element beside this one.
    fn beside(&self, brackets: &Brackets, element: &Element) -> Brackets {
        let prefix = self.lines.indentation(element.start).map(str::to_owned);
        brackets.clone().behind(prefix)
    }
}
