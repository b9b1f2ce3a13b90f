//! Annotations of this program that kustomizations set.

use crate::cli::find_config::relative;
use crate::cli::kustomizations::files::Kustomizations;
use config::API_VERSION;
use mackerel::annotations::PREFIX;
use report::{LineCounter, Position};
use std::collections::HashMap;
use std::path::Path;
use yaml_json_patch::pointer::escape;

/// The file with an annotation, the kustomization or a patch, and the place in it.
#[derive(Debug, Clone)]
pub struct AnnotationPlace {
    pub file: String,
    pub place: Position,
    /// True for a label, which has no effect anywhere.
    pub is_label: bool,
}

/// Returns the first annotation of this program that each kustomization sets, itself or by a file that it names as a patch. One that
/// runs this program as a transformer does so behind its patches.
pub fn set_annotations(kustomizations: &Kustomizations) -> Vec<AnnotationPlace> {
    // Many kustomizations may name one file.
    let mut known: HashMap<&Path, Option<AnnotationPlace>> = HashMap::new();
    let mut annotations = Vec::new();
    for (folder, file) in &kustomizations.files {
        if !kustomizations.roots.contains_key(folder) || kustomizations.injector(file).is_some() {
            continue;
        }
        let mut of_patch = |patch| {
            let place = || place_in(&relative(patch, Path::new(".")), &file.text_of(patch)?);
            known.entry(patch).or_insert_with(place).clone()
        };
        annotations.extend(
            place_in(&file.path, &file.text)
                .or_else(|| file.patches.iter().find_map(|(patch, _)| of_patch(patch))),
        );
    }
    annotations
}

/// Returns the place of the first annotation of this program: in a strategic merge patch, or in the path of a JSON Patch, where the
/// slash is escaped. The `apiVersion` of a configuration has the same prefix.
fn place_in(path: &Path, text: &str) -> Option<AnnotationPlace> {
    let domain = PREFIX.trim_end_matches('/');
    let (offset, _) = text.match_indices(domain).find(|(offset, _)| {
        let name = &text[offset + domain.len()..];
        let is_key = name.starts_with('/') || name.starts_with(escape("/").as_ref());
        is_key && !text[*offset..].starts_with(API_VERSION)
    })?;
    // Labels are named last: by `commonLabels`, by the `pairs` of `labels`, or by a patch.
    let before = &text[..offset];
    let is_label = before.rfind("abels").max(before.rfind("pairs")) > before.rfind("nnotations");
    Some(AnnotationPlace {
        file: path.to_string_lossy().into_owned(),
        place: LineCounter::new(text.as_bytes()).position(offset),
        is_label,
    })
}
