//! `patch-conflict`: patches that kustomize applies after a file was injected.

use crate::inject::outcome::Outcome;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::{CONTAINER, Volume};
use crate::manifest::field_path::field_path;
use crate::manifest::kustomize_names::NameChanges;
use crate::manifest::patch_effect::{FieldChange, PatchEffect};
use crate::report::{Finding, Reason};
use std::collections::HashSet;
use std::path::Path;
use yaml_json_patch::pointer::escape;

/// A field that a kustomization changes.
#[derive(Debug)]
pub(crate) struct PlacedEffect {
    pub(crate) effect: PatchEffect,
    pub(crate) changed_by: ChangedBy,
    /// `patch.yaml:3:11`
    pub(crate) place: String,
}

/// The part of a kustomization that changes a field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChangedBy {
    Patch,
    CommonAnnotations,
}

/// Returns a warning for each place at which a patch does not fit with a pod template's agent or decision. Each patch comes with
/// the changes of names on the ways to its kustomization.
pub(crate) fn patch_conflicts<'e>(
    effects: impl Iterator<Item = (&'e PlacedEffect, &'e [NameChanges])>,
    file: &Path,
    outcome: &Outcome,
) -> Vec<Finding> {
    let fields = TemplateFields::of(outcome);
    let mut places = HashSet::new();
    let mut found = Vec::new();
    for (
        PlacedEffect {
            effect,
            changed_by,
            place,
        },
        names,
    ) in effects
    {
        let is_target = || effect.target.matches(&outcome.identity, names);
        let conflict = match &effect.change {
            FieldChange::Set(value) if effect.pointer == fields.inject && is_target() => {
                request_conflict(*changed_by, value, file, outcome)
            }
            FieldChange::Replaced if fields.hold_agent(&effect.pointer) && is_target() => {
                Some(agent_conflict(&effect.pointer))
            }
            FieldChange::ItemDeleted(name)
                if fields.hold_agent(&format!("{}/{name}", effect.pointer)) && is_target() =>
            {
                Some(item_conflict(&effect.pointer, name))
            }
            _ => None,
        };
        // An operation may both replace the annotations and set one, and two kustomizations may name the same file.
        if let Some(ConflictMessage { message, help }) = conflict
            && places.insert(place)
        {
            let message = format!("{place}: {message}");
            let finding = Finding::new(
                Reason::PatchConflict,
                message,
                outcome.offset,
                &effect.pointer,
            );
            let is_acknowledged = outcome.acknowledged.contains(Reason::PatchConflict);
            found.push(finding.with_help(help).acknowledged_if(is_acknowledged));
        }
    }
    found
}

/// JSON Pointers from the resource to fields of a pod template that patches may change.
struct TemplateFields {
    /// The annotation `inject`.
    inject: String,
    /// The parts of the agent, items of lists by name; none without an agent.
    parts: Vec<String>,
}

impl TemplateFields {
    fn of(outcome: &Outcome) -> Self {
        let template = &outcome.template;
        let annotations = format!("{template}/metadata/annotations");
        let inject = format!("{annotations}/{}", escape(Annotation::Inject.key()));
        let parts = outcome.agent_list.map_or(Vec::new(), |agent_list| {
            let volumes =
                Volume::ALL.map(|volume| format!("{template}/spec/volumes/{}", volume.name()));
            [
                format!("{template}/spec/{agent_list}/{CONTAINER}"),
                annotations,
            ]
            .into_iter()
            .chain(volumes)
            .collect()
        });
        Self { inject, parts }
    }

    /// Returns true if the field at the pointer is or contains a part of the agent.
    fn hold_agent(&self, pointer: &str) -> bool {
        let is_above = |part: &String| {
            part.strip_prefix(pointer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.parts.iter().any(is_above)
    }
}

/// A message behind the place of the patch, and its help.
struct ConflictMessage {
    message: String,
    help: &'static str,
}

/// Returns a conflict if this value of the annotation `inject`, which the decision has not seen, would change it.
fn request_conflict(
    changed_by: ChangedBy,
    value: &str,
    file: &Path,
    outcome: &Outcome,
) -> Option<ConflictMessage> {
    let file = file.display();
    let subject = match changed_by {
        ChangedBy::Patch => "this patch",
        ChangedBy::CommonAnnotations => "this kustomization",
    };
    let message = match (outcome.agent_list, outcome.decision.reason) {
        (Some(_), _) if value.eq_ignore_ascii_case("false") => {
            format!("{subject} opts out of injection, but {file} gets the agent")
        }
        (None, Reason::NotRequested | Reason::OptedOut) if value.eq_ignore_ascii_case("true") => {
            format!("{subject} requests injection, but {file} gets no agent")
        }
        _ => return None,
    };
    Some(ConflictMessage {
        message,
        help: "inject the output of `kustomize build` instead",
    })
}

/// Returns the conflict of a patch that replaces or removes a field with a part of the agent.
fn agent_conflict(pointer: &str) -> ConflictMessage {
    let field = field_path(pointer);
    let message =
        format!("this patch replaces or removes {field}, and with it a part of the agent");
    ConflictMessage {
        message,
        help: "have the patch change single items, or inject the output of `kustomize build`",
    }
}

/// Returns the conflict of a patch that deletes a part of the agent from a list.
fn item_conflict(pointer: &str, name: &str) -> ConflictMessage {
    let list = field_path(pointer);
    let message =
        format!("this patch deletes {name} from {list}, but other parts of the agent remain");
    ConflictMessage {
        message,
        help: "inject the output of `kustomize build` instead; there a patch may set `inject: \"false\"`",
    }
}
