//! Removes the documents and items of an earlier run as a whole, and nothing else.

use crate::manifest::lines::byte_order_mark;
use crate::rbac::apply::{RbacError, apply};
use crate::rbac::existing::{Existing, Managed};
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
        let is_same_document = |one: &Managed, other: &Managed| one.document == other.document;
        for objects in self.managed.chunk_by(is_same_document) {
            let [object, ..] = objects else { continue };
            if !object.pointer.is_root() {
                edits.extend(without_items(text, &object.document, objects)?);
                continue;
            }
            let document = object.document.start.max(front)..object.document.end;
            if let Some(offset) = foreign_line(text, &document, &object.content, front) {
                return Err(RbacError::NotExact {
                    why: "a line beside the generated object is not part of it",
                    help: "move the comment or marker to another document",
                    offset,
                });
            }
            if document.start == front {
                front = document.end;
                removes_separator |= object.adds_separator;
            }
            edits.push(Edit::delete(document));
        }
        if removes_separator {
            edits.push(Edit::delete(front..front + separator(&text[front..])));
        }
        edits.retain(|edit| !edit.range.is_empty() || !edit.text.is_empty());
        edits.sort_by_key(|edit| edit.range.start);
        Ok(edits)
    }
}

/// Returns the offset of the first line of a managed document that an injection did not write: one above its `---`, or a
/// comment or `...` below its content. Only the document in front of a stream needs no `---`.
fn foreign_line(
    text: &str,
    document: &Range<usize>,
    content: &Range<usize>,
    front: usize,
) -> Option<usize> {
    let head = &text[document.start..content.start];
    let is_alone = head.starts_with("---") || (document.start == front && head.trim().is_empty());
    if !is_alone {
        return Some(document.start);
    }
    let tail = &text[content.end..document.end];
    let next_line = tail.find('\n').map_or(tail.len(), |end| end + 1);
    let below = tail[next_line..].trim_start();
    (!below.is_empty()).then(|| document.end - below.len())
}

/// The length of the first line if it is `---` and nothing else.
fn separator(text: &str) -> usize {
    ["---\n", "---\r\n"]
        .into_iter()
        .find(|line| text.starts_with(line))
        .map_or(0, str::len)
}

/// Returns the edits that remove items of lists in a document.
fn without_items(
    text: &str,
    document: &Range<usize>,
    items: &[Managed],
) -> Result<Vec<Edit>, RbacError> {
    let Ok(tree) = yaml::read_piece(text, document.clone(), &mut Buffer::default()) else {
        return Ok(Vec::new());
    };
    // From the last to the first, so that the pointers of the others stay valid.
    let removals = items.iter().rev().map(|item| {
        PatchOperation::Remove(RemoveOperation {
            path: item.pointer.clone(),
        })
    });
    apply(&tree, removals.collect(), str::to_owned)
}
