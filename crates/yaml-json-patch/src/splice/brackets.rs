//! The style of a collection in brackets, as it and those around it show it.

use super::layout::Example;
use super::lines::Lines;
use super::plan::Element;
use super::render::{Brackets, OwnLines};
use super::spelling::{Quotes, Siblings, Spelling};
use super::writer::Writer;
use crate::quote::Context;
use crate::tree::{Kind, NodeId, Style, Tree};
use crate::value::{ScalarValue, scalar_value};
use std::cell::OnceCell;

/// A collection whose lines are measured.
struct Collection<'e> {
    node: NodeId,
    /// Those that show the lines.
    elements: &'e [Element],
    /// The way in which it opens over several lines.
    place: Context,
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
        let around: Vec<NodeId> = self
            .path
            .iter()
            .rev()
            .map(|level| level.node)
            .skip_while(|id| *id == node)
            .take_while(|id| self.tree.style(*id) == Style::Flow)
            .collect();
        let own = [node];
        let chain = || own.iter().chain(&around).copied();
        let has_commas = self.has_trailing_commas(except).unwrap_or(false);
        let (tree, known) = (self.tree, &mut self.examples.brackets);
        let mut quoting_of =
            |id: &NodeId| *known.entry(*id).or_insert_with(|| quoting(tree, *id, None));
        // In KYAML, only keys that need quotes have them.
        let shown = around
            .last()
            .filter(|_| has_commas)
            .and_then(&mut quoting_of)
            .or_else(|| quoting(tree, node, except))
            .or_else(|| around.iter().find_map(quoting_of));
        let place = shown.unwrap_or(match self.path.first() {
            Some(root) if tree.style(root.node) == Style::Block => Context::Flow,
            _ => Context::Json,
        });
        let tight_colon = chain()
            .find_map(|id| self.is_colon_tight(id))
            .unwrap_or(false);
        let tight_comma = chain()
            .find_map(|id| self.is_comma_tight(id))
            .unwrap_or(tight_colon);
        let others: Vec<Element> = elements
            .iter()
            .filter(|own| Some(own.value) != except)
            .copied()
            .collect();
        let neighbour = others.last().map(|element| element.value);
        // The brackets of an element that is replaced alone are those around it.
        let is_alone = except.is_some() && others.is_empty();
        let padded = || {
            neighbour
                .into_iter()
                .chain(chain().skip(usize::from(is_alone)))
        };
        let pad = |kind| padded().find_map(|id| self.pad(id, kind)).unwrap_or("");
        let pads = [pad(Kind::Sequence), pad(Kind::Mapping)];
        let quotes = self.quotes_in_brackets(own.into_iter().chain(neighbour), &around, except);
        let new_lists_cuddled = self.shows_cuddled_lists(except).unwrap_or(has_commas);
        // KYAML opens brackets as JSON does, and all its strings have quotes.
        let open = if has_commas { Context::Json } else { place };
        // Of an element that is replaced alone, only the place counts.
        let shown = if others.is_empty() { elements } else { &others };
        let lines = self.lines_in_brackets(&Collection {
            node,
            elements: shown,
            place: open,
            new_lists_cuddled,
        });
        let is_kyaml = has_commas && lines.is_some();
        Brackets {
            place,
            pads,
            quotes: if is_kyaml {
                quotes.everywhere()
            } else {
                quotes
            },
            comma: if tight_comma { "," } else { ", " },
            colon: if tight_colon && place == Context::Json {
                ":"
            } else {
                ": "
            },
            trailing_comma: if is_kyaml { "," } else { "" },
            new_lists_cuddled,
            lines,
        }
    }

    /// The quotes of the first collection that has some.
    fn quotes_in_brackets(
        &mut self,
        own: impl Iterator<Item = NodeId>,
        around: &[NodeId],
        except: Option<NodeId>,
    ) -> Quotes {
        let (tree, known) = (self.tree, &mut self.examples.spellings);
        let own = own.map(|node| Quotes::of_values(tree, Siblings { node, except }));
        let further = around.iter().map(|&node| {
            let spelling = || Spelling::of(tree, Siblings { node, except: None });
            known.entry(node).or_insert_with(spelling).values
        });
        own.chain(further)
            .find(|quotes| quotes.are_shown())
            .unwrap_or_default()
    }

    /// True if a comma is behind the last element of the first collection over several lines.
    fn has_trailing_commas(&self, except: Option<NodeId>) -> Option<bool> {
        let (tree, known) = (self.tree, &self.examples.trailing_comma);
        let is_shown = |node| ends_in_comma(tree, &self.lines, node);
        first_shown(tree, known, except, || in_brackets(tree), is_shown)
    }

    /// True if the first list of collections over several lines begins with `[{` or `[[`.
    fn shows_cuddled_lists(&self, except: Option<NodeId>) -> Option<bool> {
        let (tree, lines) = (self.tree, &self.lines);
        let items = || in_brackets(tree).flat_map(|list| tree.items(list));
        first_shown(tree, &self.examples.cuddled_list, except, items, |item| {
            let cuddled = lines.indentation(tree.outer_start(item)).is_none();
            (tree.style(item) == Style::Flow
                && (!cuddled || is_deep(tree, lines, item) == Some(true)))
            .then_some(cuddled)
        })
    }

    /// The white space inside of the brackets of a collection of that kind.
    fn pad(&self, node: NodeId, kind: Kind) -> Option<&'static str> {
        let first = self.tree.children(node).next()?;
        let open = self.tree.span(node).start + 1;
        let inside = self.lines.slice(open, self.tree.outer_start(first));
        (self.tree.kind(node) == kind && !inside.contains('\n'))
            .then_some(if inside.starts_with(' ') { " " } else { "" })
    }

    fn is_colon_tight(&self, node: NodeId) -> Option<bool> {
        let (key, value) = self.tree.entries(node).next()?;
        let colon = self.lines.next_content(self.tree.span(key).end);
        let start = self.tree.outer_start(value);
        (self.lines.is_at(colon, b':') && start < self.tree.span(value).end)
            .then_some(start == colon + 1)
    }

    fn is_comma_tight(&self, node: NodeId) -> Option<bool> {
        let first = self.tree.values(node).next()?;
        let next = self.tree.next(first)?;
        let comma = self.lines.next_content(self.tree.span(first).end);
        Some(self.lines.is_at(comma, b',') && self.tree.outer_start(next) == comma + 1)
    }

    /// The lines of the elements; none if they are on one line.
    fn lines_in_brackets(&self, of: &Collection<'_>) -> Option<OwnLines> {
        let lines = self
            .lines_of_elements(of)
            .or_else(|| self.lines_of_cuddled_list(of.elements))
            .or_else(|| self.lines_of_empty(of))?;
        // A tab cannot be below a word without quotes and comma.
        let deep = lines.deep && (of.place == Context::Json || !lines.has_tabs());
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
            .find_map(|own| is_over_lines(self.tree, &self.lines, own.value));
        Some(OwnLines {
            prefix: prefix.to_owned(),
            step: step(
                prefix,
                self.indentation_of_line(self.tree.span(of.node).start),
            ),
            line_break: self.lines.break_before(self.lines.start(last.start)),
            deep: deep.unwrap_or(of.place == Context::Json),
            in_cuddled_list: false,
        })
    }

    /// The lines of a list that is written as `[{`, from the last of its items that shows them.
    fn lines_of_cuddled_list(&self, elements: &[Element]) -> Option<OwnLines> {
        let is_shown = |item: &&Element| is_deep(self.tree, &self.lines, item.value) == Some(true);
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
            let is_alone = span.start + 1 == item.start && item.end + 1 == span.end;
            is_alone && is_empty(self.tree, item.value)
        };
        let is_cuddled = of.new_lists_cuddled && of.elements.last().is_some_and(is_empty);
        if of.place != Context::Json || !(span.len() == 2 || is_cuddled) {
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
}

/// True if the elements of a collection in brackets begin on lines of their own.
fn is_deep(tree: &Tree<'_>, lines: &Lines<'_>, value: NodeId) -> Option<bool> {
    let first = tree.children(value).next()?;
    let start = tree.outer_start(first);
    (tree.style(value) == Style::Flow).then(|| lines.indentation(start).is_some())
}

/// True for a collection in brackets with a line for each element, also as `[{`.
fn is_over_lines(tree: &Tree<'_>, lines: &Lines<'_>, value: NodeId) -> Option<bool> {
    let is_cuddled = |item| is_deep(tree, lines, item) == Some(true);
    Some(is_deep(tree, lines, value)? || tree.items(value).next().is_some_and(is_cuddled))
}

/// True for `{}` and `[]`.
fn is_empty(tree: &Tree<'_>, value: NodeId) -> bool {
    tree.style(value) == Style::Flow && tree.children(value).next().is_none()
}

fn in_brackets(tree: &Tree<'_>) -> impl Iterator<Item = NodeId> {
    tree.nodes().filter(|node| tree.style(*node) == Style::Flow)
}

/// The style of the first node that shows it, outside of `except`.
fn first_shown<I: Iterator<Item = NodeId>>(
    tree: &Tree<'_>,
    known: &OnceCell<Option<Example>>,
    except: Option<NodeId>,
    nodes: impl Fn() -> I,
    shows: impl Fn(NodeId) -> Option<bool>,
) -> Option<bool> {
    let example = |node| shows(node).map(|shown| Example { node, shown });
    let first = (*known.get_or_init(|| nodes().find_map(example)))?;
    let goes = |node| {
        let start = tree.span(node).start;
        except.is_some_and(|except| tree.span(except).contains(&start))
    };
    if goes(first.node) {
        nodes().filter(|node| !goes(*node)).find_map(shows)
    } else {
        Some(first.shown)
    }
}

/// True if a comma is behind the last element of a collection over several lines.
fn ends_in_comma(tree: &Tree<'_>, lines: &Lines<'_>, node: NodeId) -> Option<bool> {
    if !is_deep(tree, lines, node)? {
        return None;
    }
    let last = tree.children(node).last()?;
    Some(lines.is_at(lines.next_content(tree.span(last).end), b','))
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
