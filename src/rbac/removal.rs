//! Removes the documents and items of an earlier run as a whole, and nothing else.

use crate::rbac::apply::{RbacError, apply};
use crate::rbac::existing::{Existing, ObjectLocation};
use json_patch::jsonptr::PointerBuf;
use json_patch::{PatchOperation, RemoveOperation};
use std::ops::Range;
use yaml_json_patch::edit::Edit;
use yaml_json_patch::{self as yaml, Buffer};

impl Existing {
    /// The edits that remove all managed objects.
    ///
    /// # Errors
    /// - if one of them shares its document with another manifest, a comment or a marker that it does not need
    /// - if a list with one of them cannot be edited
    pub(super) fn removal(&self, text: &str) -> Result<Vec<Edit>, RbacError> {
        if let Some(offset) = self.managed.iter().find_map(|managed| managed.duplicate) {
            return Err(RbacError::NotExact {
                why: "the generated object shares its document with something else",
                help: "move the object to a separate document",
                offset,
            });
        }
        let mut edits: Vec<Edit> = Vec::new();
        // End of the managed documents in front, which may come from several concatenated streams.
        let mut front = byte_order_mark(text);
        let mut removes_separator = false;
        let mut lists: Vec<(&Range<usize>, Vec<&PointerBuf>)> = Vec::new();
        for managed in &self.managed {
            match &managed.place {
                ObjectLocation::Document { all, content } => {
                    let all = all.start.max(front)..all.end;
                    if let Some(offset) = foreign_line(text, &all, content, front) {
                        return Err(RbacError::NotExact {
                            why: "a line beside the generated object is not part of it",
                            help: "move the comment or marker to another document",
                            offset,
                        });
                    }
                    if all.start == front {
                        front = all.end;
                        removes_separator |= managed.adds_separator;
                    }
                    edits.push(Edit::delete(all));
                }
                ObjectLocation::ListItem { document, pointer } => match lists.last_mut() {
                    Some((same, pointers)) if *same == document => pointers.push(pointer),
                    _ => lists.push((document, vec![pointer])),
                },
            }
        }
        if removes_separator {
            edits.push(Edit::delete(front..front + separator(&text[front..])));
        }
        for (document, pointers) in lists {
            edits.extend(without(text, document, &pointers)?);
        }
        edits.retain(|edit| !edit.range.is_empty() || !edit.text.is_empty());
        edits.sort_by_key(|edit| edit.range.start);
        Ok(edits)
    }
}

/// The length of a byte order mark at the beginning of a text.
pub(super) fn byte_order_mark(text: &str) -> usize {
    if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    }
}

/// Returns the offset of the first line of a managed document that an injection did not write: one above its `---`, or a
/// comment or `...` below its content. Only the document in front of a stream needs no `---`.
fn foreign_line(
    text: &str,
    all: &Range<usize>,
    content: &Range<usize>,
    front: usize,
) -> Option<usize> {
    let head = &text[all.start..content.start];
    let is_alone = head.starts_with("---") || (all.start == front && head.trim().is_empty());
    if !is_alone {
        return Some(all.start);
    }
    let tail = &text[content.end..all.end];
    let next_line = tail.find('\n').map_or(tail.len(), |end| end + 1);
    let below = tail[next_line..].trim_start();
    (!below.is_empty()).then(|| all.end - below.len())
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
    let Ok(tree) = yaml::read_piece(text, document.clone(), &mut Buffer::default()) else {
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
        pointers.iter().rev().map(remove).collect(),
        str::to_owned,
    )
}
