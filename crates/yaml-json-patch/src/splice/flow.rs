//! Edits inside brackets: JSON, and YAML's flow style.

use super::content::{Content, Name};
use super::error::{ErrorKind, SpliceError};
use super::layout::Level;
use super::overlay::Overlay;
use super::plan::{self, Element, New, SplicePlan, SpliceStep};
use super::render::{Brackets, OwnLines};
use super::spelling::{Quotes, Siblings, Spelling};
use super::writer::{Slot, Writer};
use crate::quote::Context;
use crate::tree::{Kind, NodeId, Style, Tree};
use crate::value::{ScalarValue, scalar_value};
use serde_json::Value;

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
        let replaces_one = plan.replaces_one();
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
                        // The style of the old value does not count.
                        let others = replaces_one
                            .then(|| self.brackets(node, &plan.elements, Some(element.value)));
                        self.replace_element(others.as_ref().unwrap_or(&brackets), element, new)?;
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
        let lead = if brackets.lines.is_some() {
            brackets.lead(0)
        } else {
            brackets.comma.trim_start_matches(',').to_owned()
        };
        let tail = self.tail(anchor.end);
        let text: String = texts.iter().map(|text| format!(",{lead}{text}")).collect();
        match (tail.comment, tail.comma) {
            (Some(end), Some(_)) if brackets.lines.is_some() => {
                // `a, # why` keeps its comment; the new lines go below it, with commas of their own.
                let text: String = texts.iter().map(|text| format!("{lead}{text},")).collect();
                self.out.insert(end, text);
            }
            (Some(end), None)
                if brackets.lines.is_some()
                    && !self.lines.is_at(self.lines.next_content(end), b',') =>
            {
                self.out.insert(anchor.end, ",".to_owned());
                self.out
                    .insert(end, text.strip_prefix(',').unwrap_or_default().to_owned());
            }
            _ => self.out.insert(anchor.end, text),
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
        let between = match &brackets.lines {
            Some(_) => format!(",{}", brackets.lead(0)),
            None => brackets.comma.to_owned(),
        };
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
        brackets: Brackets,
    ) -> Result<(), SpliceError> {
        let new = plan.insertions_from(0);
        let span = self.tree.span(node);
        let texts = self.elements_of(&brackets, &new, span.start)?;
        let text = match &brackets.lines {
            Some(lines) => {
                let close = lines.prefix.strip_suffix(&lines.step).unwrap_or_default();
                let lead = brackets.lead(0);
                [
                    &lead,
                    &texts.join(&format!(",{lead}")),
                    lines.line_break,
                    close,
                ]
                .concat()
            }
            None => texts.join(brackets.comma),
        };
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
        match (above.comment, above.comma, own.comma) {
            // The comment of the element above stays.
            (Some(comment), Some(_), Some(comma)) => {
                self.out.delete(comment..own.comment.unwrap_or(comma))
            }
            (Some(comment), Some(comma), None) if last + 1 == elements.len() => {
                if !followed {
                    self.out.delete(comma - 1..comma);
                }
                self.out.delete(comment..own.comment.unwrap_or(to.end));
            }
            (None, Some(comma), Some(_)) if own.comment.is_some() => {
                self.out.delete(comma..own.comment.unwrap_or(comma));
            }
            _ => self.out.delete(before.end..own.comment.unwrap_or(to.end)),
        }
    }

    fn replace_element(
        &mut self,
        brackets: &Brackets,
        element: &Element,
        new: &Overlay,
    ) -> Result<(), SpliceError> {
        let span = self.value_start(element.value)..element.end;
        #[cfg(feature = "kubernetes")]
        if let Overlay::Null(source) = new {
            return self.restore_in_brackets(element, source);
        }
        let new = plan::new(None, new);
        let beside = self.beside(brackets, element);
        let text = match new
            .value
            .as_str()
            .and_then(|text| self.in_style_of(element.value, text))
        {
            Some(text) => text,
            None => beside.value(self.content(&new), 0, element.start)?,
        };
        match element.mark {
            Some(mark) if span.start.max(mark) >= span.end => {
                let is_plain = element
                    .key
                    .is_some_and(|key| self.tree.style(key) == Style::Plain);
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
            None if element.key.is_some() => self
                .out
                .insert(element.end, format!("{}{text}", brackets.colon)),
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
        let elements = match (self.tree.style(node), self.tree.kind(node)) {
            (Style::Flow, Kind::Mapping) => plan::members_of(self.tree, &self.lines, node),
            (Style::Flow, Kind::Sequence) => plan::items_of(self.tree, &self.lines, node)?,
            _ => Vec::new(),
        };
        let mut brackets = self.brackets(node, &elements, None);
        brackets.lines = match (brackets.lines, elements.first()) {
            (Some(lines), Some(first)) => self.lines.indentation(first.start).map(|_| {
                // The value is one step further out than its elements.
                let prefix = lines
                    .prefix
                    .strip_suffix(&lines.step)
                    .unwrap_or_default()
                    .to_owned();
                OwnLines { prefix, ..lines }
            }),
            _ => None,
        };
        brackets.value(Content::Value(value), 0, at)
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
        let mut brackets = brackets.clone();
        brackets.lines = match (brackets.lines, self.lines.indentation(element.start)) {
            (Some(lines), Some(prefix)) => Some(OwnLines {
                prefix: prefix.to_owned(),
                ..lines
            }),
            _ => None,
        };
        brackets
    }

    /// Measures how the collection is written; what it does not show, the brackets around it do.
    /// `except` goes, and says nothing.
    pub(super) fn brackets(
        &mut self,
        node: NodeId,
        elements: &[Element],
        except: Option<NodeId>,
    ) -> Brackets {
        let around = self
            .path
            .iter()
            .rev()
            .map(|level| level.node)
            .skip_while(|id| *id == node);
        let around: Vec<NodeId> = around
            .take_while(|id| self.tree.style(*id) == Style::Flow)
            .collect();
        let own = [node];
        let chain = || own.iter().chain(&around).copied();
        let (tree, examples) = (self.tree, &mut self.examples.brackets);
        let shown = quoting(tree, node, except).or_else(|| {
            around.iter().find_map(|id| {
                *examples
                    .entry(*id)
                    .or_insert_with(|| quoting(tree, *id, None))
            })
        });
        let is_block = |root: &Level| tree.style(root.node) == Style::Block;
        let place = shown.unwrap_or(match self.path.first() {
            Some(root) if is_block(root) => Context::Flow,
            _ => Context::Json,
        });
        let tight_colon = chain()
            .find_map(|id| self.is_colon_tight(id))
            .unwrap_or(false);
        let tight_comma = chain()
            .find_map(|id| self.is_comma_tight(id))
            .unwrap_or(tight_colon);
        let mut values = elements.iter().rev().map(|element| element.value);
        let neighbour = values.find(|value| Some(*value) != except);
        // The brackets of an element that is replaced alone are those around it.
        let is_alone = except.is_some() && neighbour.is_none();
        let padded = || {
            neighbour
                .into_iter()
                .chain(chain().skip(usize::from(is_alone)))
        };
        let pad = |kind| padded().find_map(|id| self.pad(id, kind)).unwrap_or("");
        let pads = [pad(Kind::Sequence), pad(Kind::Mapping)];
        let strings = own.into_iter().chain(neighbour);
        let mut quotes = strings.map(|node| Quotes::of_values(tree, Siblings { node, except }));
        let known = &mut self.examples.spellings;
        let mut further = around.iter().map(|node| {
            let (node, except) = (*node, None);
            let spelling = || Spelling::of(tree, Siblings { node, except });
            known.entry(node).or_insert_with(spelling).values
        });
        let is_shown = |quotes: &Quotes| quotes.are_shown();
        let quotes = quotes.find(is_shown).or_else(|| further.find(is_shown));
        Brackets {
            place,
            pads,
            quotes: quotes.unwrap_or_default(),
            comma: if tight_comma { "," } else { ", " },
            colon: if tight_colon && place == Context::Json {
                ":"
            } else {
                ": "
            },
            lines: self.own_lines_of(node, elements, around.first().copied(), place),
        }
    }

    /// The white space inside of the brackets of a collection of that kind.
    fn pad(&self, node: NodeId, kind: Kind) -> Option<&'static str> {
        let first = self.tree.children(node).next()?;
        let open = self.tree.span(node).start + 1;
        let inside = self.lines.slice(open, self.tree.outer_start(first));
        let is_shown = self.tree.kind(node) == kind && !inside.contains('\n');
        is_shown.then_some(if inside.starts_with(' ') { " " } else { "" })
    }

    fn is_colon_tight(&self, node: NodeId) -> Option<bool> {
        let (key, value) = self.tree.entries(node).next()?;
        let colon = self.lines.next_content(self.tree.span(key).end);
        let start = self.tree.outer_start(value);
        (self.lines.is_at(colon, b':') && start < self.tree.span(value).end)
            .then_some(start == colon + 1)
    }

    fn is_comma_tight(&self, node: NodeId) -> Option<bool> {
        let mut values = self.tree.entries(node).take(2);
        let mut items = self.tree.items(node).take(2);
        let (end, next) = match (values.next(), values.next(), items.next(), items.next()) {
            (Some((_, value)), Some((key, _)), ..) => (self.tree.span(value).end, key),
            (_, _, Some(item), Some(next)) => (self.tree.span(item).end, next),
            _ => return None,
        };
        let comma = self.lines.next_content(end);
        Some(self.lines.is_at(comma, b',') && self.tree.outer_start(next) == comma + 1)
    }

    fn own_lines_of(
        &self,
        node: NodeId,
        elements: &[Element],
        around: Option<NodeId>,
        place: Context,
    ) -> Option<OwnLines> {
        let span = self.tree.span(node);
        if let Some(last) = elements
            .iter()
            .rev()
            .find(|element| self.lines.indentation(element.start).is_some())
        {
            let prefix = self.lines.indentation(last.start)?;
            let step = step(prefix, self.indentation_of_line(span.start));
            let deep = elements
                .iter()
                .rev()
                .find_map(|element| self.is_deep(element.value))
                .unwrap_or(place == Context::Json);
            let line_break = self.lines.break_before(self.lines.start(last.start));
            return Some(OwnLines {
                prefix: prefix.to_owned(),
                step,
                line_break,
                deep,
            });
        }
        if !elements.is_empty() || place != Context::Json || span.len() != 2 {
            return None;
        }
        // `{}` below elements on lines of their own.
        let around = around?;
        let start = match self.tree.kind(around) {
            Kind::Mapping => {
                let own = self.path.last().filter(|level| level.node == node)?;
                self.tree.outer_start(own.key?)
            }
            _ => self.tree.outer_start(node),
        };
        let outer = self.lines.indentation(start)?;
        let further = self.indentation_of_line(self.tree.span(around).start);
        let step = step(outer, further);
        let line_break = self.lines.break_before(self.lines.start(start));
        Some(OwnLines {
            prefix: [outer, &step].concat(),
            step,
            line_break,
            deep: true,
        })
    }

    fn indentation_of_line(&self, at: usize) -> &'t str {
        let start = self.lines.start(at);
        self.lines.slice(start, self.lines.skip_blanks(start))
    }

    fn is_deep(&self, value: NodeId) -> Option<bool> {
        let first = self
            .tree
            .entries(value)
            .next()
            .map(|(key, _)| key)
            .or_else(|| self.tree.items(value).next())?;
        (self.tree.style(value) == Style::Flow).then(|| {
            self.lines
                .indentation(self.tree.outer_start(first))
                .is_some()
        })
    }
}

/// The white space that an indentation has beyond that of the brackets around it.
fn step(indentation: &str, around: &str) -> String {
    match indentation.strip_prefix(around) {
        Some("") | None => "  ".to_owned(),
        Some(step) => step.to_owned(),
    }
}

/// JSON or YAML, as a string shows it.
fn quoting(tree: &Tree<'_>, node: NodeId, except: Option<NodeId>) -> Option<Context> {
    let quoted = |id: NodeId| match tree.style(id) {
        Style::DoubleQuoted => Some(Context::Json),
        Style::SingleQuoted => Some(Context::Flow),
        Style::Plain if matches!(scalar_value(tree, id), Ok(ScalarValue::Str(_))) => {
            Some(Context::Flow)
        }
        _ => None,
    };
    match tree.kind(node) {
        Kind::Mapping => tree.entries(node).find_map(|(key, _)| quoted(key)),
        _ => tree
            .items(node)
            .filter(|item| Some(*item) != except)
            .find_map(quoted),
    }
}
