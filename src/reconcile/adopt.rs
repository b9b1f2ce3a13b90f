//! Adopts a foreign agent: the injected agent replaces it at its position.
//!
//! The decision is made on the template without the foreign agent, as for an injected one. Its settings are kept as annotations.
//! Those for which there is none are reported by name, never by value: one may be an API key. Volumes stay, except those that have
//! the name of an injected volume and that no other container mounts: the injected ones replace them.

use crate::agent::existing::ExistingInjection;
use crate::agent::{Component, ComponentKind, ComponentKinds};
use crate::decide::{Decision, DecisionReport};
use crate::mackerel::names::{CONTAINER, Volume};
use crate::manifest::pod_template::{
    Container, ContainerList, PodAnnotation, PodTemplate, mounted_volumes,
};
use crate::options::ForeignAgents;
use crate::reconcile::agent_container::INSECURE_TLS;
use crate::reconcile::apply::{Action, Addition};
use crate::reconcile::current::others;
use crate::reconcile::kept_settings::{KeptSetting, Replacement};
use crate::reconcile::lost_settings::{AdoptionDifferences, LostSetting};
use crate::reconcile::patch::{AdoptedContainer, ListPositions};
use crate::reconcile::{Reconciled, Reconciler};
use crate::report::{Finding, Reason};
use std::collections::HashSet;
use std::mem;
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
        let mut containers = template.containers.iter();
        let index = containers.position(|container| {
            container.is_agent && container.list != ContainerList::EphemeralContainers
        })?;
        let mut without = template.clone();
        let old = without.containers.remove(index);
        let only_old = only_mounted(tree, &old, &without.containers);
        without.volumes.retain(|volume| {
            let name = volume.name.as_deref().unwrap_or_default();
            let is_shared = tree.kind(volume.node) == Kind::Alias;
            let is_replaced = !is_shared
                && Volume::ALL.iter().any(|injected| injected.name() == name)
                && only_old.contains(name);
            !is_replaced
        });
        Some(Self {
            old,
            without,
            kept: Vec::new(),
        })
    }

    /// Returns the template without the agent, and with annotations that are not there yet.
    pub(super) fn with_annotations(&self, tree: &Tree<'_>, kept: &[KeptSetting]) -> PodTemplate {
        let mut template = self.without.clone();
        let offset = tree.place(self.old.node).start;
        for KeptSetting { annotation, value } in kept {
            template.annotations.push(PodAnnotation {
                key: annotation.key().to_owned(),
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
    let mut only_old: HashSet<String> = mounted_volumes(tree, old).collect();
    for container in others {
        for name in mounted_volumes(tree, container) {
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
        let volumes = self.template.volumes.iter();
        let volumes = volumes.filter_map(|volume| to_json(self.tree, volume.node).ok());
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
            let refusal = self.finding_at(old, Reason::AdoptRefused, message.to_owned());
            let refusal = refusal.with_help("replace the alias `*name` with the container");
            return Reconciled::of(refusal, report.warnings);
        }
        let mut warnings = report.warnings;
        let replacement = self.replacement(adoption, agent);
        let mut differences = replacement.differences();
        if self.options.foreign_agents == ForeignAgents::AdoptLossy {
            let essential = mem::take(&mut differences.essential);
            differences.lost.splice(0..0, essential);
        }
        warnings.extend(self.lost_settings(
            adoption,
            &differences.lost,
            &replacement.not_allowed(),
        ));
        if !differences.essential.is_empty() {
            let refusal = self.refuse_loss(old, &differences.essential);
            return Reconciled::of(refusal, warnings);
        }
        let mut message = self.adoption_message(adoption, &replacement, &differences);
        if plan.wait_for().is_some() && self.existing.is_none() {
            let kinds = ComponentKinds::from(ComponentKind::WaitFor);
            message += &format!("; {}", kinds.passive(self.options.tense, "added"));
        }
        let target = self.patch_target();
        let mut first = target.kept_annotations(&adoption.kept);
        if let Some(existing) = self.existing {
            first = first.then(&target.removal(existing, &adoption.kept));
        }
        let addition = Addition {
            plan: plan.clone(),
            positions: self.positions_of(old),
        };
        let decision = self.finding_at(old, Reason::Adopted, message);
        Reconciled {
            action: Some(Action {
                first,
                then: Some(addition),
                unwanted: None,
            }),
            about: Some(ComponentKind::Agent.into()),
            ..Reconciled::of(decision, warnings).with_components(plan, report.wait_for_cause)
        }
    }

    /// Returns the position of the old agent after the removal of the existing injection.
    fn positions_of(&self, old: &Container) -> ListPositions {
        let others = others(self.template, old.list);
        ListPositions {
            adopted: Some(AdoptedContainer {
                list: old.list,
                index: others.filter(|other| *other < old.index).count(),
            }),
            ..ListPositions::default()
        }
    }

    /// Returns a finding at the place of the old agent.
    fn finding_at(&self, old: &Container, reason: Reason, message: String) -> Finding {
        let pointer = format!("{}/spec/{}/{}", self.at, old.list.field(), old.index);
        let offset = self.tree.place(old.node).start;
        Finding::new(reason, message, offset, &pointer)
    }

    /// Describes the adoption in one sentence.
    fn adoption_message(
        &self,
        adoption: &Adoptable,
        replacement: &Replacement<'_>,
        differences: &AdoptionDifferences,
    ) -> String {
        let (old, agent) = (&adoption.old, replacement.agent);
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
        let AdoptionDifferences {
            image, stricter, ..
        } = differences;
        if !image.is_empty() {
            message += &format!("; changed: {}", listed(image));
        }
        let added = replacement.added_variables();
        if !added.is_empty() {
            message += &format!("; added: {}", listed(&added));
        }
        if !stricter.is_empty() {
            message += &format!("; stricter than before: {}", listed(stricter));
        }
        if !adoption.kept.is_empty() {
            let names = adoption.kept.iter().map(|kept| kept.annotation.name());
            let names: Vec<&str> = names.collect();
            message += &format!("; kept as annotations: {}", names.join(", "));
        }
        if let Some(port) = replacement.read_only_port_beside_tls() {
            message += &format!("; {INSECURE_TLS} has no effect on the read-only port {port}");
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

    /// Refuses to adopt an agent that would run, read or mount less than before.
    fn refuse_loss(&self, old: &Container, essential: &[LostSetting]) -> Finding {
        let name = old.name.as_deref().unwrap_or("without a name");
        let message = format!(
            "the adopted container {name} would lose {}",
            listed(essential)
        );
        let lossy = "to adopt the agent without what is lost, use `inject --adopt=lossy`";
        let help = if essential.iter().any(|lost| lost.setting.is_some()) {
            format!("to keep a setting, set the field in parentheses after it; {lossy}")
        } else {
            lossy.to_owned()
        };
        let refusal = self.finding_at(old, Reason::AdoptRefused, message);
        refusal.with_help(help)
    }

    /// Warns about the settings that the adoption loses, if any.
    fn lost_settings(
        &self,
        adoption: &Adoptable,
        lost: &[LostSetting],
        not_allowed: &[LostSetting],
    ) -> Option<Finding> {
        let mut parts = Vec::new();
        if !lost.is_empty() {
            parts.push(format!(
                "settings that no annotation keeps: {}",
                listed(lost)
            ));
        }
        if !not_allowed.is_empty() {
            parts.push(format!(
                "settings whose annotations are not allowed: {}",
                listed(not_allowed)
            ));
        }
        if parts.is_empty() {
            return None;
        }
        let mut all = lost.iter().chain(not_allowed);
        let help = if all.any(|lost| lost.setting.is_some()) {
            "to keep a setting, set the field in parentheses after it; settings without one are lost"
        } else {
            "if the agent needs them, do not adopt it"
        };
        let message = format!("container {} has {}", adoption.name(), parts.join("; and "));
        let warning = self.finding_at(&adoption.old, Reason::AdoptLosesSettings, message);
        Some(warning.with_help(help))
    }
}

fn listed(settings: &[LostSetting]) -> String {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    settings.join(", ")
}

/// True if there is a comment within a node or after it on its last line: a `#` outside of its scalars.
fn has_comment(tree: &Tree<'_>, node: NodeId) -> bool {
    let Range { start, end } = tree.place(node);
    let after = tree.source().get(end..).unwrap_or_default();
    let rest_of_line = after.lines().next().unwrap_or_default();
    if rest_of_line.trim_start().starts_with('#') {
        return true;
    }
    let text = tree.source().get(start..end).unwrap_or_default();
    // They are in the order of the text.
    let scalars = scalars(tree, node);
    for (offset, _) in text.match_indices('#') {
        let offset = start + offset;
        let next = scalars.partition_point(|scalar| scalar.end <= offset);
        if !scalars
            .get(next)
            .is_some_and(|scalar| scalar.contains(&offset))
        {
            return true;
        }
    }
    false
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
