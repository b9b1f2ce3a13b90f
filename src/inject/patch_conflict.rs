//! `patch-conflict`: patches that kustomize applies after a file was injected.

use crate::inject::outcome::Outcome;
use crate::mackerel::annotations::Annotation;
use crate::manifest::field_path::field_path;
use crate::manifest::kustomize_names::NameChanges;
use crate::manifest::patch_effect::{FieldChange, PatchEffect};
use crate::report::{Finding, Reason};
use std::path::Path;
use yaml_json_patch::pointer::escape;

/// A field that a patch of a kustomization changes.
#[derive(Debug)]
pub(crate) struct PlacedEffect {
    pub(crate) effect: PatchEffect,
    /// `patch.yaml:3:11`
    pub(crate) place: String,
}

/// Returns a warning about the first of the patches of a file that does not fit with a pod template's agent or decision. Each
/// patch comes with the changes of names on the ways to its kustomization.
pub(crate) fn patch_conflict<'e, I: Iterator<Item = (&'e PlacedEffect, &'e [NameChanges])>>(
    effects: impl Fn() -> I,
    file: &Path,
    outcome: &Outcome,
) -> Option<Finding> {
    let finding = match (outcome.agent_list, outcome.decision.reason) {
        (Some(agent_list), _) => request_conflict(effects(), "false", file, outcome)
            .or_else(|| agent_conflict(effects(), agent_list, outcome)),
        (None, Reason::NotRequested | Reason::OptedOut) => request_conflict(effects(), "true", file, outcome),
        (None, _) => None,
    }?;
    Some(finding.acknowledged_if(outcome.acknowledged.contains(Reason::PatchConflict)))
}

/// Returns a warning if a patch sets the template's annotation `inject` to this value, which the decision has not seen.
fn request_conflict<'e>(
    mut effects: impl Iterator<Item = (&'e PlacedEffect, &'e [NameChanges])>,
    wanted: &str,
    file: &Path,
    outcome: &Outcome,
) -> Option<Finding> {
    let pointer = format!("{}/metadata/annotations/{}", outcome.template, escape(Annotation::Inject.key()));
    let place = effects.find_map(|(PlacedEffect { effect, place }, names)| match &effect.change {
        FieldChange::Set(value) if effect.pointer == pointer && value.eq_ignore_ascii_case(wanted) => {
            effect.target.matches(&outcome.identity, names).then_some(place)
        }
        _ => None,
    })?;
    let file = file.display();
    let message = match outcome.agent_list {
        Some(_) => format!("{place}: this patch opts out of injection, but {file} gets the agent"),
        None => format!("{place}: this patch requests injection, but {file} gets no agent"),
    };
    let finding = Finding::new(Reason::PatchConflict, message, outcome.offset, &pointer);
    Some(finding.with_help("inject the output of `kustomize build` instead"))
}

/// Returns a warning if a patch replaces or removes a field that holds a part of the template's agent.
fn agent_conflict<'e>(
    mut effects: impl Iterator<Item = (&'e PlacedEffect, &'e [NameChanges])>,
    agent_list: &str,
    outcome: &Outcome,
) -> Option<Finding> {
    let template = &outcome.template;
    let holders = [
        format!("{template}/spec/{agent_list}"),
        format!("{template}/spec/volumes"),
        format!("{template}/metadata/annotations"),
    ];
    let is_above = |pointer: &str, holder: &String| {
        holder.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let (PlacedEffect { effect, place }, _) = effects.find(|(PlacedEffect { effect, .. }, names)| {
        effect.change == FieldChange::Replaced
            && holders.iter().any(|holder| is_above(&effect.pointer, holder))
            && effect.target.matches(&outcome.identity, names)
    })?;
    let field = field_path(&effect.pointer);
    let message = format!("{place}: this patch replaces or removes {field}, and with it a part of the agent");
    let finding = Finding::new(Reason::PatchConflict, message, outcome.offset, &effect.pointer);
    Some(finding.with_help("have the patch change single items, or inject the output of `kustomize build`"))
}
