//! New values as text.

use super::block_text::{BlockText, BlockTextStyle};
use super::content::{Content, Name, Parts, tagged};
use super::error::SpliceError;
use super::layout::Layout;
use super::quotes::Quotes;
use crate::quote::Context;
use crate::tree::Style;

/// The widest collection that is written in brackets because others are.
pub(super) const MAX_WIDTH: usize = 80;

/// The text of a value that a block collection holds on one line: scalars, empty collections, and in some layouts short lists of
/// words: of plain ones, and of others where lists that are alike have brackets.
pub(crate) fn inline(content: Content<'_>, layout: Layout) -> Option<String> {
    match content.parts() {
        Parts::Scalar => content.scalar(Context::Block),
        Parts::Items(items) if items.is_empty() => Some("[]".to_owned()),
        Parts::Members(members) if members.is_empty() => Some("{}".to_owned()),
        Parts::Items(items)
            if content
                .lists()
                .map_or(layout.bracketed_lists, |style| style == Style::Flow) =>
        {
            let words: Vec<String> = items
                .iter()
                .map(|item| item.scalar(Context::Flow))
                .collect::<Option<_>>()?;
            // People write `apiGroups: [""]`.
            let plain = content.lists().is_some()
                || words
                    .iter()
                    .all(|word| !word.starts_with(['"', '\'']) || word == "\"\"");
            let list = format!("[{}]", words.join(", "));
            (plain && list.len() <= MAX_WIDTH).then_some(list)
        }
        Parts::Items(_) | Parts::Members(_) => None,
    }
}

/// A place for a member or an item in a block collection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockPlace<'n> {
    /// The name of a member; none for an item.
    pub(crate) name: Option<&'n str>,
    /// The column of its key or dash.
    pub(crate) column: usize,
    /// The number of blanks after its dash.
    pub(crate) gap: usize,
    /// The offset at which it is written.
    pub(crate) at: usize,
}

/// The text of a value in a block collection.
#[derive(Debug)]
pub(crate) struct CarriedText {
    /// The text after the key or dash, on the same line, with its comment; it may be empty.
    pub(crate) first: String,
    /// The lines below, each with its line break.
    pub(crate) below: String,
}

impl CarriedText {
    /// The rest of the line of the key or dash, and the lines below.
    pub(crate) fn after_mark(&self, line_break: &str) -> String {
        [&self.first, line_break, &self.below].concat()
    }
}

/// The layout on which the text of an item depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placement {
    layout: Layout,
    line_break: &'static str,
    indented: bool,
    block_scalars: bool,
    column: usize,
    gap: usize,
}

/// Writes members and items of block collections, each on lines of its own.
pub(crate) struct Block {
    pub(crate) layout: Layout,
    line_break: &'static str,
    /// The offset that errors name.
    at: usize,
    /// The next line is indented already: the first line after a dash.
    pub(crate) indented: bool,
    /// Strings of several lines are written as block scalars.
    pub(crate) block_scalars: bool,
    pub(crate) text: String,
}

impl Block {
    pub(crate) fn new(layout: Layout, line_break: &'static str, at: usize) -> Self {
        Self {
            layout,
            line_break,
            at,
            indented: false,
            block_scalars: true,
            text: String::new(),
        }
    }

    fn indent(&mut self, column: usize) {
        if !std::mem::take(&mut self.indented) {
            self.text.extend(std::iter::repeat_n(' ', column));
        }
    }

    pub(crate) fn blank_line(&mut self) {
        self.text.push_str(self.line_break);
    }

    /// The lines of a comment.
    pub(crate) fn comment(&mut self, column: usize, lines: &str) {
        for line in lines.lines() {
            self.indent(column);
            self.text.push_str(line.trim_start());
            self.text.push_str(self.line_break);
        }
    }

    /// The layout on which the text of an item depends.
    pub(crate) fn placement(&self, column: usize, gap: usize) -> Placement {
        Placement {
            layout: self.layout,
            line_break: self.line_break,
            indented: self.indented,
            block_scalars: self.block_scalars,
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
        name: Name<'_>,
        value: Content<'_>,
    ) -> Result<(), SpliceError> {
        self.key(column, name)?;
        if self.on_line(" ", value, column, self.layout.indent) {
            return Ok(());
        }
        self.text.push_str(self.line_break);
        self.children(column, value)
    }

    /// A key and its colon.
    fn key(&mut self, column: usize, name: Name<'_>) -> Result<(), SpliceError> {
        self.indent(column);
        self.text.push_str(&name.text(Context::Block, self.at)?);
        self.text.push(':');
        Ok(())
    }

    /// The members or items of a collection that belongs to a key in `column`.
    pub(crate) fn children(
        &mut self,
        column: usize,
        value: Content<'_>,
    ) -> Result<(), SpliceError> {
        let layout = self.layout;
        self.parts(
            column + layout.sequence_offset,
            column + layout.indent,
            value,
        )
    }

    /// The items or members of a collection, in the column for either.
    pub(crate) fn parts(
        &mut self,
        dashes: usize,
        keys: usize,
        value: Content<'_>,
    ) -> Result<(), SpliceError> {
        match value.parts() {
            Parts::Items(items) => {
                for item in items {
                    self.item(dashes, self.layout.dash_gap, item)?;
                }
            }
            Parts::Members(members) => {
                for (name, value) in members {
                    self.member(keys, name, value)?;
                }
            }
            Parts::Scalar => {}
        }
        Ok(())
    }

    pub(crate) fn item(
        &mut self,
        column: usize,
        gap: usize,
        value: Content<'_>,
    ) -> Result<(), SpliceError> {
        self.dash(column, gap);
        if self.on_line("", value, column, 1 + gap) {
            return Ok(());
        }
        self.indented = true;
        let column = column + 1 + gap;
        self.parts(column, column, value)
    }

    /// Writes a value that begins on the line of its key or dash; false for another one.
    fn on_line(&mut self, blank: &str, value: Content<'_>, column: usize, step: usize) -> bool {
        let block = self.block_text(value, column, step);
        let (first, below) = match block.map(|text| (text.header, text.lines)) {
            Some(text) => text,
            None => match inline(value, self.layout) {
                Some(text) => (text, String::new()),
                None => return false,
            },
        };
        let blank = if first.is_empty() { "" } else { blank };
        for part in [blank, &first, self.line_break, &below] {
            self.text.push_str(part);
        }
        true
    }

    /// A string of several lines as a block scalar that is indented by `step` from its key or dash.
    fn block_text(&self, value: Content<'_>, column: usize, step: usize) -> Option<BlockText> {
        let text = value
            .string()
            .filter(|text| self.block_scalars && text.contains('\n'))?;
        BlockTextStyle {
            folded: false,
            step,
            column: column + step,
            indicator: false,
            keep: false,
        }
        .write(&text, self.line_break)
    }

    /// A dash and the blanks after it.
    fn dash(&mut self, column: usize, gap: usize) {
        self.indent(column);
        self.text.push('-');
        self.text.extend(std::iter::repeat_n(' ', gap));
    }

    /// A member or an item whose text is carried along.
    pub(crate) fn carried(
        &mut self,
        place: &BlockPlace<'_>,
        text: &CarriedText,
    ) -> Result<(), SpliceError> {
        match place.name {
            Some(name) => {
                self.key(place.column, Name::New(name))?;
                if !text.first.is_empty() {
                    self.text.push(' ');
                }
            }
            None if text.first.is_empty() => self.dash(place.column, 0),
            None => self.dash(place.column, place.gap),
        }
        self.text.push_str(&text.after_mark(self.line_break));
        Ok(())
    }
}

/// The style of a collection in brackets.
#[derive(Debug, Clone)]
pub(super) struct Brackets {
    pub(crate) place: Context,
    /// The white space inside of `[ ]` and `{ }` on one line.
    pub(crate) pads: [&'static str; 2],
    pub(super) quotes: Quotes,
    /// `, ` or `,`
    pub(crate) comma: &'static str,
    /// `: ` or `:`
    pub(crate) colon: &'static str,
    /// `,` behind the last of elements on lines of their own, as KYAML has it, or nothing.
    pub(crate) trailing_comma: &'static str,
    /// New lists of mappings are written as `[{`.
    pub(crate) new_lists_cuddled: bool,
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
    /// The elements are collections in a list that begins with `[{`, and has `}, {` between them. `prefix` is that of the `}`.
    pub(crate) in_cuddled_list: bool,
}

impl OwnLines {
    pub(crate) fn has_tabs(&self) -> bool {
        self.prefix.contains('\t') || self.step.contains('\t')
    }

    /// The white space before the bracket that closes the collection.
    pub(crate) fn outer(&self) -> String {
        self.prefix
            .strip_suffix(&self.step)
            .unwrap_or_default()
            .to_owned()
    }
}

impl Brackets {
    /// The text before an element: `\n  ` or nothing.
    pub(crate) fn lead(&self, level: usize) -> String {
        self.lines.as_ref().map_or_else(String::new, |lines| {
            [lines.line_break, &lines.prefix, &lines.step.repeat(level)].concat()
        })
    }

    /// True if a list of such items is written as `[{`: all of them are collections, as in KYAML.
    fn is_cuddled_list(&self, items: &[Content<'_>]) -> bool {
        let is_collection = |item: &Content<'_>| !matches!(item.parts(), Parts::Scalar);
        let is_deep =
            |lines: &OwnLines| lines.deep && (self.new_lists_cuddled || lines.in_cuddled_list);
        self.lines.as_ref().is_some_and(is_deep) && items.iter().all(is_collection)
    }

    /// Takes the lines for a list of only these items. Returns true if they are others.
    pub(crate) fn fit(&mut self, items: &[Content<'_>]) -> bool {
        let cuddled = self.is_cuddled_list(items);
        let Some(lines) = self
            .lines
            .as_mut()
            .filter(|own| own.in_cuddled_list != cuddled)
        else {
            return false;
        };
        lines.prefix = if cuddled {
            lines.outer()
        } else {
            [&*lines.prefix, &lines.step].concat()
        };
        lines.in_cuddled_list = cuddled;
        true
    }

    /// The layout for elements behind that white space; none: on one line. In a list that begins with `[{` it stays.
    pub(crate) fn behind(mut self, prefix: Option<String>) -> Self {
        self.lines = self.lines.and_then(|lines| match prefix {
            _ if lines.in_cuddled_list => Some(lines),
            Some(prefix) => Some(OwnLines { prefix, ..lines }),
            None => None,
        });
        self
    }

    /// The text between the brackets of a collection with these elements.
    pub(crate) fn inside(&self, elements: &[String]) -> String {
        let text = elements.join(&self.between());
        match self.lines.as_ref().filter(|lines| !lines.in_cuddled_list) {
            Some(lines) => {
                let (lead, comma, close) = (self.lead(0), self.trailing_comma, lines.outer());
                [&lead, &text, comma, lines.line_break, &close].concat()
            }
            None => text,
        }
    }

    /// The text between two elements.
    pub(crate) fn between(&self) -> String {
        match &self.lines {
            Some(lines) if !lines.in_cuddled_list => format!(",{}", self.lead(0)),
            _ => self.comma.to_owned(),
        }
    }

    pub(crate) fn member(
        &self,
        name: Name<'_>,
        value: Content<'_>,
        level: usize,
        at: usize,
    ) -> Result<String, SpliceError> {
        let key = name.text(self.place, at)?;
        Ok([&key, self.colon, &self.value(value, level, at)?].concat())
    }

    /// The text of a value that is `level` steps further in than the elements here.
    pub(crate) fn value(
        &self,
        value: Content<'_>,
        level: usize,
        at: usize,
    ) -> Result<String, SpliceError> {
        let mut elements = Vec::new();
        let [open, pad, close] = match value.parts() {
            Parts::Scalar => {
                return Ok(value
                    .string()
                    .filter(|_| self.place != Context::Json)
                    .and_then(|text| self.quotes.write(&text, self.place))
                    .or_else(|| value.scalar(self.place))
                    .unwrap_or_default());
            }
            Parts::Items(items) => {
                let is_cuddled = !items.is_empty() && self.is_cuddled_list(&items);
                let item_level = if is_cuddled { level } else { level + 1 };
                for item in items {
                    elements.push(self.value(item, item_level, at)?);
                }
                if is_cuddled {
                    let pad = self.pads[0];
                    return Ok(["[", pad, &elements.join(self.comma), pad, "]"].concat());
                }
                ["[", self.pads[0], "]"]
            }
            Parts::Members(members) => {
                for (name, member) in members {
                    elements.push(self.member(name, member, level + 1, at)?);
                }
                ["{", self.pads[1], "}"]
            }
        };
        // JSON has no tags.
        let tag = value.tag().filter(|_| self.place != Context::Json);
        if elements.is_empty() {
            return Ok(tagged(tag, [open, close].concat()));
        }
        let text = match &self.lines {
            Some(lines) if lines.deep => {
                let lead = self.lead(level + 1);
                [
                    open,
                    &lead,
                    &elements.join(&format!(",{lead}")),
                    self.trailing_comma,
                    &self.lead(level),
                    close,
                ]
                .concat()
            }
            _ => [open, pad, &elements.join(self.comma), pad, close].concat(),
        };
        Ok(tagged(tag, text))
    }
}
