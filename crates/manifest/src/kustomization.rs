//! Kustomizations: the files that each of them names.
//!
//! A patch that names the image of each of its containers looks like a workload. Only the kustomization that names its file
//! tells them apart.

use report::LineCounter;
use std::collections::HashSet;
use yaml_json_patch::{self as yaml, Buffer, NodeId, Tree};

/// The file names that kustomize looks for in a folder.
pub const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The annotation in which kustomize tells its functions the names of an object before it changed them.
pub const PREVIOUS_NAMES: &str = "internal.config.kubernetes.io/previousNames";

/// Returns the names in the value of [`PREVIOUS_NAMES`]. References keep them until the end of the build.
pub fn previous_names(value: &str) -> impl Iterator<Item = &str> {
    value.split(',')
}

/// The files that a kustomization names, as paths relative to its folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Kustomization {
    /// True for a Component, which is built as a part of others alone.
    pub is_component: bool,
    /// The resources, bases and components: files, directories and URLs.
    pub resources: Vec<String>,
    /// True if it sets the namespace, or a prefix or a suffix of names.
    pub renames: bool,
    /// True if it renders Helm charts.
    pub has_charts: bool,
    /// True if functions generate resources.
    pub has_generators: bool,
    /// Configurations of functions that change the resources: files, folders, or the text itself.
    pub transformers: Vec<String>,
    /// The paths of patches with their entries.
    pub patches: Vec<(String, NamedPatch)>,
}

/// The entry of a kustomization that names a file as a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPatch {
    /// The place of the path: `kustomization.yaml:3:11`.
    pub place: String,
    /// JSON Pointer of the path from the kustomization.
    pub pointer: String,
}

/// Reads the text of a kustomization; a document that is not valid YAML names no files. The places of entries are without the name of the
/// file, and each entry counts once: a stranger may give it a long name and repeat an entry thousands of times.
pub fn read(text: &str) -> Kustomization {
    let mut kustomization = Kustomization::default();
    let mut lines = LineCounter::new(text.as_bytes());
    for document in yaml::documents(text) {
        if let Ok(tree) = yaml::read_piece(text, document.span, &mut Buffer::default())
            && let Some(root) = tree.root()
        {
            kustomization.add(&tree, root, |offset| {
                let at = lines.position(offset);
                format!(":{}:{}", at.line, at.column)
            });
        }
    }
    let mut seen = HashSet::new();
    kustomization
        .resources
        .retain(|entry| seen.insert(entry.clone()));
    seen.clear();
    kustomization
        .patches
        .retain(|(entry, _)| seen.insert(entry.clone()));
    kustomization
}

impl Kustomization {
    /// Adds what a document says.
    fn add(&mut self, tree: &Tree<'_>, root: NodeId, mut place_of: impl FnMut(usize) -> String) {
        let strings = |list| {
            tree.member_items(root, list)
                .filter_map(|item| tree.text_of(item))
        };
        let has_items = |list| tree.member_items(root, list).next().is_some();
        match tree.member_text(root, "kind").as_deref() {
            Some("Component") => self.is_component = true,
            // Kustomize fills in the kind if it is missing.
            Some("Kustomization") | None => {}
            _ => return,
        }
        self.renames |= ["namespace", "namePrefix", "nameSuffix"]
            .into_iter()
            .filter_map(|name| tree.member_text(root, name))
            .any(|text| !text.is_empty());
        self.has_charts |= has_items("helmCharts") || has_items("helmChartInflationGenerator");
        self.has_generators |= has_items("generators");
        self.transformers.extend(strings("transformers"));
        self.resources.extend(
            ["resources", "bases", "components"]
                .into_iter()
                .flat_map(strings),
        );
        for list in ["patches", "patchesStrategicMerge", "patchesJson6902"] {
            for (index, item) in tree.member_items(root, list).enumerate() {
                let (node, below) = match tree.member(item, "path") {
                    Some(path) => (path, "/path"),
                    None => (item, ""),
                };
                // A string is a path or the patch itself. Kustomize accepted paths in `patches` too before entries had `path`.
                if let Some(path) = tree.text_of(node).filter(|path| !path.contains('\n')) {
                    let entry = NamedPatch {
                        place: place_of(tree.place(node).start),
                        pointer: format!("/{list}/{index}{below}"),
                    };
                    self.patches.push((path, entry));
                }
            }
        }
    }
}

/// Returns true for an entry that kustomize takes for the address of a repository or file, if there is no such file:
/// `https://example.com/web.yaml`, `github.com/team/shop//base?ref=v1`, `git@example.com:team/shop`
pub fn is_remote(entry: &str) -> bool {
    let host = entry.split(['/', ':']).next().unwrap_or_default();
    entry.contains("://")
        || entry.contains('@')
        || host.len() < entry.len() && host.contains('.') && !host.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::{Kustomization, is_remote};

    fn read(text: &str) -> Kustomization {
        super::read(text)
    }

    /// Pointer, path and place.
    fn patches(text: &str) -> Vec<(String, String, String)> {
        let patches = read(text).patches.into_iter();
        patches
            .map(|(path, entry)| (entry.pointer, path, entry.place))
            .collect()
    }

    fn paths(text: &str) -> Vec<String> {
        patches(text).into_iter().map(|(_, path, _)| path).collect()
    }

    #[test]
    fn patches_are_named_in_each_list() {
        let text = "# comment\n---\nkind: Kustomization\npatches:\n- path: a.yaml\n  target: {kind: Deployment}\n- patch: |-\n    kind: Pod\n\
                    - {path: \"../b.yaml\"}\npatchesStrategicMerge: [c/d.yaml]\npatchesJson6902: [{path: e.yaml}]\n";
        let named = |pointer: &str, path: &str, place: &str| {
            (pointer.to_owned(), path.to_owned(), place.to_owned())
        };
        let expected = [
            named("/patches/0/path", "a.yaml", ":5:9"),
            named("/patches/2/path", "../b.yaml", ":9:10"),
            named("/patchesStrategicMerge/0", "c/d.yaml", ":10:25"),
            named("/patchesJson6902/0/path", "e.yaml", ":11:26"),
        ];
        assert_eq!(patches(text), expected);
    }

    #[test]
    fn a_patch_in_the_text_names_no_file() {
        for text in [
            "patchesStrategicMerge:\n- |-\n  kind: Deployment\n  spec: {}\n",
            "patches: [{patch: 'a: 1'}]\n",
        ] {
            assert!(paths(text).is_empty(), "{text}");
        }
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
        let text = "resources: [a.yaml, ../base]\ncomponents: [f]\nreplacements: [{path: c.yaml}]\nconfigurations: [d.yaml]\ntransformers: [e.yaml]\n";
        let read = read(text);
        assert_eq!(read.transformers, ["e.yaml"]);
        assert_eq!(read.resources, ["a.yaml", "../base", "f"]);
        assert_eq!(read.patches, []);
    }

    #[test]
    fn what_a_build_changes_or_renders_is_read() {
        for renaming in ["namespace: shop\n", "namePrefix: a-\n", "nameSuffix: -v2\n"] {
            assert!(read(renaming).renames, "{renaming}");
        }
        let set = read("helmCharts: [{name: web}]\ngenerators: [a.yaml]\n");
        assert!(set.has_generators && set.has_charts);
        let unset = read("namespace: ''\nnamePrefix:\nhelmCharts: []\n");
        assert_eq!(unset, Kustomization::default());
    }

    #[test]
    fn an_address_is_told_from_a_path() {
        for (entry, expected) in [
            ("https://example.com/web.yaml", true),
            ("github.com/team/shop//base?ref=v1", true),
            ("git@example.com:team/shop", true),
            ("web.yaml", false),
            ("../base", false),
            ("./v1.2/web.yaml", false),
            ("base/web.yaml", false),
        ] {
            assert_eq!(is_remote(entry), expected, "{entry}");
        }
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
