//! Warns about pods whose ServiceAccount gives them no token: an agent that relies on the pod's token exits. The injection
//! itself looks only at the pod's own setting, so that every front end decides the same.

use crate::agent::kubelet_access::PodServiceAccount;
use crate::checks::{Object, Objects, ProcessedText, namespace_of};
use crate::inject::outcome::{Outcome, Remark};
use config::Config;
use manifest::{DEFAULT_NAMESPACE, Identity, RelatedKind};
use report::{Finding, Reason, enumeration};
use std::collections::HashMap;

const FIELD: &str = "automountServiceAccountToken";

/// The advice that makes the agent independent of the ServiceAccount.
const HELP: &str = "set `automountServiceAccountToken: false` on the pod template as well; the agent then gets a separate token";

/// The most workloads that a message names.
const MAX_WORKLOADS: usize = 5;

pub(super) fn remarks(
    inputs: &[ProcessedText<'_>],
    objects: &Objects<'_>,
    config: &Config,
) -> Vec<(usize, Remark)> {
    let mut remarks = Vec::new();
    let mut groups: Vec<WorkloadGroup<'_>> = Vec::new();
    let mut known: HashMap<GroupKey, usize> = HashMap::new();
    for (number, input) in inputs.iter().enumerate() {
        for outcome in &input.injection.outcomes {
            let Some(account) = outcome.token_of() else {
                continue;
            };
            let namespace = namespace_of(outcome, config);
            let find = |namespace| {
                objects
                    .named(RelatedKind::ServiceAccount, namespace, &account.name)
                    .first()
                    .copied()
            };
            let own = find(namespace);
            let in_default = match namespace {
                None => find(Some(DEFAULT_NAMESPACE)),
                Some(_) => None,
            };
            let Some(object) = own.or(in_default) else {
                remarks.extend(unknown(outcome, account).map(|remark| (number, remark)));
                continue;
            };
            let Some(entry) = object
                .entries
                .iter()
                .position(|entry| entry.key == FIELD && entry.value.as_deref() == Some("false"))
            else {
                continue;
            };
            let key = GroupKey {
                input: object.input,
                offset: object.offset,
                may_be_elsewhere: own.is_none(),
                acknowledged: outcome.acknowledged.contains(Reason::SaAutomountOff),
            };
            let index = *known.entry(key).or_insert(groups.len());
            match groups.get_mut(index) {
                Some(group) => group.workloads.push(&outcome.identity),
                None => groups.push(WorkloadGroup {
                    key,
                    object,
                    entry,
                    workloads: vec![&outcome.identity],
                }),
            }
        }
    }
    remarks.extend(groups.iter().filter_map(WorkloadGroup::remark));
    remarks
}

/// The properties that the workloads of one message share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct GroupKey {
    /// The index of the ServiceAccount's text.
    input: usize,
    /// The offset of the ServiceAccount in it.
    offset: usize,
    /// True for workloads without a namespace and a ServiceAccount in `default`.
    may_be_elsewhere: bool,
    acknowledged: bool,
}

/// The workloads of one ServiceAccount that disables its token.
struct WorkloadGroup<'o> {
    key: GroupKey,
    object: &'o Object,
    /// The index of the entry that disables the token.
    entry: usize,
    workloads: Vec<&'o Identity>,
}

impl WorkloadGroup<'_> {
    fn remark(&self) -> Option<(usize, Remark)> {
        let entry = self.object.entries.get(self.entry)?;
        let finding = Finding::new(
            Reason::SaAutomountOff,
            self.message(),
            entry.offset,
            &entry.pointer,
        )
        .with_help(HELP)
        .acknowledged_if(self.key.acknowledged)
        .note_if(self.key.may_be_elsewhere);
        let (input, mut remark) = self.object.remark(finding);
        remark.workloads = self.workloads.iter().copied().cloned().collect();
        Some((input, remark))
    }

    fn message(&self) -> String {
        let name = &self.object.identity.name;
        let workloads = self.names();
        let (run, agents, exit) = match self.workloads.len() {
            1 => ("runs", "agent", "exits"),
            _ => ("run", "agents", "exit"),
        };
        if self.key.may_be_elsewhere {
            return format!(
                "ServiceAccount {name} in namespace {DEFAULT_NAMESPACE} disables its token; if {workloads} {run} there, the {agents} {exit}"
            );
        }
        format!("ServiceAccount {name} disables its token, so the {agents} of {workloads} {exit}")
    }

    /// `Deployment/a, StatefulSet/b in 11 places and 3 more`
    fn names(&self) -> String {
        let mut places: Vec<(String, usize)> = Vec::new();
        for workload in &self.workloads {
            let name = format!("{}/{}", workload.kind, workload.name);
            // Overlays repeat a workload.
            if let Some((_, count)) = places.iter_mut().find(|(known, _)| *known == name) {
                *count += 1;
            } else if places.len() < MAX_WORKLOADS {
                places.push((name, 1));
            }
        }
        let named: usize = places.iter().map(|(_, count)| count).sum();
        let mut names: Vec<String> = places
            .into_iter()
            .map(|(name, count)| match count {
                1 => name,
                _ => format!("{name} in {count} places"),
            })
            .collect();
        if self.workloads.len() > named {
            names.push(format!("{} more", self.workloads.len() - named));
        }
        enumeration(&names)
    }
}

/// Returns the note about a ServiceAccount that is not in the input, at the field that names it.
fn unknown(outcome: &Outcome, account: &PodServiceAccount) -> Option<Remark> {
    // The ServiceAccount `default` of every namespace gives tokens, unless a user changed it.
    let (field, offset) = account
        .field
        .as_ref()
        .filter(|_| account.name != "default")?;
    if outcome.decision.reason == Reason::Unchanged {
        return None;
    }
    // Without the name, so that pods with a ServiceAccount each get one message.
    let message = "the ServiceAccount of the pod is not in the input; it may disable its token";
    let pointer = format!("{}/spec/{field}", outcome.template);
    let finding = Finding::new(Reason::SaAutomountUnknown, message, *offset, &pointer)
        .with_help(format!("if it does, {HELP}"))
        .acknowledged_if(outcome.acknowledged.contains(Reason::SaAutomountUnknown));
    Some(Remark {
        identity: outcome.identity.clone(),
        offset: outcome.offset,
        file: outcome.file.clone(),
        finding,
        workloads: Vec::new(),
    })
}
