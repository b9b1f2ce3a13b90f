//! Warns about pods whose ServiceAccount gives them no token: an agent that relies on the pod's token exits. The injection
//! itself looks only at the pod's own setting, so that every front end decides the same.

use crate::agent::kubelet_access::PodServiceAccount;
use crate::checks::{Object, Objects, ProcessedText};
use crate::config::Config;
use crate::inject::outcome::{Outcome, Remark};
use crate::manifest::related::RelatedKind;
use crate::report::{Finding, Reason};

const FIELD: &str = "automountServiceAccountToken";

/// The advice that makes the agent independent of the ServiceAccount.
const HELP: &str = "set `automountServiceAccountToken: false` on the pod template as well; the agent then gets a separate token";

pub(super) fn remarks(
    inputs: &[ProcessedText<'_>],
    objects: &Objects<'_>,
    config: &Config,
) -> Vec<(usize, Remark)> {
    let mut remarks = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        for outcome in &input.injection.outcomes {
            let Some(account) = outcome.token_of() else {
                continue;
            };
            let namespace = outcome
                .identity
                .namespace_or(config.spec.namespace.as_ref())
                .map(String::as_str);
            let (reason, message, help) =
                match objects.named(RelatedKind::ServiceAccount, namespace, &account.name).first() {
                    Some(object) if disables_token(object) => (
                        Reason::SaAutomountOff,
                        format!("ServiceAccount {} disables its token, so the agent exits", account.name),
                        HELP.to_owned(),
                    ),
                    // The ServiceAccount `default` of every namespace gives tokens, unless a user changed it.
                    None if account.name != "default" && outcome.decision.reason != Reason::Unchanged => (
                        Reason::SaAutomountUnknown,
                        // Without the name, so that pods with a ServiceAccount each get one message.
                        "the ServiceAccount of the pod is not in the input; it may disable its token".to_owned(),
                        format!("if it does, {HELP}"),
                    ),
                    _ => continue,
                };
            remarks.push((
                number,
                remark(
                    outcome,
                    account,
                    Finding::new(reason, message, 0, "").with_help(help),
                ),
            ));
        }
    }
    remarks
}

fn disables_token(account: &Object) -> bool {
    account
        .entries
        .iter()
        .any(|entry| entry.key == FIELD && entry.value.as_deref() == Some("false"))
}

/// A remark on a pod template, at the field that names its ServiceAccount.
fn remark(outcome: &Outcome, account: &PodServiceAccount, finding: Finding) -> Remark {
    let template = &outcome.template;
    let (offset, pointer) = match account.field {
        Some((field, offset)) => (offset, format!("{template}/spec/{field}")),
        None => (
            outcome.decision.offset.unwrap_or(outcome.offset),
            template.clone(),
        ),
    };
    let acknowledged = outcome.acknowledged.contains(finding.reason);
    Remark {
        identity: outcome.identity.clone(),
        offset: outcome.offset,
        file: outcome.file.clone(),
        finding: Finding {
            offset: Some(offset),
            pointer,
            ..finding
        }
        .acknowledged_if(acknowledged),
        unknown: None,
    }
}
