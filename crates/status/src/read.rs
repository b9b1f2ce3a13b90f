//! The pieces of a text, read one after the other: of a list in JSON, as kubectl prints it, only one item is in memory as a tree.

use kube_core::TypeMeta;
use manifest::prefilter::is_empty;
use manifest::{Resource, resources};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use yaml_json_patch::{self as yaml, Buffer, Tree, YamlError};

/// A piece of a text that is not read yet.
pub(super) struct Piece<'t> {
    source: Source<'t>,
    /// API version and kind that a typed list gives to its items.
    inherited: TypeMeta,
}

enum Source<'t> {
    /// The characters that YAML does not allow in a text are allowed there.
    Json(&'t RawValue),
    /// The document that begins at this byte of the text.
    Yaml { text: &'t str, start: usize },
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

/// Returns the pieces of a text: of the values in JSON, of which jq prints several, or else the documents of YAML.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter() {
        match value {
            Ok(value) => add_json(value, &mut pieces),
            Err(_) => return documents(text),
        }
    }
    pieces
}

/// Adds the items of a list in JSON, of Kubernetes or as `jq .items` prints it; any other value as it is.
fn add_json<'t>(value: &'t RawValue, pieces: &mut Vec<Piece<'t>>) {
    let mut items = vec![value];
    let mut inherited = TypeMeta::default();
    if let Ok(array) = serde_json::from_str(value.get()) {
        items = array;
    } else if let Ok(list) = serde_json::from_str::<JsonList<'_>>(value.get())
        && let Some(kind) = list.kind.strip_suffix("List")
    {
        items = list.items;
        inherited.api_version = list.api_version.into_owned();
        inherited.kind = kind.to_owned();
    }
    for item in items {
        pieces.push(Piece {
            source: Source::Json(item),
            inherited: inherited.clone(),
        });
    }
}

fn documents(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for document in yaml::documents(text) {
        let text = &text[..document.span.end];
        let start = document.span.start;
        if !is_empty(&text[start..]) {
            pieces.push(Piece {
                source: Source::Yaml { text, start },
                inherited: TypeMeta::default(),
            });
        }
    }
    pieces
}

impl<'t> Piece<'t> {
    pub(super) fn read(&self) -> Result<Tree<'t>, YamlError> {
        match self.source {
            Source::Json(json) => yaml::read_json(json),
            Source::Yaml { text, start } => {
                yaml::read_piece(text, start..text.len(), &mut Buffer::default())
            }
        }
    }

    /// Returns the resources of the piece, which has been read as this tree.
    pub(super) fn resources(&self, tree: &Tree<'_>) -> Vec<Resource> {
        tree.root()
            .map(|root| resources(tree, root, &self.inherited))
            .unwrap_or_default()
    }
}
