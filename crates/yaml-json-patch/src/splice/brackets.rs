//! The style of a collection in brackets, as it and those around it show it.

use super::layout::Example;
use super::plan::Element;
use super::render::{Brackets, OwnLines};
use super::writer::Writer;
use crate::quote::Context;
use crate::tree::{Kind, NodeId, Style};
use std::cell::OnceCell;

/// A collection whose lines are measured.
struct Collection<'e> {
    node: NodeId,
    /// Those that show the lines.
    elements: &'e [Element],
    /// It opens over several lines as JSON does.
    is_json: bool,
    new_lists_cuddled: bool,
}

impl<'t> Writer<'_, 't> {
    /// Measures how the collection is written; what it does not show, the brackets around it do.
    /// `except` goes, and says nothing.
    pub(super) fn brackets(
        &mut self,
        node: NodeId,
        elements: &[Element],
        except: Option<NodeId>,
    ) -> Brackets {
        let tree = self.tree;
        let around = self.path.iter().rev().map(|level| level.node);
        let is_flow = |id: &NodeId| tree.style(*id) == Style::Flow;
        let chain: Vec<NodeId> = std::iter::once(node)
            .chain(around.skip_while(|id| *id == node).take_while(is_flow))
            .collect();
        let styles: Vec<_> = chain
            .iter()
            .map(|id| self.element_style(*id, except.filter(|_| *id == node)))
            .collect();
        let has_commas = self.has_trailing_commas(except);
        // In KYAML, only keys that need quotes have them.
        let outermost = styles.last().filter(|_| has_commas);
        let shown = outermost
            .into_iter()
            .chain(&styles)
            .find_map(|style| style.place(tree));
        let place = shown.unwrap_or(match self.path.first() {
            Some(root) if tree.style(root.node) == Style::Block => Context::Flow,
            _ => Context::Json,
        });
        let colon = chain.iter().find_map(|id| self.colon(*id)).unwrap_or(": ");
        let comma = chain.iter().find_map(|id| self.comma(*id));
        let others: Vec<Element> = elements
            .iter()
            .filter(|own| Some(own.value) != except)
            .copied()
            .collect();
        let neighbour = others.last().map(|element| element.value);
        // The brackets of an element that is replaced alone are those around it.
        let is_alone = except.is_some() && others.is_empty();
        let padded = || {
            let chain = chain.iter().skip(usize::from(is_alone));
            neighbour.iter().chain(chain)
        };
        let pad = |kind| padded().find_map(|id| self.pad(*id, kind)).unwrap_or("");
        let pads = [pad(Kind::Sequence), pad(Kind::Mapping)];
        let beside = neighbour.map(|node| self.element_style(node, None));
        let (own, around) = styles.split_at(1);
        // Those of the first collection that has some.
        let quotes = own
            .iter()
            .chain(&beside)
            .chain(around)
            .map(|style| style.values)
            .find(|quotes| quotes.are_shown())
            .unwrap_or_default();
        let new_lists_cuddled = self.shows_cuddled_lists(except).unwrap_or(has_commas);
        // KYAML opens brackets as JSON does, and all its strings have quotes.
        let is_json = has_commas || place == Context::Json;
        // Of an element that is replaced alone, only the place counts.
        let shown = if others.is_empty() { elements } else { &others };
        let lines = self.lines_in_brackets(&Collection {
            node,
            elements: shown,
            is_json,
            new_lists_cuddled,
        });
        let is_kyaml = has_commas && lines.is_some();
        Brackets {
            place,
            pads,
            quotes: quotes.everywhere(is_kyaml),
            comma: comma.unwrap_or(if colon == ":" { "," } else { ", " }),
            colon: if place == Context::Json { colon } else { ": " },
            trailing_comma: if is_kyaml { "," } else { "" },
            new_lists_cuddled,
            lines,
        }
    }

    fn all_in_brackets(&self) -> impl Iterator<Item = NodeId> {
        let nodes = self.tree.nodes();
        nodes.filter(|node| self.tree.style(*node) == Style::Flow)
    }

    /// True if a comma is behind the last element of the first collection over several lines.
    fn has_trailing_commas(&self, goes: Option<NodeId>) -> bool {
        let shows = |node| self.ends_in_comma(node);
        let known = &self.examples.trailing_comma;
        self.first_shown(known, goes, || self.all_in_brackets(), shows)
            .unwrap_or(false)
    }

    /// True if the first list of collections over several lines begins with `[{` or `[[`.
    fn shows_cuddled_lists(&self, goes: Option<NodeId>) -> Option<bool> {
        let tree = self.tree;
        let items = || self.all_in_brackets().flat_map(|list| tree.items(list));
        let is_cuddled = |item| {
            let cuddled = self.lines.indentation(tree.outer_start(item)).is_none();
            let is_shown = !cuddled || self.is_deep(item) == Some(true);
            (tree.style(item) == Style::Flow && is_shown).then_some(cuddled)
        };
        self.first_shown(&self.examples.cuddled_list, goes, items, is_cuddled)
    }

    /// The style of the first node that shows it, outside of a value that goes.
    fn first_shown<I: Iterator<Item = NodeId>>(
        &self,
        known: &OnceCell<Option<Example>>,
        goes: Option<NodeId>,
        nodes: impl Fn() -> I,
        shows: impl Fn(NodeId) -> Option<bool>,
    ) -> Option<bool> {
        let example = |node| shows(node).map(|shown| Example { node, shown });
        let first = (*known.get_or_init(|| nodes().find_map(example)))?;
        let goes = |node| {
            let start = self.tree.span(node).start;
            goes.is_some_and(|goes| self.tree.span(goes).contains(&start))
        };
        if goes(first.node) {
            nodes().filter(|node| !goes(*node)).find_map(shows)
        } else {
            Some(first.shown)
        }
    }

    /// The white space inside of the brackets of a collection of that kind.
    fn pad(&self, node: NodeId, kind: Kind) -> Option<&'static str> {
        let first = self.tree.children(node).next()?;
        let open = self.tree.span(node).start + 1;
        let inside = self.lines.slice(open, self.tree.outer_start(first));
        (self.tree.kind(node) == kind && !inside.contains('\n'))
            .then_some(if inside.starts_with(' ') { " " } else { "" })
    }

    /// `: ` or `:`
    fn colon(&self, node: NodeId) -> Option<&'static str> {
        let (key, value) = self.tree.entries(node).next()?;
        let colon = self.lines.next_content(self.tree.span(key).end);
        let start = self.tree.outer_start(value);
        let is_shown = self.lines.is_at(colon, b':') && start < self.tree.span(value).end;
        is_shown.then_some(if start == colon + 1 { ":" } else { ": " })
    }

    /// `, ` or `,`
    fn comma(&self, node: NodeId) -> Option<&'static str> {
        let first = self.tree.values(node).next()?;
        let next = self.tree.next(first)?;
        let comma = self.lines.next_content(self.tree.span(first).end);
        let is_tight = self.lines.is_at(comma, b',') && self.tree.outer_start(next) == comma + 1;
        Some(if is_tight { "," } else { ", " })
    }

    /// The lines of the elements; none if they are on one line.
    fn lines_in_brackets(&self, of: &Collection<'_>) -> Option<OwnLines> {
        let lines = self
            .lines_of_elements(of)
            .or_else(|| self.lines_of_cuddled_list(of.elements))
            .or_else(|| self.lines_of_empty(of))?;
        // A tab cannot be below a word without quotes and comma.
        let deep = lines.deep && (of.is_json || !lines.has_tabs());
        (deep || !lines.in_cuddled_list).then_some(OwnLines { deep, ..lines })
    }

    /// The lines of a collection whose elements have lines of their own, from the last of them.
    fn lines_of_elements(&self, of: &Collection<'_>) -> Option<OwnLines> {
        let (last, prefix) = of
            .elements
            .iter()
            .rev()
            .find_map(|own| Some((own, self.lines.indentation(own.start)?)))?;
        let deep = of
            .elements
            .iter()
            .rev()
            .find_map(|own| self.is_over_lines(own.value));
        Some(OwnLines {
            prefix: prefix.to_owned(),
            step: step(
                prefix,
                self.indentation_of_line(self.tree.span(of.node).start),
            ),
            line_break: self.lines.break_before(self.lines.start(last.start)),
            deep: deep.unwrap_or(of.is_json),
            in_cuddled_list: false,
        })
    }

    /// The lines of a list that is written as `[{`, from the last of its items that shows them.
    fn lines_of_cuddled_list(&self, elements: &[Element]) -> Option<OwnLines> {
        let is_shown = |item: &&Element| self.is_deep(item.value) == Some(true);
        let last = elements.iter().rfind(is_shown)?;
        let member = self
            .tree
            .outer_start(self.tree.children(last.value).next()?);
        let prefix = self.indentation_of_line(last.end - 1);
        last.key.is_none().then(|| OwnLines {
            prefix: prefix.to_owned(),
            step: step(self.indentation_of_line(member), prefix),
            line_break: self.lines.break_before(self.lines.start(member)),
            deep: true,
            in_cuddled_list: true,
        })
    }

    /// The lines of `{}` or `[]` among elements on lines of their own; of `[{}]`, too, where lists are written as `[{`.
    fn lines_of_empty(&self, of: &Collection<'_>) -> Option<OwnLines> {
        let span = self.tree.span(of.node);
        let is_empty = |item: &Element| {
            span.start + 1 == item.start
                && item.end + 1 == span.end
                && self.tree.style(item.value) == Style::Flow
                && self.tree.children(item.value).next().is_none()
        };
        let is_cuddled = of.new_lists_cuddled && of.elements.last().is_some_and(is_empty);
        if !of.is_json || !(span.len() == 2 || is_cuddled) {
            return None;
        }
        let [.., around, own] = &*self.path else {
            return None;
        };
        let own = own.key.unwrap_or(own.node);
        let start = self.tree.outer_start(own);
        let outer = self.lines.indentation(start)?;
        let further = self.indentation_of_line(self.tree.span(around.node).start);
        let step = step(outer, further);
        Some(OwnLines {
            prefix: if is_cuddled {
                outer.to_owned()
            } else {
                [outer, &step].concat()
            },
            step,
            line_break: self.lines.break_before(self.lines.start(start)),
            deep: true,
            in_cuddled_list: is_cuddled,
        })
    }

    fn indentation_of_line(&self, at: usize) -> &'t str {
        let start = self.lines.start(at);
        self.lines.slice(start, self.lines.skip_blanks(start))
    }

    /// True if the elements of a collection in brackets begin on lines of their own.
    fn is_deep(&self, value: NodeId) -> Option<bool> {
        let first = self.tree.children(value).next()?;
        let start = self.tree.outer_start(first);
        (self.tree.style(value) == Style::Flow).then(|| self.lines.indentation(start).is_some())
    }

    /// True for a collection in brackets with a line for each element, also as `[{`.
    fn is_over_lines(&self, value: NodeId) -> Option<bool> {
        let is_cuddled = |item| self.is_deep(item) == Some(true);
        Some(self.is_deep(value)? || self.tree.items(value).next().is_some_and(is_cuddled))
    }

    /// True if a comma is behind the last element of a collection over several lines.
    fn ends_in_comma(&self, node: NodeId) -> Option<bool> {
        if !self.is_deep(node)? {
            return None;
        }
        let last = self.tree.children(node).last()?;
        let comma = self.lines.next_content(self.tree.span(last).end);
        Some(self.lines.is_at(comma, b','))
    }
}

/// The white space that an indentation has beyond that of the brackets around it.
fn step(indentation: &str, around: &str) -> String {
    match indentation.strip_prefix(around) {
        Some("") | None => "  ".to_owned(),
        Some(step) => step.to_owned(),
    }
}
