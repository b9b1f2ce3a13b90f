//! Nulls that come back as they were written, for the feature `kubernetes`.

use super::error::{ErrorKind, SpliceError};
use super::lines::Lines;
use super::operation::NullSource;
use super::plan::{self, Element};
use super::replace::ValuePlace;
use super::writer::Writer;
use crate::tree::{NodeId, Style, Tree};

/// Returns the text of the null at `value`, for `Operation::RestoreNull` to write it again.
#[must_use]
pub fn null_source(tree: &Tree<'_>, mapping: NodeId, value: NodeId) -> NullSource {
    let lines = Lines { text: tree.text() };
    let (start, end) = (tree.outer_start(value), tree.span(value).end);
    if tree.style(mapping) != Style::Flow {
        // Templates of Helm put the null of a value that is not set on a line of its own.
        let start = lines.slice(0, start).trim_end().len();
        return NullSource::Block(lines.slice(start, end).to_owned());
    }
    let has_colon = tree.entries(mapping).any(|(key, entry)| {
        entry == value && lines.is_at(lines.next_content(tree.span(key).end), b':')
    });
    if has_colon {
        NullSource::Flow(lines.slice(lines.before_blanks(start), end).to_owned())
    } else {
        NullSource::FlowKey
    }
}

/// Returns the number of blanks at the beginning of a line.
fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

impl Writer<'_, '_> {
    /// Restores a null that a collection had replaced, as it was written.
    pub(super) fn restore(
        &mut self,
        element: &Element,
        mark: usize,
        source: &NullSource,
    ) -> Result<(), SpliceError> {
        let NullSource::Block(raw) = source else {
            return Err(ErrorKind::Layout.at(element.start));
        };
        let mut null = match raw.rsplit_once('\n') {
            // A tool has printed the text since, and the key stands as deep as the null did.
            Some((_, line)) if depth(line) <= self.lines.column(element.start)? => {
                format!(" {}", line.trim_start())
            }
            _ => raw.clone(),
        };
        if plan::is_inline(self.tree, element.value) {
            // Comments between the key and the value stay, behind a null on the line of the key.
            let start = self.tree.outer_start(element.value);
            let from = self.lines.slice(0, start).trim_end().len();
            if from > mark && !null.starts_with(['\r', '\n']) {
                self.out.insert(mark, std::mem::take(&mut null));
            }
            self.replace_value(from, element, null);
        } else {
            // A comment after the key stays.
            let ValuePlace { line, below } = self.value_place(element, mark)?;
            self.out.replace(line, null);
            self.out.delete(below);
        }
        Ok(())
    }

    /// Restores a null that a collection had replaced, as it was written.
    pub(super) fn restore_in_brackets(
        &mut self,
        element: &Element,
        source: &NullSource,
    ) -> Result<(), SpliceError> {
        let start = self
            .lines
            .before_blanks(self.tree.outer_start(element.value));
        match (source, element.key) {
            (NullSource::FlowKey, Some(key)) => {
                self.out.delete(self.tree.span(key).end..element.end);
            }
            (NullSource::Flow(raw), Some(key)) => {
                // JSON's `"a":null` has no blank, but `a:null` would be a key.
                let needs_blank = raw.starts_with(|first: char| !matches!(first, ' ' | '\t'))
                    && element.mark == Some(start)
                    && self.tree.style(key) == Style::Plain;
                let blank = if needs_blank { " " } else { "" };
                self.out.replace(start..element.end, [blank, raw].concat());
            }
            _ => return Err(ErrorKind::Layout.at(element.start)),
        }
        Ok(())
    }
}
