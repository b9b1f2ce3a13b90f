//! How the documents and items of an earlier run are taken out again, byte for byte, and nothing else with them.

use crate::rbac::present::{Place, Present, documents};
use crate::rbac::record::Boundary;
use crate::rbac::spliced::{Failure, spliced};
use json_patch::jsonptr::PointerBuf;
use json_patch::{PatchOperation, RemoveOperation};
use std::ops::Range;
use yaml_json_patch as yaml;
use yaml_json_patch::edit::{self, Edit};

impl Present {
    /// Takes ours out.
    ///
    /// # Errors
    /// - when more than ours stands in the place of one of them
    /// - when an item stands in a list that cannot be edited
    /// - when what is left is not what was there, which is a mistake of ours
    ///
    /// With the place in the text.
    pub(super) fn removal(&self, text: &str) -> Result<Vec<Edit>, Failure> {
        if let Some(offset) = self.ours.iter().find_map(|ours| ours.foreign) {
            return Err(Failure::Shared { offset });
        }
        let mut edits: Vec<Edit> = Vec::new();
        // As long as everything so far is ours, which may have come from several streams, one behind the other.
        let mut front = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut then_separator = false;
        let mut inside: Vec<(&Range<usize>, Vec<&PointerBuf>)> = Vec::new();
        for ours in &self.ours {
            match &ours.place {
                Place::Document { all, content } => {
                    let all = all.start.max(front)..all.end;
                    let in_front = all.start == front;
                    if in_front {
                        front = all.end;
                        then_separator |= ours.record.then == Boundary::Separator;
                    }
                    edits.extend(lines_of(text, &all, content, in_front).into_iter().map(Edit::delete));
                }
                Place::Inside { document, pointer } => match inside.last_mut() {
                    Some((same, pointers)) if *same == document => pointers.push(pointer),
                    _ => inside.push((document, vec![pointer])),
                },
            }
        }
        if then_separator {
            edits.push(Edit::delete(front..front + separator(&text[front..])));
        }
        for (document, pointers) in inside {
            edits.extend(without(text, document, &pointers)?);
        }
        edits.retain(|edit| !edit.range.is_empty() || !edit.text.is_empty());
        edits.sort_by_key(|edit| edit.range.start);
        self.others_stay(text, &edits)?;
        Ok(edits)
    }

    /// Every document that was not ours, and was no list with ours in it, is there as it was.
    fn others_stay(&self, text: &str, edits: &[Edit]) -> Result<(), Failure> {
        let overlap = edits.windows(2).find(|pair| matches!(pair, [one, next] if one.range.end > next.range.start));
        let fault = |offset| Failure::Fault { message: "what is left is not what was there".to_owned(), offset };
        if let Some([one, ..]) = overlap {
            return Err(fault(one.range.start));
        }
        let place = |span: &Range<usize>| {
            let next = self.ours.partition_point(|ours| ours.place.start() < span.start);
            self.ours.get(next).map(|ours| &ours.place).filter(|place| place.start() < span.end)
        };
        // None: a list with some of ours in it, which `verify` has looked at.
        let before = documents(text).filter_map(|span| match place(&span) {
            Some(Place::Document { .. }) => None,
            Some(Place::Inside { .. }) => Some((span.start, None)),
            None => Some((span.start, Some(content(&text[span])))),
        });
        let bare = edit::apply(text, edits);
        let mut after = documents(&bare).map(|span| content(&bare[span])).filter(|content| !content.is_empty());
        for (offset, said) in before.filter(|(_, said)| *said != Some("")) {
            if after.next().is_none_or(|now| said.is_some_and(|said| said != now)) {
                return Err(fault(offset));
            }
        }
        after.next().map_or(Ok(()), |_| Err(fault(text.len())))
    }
}

/// A document without markers, comments and blank lines at its ends.
fn content(document: &str) -> &str {
    // Lines may end in a bare carriage return.
    const ENDS: [char; 2] = ['\n', '\r'];
    let document = document.trim_start_matches('\u{feff}');
    let is_nothing = |line: &str| matches!(line.trim(), "" | "---" | "...") || line.trim_start().starts_with('#');
    let start: usize = document.split_inclusive(ENDS).take_while(|line| is_nothing(line)).map(str::len).sum();
    let rest = &document[start..];
    let end: usize = rest.split_inclusive(ENDS).rev().take_while(|line| is_nothing(line)).map(str::len).sum();
    rest[..rest.len() - end].trim_end()
}

/// What goes of a document of ours: its lines, but for what somebody wrote above its `---` or below its end, and for a `...`
/// behind other documents, which may be all that parts them from what follows.
fn lines_of(text: &str, all: &Range<usize>, content: &Range<usize>, in_front: bool) -> [Range<usize>; 2] {
    let above = &text[all.start..content.start.max(all.start)];
    let lines = above.split_inclusive('\n').scan(all.start, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    let marker = lines.filter(|(_, line)| line.starts_with("---")).last().map_or(all.start, |(start, _)| start);
    let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let has_comment = |lines: &str| lines.lines().any(|line| line.trim_start().starts_with('#'));
    let lead = &text[all.start..marker];
    let start = if has_comment(lead) && lead.lines().all(is_comment) { marker } else { all.start };
    let end = text[content.end..all.end].find('\n').map_or(all.end, |feed| content.end + feed + 1);
    let tail = &text[end..all.end];
    let comment = tail.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum::<usize>();
    let last = tail.split_inclusive('\n').next_back().filter(|line| line.starts_with("..."));
    let ended = all.end - last.map_or(0, str::len);
    let end_marker = ended..if in_front { all.end } else { ended };
    if has_comment(tail) { [start..end + comment, end_marker] } else { [start..ended, end_marker] }
}

/// The length of the line when it is a `---` and nothing else.
fn separator(text: &str) -> usize {
    ["---\n", "---\r\n"].into_iter().find(|line| text.starts_with(line)).map_or(0, str::len)
}

fn without(text: &str, document: &Range<usize>, pointers: &[&PointerBuf]) -> Result<Vec<Edit>, Failure> {
    let Ok(tree) = yaml::read(&text[document.clone()]) else { return Ok(Vec::new()) };
    // From the last to the first, so that the earlier ones stay where they are.
    let remove = |path: &&PointerBuf| PatchOperation::Remove(RemoveOperation { path: (*path).clone() });
    spliced(&tree, document.start, pointers.iter().rev().map(remove).collect(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::content;

    #[test]
    fn a_document_says_the_same_whatever_stands_at_its_ends() {
        for text in ["a: 1", "a: 1\n", "---\n# b\na: 1\n\n# c\n...\n", "---\r\n# b\r\na: 1\r\n", "# b\ra: 1\r# c\r"] {
            assert_eq!(content(text), "a: 1", "{text:?}");
        }
    }
}
