//! The files that a kustomization names as resources and as patches.
//!
//! A patch that names the image of each of its containers looks like a workload. Only the kustomization that names its file
//! tells them apart.

use crate::manifest::kustomize_names::NameAffixes;
use crate::manifest::patch_effect::PatchTarget;
use crate::manifest::resource::text;
use yaml_json_patch::{self as yaml, Kind, NodeId, ScalarValue, Tree, scalar_value};

/// The file names that kustomize looks for in a folder.
pub(crate) const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Returns true for the file name of a kustomization.
pub(crate) fn is_kustomization(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The files that a kustomization names, as paths relative to its folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Kustomization {
    /// Resources and bases, including folders and URLs.
    pub(crate) resources: Vec<String>,
    /// Components.
    pub(crate) components: Vec<String>,
    /// Configurations of functions that change the resources: files, folders, or the text itself.
    pub(crate) transformers: Vec<String>,
    /// `namePrefix` and `nameSuffix`.
    pub(crate) affixes: NameAffixes,
    /// Patches.
    pub(crate) patches: Vec<PatchPath>,
    /// The same with those in its own text and those by JSON Patch.
    pub(crate) entries: Vec<PatchEntry>,
}

/// A patch of any form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PatchEntry {
    /// Its target, if the entry gives one.
    pub(crate) target: Option<PatchTarget>,
    /// Its text, or the path of its file.
    pub(crate) source: PatchSource,
    /// Byte offset of text or path into the text of the kustomization.
    pub(crate) offset: usize,
}

/// The source of a patch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PatchSource {
    /// Text in the kustomization.
    Inline(String),
    /// Path of a file.
    File(String),
}

/// The path of a patch and its position in the kustomization.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PatchPath {
    pub(crate) path: String,
    /// Byte offset into the text.
    pub(crate) offset: usize,
    /// JSON Pointer from the kustomization.
    pub(crate) pointer: String,
}

/// A file of the input that a kustomization names as a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedPatch {
    /// The place of the path: `kustomization.yaml:3:11`.
    pub(crate) place: String,
    /// The pointer of its [`PatchPath`].
    pub(crate) pointer: String,
}

/// Reads the text of a kustomization; a document that is not valid YAML names no files.
pub(crate) fn read(text: &str) -> Kustomization {
    let mut kustomization = Kustomization::default();
    for document in yaml_json_patch::documents(text) {
        let Ok(tree) = yaml::read(&text[document.span.clone()]) else {
            continue;
        };
        let Some(root) = tree.root().filter(|root| is_kustomize(&tree, *root)) else {
            continue;
        };
        let strings = |list| items(&tree, root, list).filter_map(|(_, item)| string(&tree, item));
        kustomization
            .resources
            .extend(strings("resources").chain(strings("bases")));
        kustomization.components.extend(strings("components"));
        kustomization.transformers.extend(strings("transformers"));
        kustomization.affixes = affixes(&tree, root);
        for list in ["patches", "patchesJson6902", "patchesStrategicMerge"] {
            let earlier_affixes = match list {
                "patchesJson6902" => kustomization.affixes.clone(),
                _ => NameAffixes::default(),
            };
            kustomization
                .entries
                .extend(items(&tree, root, list).filter_map(|(_, item)| {
                    let entry = entry(&tree, item)?;
                    let target = entry
                        .target
                        .map(|target| target.after(earlier_affixes.clone()));
                    Some(PatchEntry {
                        target,
                        offset: document.span.start + entry.offset,
                        ..entry
                    })
                }));
        }
        // A string is a path or the patch itself. Kustomize accepted paths in `patches` too before entries had `path`.
        for list in ["patches", "patchesStrategicMerge"] {
            for (pointer, item) in items(&tree, root, list) {
                let (pointer, node) = match tree.member(item, "path") {
                    Some(path) => (pointer + "/path", path),
                    None => (pointer, item),
                };
                let Some(path) = string(&tree, node).filter(|path| !path.contains('\n')) else {
                    continue;
                };
                let offset = document.span.start + tree.span(node).start;
                kustomization.patches.push(PatchPath {
                    path,
                    offset,
                    pointer,
                });
            }
        }
    }
    kustomization
}

/// Reads `namePrefix` and `nameSuffix`.
fn affixes(tree: &Tree<'_>, root: NodeId) -> NameAffixes {
    let field = |key| text(tree, root, key).unwrap_or_default();
    NameAffixes {
        prefix: field("namePrefix"),
        suffix: field("nameSuffix"),
    }
}

/// Reads one entry of a list of patches.
fn entry(tree: &Tree<'_>, item: NodeId) -> Option<PatchEntry> {
    let member = |key| tree.member(item, key);
    let node = member("path").or_else(|| member("patch")).unwrap_or(item);
    let text = string(tree, node)?;
    let is_inline = node != item && member("path").is_none() || text.contains('\n');
    let source = if is_inline {
        PatchSource::Inline(text)
    } else {
        PatchSource::File(text)
    };
    let target = member("target").map(|node| PatchTarget::of(tree, node));
    Some(PatchEntry {
        target,
        source,
        offset: tree.span(node).start,
    })
}

/// Kustomize fills in the kind if it is missing.
fn is_kustomize(tree: &Tree<'_>, root: NodeId) -> bool {
    text(tree, root, "kind")
        .is_none_or(|kind| matches!(kind.as_str(), "Kustomization" | "Component"))
}

/// The items of a list of the kustomization, with their pointers.
fn items<'a>(
    tree: &'a Tree<'_>,
    root: NodeId,
    list: &'a str,
) -> impl Iterator<Item = (String, NodeId)> + 'a {
    let node = tree.member(root, list).map(|node| tree.alias_target(node));
    let items = node
        .into_iter()
        .flat_map(|node| tree.items(node))
        .enumerate();
    items.map(move |(index, item)| (format!("/{list}/{index}"), item))
}

fn string(tree: &Tree<'_>, node: NodeId) -> Option<String> {
    let node = tree.alias_target(node);
    match (tree.kind(node), scalar_value(tree, node)) {
        (Kind::Scalar, Ok(ScalarValue::Str(text))) => Some(text.into_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{PatchEntry, PatchSource, read};

    /// Pointer, path, and the text at the offset.
    fn patches(text: &str) -> Vec<(String, String, String)> {
        let shown = |offset: usize| {
            text[offset..]
                .split([',', '}', ']', '\n'])
                .next()
                .unwrap()
                .to_owned()
        };
        read(text)
            .patches
            .into_iter()
            .map(|entry| (entry.pointer, entry.path, shown(entry.offset)))
            .collect()
    }

    fn paths(text: &str) -> Vec<String> {
        patches(text).into_iter().map(|(_, path, _)| path).collect()
    }

    #[test]
    fn patches_are_named_in_both_lists() {
        let text = "# comment\n---\nkind: Kustomization\npatches:\n- path: a.yaml\n  target: {kind: Deployment}\n- patch: |-\n    kind: Pod\n\
                    - {path: \"../b.yaml\"}\npatchesStrategicMerge: [c/d.yaml]\n";
        let named = |pointer: &str, path: &str, shown: &str| {
            (pointer.to_owned(), path.to_owned(), shown.to_owned())
        };
        let expected = [
            named("/patches/0/path", "a.yaml", "a.yaml"),
            named("/patches/2/path", "../b.yaml", "\"../b.yaml\""),
            named("/patchesStrategicMerge/0", "c/d.yaml", "c/d.yaml"),
        ];
        assert_eq!(patches(text), expected);
    }

    #[test]
    fn what_stands_in_the_text_names_no_file() {
        assert!(
            paths("patchesStrategicMerge:\n- |-\n  kind: Deployment\n  spec: {}\npatches: [{patch: 'a: 1'}]\n")
                .is_empty()
        );
    }

    #[test]
    fn a_component_and_a_kustomization_without_kind_count_and_other_kinds_do_not() {
        for kind in ["kind: Component\n", ""] {
            assert_eq!(
                paths(&format!("{kind}patches: [a.yaml]\n")),
                ["a.yaml"],
                "{kind}"
            );
        }
        assert!(paths("kind: Deployment\npatches: [{path: a.yaml}]\n").is_empty());
    }

    #[test]
    fn other_files_of_a_kustomization_are_no_patches() {
        let text = "resources: [a.yaml, ../base]\npatchesJson6902: [{path: b.yaml}]\nreplacements: [{path: c.yaml}]\n\
                    configurations: [d.yaml]\ntransformers: [e.yaml]\nnamePrefix: a-\nnameSuffix: -b\n";
        let read = read(text);
        assert_eq!(
            (read.transformers, read.affixes.around("x")),
            (vec!["e.yaml".to_owned()], "a-x-b".to_owned())
        );
        assert_eq!(
            (read.resources, read.patches),
            (vec!["a.yaml".to_owned(), "../base".to_owned()], vec![])
        );
        assert_eq!(
            read.entries,
            [PatchEntry {
                target: None,
                source: PatchSource::File("b.yaml".to_owned()),
                offset: 54
            }]
        );
    }

    #[test]
    fn what_cannot_be_read_names_nothing() {
        for text in [
            "",
            "[]",
            "patches: {path: a.yaml}\n",
            "patches: [\n",
            "patches: [[a.yaml], null, {path: [b]}]\n",
        ] {
            assert!(paths(text).is_empty(), "{text}");
        }
    }
}
