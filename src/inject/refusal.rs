//! Refusals of changes and of documents: what an outcome becomes, and what helps.

use crate::agent::components::Components;
use crate::agent::existing::ExistingInjection;
use crate::config::OnError;
use crate::inject::outcome::Outcome;
use crate::reconcile::apply::{PlannedChange, UneditableChange};
use crate::report::{Cause, Finding, Reason};
use yaml_json_patch::{ErrorKind, NodeId, Tree};

/// The help for a document that cannot be read, where nothing else is known of it.
pub(crate) const CORRECT_IT: &str = "correct the document";

/// The help for JSON documents one after the other.
pub(crate) const SEPARATE_THEM: &str = "separate them with a line `---`, or use one file for each";

/// The help for a document that Kubernetes cannot read.
pub(crate) fn correction(text: &str) -> &'static str {
    let is_conflict = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    if text.lines().any(is_conflict) {
        "resolve the merge conflict"
    } else if ["{{", "{%", "<%"]
        .iter()
        .any(|template| text.contains(template))
    {
        "if this is a template, for example of a Helm chart, render it first and inject the result"
    } else {
        CORRECT_IT
    }
}

/// Returns true for JSON documents one after the other, as `kubectl … --output json >>` writes them. kubectl reads them all, and
/// YAML is over after the first.
pub(crate) fn is_json_stream(text: &str) -> bool {
    let mut documents =
        serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    let is_object = |text: &str| text.trim_start().starts_with('{');
    is_object(text)
        && matches!(documents.next(), Some(Ok(_)))
        && text.get(documents.byte_offset()..).is_some_and(is_object)
}

/// The refusal of a resource with a duplicate key.
pub(crate) fn duplicate_key(tree: &Tree<'_>, key: NodeId) -> UneditableChange {
    let name = tree.scalar(key).unwrap_or_default();
    let word = ErrorKind::DuplicateKey.word();
    UneditableChange {
        message: format!(
            "{word}: the key `{name}` is duplicated, and Kubernetes uses the last value only"
        ),
        help: "add the missing `---`, or merge the two keys".to_owned(),
        offset: tree.place(key).start,
    }
}

/// The refusal of a template whose path names a key as it is written, such as `on`, and not as Kubernetes reads it.
pub(crate) fn key_named_as_written(tree: &Tree<'_>, key: NodeId) -> UneditableChange {
    let name = tree.raw(key);
    let word = ErrorKind::OddKey.word();
    UneditableChange {
        message: format!(
            "{word}: the path of the pod template has the key `{name}`, which Kubernetes does not read as this string"
        ),
        help: format!("put the key in quotes: `\"{name}\"`"),
        offset: tree.place(key).start,
    }
}

/// Refuses a change that cannot be made. Where the change would only have removed an agent that is no longer wanted, the
/// decision stays and a warning says that the agent does, too.
pub(crate) fn refuse(
    outcomes: &mut [Outcome],
    change: PlannedChange,
    refusal: UneditableChange,
    on_error: OnError,
) {
    let Some(outcome) = outcomes.get_mut(change.outcome) else {
        return;
    };
    let UneditableChange {
        message,
        help,
        offset,
    } = refusal;
    let refusal =
        Finding::new(Reason::Uneditable, message, offset, &change.template).with_help(help);
    let is_injected = change.existing.is_some() && !change.action.first.operations.is_empty();
    outcome
        .warnings
        .retain(|warning| !warning.reason.is_about_change());
    outcome.has_wanted_agent &= !is_injected;
    (outcome.needs, outcome.agent, outcome.wait_for) = (None, None, None);
    (outcome.token_of, outcome.rbac_subject, outcome.agent_list) = (None, None, None);
    let components = change
        .existing
        .as_ref()
        .map_or(Components::Agent(()), ExistingInjection::component_set);
    let still = Finding {
        reason: Reason::StillInjected,
        message: format!(
            "{} of an earlier run was not removed: {}",
            components.subject(),
            refusal.message
        ),
        ..refusal.clone()
    };
    match change.action.unwanted {
        Some(unwanted) => {
            outcome.decision = unwanted;
            outcome.warnings.push(still);
        }
        None => {
            outcome.cause = refusal.offset.map(|offset| Cause::Manifest {
                offset,
                pointer: refusal.pointer.clone(),
            });
            outcome.decision = refusal;
            if is_injected && on_error == OnError::Skip {
                outcome.warnings.push(still);
            }
        }
    }
}
