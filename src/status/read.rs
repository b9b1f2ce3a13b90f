//! The pieces of a text, read one after the other: of a list in JSON, as kubectl prints it, only one item is in memory as a tree.

use crate::manifest::prefilter::is_empty;
use crate::manifest::resource::{Resource, resources};
use kube_core::TypeMeta;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;
use yaml_json_patch::{self as yaml, Buffer, Tree, YamlError};

/// A text in pieces, of which none is read yet.
pub(super) struct Pieces<'t> {
    text: &'t str,
    pieces: Vec<Piece<'t>>,
    /// API version and kind that a typed list gives to its items.
    inherited: TypeMeta,
}

enum Piece<'t> {
    /// An item of a list in JSON. The characters that YAML does not allow in a text are allowed there.
    Item(&'t RawValue),
    Document(Range<usize>),
}

/// A piece as a tree, with its resources.
pub(super) struct ReadPiece<'t> {
    pub(super) tree: Tree<'t>,
    pub(super) resources: Vec<Resource>,
}

/// A list in JSON.
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

impl<'t> Pieces<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        if let Ok(list) = serde_json::from_str::<JsonList<'_>>(text)
            && let Some(kind) = list.kind.strip_suffix("List")
        {
            return Self {
                text,
                pieces: list.items.into_iter().map(Piece::Item).collect(),
                inherited: TypeMeta {
                    api_version: list.api_version.into_owned(),
                    kind: kind.to_owned(),
                },
            };
        }
        let documents = yaml::documents(text).map(|document| document.span);
        let filled = documents.filter(|span| !is_empty(&text[span.clone()]));
        Self {
            text,
            pieces: filled.map(Piece::Document).collect(),
            inherited: TypeMeta::default(),
        }
    }

    /// Reads one piece after the other.
    pub(super) fn read(&self) -> impl Iterator<Item = Result<ReadPiece<'t>, YamlError>> {
        self.pieces.iter().map(|piece| {
            let tree = match piece {
                Piece::Item(json) => yaml::read_json(json)?,
                Piece::Document(span) => {
                    yaml::read_piece(self.text, span.clone(), &mut Buffer::default())?
                }
            };
            let root = tree.root();
            let resources = root.map(|root| resources(&tree, root, &self.inherited));
            let resources = resources.unwrap_or_default();
            Ok(ReadPiece { tree, resources })
        })
    }
}
