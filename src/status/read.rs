//! The pieces of a text, read one after the other: a list of 20,000 pods is not in memory as one tree.

use crate::manifest::list;
use crate::manifest::prefilter::is_empty;
use crate::manifest::resource::{Resource, item_types, resources};
use kube_core::TypeMeta;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use yaml_json_patch::{self as yaml, Buffer, Tree, YamlError};

/// A document, or an item of a list.
pub(super) struct Piece<'t> {
    form: Form<'t>,
    /// API version and kind that a typed list gives to its items.
    inherited: Arc<TypeMeta>,
}

enum Form<'t> {
    /// An item of a list in JSON.
    Json(&'t RawValue),
    /// An item of a list in YAML: a sequence of one.
    Item(&'t str, Range<usize>),
    Document(&'t str, Range<usize>),
}

/// A piece as a tree, with its resources.
pub(super) struct ReadPiece<'t> {
    pub(super) tree: Tree<'t>,
    pub(super) resources: Vec<Resource>,
}

/// A list in JSON, as kubectl prints it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonList<'t> {
    #[serde(borrow, default)]
    api_version: Cow<'t, str>,
    #[serde(borrow)]
    kind: Cow<'t, str>,
    #[serde(borrow)]
    items: Vec<&'t RawValue>,
}

/// Cuts a text into pieces. Nothing is read yet.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    if let Ok(list) = serde_json::from_str::<JsonList<'_>>(text)
        && let Some(kind) = list.kind.strip_suffix("List")
    {
        let inherited = Arc::new(TypeMeta {
            api_version: list.api_version.into_owned(),
            kind: kind.to_owned(),
        });
        let mut pieces = Vec::new();
        for item in list.items {
            pieces.push(Piece {
                form: Form::Json(item),
                inherited: Arc::clone(&inherited),
            });
        }
        return pieces;
    }
    let mut pieces = Vec::new();
    for document in yaml::documents(text) {
        let span = document.span;
        match items(text, span.clone()) {
            Some(items) => pieces.extend(items),
            None if is_empty(&text[span.clone()]) => {}
            None => pieces.push(Piece {
                form: Form::Document(text, span),
                inherited: Arc::default(),
            }),
        }
    }
    pieces
}

/// Returns the items of a list in block style; none for another document.
fn items(text: &str, document: Range<usize>) -> Option<Vec<Piece<'_>>> {
    let cut = list::cut(text, document)?;
    let envelope = cut.envelope()?;
    let inherited = Arc::new(item_types(&envelope, envelope.root()?)?);
    let mut pieces = Vec::new();
    for item in cut.items {
        pieces.push(Piece {
            form: Form::Item(text, item),
            inherited: Arc::clone(&inherited),
        });
    }
    Some(pieces)
}

impl<'t> Piece<'t> {
    /// Reads the piece.
    ///
    /// # Errors
    /// When it is not valid YAML.
    pub(super) fn read(&self, buffer: &mut Buffer) -> Result<ReadPiece<'t>, YamlError> {
        let tree = match &self.form {
            Form::Json(json) => yaml::read_json(json)?,
            Form::Item(text, span) | Form::Document(text, span) => {
                yaml::read_piece(text, span.clone(), buffer)?
            }
        };
        let root = match self.form {
            Form::Item(..) => list::item(&tree),
            Form::Json(_) | Form::Document(..) => tree.root(),
        };
        let resources = match root {
            Some(root) => resources(&tree, root, &self.inherited),
            None => Vec::new(),
        };
        Ok(ReadPiece { tree, resources })
    }
}
