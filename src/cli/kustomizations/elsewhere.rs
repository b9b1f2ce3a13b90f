//! Kustomizations whose builds have resources that the input has not.

use crate::cli::kustomizations::builds::{Build, Builds};
use crate::cli::kustomizations::graph::Graph;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A build with more resources than the input.
#[derive(Debug)]
pub struct RenderedElsewhere<'g> {
    pub build: Build<'g>,
    pub has_charts: bool,
    /// True if it takes resources from outside of the input.
    pub takes_others: bool,
}

/// Returns the kustomizations of the input with charts, or resources from outside of the input. Where another one of the input uses them,
/// it is that, but for canonical folders that the user `named`.
pub fn rendered_elsewhere<'g>(
    graph: &'g Graph,
    builds: &Builds<'g>,
    named: &HashSet<PathBuf>,
) -> Vec<RenderedElsewhere<'g>> {
    let all_take_others = take_others(graph);
    let mut found: BTreeMap<&Path, RenderedElsewhere<'_>> = BTreeMap::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        let (has_charts, takes_others) = (node.has_charts(), all_take_others[index]);
        if node.is_outside || !has_charts && !takes_others {
            continue;
        }
        let itself = builds.build(index);
        let using = builds.first(index);
        let using = using.filter(|using| graph.is_walked(using.folder));
        let build = match itself {
            Some(itself) if named.contains(itself.folder) => Some(itself),
            _ => using.or(itself),
        };
        let Some(build) = build else { continue };
        let one = found.entry(build.folder);
        let one = one.or_insert(RenderedElsewhere {
            build,
            has_charts: false,
            takes_others: false,
        });
        one.has_charts |= has_charts;
        one.takes_others |= takes_others;
    }
    found.into_values().collect()
}

/// Returns for each node if it is a kustomization that takes resources from outside of the input which may have pod templates.
fn take_others(graph: &Graph) -> Vec<bool> {
    let mut taking = vec![false; graph.nodes.len()];
    let mut with_templates = HashMap::new();
    for index in graph.users_first().into_iter().rev() {
        let node = &graph.nodes[index];
        let outside = node.resources.iter().copied();
        let mut outside = outside.filter(|used| graph.nodes[*used].is_outside);
        taking[index] = node.takes_missing
            || outside.any(|used| {
                let base = &graph.nodes[used];
                match base.kustomization {
                    Some(_) => base.has_charts() || taking[used],
                    None => *with_templates
                        .entry(used)
                        .or_insert_with(|| may_have_templates(graph, used)),
                }
            });
    }
    taking
}

/// Returns false for a file without containers, such as Flux's HelmRelease. What cannot be read, such as a file outside of the
/// repository, may have some.
fn may_have_templates(graph: &Graph, index: usize) -> bool {
    let text = graph.text(index);
    text.is_none_or(|text| text.contains("containers"))
}
