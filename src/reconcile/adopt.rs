//! Adopts a foreign agent: the injected agent replaces it at its position.
//!
//! The decision is made on the template without the foreign agent, as for an injected one. Its settings are kept as annotations.
//! Those for which there is none are reported by name, never by value: one may be an API key. Volumes stay, except those that have the name of an injected volume and that no
//! other container mounts: the injected ones replace them.

use crate::agent::Agent;
use crate::agent::existing::{ExistingInjection, is_agent};
use crate::config::Config;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::{CONTAINER, Volume};
use crate::manifest::pod_template::{
    Container, ContainerList, PodAnnotation, PodTemplate, PodVolume, mounts,
};
use crate::options::Tense;
use crate::reconcile::adopted_settings::{AdoptionDifferences, INSECURE_TLS, Replacement};
use serde_json::Value;
use std::ops::Range;
use yaml_json_patch::{Kind, NodeId, Tree, to_json};

/// A foreign agent that can be adopted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Adoptable {
    pub(crate) old: Container,
    /// The template without it and without the volumes that are replaced.
    pub(crate) without: PodTemplate,
    /// The annotations that keep its settings.
    pub(crate) kept: Vec<(Annotation, String)>,
}

impl Adoptable {
    /// Returns the template without the agent, and with annotations that are not there yet.
    pub(crate) fn with_annotations(
        &self,
        tree: &Tree<'_>,
        added: &[(Annotation, String)],
    ) -> PodTemplate {
        let mut template = self.without.clone();
        let offset = tree.place(self.old.node).start;
        template
            .annotations
            .extend(added.iter().map(|(annotation, value)| PodAnnotation {
                key: annotation.key().to_owned(),
                value: Some(value.clone()),
                node: None,
                offset,
                value_offset: offset,
            }));
        template
    }
}

/// Returns the first foreign agent of a template without an injected one. Ephemeral containers cannot be changed.
pub(crate) fn candidate(
    tree: &Tree<'_>,
    template: &PodTemplate,
    existing: Option<&ExistingInjection>,
) -> Option<Adoptable> {
    if existing.is_some_and(|existing| existing.component_set().agent().is_some()) {
        return None;
    }
    let can_be = |container: &Container| {
        is_agent(tree, container) && container.list != ContainerList::EphemeralContainers
    };
    let at = template.containers.iter().position(can_be)?;
    let mut without = template.clone();
    let old = without.containers.remove(at);
    let is_replaced = |volume: &PodVolume| {
        let name = volume.name.as_deref().unwrap_or_default();
        let is_shared = tree.kind(volume.node) == Kind::Alias;
        !is_shared
            && is_injected_name(name)
            && mounts(tree, &old, name)
            && !is_mounted(tree, &without.containers, name)
    };
    without.volumes = template
        .volumes
        .iter()
        .filter(|volume| !is_replaced(volume))
        .cloned()
        .collect();
    Some(Adoptable {
        old,
        without,
        kept: Vec::new(),
    })
}

fn is_injected_name(name: &str) -> bool {
    Volume::ALL.iter().any(|volume| volume.name() == name)
}

fn is_mounted(tree: &Tree<'_>, containers: &[Container], volume: &str) -> bool {
    containers
        .iter()
        .any(|container| mounts(tree, container, volume))
}

/// Returns the volumes that stay although only the old container mounted them.
pub(crate) fn left_behind<'a>(
    tree: &'a Tree<'_>,
    template: &'a PodTemplate,
    adoption: &'a Adoptable,
    agent: &'a Agent,
) -> impl Iterator<Item = &'a PodVolume> {
    let Adoptable { old, without, .. } = adoption;
    template.volumes.iter().filter(|volume| {
        let name = volume.name.as_deref().unwrap_or_default();
        let is_replaced = agent
            .volumes
            .iter()
            .any(|(injected, _)| injected.name() == name);
        !is_replaced && mounts(tree, old, name) && !is_mounted(tree, &without.containers, name)
    })
}

/// Asks about the old container and the agent that replaces it.
fn with_replacement<T>(
    tree: &Tree<'_>,
    template: &PodTemplate,
    old: &Container,
    (agent, config): (&Agent, &Config),
    ask: impl FnOnce(&Replacement<'_>) -> T,
) -> T {
    let volumes: Vec<Value> = template
        .volumes
        .iter()
        .filter_map(|volume| to_json(tree, volume.node).ok())
        .collect();
    let container = to_json(tree, old.node).unwrap_or_default();
    let config = agent.annotated.as_deref().unwrap_or(config);
    ask(&Replacement {
        old: &container,
        old_list: old.list,
        volumes: &volumes,
        template,
        agent,
        config,
    })
}

/// Returns the annotations that keep the old container's settings.
pub(crate) fn kept_settings(
    tree: &Tree<'_>,
    template: &PodTemplate,
    adoption: &Adoptable,
    agent: (&Agent, &Config),
) -> Vec<(Annotation, String)> {
    with_replacement(tree, template, &adoption.old, agent, |replacement| {
        replacement.annotations()
    })
}

/// Describes the adoption in one sentence, and the settings that are lost, if any, in another.
pub(crate) fn describe(
    tree: &Tree<'_>,
    template: &PodTemplate,
    Adoptable { old, kept, .. }: &Adoptable,
    (agent, config): (&Agent, &Config),
    tense: Tense,
) -> (String, Option<String>) {
    let name = old.name.as_deref().unwrap_or("without a name");
    let (AdoptionDifferences { image, lost }, not_allowed, port) =
        with_replacement(tree, template, old, (agent, config), |replacement| {
            (
                replacement.differences(),
                replacement.not_allowed(),
                replacement.read_only_port_beside_tls(),
            )
        });
    let mut message = format!("container {name} {} adopted", tense.auxiliary());
    // An annotation or another container's `resourceFieldRef` may refer to the old name.
    if name != CONTAINER {
        message += &format!(", renamed to {CONTAINER}");
    }
    if old.list.field() != agent.sidecar.field() {
        message += &format!(", moved to `{}`", agent.sidecar.field());
    }
    if !image.is_empty() {
        message += &format!("; changed: {}", image.join(", "));
    }
    if !kept.is_empty() {
        let names: Vec<&str> = kept
            .iter()
            .map(|(annotation, _)| annotation.name())
            .collect();
        message += &format!("; kept as annotations: {}", names.join(", "));
    }
    if let Some(port) = port {
        message += &format!("; {INSECURE_TLS} has no effect on the read-only port {port}");
    }
    if has_comment(tree, old.node) {
        message += "; its comments are lost";
    }
    let lost = [
        ("that no annotation keeps", lost),
        ("whose annotations are not allowed", not_allowed),
    ];
    let lost = lost.iter().filter(|(_, settings)| !settings.is_empty());
    let lost: Vec<String> = lost
        .map(|(which, settings)| format!("settings {which}: {}", settings.join(", ")))
        .collect();
    (
        message,
        (!lost.is_empty()).then(|| format!("container {name} has {}", lost.join("; and "))),
    )
}

/// True if there is a comment within a node or behind it on its last line: a `#` outside of its scalars.
fn has_comment(tree: &Tree<'_>, node: NodeId) -> bool {
    let Range { start, end } = tree.place(node);
    let behind = tree
        .source()
        .get(end..)
        .and_then(|rest| rest.lines().next())
        .unwrap_or_default();
    if behind.trim_start().starts_with('#') {
        return true;
    }
    let scalars = scalars(tree, node);
    let is_text = |at: usize| scalars.iter().any(|scalar| scalar.contains(&at));
    tree.source()
        .get(start..end)
        .unwrap_or_default()
        .match_indices('#')
        .any(|(at, _)| !is_text(start + at))
}

/// Returns the spans of the scalars at a node and below it.
fn scalars(tree: &Tree<'_>, node: NodeId) -> Vec<Range<usize>> {
    match tree.kind(node) {
        Kind::Mapping => tree
            .entries(node)
            .flat_map(|(key, value)| [key, value])
            .flat_map(|node| scalars(tree, node))
            .collect(),
        Kind::Sequence => tree
            .items(node)
            .flat_map(|node| scalars(tree, node))
            .collect(),
        Kind::Scalar | Kind::Alias => vec![tree.place(node)],
    }
}
