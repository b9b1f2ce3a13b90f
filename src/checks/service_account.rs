//! Warns about a ServiceAccount without tokens for its pods: an agent that relies on the pod's token exits. The injection
//! itself looks only at the pod's own setting, so that every front end decides the same.

use crate::checks::{Object, Objects, ProcessedText};
use crate::config::Config;
use crate::inject::outcome::{Outcome, Remark};
use crate::manifest::related::RelatedKind;
use crate::report::{Finding, Reason};
use std::collections::HashSet;

const FIELD: &str = "automountServiceAccountToken";

/// The advice that makes the agent independent of the ServiceAccount.
const HELP: &str =
    "set `automountServiceAccountToken: false` on the pod template as well; the agent then gets a separate token";

pub(super) fn remarks(inputs: &[ProcessedText<'_>], objects: &Objects<'_>, config: &Config) -> Vec<(usize, Remark)> {
    let mut remarks = Vec::new();
    let mut reported = HashSet::new();
    let mut is_noted = false;
    for (number, input) in inputs.iter().enumerate() {
        for outcome in &input.injection.outcomes {
            let Some(account) = &outcome.token_of else { continue };
            let namespace = outcome.identity.namespace_or(config.spec.namespace.as_ref()).map(String::as_str);
            match objects.named(RelatedKind::ServiceAccount, namespace, account).first() {
                // Once for each ServiceAccount.
                Some(object) if reported.insert((object.input, object.offset)) => {
                    remarks.extend(turned_off(object, outcome))
                }
                Some(_) => {}
                // The ServiceAccount `default` of every namespace gives tokens, unless a user changed it.
                None if account == "default" || is_noted || outcome.decision.reason == Reason::Unchanged => {}
                None => {
                    is_noted = true;
                    remarks.push((number, note(outcome, account)));
                }
            }
        }
    }
    remarks
}

fn turned_off(object: &Object, outcome: &Outcome) -> Option<(usize, Remark)> {
    let entry = object.entries.iter().find(|entry| entry.key == FIELD)?;
    if entry.value.as_deref() != Some("false") {
        return None;
    }
    let (kind, name) = (&outcome.identity.kind, &outcome.identity.name);
    let message = format!("the ServiceAccount disables its token, so the agent of {kind} {name} exits");
    Some(object.remark(Finding::new(Reason::SaAutomountOff, message, entry.offset, &entry.pointer).with_help(HELP)))
}

fn note(outcome: &Outcome, account: &str) -> Remark {
    let message = format!("ServiceAccount {account} is not in the input; it may disable its token");
    let offset = outcome.decision.offset.unwrap_or(outcome.offset);
    let finding = Finding::new(Reason::SaAutomountUnknown, message, offset, &outcome.template);
    Remark {
        identity: outcome.identity.clone(),
        offset: outcome.offset,
        file: outcome.file.clone(),
        finding: finding.with_help(format!("if it does, {HELP}")),
        unknown: None,
    }
}
