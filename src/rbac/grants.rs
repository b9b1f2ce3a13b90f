//! The permissions that a run needs: the ServiceAccounts of every namespace, from the outcomes.

use crate::agent::kubelet_access::{KubeletAccess, RbacSubject};
use crate::inject::outcome::Outcome;
use crate::report::{Class, Reason};
use std::collections::{BTreeMap, BTreeSet};

/// The ServiceAccounts of one namespace whose agents reach the kubelet in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grant<'g> {
    /// The agents' connection to the kubelet; never the read-only port.
    pub(crate) access: KubeletAccess,
    /// Their namespace.
    pub(crate) namespace: &'g str,
    /// Their names, sorted.
    pub(crate) service_accounts: &'g BTreeSet<String>,
}

/// The permissions that all templates of a run need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Grants {
    needed: BTreeMap<(String, KubeletAccess), BTreeSet<String>>,
    /// Number of templates whose agents use the read-only port.
    without: usize,
}

impl Grants {
    /// Adds the templates that have an agent after the run.
    pub(crate) fn take<'o>(&mut self, outcomes: impl IntoIterator<Item = &'o Outcome>) {
        let carries = |reason: Reason| reason.class() == Class::Done && reason != Reason::Removed;
        for outcome in outcomes
            .into_iter()
            .filter(|outcome| carries(outcome.decision.reason))
        {
            match outcome.rbac_subject() {
                Some(RbacSubject {
                    access: KubeletAccess::ReadOnlyPort,
                    ..
                }) => self.without += 1,
                Some(RbacSubject {
                    access,
                    namespace: Some(namespace),
                    service_account,
                }) => {
                    let of = self.needed.entry((namespace.clone(), *access)).or_default();
                    of.insert(service_account.clone());
                }
                // A template without a namespace was refused.
                Some(RbacSubject {
                    namespace: None, ..
                })
                | None => {}
            }
        }
    }

    /// The grants by namespace, then by access.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Grant<'_>> {
        self.needed
            .iter()
            .map(|((namespace, access), service_accounts)| Grant {
                access: *access,
                namespace,
                service_accounts,
            })
    }

    /// The number of ServiceAccounts that need a permission.
    pub(crate) fn service_accounts(&self) -> usize {
        let named =
            |((namespace, _), names): (&'_ (String, KubeletAccess), &'_ BTreeSet<String>)| {
                names
                    .iter()
                    .map(|name| (namespace.clone(), name.clone()))
                    .collect::<Vec<_>>()
            };
        self.needed
            .iter()
            .flat_map(named)
            .collect::<BTreeSet<_>>()
            .len()
    }

    /// A sentence on the agents that need no permission; none if all need one.
    pub(crate) fn without(&self) -> Option<String> {
        let templates = match self.without {
            0 => return None,
            1 => "1 pod template reads".to_owned(),
            count => format!("{count} pod templates read"),
        };
        Some(format!(
            "{templates} from the read-only port of the kubelet, which needs no RBAC permission"
        ))
    }

    /// The reason why no permission is needed; none if one is.
    pub(crate) fn nothing(&self) -> Option<String> {
        let why = || {
            self.without()
                .unwrap_or_else(|| "no pod template in the input has the agent".to_owned())
        };
        self.needed.is_empty().then(why)
    }
}
