//! The names that the builds of kustomizations give.

use crate::cli::discover::InputFile;
use crate::cli::find_config::parent;
use crate::cli::kustomizations::graph::Graph;
use std::path::Path;

/// Builds with different names that are remembered for a file. Four can leave it where it is: without a namespace or with its own, each
/// with a prefix or without. Of five, one moves it.
const MAX_DIFFERENT: usize = 5;

/// A kustomization to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Build<'g> {
    /// The folder in messages.
    pub shown: &'g Path,
    /// The canonical folder.
    pub folder: &'g Path,
    pub needs_helm: bool,
}

/// The names that are given to resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Names<'g> {
    namespace: Option<&'g str>,
    /// True for a prefix or suffix.
    renames: bool,
}

impl Names<'_> {
    /// Returns the names after the next kustomization has given others.
    fn then(self, next: Self) -> Self {
        Self {
            namespace: next.namespace.or(self.namespace),
            renames: self.renames || next.renames,
        }
    }
}

/// The names that a build gives the resources of a file.
#[derive(Debug, Clone, Copy)]
pub struct BuiltNames<'g> {
    pub build: Build<'g>,
    names: Names<'g>,
}

impl<'g> BuiltNames<'g> {
    /// Returns true if the build gives another namespace.
    pub fn moves(&self, namespace: Option<&str>) -> bool {
        self.names.namespace.is_some() && self.names.namespace != namespace
    }

    /// Returns true if the build gives other names to what has a namespace, or a namespace to what has none.
    pub fn changes(&self, namespace: Option<&str>) -> bool {
        self.moves(namespace) || namespace.is_some() && self.names.renames
    }
}

/// The builds that use each kustomization and file, from those of kustomizations that no other one uses.
#[derive(Debug)]
pub struct Builds<'g> {
    graph: &'g Graph,
    /// By node: true if it, or a kustomization that it uses, has charts.
    needs_helm: Vec<bool>,
    /// By node.
    names: Vec<Vec<BuiltNames<'g>>>,
}

impl<'g> Builds<'g> {
    pub fn of(graph: &'g Graph) -> Self {
        let order = graph.users_first();
        let mut builds = Self {
            graph,
            needs_helm: vec![false; graph.nodes.len()],
            names: vec![Vec::new(); graph.nodes.len()],
        };
        // kustomize runs the Components before the kustomization that uses them gives its own names.
        let mut own = vec![Names::default(); graph.nodes.len()];
        for index in order.iter().rev().copied() {
            let node = &graph.nodes[index];
            builds.needs_helm[index] = node.has_charts();
            for used in node.resources.iter().copied() {
                builds.needs_helm[index] |= builds.needs_helm[used];
                if graph.nodes[used].is_component() {
                    own[index] = own[index].then(own[used]);
                }
            }
            if let Some(file) = &node.kustomization {
                own[index] = own[index].then(Names {
                    namespace: file.content.namespace.as_deref(),
                    renames: file.content.renames,
                });
            }
        }
        for index in order {
            let node = &graph.nodes[index];
            if builds.names[index].is_empty()
                && let Some(build) = builds.build(index)
            {
                let names = Names::default();
                builds.names[index].push(BuiltNames { build, names });
            }
            for BuiltNames { build, names } in builds.names[index].clone() {
                let names = own[index].then(names);
                for used in &node.resources {
                    let known = &mut builds.names[*used];
                    let is_new = known.iter().all(|known| known.names != names);
                    if is_new && known.len() < MAX_DIFFERENT {
                        known.push(BuiltNames { build, names });
                    }
                }
            }
        }
        builds
    }

    /// Returns the build of a kustomization. A Component has none.
    pub(super) fn build(&self, index: usize) -> Option<Build<'g>> {
        let node = &self.graph.nodes[index];
        let file = node.kustomization.as_ref();
        let file = file.filter(|file| !file.content.is_component)?;
        Some(Build {
            shown: parent(&file.path),
            folder: &node.path,
            needs_helm: self.needs_helm[index],
        })
    }

    /// Returns the first of the builds that use a kustomization, or that of itself.
    pub(super) fn first(&self, index: usize) -> Option<Build<'g>> {
        Some(self.names[index].first()?.build)
    }

    /// Returns the names that builds give the resources of a file.
    pub fn names_of(&self, file: &InputFile) -> &[BuiltNames<'g>] {
        let index = self.graph.index_of(&file.canonical);
        index.map_or(&[], |index| &self.names[index])
    }

    /// Returns the namespace that each build gives the resources of a file, if no other names change.
    pub fn namespace_of(&self, file: &InputFile) -> Option<&'g str> {
        match self.names_of(file) {
            [only] if !only.names.renames => only.names.namespace,
            _ => None,
        }
    }
}
