//! Writes the objects in front of everything else: their removal takes whole lines, and `kubectl apply` creates the
//! permissions before the pods.

use crate::mackerel::annotations::Annotation;
use crate::manifest::identity::Identity;
use crate::manifest::lines::byte_order_mark;
use crate::manifest::list;
use crate::manifest::resource::item_types;
use crate::rbac::apply::{RbacError, apply};
use crate::rbac::existing::{Managed, RECORD, RECORD_WITH_SEPARATOR};
use crate::rbac::manifest::document;
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation};
use serde_json::Value;
use std::ops::Range;
use yaml_json_patch::edit::Edit;
use yaml_json_patch::{self as yaml, Buffer, Tree};

/// An object to write, and the comments above it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) object: Value,
    pub(super) comments: Vec<String>,
}

/// Kind and name: what makes two cluster-scoped objects of one group the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ObjectName<'o> {
    kind: &'o str,
    name: &'o str,
}

impl<'o> ObjectName<'o> {
    pub(super) fn of(identity: &'o Identity) -> Self {
        Self {
            kind: &identity.kind,
            name: &identity.name,
        }
    }
}

impl Wanted {
    pub(super) fn name(&self) -> ObjectName<'_> {
        ObjectName {
            kind: self.object["kind"].as_str().unwrap_or_default(),
            name: self.object["metadata"]["name"].as_str().unwrap_or_default(),
        }
    }

    pub(super) fn identity(&self) -> Identity {
        let ObjectName { kind, name } = self.name();
        let api_version = self.object["apiVersion"].as_str().unwrap_or_default();
        Identity {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            ..Identity::default()
        }
    }

    /// Compares the permissions only, since other tools add annotations and labels.
    pub(super) fn permits_as(&self, managed: &Managed) -> bool {
        ["rules", "roleRef", "subjects"]
            .iter()
            .all(|field| managed.value.get(field) == self.object.get(field))
    }
}

/// Adds the record to an object.
fn recorded(object: &Value, record: &str) -> Value {
    let mut object = object.clone();
    annotate(&mut object, Annotation::Record.key(), record.to_owned());
    object
}

/// Sets an annotation.
pub(super) fn annotate(object: &mut Value, key: &str, value: String) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let annotations = metadata
        .entry("annotations")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(key.to_owned(), value.into());
    }
}

/// Inserts documents in front of a stream.
///
/// # Errors
/// Fails if the stream begins with a directive: only a `...` could separate the documents from it.
pub(super) fn to_stream(text: &str, wanted: &[Wanted]) -> Result<Vec<Edit>, RbacError> {
    let start = byte_order_mark(text);
    let stream = &text[start..];
    if let Some(offset) = directive(stream) {
        return Err(RbacError::NotExact {
            why: "they could not be removed exactly from a stream that begins with a directive",
            help: "remove the directive, or set `rbac.generate: false` and apply the output of `mackerel-agent-injector rbac`",
            offset: start + offset,
        });
    }
    let needs_separator = !begins_with_marker(stream);
    let mut added = String::new();
    for (index, Wanted { object, comments }) in wanted.iter().enumerate() {
        let record = if needs_separator && index + 1 == wanted.len() {
            RECORD_WITH_SEPARATOR
        } else {
            RECORD
        };
        added.push_str("---\n");
        added.push_str(&document(&recorded(object, record), comments));
    }
    if needs_separator {
        added.push_str("---\n");
    }
    let first = stream.find('\n').and_then(|end| stream.get(..end));
    if first.is_some_and(|line| line.ends_with('\r')) {
        added = added.replace('\n', "\r\n");
    }
    Ok(vec![Edit::insert(start, added)])
}

/// Returns true if the first line of a stream is a `---`, with or without content.
fn begins_with_marker(stream: &str) -> bool {
    let rest = stream.strip_prefix("---");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']))
}

/// Returns the offset of a directive that begins a stream, comments aside.
fn directive(stream: &str) -> Option<usize> {
    let mut offset = 0;
    for line in stream.split_inclusive(['\n', '\r']) {
        let content = line.trim_start();
        if !content.is_empty() && !content.starts_with('#') {
            return line.starts_with('%').then_some(offset);
        }
        offset += line.len();
    }
    None
}

/// Inserts items in front of those of a ResourceList.
///
/// # Errors
/// Fails if the list cannot be edited.
pub(super) fn to_list(text: &str, wanted: &[Wanted]) -> Result<Vec<Edit>, RbacError> {
    let mut buffer = Buffer::default();
    for document in yaml::documents(text).map(|document| document.span) {
        if let Some(first) = first_item(text, document.clone()) {
            let tree = yaml::read_piece(text, first, &mut buffer).ok();
            if let Some(tree) = tree.filter(|tree| list::item(tree).is_some()) {
                return add(&tree, "", wanted);
            }
        }
        let tree = yaml::read_piece(text, document, &mut buffer).ok();
        if let Some(tree) = tree.filter(is_list) {
            return add(&tree, "/items", wanted);
        }
    }
    Ok(Vec::new())
}

fn is_list(tree: &Tree<'_>) -> bool {
    tree.root()
        .is_some_and(|root| item_types(tree, root).is_some() && tree.get(root, "items").is_some())
}

/// The bytes of the first item of a list, if they are found without parsing the others.
fn first_item(text: &str, document: Range<usize>) -> Option<Range<usize>> {
    let cut = list::cut(text, document)?;
    let envelope = cut.envelope()?;
    // The last of several `kind`s decides if it is a list.
    item_types(&envelope, envelope.root()?)?;
    drop(envelope);
    cut.items.into_iter().next()
}

/// Inserts the items at index 0 of the list at `pointer`.
fn add(tree: &Tree<'_>, pointer: &str, wanted: &[Wanted]) -> Result<Vec<Edit>, RbacError> {
    let path = PointerBuf::from_tokens(pointer.split('/').skip(1).chain(["0"]));
    let additions = wanted.iter().rev().map(|wanted| {
        PatchOperation::Add(AddOperation {
            path: path.clone(),
            value: recorded(&wanted.object, RECORD),
        })
    });
    apply(tree, additions.collect(), |items| commented(items, wanted))
}

/// Inserts the comments of each item in block style behind its dash: kpt keeps them there, and a removal takes them along.
///
/// ```text
/// - apiVersion: …    - # why
///   kind: …            apiVersion: …
///                      kind: …
/// ```
fn commented(items: &str, wanted: &[Wanted]) -> String {
    let mut comments = wanted.iter().map(|wanted| &wanted.comments);
    let mut text = String::with_capacity(items.len());
    for line in items.split_inclusive('\n') {
        let key = line.trim_start_matches([' ', '-']);
        let dash = &line[..line.len() - key.len()];
        let begins_item = dash.contains('-') && key.starts_with("apiVersion:");
        let comments = begins_item.then(|| comments.next()).flatten();
        let Some(comments) = comments.filter(|comments| !comments.is_empty()) else {
            text.push_str(line);
            continue;
        };
        let line_break = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
        let column = " ".repeat(dash.len());
        for (index, comment) in comments.iter().enumerate() {
            let lead = if index == 0 { dash } else { &column };
            text.push_str(&format!("{lead}# {comment}{line_break}"));
        }
        text.push_str(&column);
        text.push_str(key);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_is_added_only_where_the_stream_does_not_begin_with_one() {
        for (stream, expected) in [
            ("---\na: 1\n", true),
            ("--- # c\r\na: 1\r\n", true),
            ("a: 1\n---\nb: 2\n", false),
            ("# licence\n---\na: 1\n", false),
            ("---a\n", false),
            ("...\na: 1\n", false),
        ] {
            assert_eq!(begins_with_marker(stream), expected, "{stream:?}");
        }
    }

    #[test]
    fn a_directive_is_found_behind_comments() {
        for (stream, expected) in [
            ("# c\n\n%YAML 1.1\n---\na: 1\n", Some(5)),
            ("a: 1\n%b: 1\n", None),
            ("---\n%b\n", None),
        ] {
            assert_eq!(directive(stream), expected, "{stream:?}");
        }
    }
}
