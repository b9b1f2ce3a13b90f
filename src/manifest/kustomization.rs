//! Kustomizations: the files that each of them names, and which of them a file comes into.
//!
//! A patch that names the image of each of its containers looks like a workload. Only the kustomization that names its file
//! tells them apart.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use yaml_json_patch::{self as yaml, Buffer, NodeId, ScalarValue, Tree, scalar_value};

/// The file names that kustomize looks for in a folder.
pub(crate) const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The lists of a kustomization that hold patches.
const PATCH_LISTS: [&str; 3] = ["patches", "patchesStrategicMerge", "patchesJson6902"];

/// The annotation in which kustomize tells its functions the names of an object before it changed them.
pub(crate) const PREVIOUS_NAMES: &str = "internal.config.kubernetes.io/previousNames";

/// Returns the names in the value of [`PREVIOUS_NAMES`]. References keep them until the end of the build.
pub(crate) fn previous_names(value: &str) -> impl Iterator<Item = &str> {
    value.split(',')
}

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
    /// Files of patches.
    pub(crate) patch_files: Vec<PatchFile>,
    /// True if it has a patch in a file or in its own text.
    pub(crate) has_patches: bool,
}

/// The path of a patch and its position in the kustomization.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PatchFile {
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
    /// The pointer of its [`PatchFile`].
    pub(crate) pointer: String,
}

/// Reads the text of a kustomization; a document that is not valid YAML names no files.
pub(crate) fn read(text: &str) -> Kustomization {
    let mut kustomization = Kustomization::default();
    for document in yaml::documents(text) {
        let Ok(tree) = yaml::read_piece(text, document.span, &mut Buffer::default()) else {
            continue;
        };
        if let Some(root) = tree.root().filter(|root| is_kustomize(&tree, *root)) {
            kustomization.add(&tree, root);
        }
    }
    kustomization
}

impl Kustomization {
    /// Adds the files of a document.
    fn add(&mut self, tree: &Tree<'_>, root: NodeId) {
        let strings = |list| {
            tree.member_items(root, list)
                .filter_map(|item| string(tree, item))
        };
        self.resources
            .extend(strings("resources").chain(strings("bases")));
        self.components.extend(strings("components"));
        self.transformers.extend(strings("transformers"));
        for list in PATCH_LISTS {
            for (index, item) in tree.member_items(root, list).enumerate() {
                self.has_patches = true;
                let pointer = format!("/{list}/{index}");
                let (pointer, node) = match tree.member(item, "path") {
                    Some(path) => (pointer + "/path", path),
                    None => (pointer, item),
                };
                // A string is a path or the patch itself. Kustomize accepted paths in `patches` too before entries had `path`.
                if let Some(path) = string(tree, node).filter(|path| !path.contains('\n')) {
                    let offset = tree.place(node).start;
                    self.patch_files.push(PatchFile {
                        path,
                        offset,
                        pointer,
                    });
                }
            }
        }
    }
}

/// Kustomize fills in the kind if it is missing.
fn is_kustomize(tree: &Tree<'_>, root: NodeId) -> bool {
    tree.member_text(root, "kind")
        .is_none_or(|kind| matches!(kind.as_str(), "Kustomization" | "Component"))
}

fn string(tree: &Tree<'_>, node: NodeId) -> Option<String> {
    match scalar_value(tree, node) {
        Ok(ScalarValue::Str(text)) => Some(text.into_owned()),
        _ => None,
    }
}

/// The references of a kustomization, as canonical paths.
#[derive(Debug)]
pub(crate) struct GraphNode {
    pub(crate) folder: PathBuf,
    pub(crate) resources: Vec<PathBuf>,
    pub(crate) components: Vec<PathBuf>,
}

/// An index of the references between kustomizations, which are numbers here.
#[derive(Debug, Default)]
pub(crate) struct KustomizationGraph {
    nodes: Vec<GraphNode>,
    /// The kustomizations of a folder; kustomize accepts one.
    in_folder: HashMap<PathBuf, Vec<usize>>,
    /// The kustomizations that name a path as a resource.
    resource_users: HashMap<PathBuf, Vec<usize>>,
    /// The kustomizations that name a folder as a component.
    component_users: HashMap<PathBuf, Vec<usize>>,
}

impl KustomizationGraph {
    pub(crate) fn of(nodes: Vec<GraphNode>) -> Self {
        let mut graph = Self::default();
        for (index, node) in nodes.iter().enumerate() {
            add(&mut graph.in_folder, [&node.folder], index);
            add(&mut graph.resource_users, &node.resources, index);
            add(&mut graph.component_users, &node.components, index);
        }
        graph.nodes = nodes;
        graph
    }

    /// Returns true if a kustomization names the file as a resource.
    pub(crate) fn is_resource(&self, file: &Path) -> bool {
        self.resource_users.contains_key(file)
    }

    /// Returns the kustomizations whose patches and transformers may change a file: those that have it as a resource, directly
    /// or through others, and their components.
    pub(crate) fn reached(&self, file: &Path) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<usize> = self.users(file).collect();
        while let Some(index) = open.pop() {
            if reached.insert(index) {
                open.extend(self.users(&self.nodes[index].folder));
            }
        }
        let mut open: Vec<usize> = reached
            .iter()
            .flat_map(|index| self.components(*index))
            .collect();
        while let Some(index) = open.pop() {
            if reached.insert(index) {
                open.extend(self.components(index));
            }
        }
        reached
    }

    /// Returns the kustomization to build for one of those that a file comes into. A component builds nothing by itself.
    pub(crate) fn built(&self, reached: &BTreeSet<usize>, index: usize) -> usize {
        let mut seen = BTreeSet::from([index]);
        let mut built = index;
        while let Some(user) = numbers(&self.component_users, &self.nodes[built].folder)
            .find(|user| reached.contains(user))
            && seen.insert(user)
        {
            built = user;
        }
        built
    }

    fn users(&self, path: &Path) -> impl Iterator<Item = usize> {
        numbers(&self.resource_users, path).chain(numbers(&self.component_users, path))
    }

    fn components(&self, index: usize) -> impl Iterator<Item = usize> {
        self.nodes[index]
            .components
            .iter()
            .flat_map(|folder| numbers(&self.in_folder, folder))
    }
}

fn numbers(index: &HashMap<PathBuf, Vec<usize>>, path: &Path) -> impl Iterator<Item = usize> {
    index.get(path).into_iter().flatten().copied()
}

fn add<'p>(
    index: &mut HashMap<PathBuf, Vec<usize>>,
    paths: impl IntoIterator<Item = &'p PathBuf>,
    number: usize,
) {
    for path in paths {
        index.entry(path.clone()).or_default().push(number);
    }
}

#[cfg(test)]
mod tests {
    use super::{GraphNode, KustomizationGraph, read};
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

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
            .patch_files
            .into_iter()
            .map(|file| (file.pointer, file.path, shown(file.offset)))
            .collect()
    }

    fn paths(text: &str) -> Vec<String> {
        patches(text).into_iter().map(|(_, path, _)| path).collect()
    }

    #[test]
    fn patches_are_named_in_each_list() {
        let text = "# comment\n---\nkind: Kustomization\npatches:\n- path: a.yaml\n  target: {kind: Deployment}\n- patch: |-\n    kind: Pod\n\
                    - {path: \"../b.yaml\"}\npatchesStrategicMerge: [c/d.yaml]\npatchesJson6902: [{path: e.yaml}]\n";
        let named = |pointer: &str, path: &str, shown: &str| {
            (pointer.to_owned(), path.to_owned(), shown.to_owned())
        };
        let expected = [
            named("/patches/0/path", "a.yaml", "a.yaml"),
            named("/patches/2/path", "../b.yaml", "\"../b.yaml\""),
            named("/patchesStrategicMerge/0", "c/d.yaml", "c/d.yaml"),
            named("/patchesJson6902/0/path", "e.yaml", "e.yaml"),
        ];
        assert_eq!(patches(text), expected);
    }

    #[test]
    fn a_patch_in_the_text_is_one_and_names_no_file() {
        for text in [
            "patchesStrategicMerge:\n- |-\n  kind: Deployment\n  spec: {}\n",
            "patches: [{patch: 'a: 1'}]\n",
        ] {
            let read = read(text);
            assert_eq!((read.patch_files, read.has_patches), (vec![], true));
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
        let text = "resources: [a.yaml, ../base]\nreplacements: [{path: c.yaml}]\nconfigurations: [d.yaml]\ntransformers: [e.yaml]\n";
        let read = read(text);
        assert_eq!(read.resources, ["a.yaml", "../base"]);
        assert_eq!(read.transformers, ["e.yaml"]);
        assert_eq!((read.patch_files, read.has_patches), (vec![], false));
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

    /// Folder, resources, components.
    type Node<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

    fn graph(nodes: &[Node<'_>]) -> KustomizationGraph {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        let node = |(folder, resources, components): &Node<'_>| GraphNode {
            folder: PathBuf::from(folder),
            resources: paths(resources),
            components: paths(components),
        };
        KustomizationGraph::of(nodes.iter().map(node).collect())
    }

    /// The folders of the kustomizations that `web.yaml` comes into.
    fn reached<'n>(nodes: &[Node<'n>]) -> Vec<&'n str> {
        let reached = graph(nodes).reached(Path::new("web.yaml"));
        reached.into_iter().map(|index| nodes[index].0).collect()
    }

    #[test]
    fn a_file_comes_into_what_has_it_directly_or_through_others() {
        let base: Node<'_> = ("base", &["web.yaml"], &[]);
        let overlay: Node<'_> = ("overlay", &["base"], &[]);
        assert_eq!(
            reached(&[base, overlay, ("other", &["api"], &[])]),
            ["base", "overlay"]
        );
        assert_eq!(
            reached(&[("other", &["api.yaml"], &["part"]), ("part", &[], &[])]),
            [""; 0]
        );
        let inner: [Node<'_>; 2] = [("part", &[], &["inner"]), ("inner", &[], &[])];
        assert_eq!(
            reached(&[base, ("overlay", &["base"], &["part"]), inner[0], inner[1]]),
            ["base", "overlay", "part", "inner"]
        );
        assert_eq!(
            reached(&[("part", &["web.yaml"], &[]), ("overlay", &[], &["part"])]),
            ["part", "overlay"]
        );
    }

    #[test]
    fn a_component_is_built_by_what_uses_it() {
        let nodes: [Node<'_>; 4] = [
            ("inner", &[], &[]),
            ("other", &["api.yaml"], &["inner"]),
            ("outer", &[], &["inner"]),
            ("overlay", &["web.yaml"], &["outer"]),
        ];
        let graph = graph(&nodes);
        let reached = graph.reached(Path::new("web.yaml"));
        assert_eq!(reached, BTreeSet::from([0, 2, 3]));
        for index in [0, 2, 3] {
            assert_eq!(graph.built(&reached, index), 3, "{index}");
        }
    }

    #[test]
    fn a_cycle_has_an_end() {
        assert_eq!(
            reached(&[("a", &["web.yaml", "b"], &[]), ("b", &["a"], &[])]).len(),
            2
        );
        let components = graph(&[("a", &[], &["b"]), ("b", &[], &["a"])]);
        assert_eq!(components.built(&BTreeSet::from([0, 1]), 0), 1);
    }
}
