//! Refusals of changes and of documents, each with its help.

use crate::agent::ComponentKind;
use crate::inject::outcome::{InjectedComponents, Outcome};
use crate::reconcile::apply::PlannedChange;
use crate::reconcile::patch::UneditableChange;
use crate::reconcile::place;
use config::OnError;
use report::{Finding, Reason};
use yaml_json_patch::{ErrorKind, NodeId, Tree, YamlError};

/// The help for a document that cannot be read for an unknown reason.
pub const GENERAL_CORRECTION: &str = "correct the document";

/// The help for what another tool is to render.
pub const TEMPLATE_HELP: &str = "if it is a template, inject what it renders";

/// The beginning of the message about a document that is none.
pub const NOT_VALID_YAML: &str = "not valid YAML";

/// Returns the help for a document that Kubernetes cannot read; none if its text does not show the reason.
pub fn correction(text: &str) -> Option<&'static str> {
    let is_conflict = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    if text.lines().any(is_conflict) {
        Some("resolve the merge conflict")
    } else if text.contains("{{") || text.contains("{%") || text.contains("<%") {
        Some(TEMPLATE_HELP)
    } else {
        None
    }
}

/// Returns the refusal of a document that Kubernetes cannot read. It has no pod template, however much it looks like one:
/// `image: {{ .Values.image }}` is YAML, a mapping as a mapping's key.
pub fn unparseable(text: &str, error: &YamlError) -> UneditableChange {
    UneditableChange {
        message: format!(
            "unreadable: Kubernetes cannot parse this document: {}",
            error.message
        ),
        help: correction(text).unwrap_or(GENERAL_CORRECTION).to_owned(),
        offset: error.offset,
    }
}

/// Returns the refusal of a resource with a duplicate key.
pub fn duplicate_key(tree: &Tree<'_>, key: NodeId) -> UneditableChange {
    let name = tree.scalar(tree.alias_target(key)).unwrap_or_default();
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
pub fn key_named_as_written(tree: &Tree<'_>, key: NodeId) -> UneditableChange {
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

/// The path from a document to the checksum by which SOPS finds a change of any value, also of one that is not encrypted.
pub const MAC: [&str; 2] = ["sops", "mac"];

/// Returns the refusal of a resource that SOPS has encrypted.
pub fn sealed(tree: &Tree<'_>, mac: NodeId) -> Finding {
    Finding::without_details(Reason::Sealed, tree.place(mac).start, "")
        .with_help("decrypt it, inject or uninject, and encrypt it again")
}

/// Returns the refusal of a template, of which comments are code: ytt's, and the blocks of Octopus. The agent, or a part of it, would be
/// repeated or left out with the lines around it. A value such as `#{Name}` is replaced where it stands.
pub fn template(tree: &Tree<'_>) -> Option<UneditableChange> {
    const OCTOPUS: [&str; 4] = ["#{if ", "#{unless ", "#{each ", "#{/"];
    let text = tree.text();
    let mut last = None;
    let is_code = |at: &usize| {
        let (before, comment) = text.split_at(*at);
        // ytt reads no `#@` within a comment.
        let is_first = last
            .replace(*at)
            .is_none_or(|last| before[last..].contains('\n'));
        let is_ytt = is_first && comment.strip_prefix("#@").is_some_and(is_ytt_code);
        (is_ytt || OCTOPUS.iter().any(|code| comment.starts_with(code)))
            && !before.ends_with(|c: char| c.is_ascii_graphic())
            && !tree.is_in_scalar(*at)
    };
    let code = memchr::memchr_iter(b'#', text.as_bytes()).find(is_code)?;
    Some(UneditableChange {
        message: "template: a comment of the document is code of ytt or Octopus".to_owned(),
        help: TEMPLATE_HELP.to_owned(),
        offset: tree.start() + code,
    })
}

/// Returns true for code of ytt behind `#@`: ` end`, `overlay/match by=…`; not for `author`.
fn is_ytt_code(rest: &str) -> bool {
    let word = rest.split(char::is_whitespace).next().unwrap_or_default();
    word.is_empty() || word.contains('/')
}

/// Refuses a change that cannot be made. If it only removes an agent that is no longer wanted, the decision stays the same and
/// the warning `still-injected` is added.
pub fn refuse(
    outcomes: &mut [Outcome],
    change: PlannedChange,
    refusal: impl Into<Finding>,
    on_error: OnError,
) {
    let Some(outcome) = outcomes.get_mut(change.outcome) else {
        return;
    };
    let refusal = Finding {
        pointer: change.template.clone(),
        ..refusal.into()
    };
    let components = match &change.existing {
        Some(existing) => existing.kinds(),
        None => ComponentKind::Agent.into(),
    };
    let still_injected = Finding {
        reason: Reason::StillInjected,
        message: format!(
            "{} of an earlier run was not removed: {}",
            components.subject(),
            refusal.message
        ),
        ..refusal.clone()
    };
    let removes = change.existing.is_some() && !change.action.first.operations.is_empty();
    outcome
        .warnings
        .retain(|warning| !warning.reason.is_about_change());
    outcome.has_wanted_agent &= !removes;
    outcome.components = InjectedComponents::default();
    match change.action.unwanted {
        Some(unwanted) => {
            outcome.decision = unwanted;
            outcome.warnings.push(still_injected);
        }
        None => {
            outcome.cause = place(&refusal);
            outcome.decision = refusal;
            if removes && on_error == OnError::Skip {
                outcome.warnings.push(still_injected);
            }
        }
    }
}
