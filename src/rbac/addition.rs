//! Where the objects go: in front of everything else, so that their removal takes whole lines and touches nothing, and so
//! that whoever applies the stream in its order permits before it runs.

use crate::mackerel::annotations::Annotation;
use crate::manifest::list;
use crate::manifest::resource::item_types;
use crate::rbac::manifest::document;
use crate::rbac::record::{Boundary, Record};
use crate::rbac::spliced::{Failure, spliced};
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation};
use serde_json::Value;
use std::ops::Range;
use yaml_json_patch::edit::Edit;
use yaml_json_patch::{self as yaml, Tree};

/// An object, and the comments above it where it can have some.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) object: Value,
    pub(super) comments: Vec<String>,
}

/// The object as it is written, with its record.
pub(super) fn recorded(object: &Value, then: Boundary) -> Value {
    let mut object = object.clone();
    annotate(&mut object, Annotation::Record.key(), Record { then }.to_string());
    object
}

/// Sets an annotation.
pub(super) fn annotate(object: &mut Value, key: &str, value: String) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(serde_json::Map::new()));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(key.to_owned(), value.into());
    }
}

/// Documents in front of a stream.
pub(super) fn to_stream(text: &str, wanted: &[Wanted]) -> Vec<Edit> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let stream = &text[start..];
    let boundary = Boundary::before(stream);
    let mut added = String::new();
    for (index, Wanted { object, comments }) in wanted.iter().enumerate() {
        let then = if index + 1 == wanted.len() { boundary } else { Boundary::None };
        added.push_str("---\n");
        added.push_str(&document(&recorded(object, then), comments));
    }
    if let Some(line) = boundary.line() {
        added.push_str(line);
        added.push('\n');
    }
    let first = stream.find('\n').and_then(|end| stream.get(..end));
    if first.is_some_and(|line| line.ends_with('\r')) {
        added = added.replace('\n', "\r\n");
    }
    vec![Edit::insert(start, added)]
}

/// Items in front of those of a ResourceList.
///
/// # Errors
/// When the list cannot be edited; with the place in the text.
pub(super) fn to_list(text: &str, wanted: &[Wanted]) -> Result<Vec<Edit>, Failure> {
    for document in yaml_json_patch::documents(text).map(|document| document.span) {
        let piece = &text[document.clone()];
        if let Some(first) = first_item(piece) {
            let tree = yaml::read(&piece[first.clone()]).ok().filter(|tree| list::item(tree).is_some());
            if let Some(tree) = tree {
                return add(&tree, document.start + first.start, "", wanted);
            }
        }
        let is_list = |tree: &Tree<'_>| {
            tree.root().is_some_and(|root| item_types(tree, root).is_some() && tree.get(root, "items").is_some())
        };
        let tree = yaml::read(piece).ok().filter(is_list);
        if let Some(tree) = tree {
            return add(&tree, document.start, "/items", wanted);
        }
    }
    Ok(Vec::new())
}

/// Where the first item of a list stands, if that can be told without reading the others.
fn first_item(document: &str) -> Option<Range<usize>> {
    let cut = list::cut(document)?;
    let envelope = cut.envelope()?;
    // A second `kind` may say that it is something else.
    item_types(&envelope, envelope.root()?)?;
    drop(envelope);
    cut.items.into_iter().next()
}

/// Puts the items first into the list at `pointer`; the text of `tree` begins at `base`.
fn add(tree: &Tree<'_>, base: usize, pointer: &str, wanted: &[Wanted]) -> Result<Vec<Edit>, Failure> {
    let path = PointerBuf::from_tokens(pointer.split('/').skip(1).chain(["0"]));
    let first = |wanted: &Wanted| {
        let value = recorded(&wanted.object, Boundary::None);
        PatchOperation::Add(AddOperation { path: path.clone(), value })
    };
    spliced(tree, base, wanted.iter().rev().map(first).collect(), |items| commented(items, wanted))
}

/// The comments of each item that stands on lines of its own, behind its dash: there kpt keeps them with it, and there they
/// go when it goes.
///
/// ```text
/// - apiVersion: …    - # why
///   kind: …            apiVersion: …
///                      kind: …
/// ```
fn commented(items: &str, wanted: &[Wanted]) -> String {
    let mut comments = wanted.iter().map(|wanted| &wanted.comments);
    let mut text = String::new();
    for line in items.split_inclusive('\n') {
        let behind = line.trim_start_matches(' ').strip_prefix('-').map(|rest| rest.trim_start_matches(' '));
        let first = behind.filter(|key| key.starts_with("apiVersion:") && key.len() < line.len());
        let own = first.and_then(|key| Some((key, comments.next()?))).filter(|(_, comments)| !comments.is_empty());
        let Some((key, comments)) = own else {
            text.push_str(line);
            continue;
        };
        let dash = &line[..line.len() - key.len()];
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
