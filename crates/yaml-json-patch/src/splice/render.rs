//! New values as text.

use super::error::{ErrorKind, SpliceError};
use super::layout::Layout;
use crate::quote::{Context, quote};
use crate::tree::NodeId;
use serde_json::{Map, Value};

/// A list of plain words up to this width is written `[in, brackets]`.
const MAX_INLINE_WIDTH: usize = 60;

/// YAML's bound on keys that are written without `? `.
const MAX_KEY_CHARS: usize = 1024;

/// The text of a scalar; none for a collection.
pub(crate) fn scalar(value: &Value, place: Context) -> Option<String> {
    match value {
        Value::Null => Some("null".to_owned()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(value) => Some(value.to_string()),
        Value::String(text) => Some(quote(text, place).into_owned()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// The text of a value that a block collection holds on one line: scalars, empty collections, and in some layouts short lists of
/// plain words.
pub(crate) fn inline(value: &Value, layout: Layout) -> Option<String> {
    match value {
        Value::Array(items) if items.is_empty() => Some("[]".to_owned()),
        Value::Object(members) if members.is_empty() => Some("{}".to_owned()),
        Value::Array(_) if !layout.bracketed_lists => None,
        Value::Array(items) => {
            let words: Option<Vec<String>> = items
                .iter()
                .map(|item| scalar(item, Context::Flow))
                .collect();
            let words = words?;
            // People write `apiGroups: [""]`.
            let plain = words
                .iter()
                .all(|word| !word.starts_with('"') || word == "\"\"");
            let list = format!("[{}]", words.join(", "));
            (plain && list.len() <= MAX_INLINE_WIDTH).then_some(list)
        }
        value => scalar(value, Context::Block),
    }
}

/// A key, for a mapping in a block or in brackets.
pub(crate) fn key(name: &str, place: Context, at: usize) -> Result<String, SpliceError> {
    let key = quote(name, place).into_owned();
    if key.chars().count() < MAX_KEY_CHARS {
        Ok(key)
    } else {
        Err(ErrorKind::LongKey.at(at))
    }
}

/// The layout on which the text of an item depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placement {
    layout: Layout,
    line_break: &'static str,
    indented: bool,
    column: usize,
    gap: usize,
}

/// Writes members and items of block collections, each on lines of its own.
pub(crate) struct Block {
    layout: Layout,
    line_break: &'static str,
    /// The offset that errors name.
    at: usize,
    /// The next line is indented already: the first line behind a dash.
    pub(crate) indented: bool,
    pub(crate) text: String,
}

impl Block {
    pub(crate) fn new(layout: Layout, line_break: &'static str, at: usize) -> Self {
        Self {
            layout,
            line_break,
            at,
            indented: false,
            text: String::new(),
        }
    }

    fn indent(&mut self, column: usize) {
        if !std::mem::take(&mut self.indented) {
            self.text.extend(std::iter::repeat_n(' ', column));
        }
    }

    /// The layout on which the text of an item depends.
    pub(crate) fn layout(&self, column: usize, gap: usize) -> Placement {
        Placement {
            layout: self.layout,
            line_break: self.line_break,
            indented: self.indented,
            column,
            gap,
        }
    }

    /// Takes over an item's text that was written in the same layout before.
    pub(crate) fn paste(&mut self, text: &str) {
        self.indented = false;
        self.text.push_str(text);
    }

    pub(crate) fn member(
        &mut self,
        column: usize,
        name: &str,
        value: &Value,
    ) -> Result<(), SpliceError> {
        self.indent(column);
        self.text.push_str(&key(name, Context::Block, self.at)?);
        self.text.push(':');
        if let Some(inline) = inline(value, self.layout) {
            self.text.push(' ');
            self.text.push_str(&inline);
            self.text.push_str(self.line_break);
            return Ok(());
        }
        self.text.push_str(self.line_break);
        self.children(column, value)
    }

    /// The members or items of a collection that belongs to a key in `column`.
    pub(crate) fn children(&mut self, column: usize, value: &Value) -> Result<(), SpliceError> {
        match value {
            Value::Array(items) => {
                let gap = self.layout.dash_gap;
                items
                    .iter()
                    .try_for_each(|item| self.item(column + self.layout.sequence_offset, gap, item))
            }
            Value::Object(members) => self.members(column + self.layout.indent, members),
            _ => Ok(()),
        }
    }

    pub(crate) fn members(
        &mut self,
        column: usize,
        members: &Map<String, Value>,
    ) -> Result<(), SpliceError> {
        members
            .iter()
            .try_for_each(|(name, value)| self.member(column, name, value))
    }

    pub(crate) fn item(
        &mut self,
        column: usize,
        gap: usize,
        value: &Value,
    ) -> Result<(), SpliceError> {
        self.indent(column);
        self.text.push('-');
        self.text.extend(std::iter::repeat_n(' ', gap));
        if let Some(inline) = inline(value, self.layout) {
            self.text.push_str(&inline);
            self.text.push_str(self.line_break);
            return Ok(());
        }
        self.indented = true;
        let column = column + 1 + gap;
        match value {
            Value::Object(members) => self.members(column, members),
            Value::Array(items) => {
                let gap = self.layout.dash_gap;
                items
                    .iter()
                    .try_for_each(|item| self.item(column, gap, item))
            }
            _ => Ok(()),
        }
    }
}

/// The style of a collection in brackets.
#[derive(Debug, Clone)]
pub(crate) struct Brackets {
    pub(crate) place: Context,
    /// The string that shows whether it is JSON.
    pub(crate) shown_by: Option<NodeId>,
    /// `, ` or `,`
    pub(crate) comma: &'static str,
    /// `: ` or `:`
    pub(crate) colon: &'static str,
    /// Elements on lines of their own; none: all on one line.
    pub(crate) lines: Option<OwnLines>,
}

/// The style of elements on lines of their own.
#[derive(Debug, Clone)]
pub(crate) struct OwnLines {
    /// The white space before each element.
    pub(crate) prefix: String,
    /// The indentation of each level further in.
    pub(crate) step: String,
    pub(crate) line_break: &'static str,
    /// Collections inside are written over several lines too.
    pub(crate) deep: bool,
}

impl Brackets {
    /// The text before an element: `\n  ` or nothing.
    pub(crate) fn lead(&self, level: usize) -> String {
        self.lines.as_ref().map_or_else(String::new, |lines| {
            [lines.line_break, &lines.prefix, &lines.step.repeat(level)].concat()
        })
    }

    pub(crate) fn member(
        &self,
        name: &str,
        value: &Value,
        at: usize,
    ) -> Result<String, SpliceError> {
        let key = key(name, self.place, at)?;
        Ok([&key, self.colon, &self.value(value, 0, at)?].concat())
    }

    /// The text of a value that is `level` steps further in than the elements here.
    pub(crate) fn value(
        &self,
        value: &Value,
        level: usize,
        at: usize,
    ) -> Result<String, SpliceError> {
        let (brackets, elements) = match value {
            Value::Array(items) => {
                let items: Result<Vec<String>, _> = items
                    .iter()
                    .map(|item| self.value(item, level + 1, at))
                    .collect();
                (["[", "]"], items?)
            }
            Value::Object(members) => {
                let member = |(name, value): (&String, &Value)| {
                    Ok([
                        &key(name, self.place, at)?,
                        self.colon,
                        &self.value(value, level + 1, at)?,
                    ]
                    .concat())
                };
                let members: Result<Vec<String>, _> = members.iter().map(member).collect();
                (["{", "}"], members?)
            }
            value => return Ok(scalar(value, self.place).unwrap_or_default()),
        };
        let [open, close] = brackets;
        if elements.is_empty() {
            return Ok([open, close].concat());
        }
        Ok(match &self.lines {
            Some(lines) if lines.deep => {
                let lead = self.lead(level + 1);
                [
                    open,
                    &lead,
                    &elements.join(&format!(",{lead}")),
                    &self.lead(level),
                    close,
                ]
                .concat()
            }
            _ => [open, &elements.join(self.comma), close].concat(),
        })
    }
}
