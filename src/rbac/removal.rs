//! Removes the documents and items of an earlier run, and nothing else, byte for byte.

use crate::rbac::apply::{RbacError, apply};
use crate::rbac::existing::{Existing, ObjectLocation};
use crate::rbac::record::Boundary;
use json_patch::jsonptr::PointerBuf;
use json_patch::{PatchOperation, RemoveOperation};
use std::ops::Range;
use yaml_json_patch as yaml;
use yaml_json_patch::edit::{self, Edit};

impl Existing {
    /// The edits that remove all managed objects.
    ///
    /// # Errors
    /// - if one of them shares its document with another manifest
    /// - if a list with one of them cannot be edited
    /// - if the other documents would change, which is a bug of this program
    pub(super) fn removal(&self, text: &str) -> Result<Vec<Edit>, RbacError> {
        if let Some(offset) = self.managed.iter().find_map(|managed| managed.duplicate) {
            return Err(RbacError::SharedDocument { offset });
        }
        let mut edits: Vec<Edit> = Vec::new();
        // End of the managed documents in front, which may come from several concatenated streams.
        let mut front = if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        let mut then_separator = false;
        let mut inside: Vec<(&Range<usize>, Vec<&PointerBuf>)> = Vec::new();
        for managed in &self.managed {
            match &managed.place {
                ObjectLocation::Document { all, content } => {
                    let all = all.start.max(front)..all.end;
                    let in_front = all.start == front;
                    if in_front {
                        front = all.end;
                        then_separator |= managed.record.then == Boundary::Separator;
                    }
                    edits.extend(
                        lines_of(text, &all, content, in_front)
                            .into_iter()
                            .map(Edit::delete),
                    );
                }
                ObjectLocation::ListItem { document, pointer } => match inside.last_mut() {
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

    /// Checks that every other document keeps its content, except lists with managed items.
    fn others_stay(&self, text: &str, edits: &[Edit]) -> Result<(), RbacError> {
        let overlap = edits
            .windows(2)
            .find(|pair| matches!(pair, [one, next] if one.range.end > next.range.start));
        let fault = |offset| RbacError::VerifyFailed {
            message: "the remaining text differs from the original".to_owned(),
            offset,
        };
        if let Some([one, ..]) = overlap {
            return Err(fault(one.range.start));
        }
        let place = |span: &Range<usize>| {
            let next = self
                .managed
                .partition_point(|managed| managed.place.start() < span.start);
            self.managed
                .get(next)
                .map(|managed| &managed.place)
                .filter(|place| place.start() < span.end)
        };
        // None for a list with managed items, which `verify` has checked.
        let spans = |text| yaml::documents(text).map(|document| document.span);
        let before = spans(text).filter_map(|span| match place(&span) {
            Some(ObjectLocation::Document { .. }) => None,
            Some(ObjectLocation::ListItem { .. }) => Some((span.start, None)),
            None => Some((span.start, Some(content(&text[span])))),
        });
        let bare = edit::apply(text, edits);
        let mut after = spans(&bare)
            .map(|span| content(&bare[span]))
            .filter(|content| !content.is_empty());
        for (offset, said) in before.filter(|(_, said)| *said != Some("")) {
            if after
                .next()
                .is_none_or(|now| said.is_some_and(|said| said != now))
            {
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
    let is_nothing = |line: &str| {
        matches!(line.trim(), "" | "---" | "...") || line.trim_start().starts_with('#')
    };
    let start: usize = document
        .split_inclusive(ENDS)
        .take_while(|line| is_nothing(line))
        .map(str::len)
        .sum();
    let rest = &document[start..];
    let end: usize = rest
        .split_inclusive(ENDS)
        .rev()
        .take_while(|line| is_nothing(line))
        .map(str::len)
        .sum();
    rest[..rest.len() - end].trim_end()
}

/// The lines to remove with a managed document: all but comments above its `---` or below its end, and a `...` behind other
/// documents, which may be all that separates them from the next.
fn lines_of(
    text: &str,
    all: &Range<usize>,
    content: &Range<usize>,
    in_front: bool,
) -> [Range<usize>; 2] {
    let above = &text[all.start..content.start.max(all.start)];
    let lines = above.split_inclusive('\n').scan(all.start, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    let marker = lines
        .filter(|(_, line)| line.starts_with("---"))
        .last()
        .map_or(all.start, |(start, _)| start);
    let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let has_comment = |lines: &str| lines.lines().any(|line| line.trim_start().starts_with('#'));
    let lead = &text[all.start..marker];
    let start = if has_comment(lead) && lead.lines().all(is_comment) {
        marker
    } else {
        all.start
    };
    let end = text[content.end..all.end]
        .find('\n')
        .map_or(all.end, |feed| content.end + feed + 1);
    let tail = &text[end..all.end];
    let comment = tail
        .split_inclusive('\n')
        .take_while(|line| line.trim().is_empty())
        .map(str::len)
        .sum::<usize>();
    let last = tail
        .split_inclusive('\n')
        .next_back()
        .filter(|line| line.starts_with("..."));
    let ended = all.end - last.map_or(0, str::len);
    let end_marker = ended..if in_front { all.end } else { ended };
    if has_comment(tail) {
        [start..end + comment, end_marker]
    } else {
        [start..ended, end_marker]
    }
}

/// The length of the first line if it is `---` and nothing else.
fn separator(text: &str) -> usize {
    ["---\n", "---\r\n"]
        .into_iter()
        .find(|line| text.starts_with(line))
        .map_or(0, str::len)
}

fn without(
    text: &str,
    document: &Range<usize>,
    pointers: &[&PointerBuf],
) -> Result<Vec<Edit>, RbacError> {
    let Ok(tree) = yaml::read(&text[document.clone()]) else {
        return Ok(Vec::new());
    };
    // From the last to the first, so that the pointers of the others stay valid.
    let remove = |path: &&PointerBuf| {
        PatchOperation::Remove(RemoveOperation {
            path: (*path).clone(),
        })
    };
    apply(
        &tree,
        document.start,
        pointers.iter().rev().map(remove).collect(),
        str::to_owned,
    )
}

#[cfg(test)]
mod tests {
    use super::content;

    #[test]
    fn content_is_without_markers_and_comments_around() {
        for text in [
            "a: 1",
            "a: 1\n",
            "---\n# b\na: 1\n\n# c\n...\n",
            "---\r\n# b\r\na: 1\r\n",
            "# b\ra: 1\r# c\r",
        ] {
            assert_eq!(content(text), "a: 1", "{text:?}");
        }
    }
}
