//! Replaces values of block collections, and whole documents.

use super::blank_lines::BlankLine;
use super::block::{FirstLine, NewLines};
use super::block_text::{BlockText, BlockTextStyle};
use super::content::Content;
use super::error::{ErrorKind, SpliceError};
use super::layout::{self, BlockStyle};
use super::overlay::Overlay;
use super::plan::{self, Element, New};
use super::reading::Source;
use super::render::{self, BlockPlace};
use super::writer::Writer;
use crate::block_scalar;
use crate::quote::{Context, quote, single_quoted};
use crate::tree::{Kind, NodeId, Style};
use crate::value::{ScalarValue, scalar_value};
use serde_json::Value;
use std::ops::Range;

/// A member or item whose value is replaced.
#[derive(Debug, Clone, Copy)]
struct Replaced {
    element: Element,
    /// The place after its colon or dash.
    mark: usize,
    /// The collection that holds it.
    shape: BlockStyle,
}

/// The place of the value of a member.
pub(super) struct ValuePlace {
    /// On the line of the key: of lines below it, anchor and tag.
    pub(super) line: Range<usize>,
    pub(super) below: Range<usize>,
}

impl Writer<'_, '_> {
    /// Replaces the value of a member, or an item.
    pub(super) fn replace(
        &mut self,
        shape: BlockStyle,
        element: Option<&Element>,
        new: &Overlay,
    ) -> Result<(), SpliceError> {
        let Some(element) = element else {
            return Ok(());
        };
        let Some(mark) = element.mark else {
            return Err(ErrorKind::Layout.at(element.start));
        };
        let old = element.value;
        let goes = Some(old);
        let replaced = Replaced {
            element: *element,
            mark,
            shape: BlockStyle { goes, ..shape },
        };
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
        if self.replace_words(old, new.value).is_some() {
            return Ok(());
        }
        if let Some(text) = self.block_text(replaced, &new)
            && (is_inline || shape.kind == Kind::Mapping)
        {
            return self.replace_by_block_text(replaced, text);
        }
        let layout = self.layout();
        let inline = self.in_style_of(old, new.value).or_else(|| {
            let styled = self.styled(replaced.shape, &new);
            render::inline(styled.content(self.content(&new)), layout)
        });
        match (is_inline, inline) {
            (true, Some(text)) => {
                self.token(replaced, text);
                Ok(())
            }
            _ if shape.kind == Kind::Sequence => self.replace_item(replaced, new),
            (_, inline) => self.replace_lines(replaced, &new, inline),
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
        if text.first.is_empty() && is_on_one_line {
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

    /// The text of a value in the style of the scalar that it replaces: in its quotes, or as an octal number.
    pub(super) fn in_style_of(&self, old: NodeId, new: &Value) -> Option<String> {
        match new {
            Value::String(text) => self.in_quotes_of(old, text),
            Value::Number(new) => octal(self.tree.raw(old), new.as_u64()?),
            _ => None,
        }
    }

    /// The text of a string in the quotes of the scalar that it replaces, if it has any.
    pub(super) fn in_quotes_of(&self, old: NodeId, text: &str) -> Option<String> {
        match self.tree.style(old) {
            Style::SingleQuoted => single_quoted(text),
            Style::DoubleQuoted => Some(quote(text, Context::Json).into_owned()),
            _ => None,
        }
    }

    /// The block scalar for a string that replaces another one, or that has several lines.
    fn block_text(&mut self, replaced: Replaced, new: &New<'_>) -> Option<BlockText> {
        let Replaced { element, shape, .. } = replaced;
        let text = self.content(new).string()?.into_owned();
        let old = element.value;
        let style = self.tree.style(old);
        let is_block = style.is_block_scalar();
        let keeps_quotes = style == Style::DoubleQuoted && self.tree.scalar(old)?.contains('\n');
        let fits = is_block || (text.contains('\n') && !keeps_quotes);
        let below = self.lines.below(element.end).ok()?;
        if !fits || !self.may_follow_block_scalar(below, shape.column) {
            return None;
        }
        if !plan::is_inline(self.tree, old) {
            let place = self.value_place(&element, replaced.mark).ok()?;
            // Comments and blank lines in between would be text.
            if self.lines.below(place.line.end) != Ok(place.below.start) {
                return None;
            }
        }
        let header = is_block.then(|| self.header(old));
        let has_content = header.is_some_and(|header| header.end < element.end);
        let column = self.tree.content_column(old) as usize;
        let step = match shape.kind {
            _ if has_content && column > shape.column => column - shape.column,
            Kind::Sequence => 1 + shape.gap,
            _ => self.layout().indent,
        };
        BlockTextStyle {
            folded: style == Style::Folded,
            step,
            column: shape.column + step,
            indicator: header.is_some_and(|header| header.indicator.is_some()),
            keep: self.lines.start(self.lines.next_line_with_content(below)) == below,
        }
        .write(&text, self.lines.break_before(below))
    }

    pub(super) fn header(&self, block_scalar: NodeId) -> block_scalar::Header {
        block_scalar::header(self.lines.text, self.tree.span(block_scalar).start)
    }

    /// `a: 1 # why` becomes `a: | # why` with lines below it.
    fn replace_by_block_text(
        &mut self,
        replaced: Replaced,
        text: BlockText,
    ) -> Result<(), SpliceError> {
        let Replaced { element, mark, .. } = replaced;
        if !plan::is_inline(self.tree, element.value) {
            let ValuePlace { line, below } = self.value_place(&element, mark)?;
            self.out.replace(line, format!(" {}", text.header));
            self.out.replace(below, text.lines);
            return Ok(());
        }
        let below = self.lines.below(element.end)?;
        self.token(replaced, text.header);
        self.out.insert(below, text.lines);
        Ok(())
    }

    /// `a: 1` becomes `a: 2`, `a:` becomes `a: 2`.
    fn token(&mut self, replaced: Replaced, text: String) {
        let Replaced { element, mark, .. } = replaced;
        let start = self.value_start(element.value).max(mark);
        if text.is_empty() {
            let blanks = self.lines.before_blanks(start).max(mark);
            self.replace_value(blanks, &element, text);
        } else if start < element.end {
            // `a: *x` or `a:"b"` in JSON's manner: a plain word needs its space.
            let space = if start == mark { " " } else { "" };
            self.replace_value(start, &element, format!("{space}{text}"));
        } else {
            self.out.insert(mark, format!(" {text}"));
        }
    }

    /// The beginning of the text that a new value replaces. An anchor stays.
    pub(super) fn value_start(&self, old: NodeId) -> usize {
        if self.tree.keeps_anchor(old) {
            self.tree.span(old).start
        } else {
            self.tree.outer_start(old)
        }
    }

    /// Replaces the text from a place to the end of a scalar. A comment after the header of a block scalar stays.
    pub(super) fn replace_value(&mut self, from: usize, element: &Element, text: String) {
        let old = element.value;
        if !self.tree.style(old).is_block_scalar() {
            return self.out.replace(from..element.end, text);
        }
        let header = self.header(old).end;
        self.out.replace(from..header, text);
        let line_end = self.lines.line_end(header);
        self.out.delete(line_end..element.end.max(line_end));
    }

    /// The whole item: its lines. The comment after an old value on one line is that of the first, unless a carried value has its own.
    fn replace_item(&mut self, replaced: Replaced, new: New<'_>) -> Result<(), SpliceError> {
        let Replaced { element, shape, .. } = replaced;
        let below = self.lines.below(element.end)?;
        let (start, first) = match self.own_lines(&element) {
            Some(start) => (start, FirstLine::Own),
            None => (element.start, FirstLine::AfterDash),
        };
        let place = NewLines {
            at: self.lines.start(start),
            next: below,
            first,
            blank: BlankLine::None,
        };
        let style = self.tree.style(element.value);
        let keeps_comment =
            new.source.is_none() && style != Style::Block && !style.is_block_scalar();
        let mut text = self.lines_of(shape, &[new], place)?;
        if keeps_comment {
            let comment = self
                .lines
                .slice(element.end, self.lines.line_end(element.end));
            let first = text.find(['\r', '\n']).unwrap_or(text.len());
            text.insert_str(first, comment.trim_end());
        }
        self.out.replace(start..below, text);
        Ok(())
    }

    /// `a: null # why` becomes `a: # why` with lines below it, or lines below a key become others, or text behind it.
    fn replace_lines(
        &mut self,
        replaced: Replaced,
        new: &New<'_>,
        inline: Option<String>,
    ) -> Result<(), SpliceError> {
        let ValuePlace { line, below } = self.value_place(&replaced.element, replaced.mark)?;
        if let Some(text) = inline {
            let blank = if text.is_empty() { "" } else { " " };
            self.out.replace(line, [blank, &text].concat());
            self.out.delete(below);
            return Ok(());
        }
        let column = replaced.shape.column;
        let (layout, styled) = (self.layout(), self.styled(replaced.shape, new));
        let mut block = self.new_block(layout, column, NewLines::instead_of(below.clone()));
        block.children(column, styled.content(self.content(new)))?;
        self.out.delete(line);
        self.out.replace(below, block.text);
        Ok(())
    }

    pub(super) fn value_place(
        &self,
        element: &Element,
        mark: usize,
    ) -> Result<ValuePlace, SpliceError> {
        let old = element.value;
        let below = self.lines.below(element.end)?;
        let is_inline = plan::is_inline(self.tree, old);
        let start = if is_inline {
            self.tree.outer_start(old).max(mark)
        } else {
            layout::first(self.tree, old)
        };
        let is_null = scalar_value(self.tree, old) == Ok(ScalarValue::Null);
        let begins_below = self.lines.line_end(mark) < start;
        if is_null && begins_below && !self.lines.slice(mark, start).trim().is_empty() {
            return Err(ErrorKind::OddNull.at(start));
        }
        if is_null || (is_inline && !begins_below) {
            let end = if self.tree.style(old).is_block_scalar() {
                self.header(old).end
            } else {
                element.end
            };
            return Ok(ValuePlace {
                line: mark..end,
                below: self.lines.below(end)?..below,
            });
        }
        let Some(indentation) = self.lines.indentation(start) else {
            return Err(ErrorKind::Layout.at(start));
        };
        let head = self.tree.properties_end(old).filter(|_| !is_inline);
        Ok(ValuePlace {
            line: mark..head.unwrap_or(mark).max(mark),
            below: start - indentation.len()..below,
        })
    }

    /// The whole document.
    pub(super) fn replace_root(&mut self, new: &Value) -> Result<(), SpliceError> {
        let Some(root) = self.tree.root() else {
            let text = self.lines.text;
            let end = self.lines.end();
            // Nothing can follow a document end here, nor a byte order mark that is not the text's first character.
            let ends = |line: &str| line.starts_with("...") || line.starts_with('\u{feff}');
            if text.trim_start_matches('\u{feff}').lines().any(ends) {
                return Err(ErrorKind::Layout.at(0));
            }
            let rendered = self.whole(new, end..end)?;
            self.out.insert(end, rendered);
            return Ok(());
        };
        let span = self.tree.span(root);
        let start = self.tree.outer_start(root);
        let in_brackets = self.tree.style(root) == Style::Flow;
        let own = self
            .lines
            .indentation(start)
            .filter(|_| !in_brackets)
            .map(|indentation| start - indentation.len());
        match own {
            Some(place) => {
                let below = self.lines.below(span.end)?;
                let rendered = self.whole(new, place..below)?;
                self.out.replace(place..below, rendered);
            }
            None => {
                let text = self.in_brackets(root, new, start)?;
                self.out.replace(start..span.end, text);
            }
        }
        Ok(())
    }

    fn whole(&mut self, new: &Value, replaced: Range<usize>) -> Result<String, SpliceError> {
        let new = Content::Value(new, None);
        let layout = self.layout();
        if let Some(text) = render::inline(new, layout) {
            return Ok([&text, self.lines.break_before(replaced.start)].concat());
        }
        let mut block = self.new_block(layout, 0, NewLines::instead_of(replaced));
        block.parts(0, 0, new)?;
        Ok(block.text)
    }
}

/// A number in the notation of an octal one: 384 is `0600` beside `0644`.
fn octal(old: &str, new: u64) -> Option<String> {
    let digits = old.strip_prefix('0')?;
    let digits = digits.strip_prefix('o').unwrap_or(digits);
    u64::from_str_radix(digits, 8).ok()?;
    let (mark, width) = (old.strip_suffix(digits)?, digits.len());
    Some(format!("{mark}{new:0width$o}"))
}
