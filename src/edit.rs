//! A change to a text, as a value: which bytes give way to what.

use std::ops::Range;

/// The bytes of `range` give way to `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Bytes of the original text; empty for an insertion.
    pub range: Range<usize>,
    /// What stands there afterwards.
    pub text: String,
}

impl Edit {
    /// An insertion before the byte at `at`.
    #[must_use]
    pub fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { range: at..at, text: text.into() }
    }

    /// A deletion.
    #[must_use]
    pub fn delete(range: Range<usize>) -> Self {
        Self { range, text: String::new() }
    }
}

/// The pieces of the edited text, in order: slices of the original and of the edits.
///
/// The edits must be sorted and must not overlap, as every stage that returns edits promises.
pub fn pieces<'a>(original: &'a str, edits: &'a [Edit]) -> impl Iterator<Item = &'a str> {
    let ends = edits.iter().map(|edit| edit.range.start).chain([original.len()]);
    let starts = [0].into_iter().chain(edits.iter().map(|edit| edit.range.end));
    let inserted = edits.iter().map(|edit| edit.text.as_str()).chain([""]);
    starts
        .zip(ends)
        .zip(inserted)
        .flat_map(move |((start, end), inserted)| [&original[start..end], inserted])
        .filter(|piece| !piece.is_empty())
}

/// The edited text.
#[must_use]
pub fn apply(original: &str, edits: &[Edit]) -> String {
    pieces(original, edits).collect()
}
