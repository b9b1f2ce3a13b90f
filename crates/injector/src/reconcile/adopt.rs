//! Adopts a foreign agent: the injected agent replaces it at its position.
//!
//! The decision is made on the template without the foreign agent, as for an injected one. Its settings are kept as annotations.
//! An adoption that would lose one for which there is none is refused (`--adopt=lossy` accepts it). Messages name fields, never values:
//! one may be an API key. Volumes stay, except those that have the name of an injected volume and that no other container mounts: the
//! injected ones replace them, and are compared with them.

use crate::agent::canonical::canonicalize;
use crate::agent::existing::ExistingInjection;
use crate::agent::{Component, ComponentKind, ComponentKinds};
use crate::decide::{Decision, DecisionReport};
use crate::options::ForeignAgents;
use crate::reconcile::apply::{Action, Addition};
use crate::reconcile::differing::{Differing, Side, differing, listed};
use crate::reconcile::kept_settings::{KeptSetting, Replacement, find, text};
use crate::reconcile::patch::AgentPlace;
use crate::reconcile::{Reconciled, Reconciler};
use config::annotations::VariableName;
use mackerel::env::TMPDIR;
use mackerel::names::{API_KEY, CONTAINER, Volume};
use manifest::{Container, ContainerList, PodAnnotation, PodTemplate};
use report::{Finding, Reason};
use serde_json::Value;
use std::collections::HashSet;
use std::ops::Range;
use yaml_json_patch::{Kind, NodeId, Tree, to_json};

/// A foreign agent that can be adopted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Adoptable {
    pub(super) old: Container,
    /// The template without it and without the volumes that are replaced.
    pub(super) without: PodTemplate,
    /// The annotations that keep its settings.
    pub(super) kept: Vec<KeptSetting>,
}

impl Adoptable {
    /// Returns the first foreign agent of a template without an injected one. Ephemeral containers cannot be changed.
    pub(super) fn find(
        tree: &Tree<'_>,
        template: &PodTemplate,
        existing: Option<&ExistingInjection>,
    ) -> Option<Self> {
        if existing.is_some_and(|existing| existing.kinds().contains(ComponentKind::Agent)) {
            return None;
        }
        let index = template.containers.iter().position(|container| {
            container.is_agent && container.list != ContainerList::EphemeralContainers
        })?;
        let mut without = template.clone();
        let old = without.containers.remove(index);
        let only_old = only_mounted(tree, &old, &without.containers);
        without.volumes.retain(|volume| {
            let name = volume.name.as_deref().unwrap_or_default();
            let is_shared = tree.kind(volume.node) == Kind::Alias;
            let is_replaced = !is_shared && Volume::of(name).is_some() && only_old.contains(name);
            !is_replaced
        });
        Some(Self {
            old,
            without,
            kept: Vec::new(),
        })
    }

    /// Returns the template without the agent, and with the annotations that are kept.
    pub(super) fn with_annotations(&self, tree: &Tree<'_>) -> PodTemplate {
        let mut template = self.without.clone();
        let offset = tree.place(self.old.node).start;
        for KeptSetting { key, value, .. } in &self.kept {
            template.annotations.push(PodAnnotation {
                key: key.clone(),
                value: Some(value.clone()),
                node: None,
                offset,
                value_offset: offset,
            });
        }
        template
    }

    fn name(&self) -> &str {
        self.old.name.as_deref().unwrap_or("without a name")
    }
}

/// Returns the names of the volumes that only the old container mounts.
fn only_mounted(tree: &Tree<'_>, old: &Container, others: &[Container]) -> HashSet<String> {
    let mut only_old: HashSet<String> = old.mounted_volumes(tree).collect();
    for container in others {
        for name in container.mounted_volumes(tree) {
            only_old.remove(&name);
        }
    }
    only_old
}

impl Reconciler<'_, '_> {
    /// Returns the old agent and the one that replaces it, to compare them.
    pub(super) fn replacement<'a>(
        &'a self,
        adoption: &Adoptable,
        agent: &'a Component,
    ) -> Replacement<'a> {
        let volumes = self
            .template
            .volumes
            .iter()
            .filter_map(|volume| to_json(self.tree, volume.node).ok());
        Replacement {
            old: to_json(self.tree, adoption.old.node).unwrap_or_default(),
            old_list: adoption.old.list,
            volumes: volumes.collect(),
            template: self.template,
            agent,
            config: agent.annotated.as_deref().unwrap_or(self.context.config),
        }
    }

    /// Reconciles a template with a foreign agent. An existing injection, of an init container alone, is added anew.
    pub(super) fn adopt(&self, adoption: &Adoptable, report: DecisionReport) -> Reconciled {
        let (Decision::Add(plan), Some(agent)) = (&report.decision, report.decision.agent()) else {
            return self.insert(report);
        };
        let old = &adoption.old;
        if self.tree.kind(old.node) == Kind::Alias {
            let message = "the agent is an alias; an edit would change every alias of its anchor";
            let refusal = self
                .finding_at(old, Reason::AdoptRefused, message)
                .with_help("replace the alias `*name` with the container");
            return Reconciled::of(refusal, report.warnings);
        }
        let mut warnings = report.warnings;
        let differences = self.replacement(adoption, agent).differences();
        if !differences.lost.is_empty() {
            let name = adoption.name();
            let lost = listed(&differences.lost);
            if self.options.foreign_agents != ForeignAgents::AdoptLossy {
                let message = format!("the adopted container {name} would lose {lost}");
                let help = "to adopt the agent without them, use `inject --adopt=lossy`; to keep them, set those that have a setting first";
                let refusal = self
                    .finding_at(old, Reason::AdoptRefused, message)
                    .with_help(help);
                return Reconciled::of(refusal, warnings);
            }
            let message = format!("the adopted container {name} loses {lost}");
            let help = "if the agent needs them, set those that have a setting, or do not adopt it";
            let warning = self
                .finding_at(old, Reason::AdoptLosesSettings, message)
                .with_help(help);
            warnings.push(warning);
        }
        let mut message = self.adoption_message(adoption, agent, &differences);
        if plan.wait_for().is_some() && self.existing.is_none() {
            let waits = ComponentKinds::from(ComponentKind::WaitFor);
            message += &format!("; {}", waits.passive(self.options.tense, "added"));
        }
        let target = self.patch_target();
        let mut first = target.kept_annotations(&adoption.kept);
        if let Some(existing) = self.existing {
            first = first.then(&target.removal(existing, &adoption.kept));
        }
        let addition = Addition {
            plan: plan.clone(),
            place: self.place_of(old),
        };
        let decision = self.finding_at(old, Reason::Adopted, message);
        Reconciled {
            action: Some(Action {
                first,
                then: Some(addition),
                unwanted: None,
            }),
            ..Reconciled::of(decision, warnings).with_components(plan, report.wait_for_cause)
        }
    }

    /// Returns the place of the old agent after the removal of the existing injection.
    fn place_of(&self, old: &Container) -> AgentPlace {
        let list = old.list;
        let index = self
            .template
            .containers
            .iter()
            .filter(|other| other.list == list && other.index < old.index)
            .count();
        AgentPlace::Adopted { list, index }
    }

    /// Returns a finding at the place of the old agent.
    fn finding_at(&self, old: &Container, reason: Reason, message: impl Into<String>) -> Finding {
        let pointer = [self.at, &old.pointer()].concat();
        let offset = self.tree.place(old.node).start;
        Finding::new(reason, message, offset, &pointer)
    }

    /// Describes the adoption in one sentence.
    fn adoption_message(
        &self,
        adoption: &Adoptable,
        agent: &Component,
        differences: &AdoptionDifferences,
    ) -> String {
        let old = &adoption.old;
        let name = adoption.name();
        let mut message = format!(
            "container {name} {} adopted",
            self.options.tense.auxiliary()
        );
        // An annotation or another container's `resourceFieldRef` may refer to the old name.
        if name != CONTAINER {
            message += &format!(", renamed to {CONTAINER}");
        }
        if old.list != agent.record.list {
            message += &format!(", moved to `{}`", agent.record.list.field());
        }
        for (what, names) in [
            ("changed", &differences.changed),
            ("added", &differences.added),
        ] {
            if !names.is_empty() {
                message += &format!("; {what}: {}", listed(names));
            }
        }
        if !adoption.kept.is_empty() {
            let names: Vec<&str> = adoption.kept.iter().map(KeptSetting::name).collect();
            message += &format!("; kept as annotations: {}", names.join(", "));
        }
        if has_comment(self.tree, old.node) {
            message += "; its comments are lost";
        }
        let only_old = only_mounted(self.tree, old, &adoption.without.containers);
        for volume in &self.template.volumes {
            let name = volume.name.as_deref().unwrap_or_default();
            let is_mounted = agent.adds_volume(name) || agent.mounts_volume(name);
            if only_old.contains(name) && !is_mounted {
                message += &format!("; the volume {name} is kept but no longer mounted");
            }
        }
        message
    }
}

/// The fields in which an adopted agent and the injected one differ, by name.
#[derive(Debug, Default)]
struct AdoptionDifferences {
    /// Fields of the old one that are neither in the new one nor kept by an annotation.
    lost: Vec<String>,
    /// Fields that have another value in the new one.
    changed: Vec<String>,
    /// Fields that only the new one has.
    added: Vec<String>,
}

impl Replacement<'_> {
    /// Compares the containers and the volumes that are replaced. What annotations could keep is equal by now.
    fn differences(&self) -> AdoptionDifferences {
        let mut old = vec![&self.old];
        let mut new = vec![&*self.agent.container];
        for (volume, added) in &self.agent.volumes {
            if let Some(replaced) = self.volume(&volume.name()) {
                old.push(replaced);
                new.push(added);
            }
        }
        let [old, new]: [Value; 2] =
            [old, new].map(|parts| parts.into_iter().map(canonicalize).collect());
        let equal = self.equal_in_meaning();
        let mut found = AdoptionDifferences::default();
        for Differing { name, side } in differing(&old, &new) {
            if equal.contains(&name) {
                continue;
            }
            match side {
                Side::Old => found.lost.push(name),
                Side::New => found.added.push(name),
                Side::Both if self.is_lost(&name) => found.lost.push(name),
                Side::Both => found.changed.push(name),
            }
        }
        found
    }

    /// Returns true if a field that the new agent has otherwise is a loss. For image, API key, temporary folder and what only the
    /// injector sets, the configuration decides.
    fn is_lost(&self, name: &str) -> bool {
        match name.split_once(": ") {
            Some(("env", variable)) => match VariableName::of(variable) {
                VariableName::OfSetting(setting) => {
                    variable != API_KEY && !self.has_annotation_of(setting)
                }
                VariableName::Free => variable != TMPDIR,
                VariableName::Unknown | VariableName::Invalid => false,
            },
            Some((_, path)) => !self.is_scratch(path),
            None => name.starts_with("resources.") || name.starts_with("securityContext."),
        }
    }

    /// Returns true if the old agent has an empty folder at a path.
    fn is_scratch(&self, path: &str) -> bool {
        self.old["volumeMounts"]
            .as_array()
            .and_then(|mounts| find(mounts, "mountPath", path))
            .and_then(|mount| self.volume(text(mount, "name")?))
            .is_some_and(|volume| volume.get("emptyDir").is_some())
    }
}

/// True if there is a comment within a node or after it on its last line: a `#` outside of its scalars.
fn has_comment(tree: &Tree<'_>, node: NodeId) -> bool {
    let Range { start, end } = tree.place(node);
    let after = tree.source().get(end..).unwrap_or_default();
    if after
        .lines()
        .next()
        .is_some_and(|rest_of_line| rest_of_line.trim_start().starts_with('#'))
    {
        return true;
    }
    let text = tree.source().get(start..end).unwrap_or_default();
    // They are in the order of the text.
    let scalars = scalars(tree, node);
    text.match_indices('#').any(|(offset, _)| {
        let offset = start + offset;
        let next = scalars.partition_point(|scalar| scalar.end <= offset);
        scalars
            .get(next)
            .is_none_or(|scalar| !scalar.contains(&offset))
    })
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
