//! The references between kustomizations: which of them an object of a file comes into, and under which names.

use crate::manifest::kustomize_names::{NameAffixes, NameChanges};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The changes of a name on each way to one kustomization: another way may add another prefix.
pub(crate) type NamesByWay = Vec<NameChanges>;

/// The maximum number of ways to one kustomization. It also ends a cycle, which kustomize rejects.
const MAX_WAYS: usize = 16;

/// A kustomization with its references, as canonical paths.
#[derive(Debug)]
pub(crate) struct GraphNode {
    pub(crate) folder: PathBuf,
    pub(crate) resources: Vec<PathBuf>,
    pub(crate) components: Vec<PathBuf>,
    pub(crate) affixes: NameAffixes,
}

/// The references between kustomizations: with it, no file is compared with all of them.
#[derive(Debug, Default)]
pub(crate) struct KustomizationGraph {
    /// The folders of the kustomizations that have a resource or component.
    users: HashMap<PathBuf, Vec<PathBuf>>,
    /// The kustomizations of a folder.
    nodes: HashMap<PathBuf, FolderNodes>,
}

/// The kustomizations of a folder; kustomize accepts one.
#[derive(Debug, Default)]
struct FolderNodes {
    indexes: Vec<usize>,
    components: Vec<PathBuf>,
    affixes: NameAffixes,
}

impl KustomizationGraph {
    pub(crate) fn of(nodes: impl Iterator<Item = GraphNode>) -> Self {
        let mut graph = Self::default();
        for (index, node) in nodes.enumerate() {
            for entry in node
                .resources
                .into_iter()
                .chain(node.components.iter().cloned())
            {
                graph
                    .users
                    .entry(entry)
                    .or_default()
                    .push(node.folder.clone());
            }
            let folder = graph.nodes.entry(node.folder).or_default();
            folder.indexes.push(index);
            folder.components.extend(node.components);
            folder.affixes = node.affixes;
        }
        graph
    }

    /// Returns the kustomizations whose patches apply to a file, by index: those that have it as a resource, directly or through
    /// others, and their components.
    pub(crate) fn reached(&self, file: &Path) -> Vec<(usize, NamesByWay)> {
        let mut found: BTreeMap<&Path, NamesByWay> = BTreeMap::new();
        let users = |path: &Path| {
            self.users
                .get(path)
                .into_iter()
                .flatten()
                .map(PathBuf::as_path)
        };
        let mut open: Vec<(&Path, NameChanges)> =
            users(file).map(|folder| (folder, Vec::new())).collect();
        while let Some((folder, names)) = open.pop() {
            if add(&mut found, folder, &names) {
                let names = self.renamed(folder, names);
                open.extend(users(folder).map(|user| (user, names.clone())));
            }
        }
        let components = |path: &Path| {
            self.nodes
                .get(path)
                .into_iter()
                .flat_map(|node| &node.components)
        };
        let mut open: Vec<(&Path, NameChanges)> = found
            .iter()
            .flat_map(|(folder, ways)| {
                ways.iter()
                    .flat_map(|names| components(folder).map(|to| (&**to, names.clone())))
            })
            .collect();
        while let Some((folder, names)) = open.pop() {
            if add(&mut found, folder, &names) {
                open.extend(components(folder).map(|to| (&**to, names.clone())));
            }
        }
        let of_folder = |(folder, names): (&Path, NamesByWay)| {
            let indexes = self.nodes.get(folder).map_or(&[][..], |node| &node.indexes);
            indexes
                .iter()
                .map(move |index| (*index, names.clone()))
                .collect::<Vec<_>>()
        };
        let mut reached: Vec<(usize, NamesByWay)> = found.into_iter().flat_map(of_folder).collect();
        reached.sort_unstable_by_key(|(index, _)| *index);
        reached
    }

    /// Returns the changes including those of a kustomization: first its prefix, then its suffix, as in kustomize.
    fn renamed(&self, folder: &Path, mut names: NameChanges) -> NameChanges {
        let Some(NameAffixes { prefix, suffix }) = self.nodes.get(folder).map(|node| &node.affixes)
        else {
            return names;
        };
        let mut last = names.last().cloned().unwrap_or_default();
        if !prefix.is_empty() {
            last.prefix.insert_str(0, prefix);
            names.push(last.clone());
        }
        if !suffix.is_empty() {
            last.suffix.push_str(suffix);
            names.push(last);
        }
        names
    }
}

/// Returns true if the names are new for the folder.
fn add<'p>(
    found: &mut BTreeMap<&'p Path, NamesByWay>,
    folder: &'p Path,
    names: &NameChanges,
) -> bool {
    let ways = found.entry(folder).or_default();
    let is_new = ways.len() < MAX_WAYS && !ways.contains(names);
    if is_new {
        ways.push(names.clone());
    }
    is_new
}

#[cfg(test)]
mod tests {
    use super::{GraphNode, KustomizationGraph};
    use crate::manifest::kustomize_names::NameAffixes;
    use std::path::{Path, PathBuf};

    /// Folder, resources, components, prefix.
    type Node<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a str);

    /// The folders that `web.yaml` comes into, with its names there: `overlay: web p-web`.
    fn reached(nodes: &[Node<'_>]) -> Vec<String> {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        let graph =
            KustomizationGraph::of(nodes.iter().map(|(folder, resources, components, prefix)| {
                GraphNode {
                    folder: PathBuf::from(folder),
                    resources: paths(resources),
                    components: paths(components),
                    affixes: NameAffixes {
                        prefix: (*prefix).to_owned(),
                        suffix: String::new(),
                    },
                }
            }));
        let shown = |(index, ways): (usize, Vec<Vec<NameAffixes>>)| {
            let mut ways: Vec<String> = ways
                .iter()
                .map(|names| {
                    names
                        .iter()
                        .map(|name| format!(" {}web", name.prefix))
                        .collect()
                })
                .collect();
            ways.sort_unstable();
            format!("{}:{}", nodes[index].0, ways.join(" or"))
        };
        graph
            .reached(Path::new("web.yaml"))
            .into_iter()
            .map(shown)
            .collect()
    }

    #[test]
    fn a_file_comes_into_what_has_it_directly_or_through_others() {
        let base: Node<'_> = ("base", &["web.yaml"], &[], "");
        assert_eq!(
            reached(&[
                base,
                ("overlay", &["base"], &[], ""),
                ("other", &["api"], &[], "")
            ]),
            ["base:", "overlay:"]
        );
        assert_eq!(
            reached(&[
                ("other", &["api.yaml"], &["part"], ""),
                ("part", &[], &[], "")
            ]),
            [""; 0]
        );
        let part = ("part", &[][..], &["inner"][..], "");
        assert_eq!(
            reached(&[
                base,
                ("overlay", &["base"], &["part"], ""),
                part,
                ("inner", &[], &[], "")
            ]),
            ["base:", "overlay:", "part:", "inner:"]
        );
        assert_eq!(
            reached(&[
                ("part", &["web.yaml"], &[], ""),
                ("overlay", &[], &["part"], "")
            ]),
            ["part:", "overlay:"]
        );
    }

    #[test]
    fn a_prefix_counts_above_its_own_kustomization() {
        let layers: [Node<'_>; 4] = [
            ("base", &["web.yaml"], &[], "b-"),
            ("a", &["base"], &[], "a-"),
            ("c", &["base"], &[], ""),
            ("overlay", &["a", "c"], &["part"], "o-"),
        ];
        let part: Node<'_> = ("part", &[], &[], "p-");
        assert_eq!(
            reached(&[&layers[..], &[part]].concat()),
            [
                "base:",
                "a: b-web",
                "c: b-web",
                "overlay: b-web or b-web a-b-web",
                "part: b-web or b-web a-b-web"
            ]
        );
    }

    #[test]
    fn a_cycle_has_an_end() {
        assert_eq!(
            reached(&[
                ("a", &["web.yaml", "b"], &[], "a-"),
                ("b", &["a"], &[], "b-")
            ])
            .len(),
            2
        );
    }
}
