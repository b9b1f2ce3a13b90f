//! Replaces values of block collections, and whole documents.

use super::block::{BlockStyle, FirstLine};
use super::content::Content;
use super::error::{ErrorKind, SpliceError};
use super::layout;
use super::overlay::Overlay;
use super::plan::{self, Element, New};
use super::reading::Source;
use super::render::{self, BlockPlace};
use super::writer::Writer;
use crate::quote::{Context, quote, single_quoted};
use crate::tree::{Kind, NodeId, Style};
use crate::value::{ScalarValue, scalar_value};
use serde_json::Value;

/// A member or item whose value is replaced.
#[derive(Debug, Clone, Copy)]
struct Replaced {
    element: Element,
    /// The place after its colon or dash.
    mark: usize,
    /// The collection that holds it.
    shape: BlockStyle,
}

impl Writer<'_, '_> {
    /// Replaces the value of a member, or an item.
    pub(super) fn replace(
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
        let replaced = Replaced {
            element: *element,
            mark,
            shape,
        };
        #[cfg(feature = "kubernetes")]
        if let Overlay::Null(source) = new {
            return self.restore(element, mark, source);
        }
        let new = plan::new(None, new);
        let is_inline = plan::is_inline(self.tree, old);
        // A scalar leaves the comment after the old one. The text of a collection replaces all lines of the old value.
        if let Some(source) = new.source {
            if let Some(text) = self.carried_on_one_line(source).filter(|_| is_inline) {
                self.token(replaced, text);
                return Ok(());
            }
            if shape.kind == Kind::Mapping && self.replace_carried(replaced, source)? {
                return Ok(());
            }
        }
        let layout = self.layout();
        let inline = self
            .in_style_of(old, new.value)
            .or_else(|| render::inline(self.content(&new), layout));
        match (is_inline, inline) {
            (true, Some(text)) => {
                self.token(replaced, text);
                Ok(())
            }
            _ if shape.kind == Kind::Sequence => self.replace_item(shape, element, new),
            (true, None) => self.fill(replaced, new),
            (false, inline) => self.replace_children(replaced, new, inline),
        }
    }

    /// Replaces the value of a member with the text of another one.
    fn replace_carried(&mut self, replaced: Replaced, source: Source) -> Result<bool, SpliceError> {
        let Replaced {
            element,
            mark,
            shape,
        } = replaced;
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
            // The comment after the old value stays.
            self.out.delete(mark..element.end);
            self.out.insert(below, text.below);
            return Ok(true);
        }
        let blank = if text.first.is_empty() { "" } else { " " };
        let text = text.after_mark(self.lines.break_before(below));
        self.out.replace(mark..below, format!("{blank}{text}"));
        Ok(true)
    }

    /// The text of a string in the quotes of the scalar that it replaces, if it has any.
    pub(super) fn in_style_of(&self, old: NodeId, new: &Value) -> Option<String> {
        match (new, self.tree.style(old)) {
            (Value::String(text), Style::SingleQuoted) => single_quoted(text),
            (Value::String(text), Style::DoubleQuoted) => {
                Some(quote(text, Context::Json).into_owned())
            }
            _ => None,
        }
    }

    /// `a: 1` becomes `a: 2`, `a:` becomes `a: 2`.
    fn token(&mut self, replaced: Replaced, text: String) {
        let Replaced { element, mark, .. } = replaced;
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
    fn fill(&mut self, replaced: Replaced, new: New<'_>) -> Result<(), SpliceError> {
        let Replaced {
            element,
            mark,
            shape,
        } = replaced;
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

    /// Replaces the lines of a block collection below its key.
    fn replace_children(
        &mut self,
        replaced: Replaced,
        new: New<'_>,
        inline: Option<String>,
    ) -> Result<(), SpliceError> {
        let Replaced {
            element,
            mark,
            shape,
        } = replaced;
        let first = layout::first(self.tree, element.value);
        let Some(indentation) = self.lines.indentation(first) else {
            return Err(ErrorKind::Layout.at(first));
        };
        let place = first - indentation.len();
        let below = self.lines.below(element.end)?;
        let end = self.properties_end(element.value).unwrap_or(mark).max(mark);
        match inline {
            Some(text) => {
                self.out.replace(mark..end, format!(" {text}"));
                self.out.delete(place..below);
            }
            None => {
                self.out.delete(mark..end);
                let text = self.children_of(shape, new, place)?;
                self.out.replace(place..below, text);
            }
        }
        Ok(())
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
