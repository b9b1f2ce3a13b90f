//! A change to a text, as a value. Lists of edits are sorted and do not overlap. Offsets are bytes.

use crate::read::Unchanged;
use crate::tree::Tree;
use memchr::{memchr, memrchr};
use std::ops::Range;
use std::sync::Arc;

/// Replaces the bytes of `range` by `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Bytes of the original text; empty for an insertion.
    pub range: Range<usize>,
    /// The new text. Shared: the documents of a stream mostly get the same text.
    pub text: Arc<str>,
}

impl Edit {
    /// An insertion before the byte at `at`.
    #[must_use]
    pub fn insert(at: usize, text: impl Into<Arc<str>>) -> Self {
        Self::replace(at..at, text)
    }

    /// A deletion of these bytes.
    #[must_use]
    pub fn delete(range: Range<usize>) -> Self {
        Self::replace(range, "")
    }

    /// A replacement of these bytes.
    #[must_use]
    pub fn replace(range: Range<usize>, text: impl Into<Arc<str>>) -> Self {
        Self {
            range,
            text: text.into(),
        }
    }
}

/// The pieces of the edited text, in order: slices of the original and of the edits, to be written without a copy.
///
/// The edits must be sorted, must not overlap, and must fit the original, as all that this crate returns do.
///
/// # Panics
/// When edits are not sorted, overlap or lie outside the text.
pub fn pieces<'a>(original: &'a str, edits: &'a [Edit]) -> impl Iterator<Item = &'a str> {
    let ends = edits
        .iter()
        .map(|edit| edit.range.start)
        .chain([original.len()]);
    let starts = [0]
        .into_iter()
        .chain(edits.iter().map(|edit| edit.range.end));
    let inserted = edits.iter().map(|edit| &*edit.text).chain([""]);
    starts
        .zip(ends)
        .zip(inserted)
        .flat_map(move |((start, end), inserted)| [&original[start..end], inserted])
        .filter(|piece| !piece.is_empty())
}

/// The edited text; the edits as of [`pieces`].
///
/// ```
/// use yaml_json_patch::edit::{Edit, apply};
///
/// assert_eq!(apply("a: 1\n", &[Edit::replace(3..4, "2"), Edit::insert(5, "b: 3\n")]), "a: 2\nb: 3\n");
/// ```
///
/// # Panics
/// As [`pieces`].
#[must_use]
pub fn apply(original: &str, edits: &[Edit]) -> String {
    let inserted: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut edited = String::with_capacity(original.len() + inserted);
    edited.extend(pieces(original, edits));
    edited
}

/// The parts of the text that stay; the edits as of [`pieces`].
pub(crate) fn unchanged(original: &str, edits: &[Edit]) -> Vec<Unchanged> {
    let mut unchanged = Vec::with_capacity(edits.len() + 1);
    let (mut before, mut after) = (0, 0);
    for edit in edits {
        let len = edit.range.start - before;
        unchanged.push(Unchanged { before, after, len });
        before = edit.range.end;
        after += len + edit.text.len();
    }
    let len = original.len() - before;
    unchanged.push(Unchanged { before, after, len });
    unchanged
}

/// Maps places of the edited text, in its order, to the original: to their own place there, or to the edit that wrote them.
#[must_use]
pub fn origins(edits: &[Edit], places: &[usize]) -> Vec<usize> {
    let mut edits = edits.iter().peekable();
    // Up to where both texts have been gone through.
    let (mut written, mut read) = (0, 0);
    let origin = |at: &usize| {
        while let Some(edit) = edits.peek() {
            let begins = written + (edit.range.start - read);
            if *at < begins {
                break;
            }
            if *at < begins + edit.text.len() {
                return edit.range.start;
            }
            written = begins + edit.text.len();
            read = edit.range.end;
            edits.next();
        }
        read + (at - written)
    };
    places.iter().map(origin).collect()
}

/// One list of edits for two that follow each other: `apply(apply(text, first), second) == apply(text, compose(..))`.
///
/// Both lists must be sorted and must not overlap. What the second puts back as it was before the first vanishes.
#[must_use]
pub fn compose(original: &str, first: &[Edit], second: &[Edit]) -> Vec<Edit> {
    Text::of(original)
        .edited(first)
        .edited(second)
        .edits(original)
}

/// A text as a chain of pieces: slices of the original, and new text.
struct Text<'a> {
    pieces: Vec<Piece<'a>>,
}

#[derive(Clone)]
enum Piece<'a> {
    Original(Range<usize>),
    New(&'a str),
}

impl Piece<'_> {
    fn len(&self) -> usize {
        match self {
            Piece::Original(range) => range.len(),
            Piece::New(text) => text.len(),
        }
    }

    fn part(&self, range: Range<usize>) -> Self {
        match self {
            Piece::Original(whole) => {
                Piece::Original(whole.start + range.start..whole.start + range.end)
            }
            Piece::New(text) => Piece::New(&text[range]),
        }
    }
}

impl<'a> Text<'a> {
    fn of(original: &str) -> Self {
        Self {
            pieces: vec![Piece::Original(0..original.len())],
        }
    }

    fn edited(&self, edits: &'a [Edit]) -> Text<'a> {
        let mut pieces = Vec::with_capacity(self.pieces.len() + 2 * edits.len());
        let mut at = 0;
        let mut rest = edits.iter().peekable();
        for piece in &self.pieces {
            let end = at + piece.len();
            let mut from = at;
            while let Some(edit) = rest.peek() {
                // An edit that begins at the end of this piece belongs to the next one, but for the very last.
                if edit.range.start >= end {
                    break;
                }
                if edit.range.start >= at {
                    if from < edit.range.start {
                        pieces.push(piece.part(from - at..edit.range.start - at));
                    }
                    pieces.push(Piece::New(&edit.text));
                }
                from = edit.range.end.clamp(from, end);
                if edit.range.end > end {
                    break;
                }
                rest.next();
            }
            if from < end {
                pieces.push(piece.part(from - at..piece.len()));
            }
            at = end;
        }
        pieces.extend(
            rest.filter(|edit| edit.range.start >= at)
                .map(|edit| Piece::New(&edit.text)),
        );
        Text { pieces }
    }

    /// The edits that lead from the original to this text, each as small as whole lines allow.
    fn edits(&self, original: &str) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut at = 0;
        let mut new = String::new();
        let end = Piece::Original(original.len()..original.len());
        for piece in self.pieces.iter().chain([&end]) {
            match piece {
                Piece::New(text) => new.push_str(text),
                Piece::Original(range) => {
                    refine(original, at..range.start, &new, &mut edits);
                    new.clear();
                    at = range.end;
                }
            }
        }
        edits
    }
}

/// Bytes that are compared at once.
const BLOCK: usize = 16;

/// Leaves out the lines at both ends that stay.
fn refine(original: &str, range: Range<usize>, new: &str, edits: &mut Vec<Edit>) {
    let old = &original[range.clone()];
    if old == new {
        return;
    }
    if old.is_empty() || new.is_empty() {
        edits.push(Edit::replace(range, new));
        return;
    }
    let head = common_head(old.as_bytes(), new.as_bytes());
    let (old, new) = (&old[head..], &new[head..]);
    let tail = common_tail(old.as_bytes(), new.as_bytes());
    let changed = range.start + head..range.end - tail;
    edits.push(Edit::replace(changed, &new[..new.len() - tail]));
}

/// The bytes of the lines that both begin with.
fn common_head(old: &[u8], new: &[u8]) -> usize {
    // A block is compared at once.
    let blocks = old.chunks_exact(BLOCK).zip(new.chunks_exact(BLOCK));
    let mut head = blocks.take_while(|(old, new)| old == new).count() * BLOCK;
    let bytes = old[head..].iter().zip(&new[head..]);
    head += bytes.take_while(|(old, new)| old == new).count();
    memrchr(b'\n', &old[..head]).map_or(0, |feed| feed + 1)
}

/// The bytes of the lines that both end with.
fn common_tail(old: &[u8], new: &[u8]) -> usize {
    let blocks = old.rchunks_exact(BLOCK).zip(new.rchunks_exact(BLOCK));
    let mut tail = blocks.take_while(|(old, new)| old == new).count() * BLOCK;
    let bytes = old.iter().rev().skip(tail).zip(new.iter().rev().skip(tail));
    tail += bytes.take_while(|(old, new)| old == new).count();
    let begins_line = |text: &[u8]| {
        text[..text.len() - tail]
            .last()
            .is_none_or(|last| *last == b'\n')
    };
    if begins_line(old) && begins_line(new) {
        return tail;
    }
    memchr(b'\n', &old[old.len() - tail..]).map_or(0, |feed| tail - feed - 1)
}

impl Tree<'_> {
    /// Returns edits of [`Tree::text`] as edits of [`Tree::source`].
    #[must_use]
    pub fn edits_of_source(&self, mut edits: Vec<Edit>) -> Vec<Edit> {
        for edit in &mut edits {
            edit.range = self.start + edit.range.start..self.start + edit.range.end;
        }
        edits
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, apply, common_head, common_tail, compose, origins};

    /// All texts of up to four of three characters.
    fn short_texts() -> Vec<String> {
        let mut texts = vec![String::new()];
        for start in 0..40 {
            for next in ["a", "b", "\n"] {
                texts.push(format!("{}{next}", texts[start]));
            }
        }
        texts
    }

    fn bytes_of_common_lines<'l>(
        old: impl Iterator<Item = &'l str>,
        new: impl Iterator<Item = &'l str>,
    ) -> usize {
        let lines = old.zip(new).take_while(|(old, new)| old == new);
        lines.map(|(line, _)| line.len()).sum()
    }

    #[test]
    fn whole_lines_are_common() {
        let texts = short_texts();
        for (old, new) in texts
            .iter()
            .flat_map(|old| texts.iter().map(move |new| (old, new)))
        {
            // Shorter than a block, and longer.
            for around in ["", "a line of a text that stays"] {
                let [old, new] = [old, new].map(|text| format!("{around}{text}{around}"));
                if old == new {
                    continue;
                }
                let (old_lines, new_lines) =
                    (|| old.split_inclusive('\n'), || new.split_inclusive('\n'));
                assert_eq!(
                    common_head(old.as_bytes(), new.as_bytes()),
                    bytes_of_common_lines(old_lines(), new_lines()),
                    "{old:?} {new:?}"
                );
                assert_eq!(
                    common_tail(old.as_bytes(), new.as_bytes()),
                    bytes_of_common_lines(old_lines().rev(), new_lines().rev()),
                    "{old:?} {new:?}"
                );
            }
        }
    }

    #[test]
    fn a_place_of_the_edited_text_stood_somewhere() {
        let text = "abcdef";
        let edits = [
            Edit::insert(1, "12"),
            Edit::replace(2..4, "3"),
            Edit::delete(5..6),
        ];
        assert_eq!(apply(text, &edits), "a12b3e");
        assert_eq!(origins(&edits, &[0, 1, 2, 3, 4, 5]), [0, 1, 1, 1, 2, 4]);
    }

    #[test]
    fn two_lists_of_edits_become_one() {
        let text = "a\nb\nc\nd\n";
        for (first, second) in [
            (vec![Edit::delete(2..4)], vec![Edit::insert(2, "B\n")]),
            (vec![Edit::delete(2..4)], vec![Edit::insert(2, "b\n")]),
            (
                vec![Edit::insert(4, "x\ny\n")],
                vec![Edit::delete(4..6), Edit::insert(8, "z\n")],
            ),
            (
                vec![Edit::insert(0, "0\n"), Edit::insert(8, "e\n")],
                vec![Edit::delete(0..12)],
            ),
            (vec![Edit::insert(8, "e")], vec![Edit::insert(9, "f")]),
            (vec![], vec![Edit::delete(7..8)]),
            (vec![Edit::delete(1..7)], vec![Edit::replace(0..2, "q")]),
        ] {
            let expected = apply(&apply(text, &first), &second);
            let composed = compose(text, &first, &second);
            assert_eq!(
                apply(text, &composed),
                expected,
                "{first:?} then {second:?}"
            );
        }
    }

    #[test]
    fn what_is_put_back_vanishes() {
        assert_eq!(
            compose("a\nb\n", &[Edit::delete(2..4)], &[Edit::insert(2, "b\n")]),
            []
        );
    }
}
