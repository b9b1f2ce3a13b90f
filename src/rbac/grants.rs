//! Whose permissions are needed: from the outcomes of a run to the ServiceAccounts of every namespace.

use crate::agent::kubelet_access::{KubeletAccess, RbacSubject};
use crate::inject::outcome::Outcome;
use crate::report::{Class, Reason};
use std::collections::{BTreeMap, BTreeSet};

/// The ServiceAccounts of one namespace whose agents read in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grant<'g> {
    /// The way they read; never the read-only port.
    pub(crate) access: KubeletAccess,
    /// Their namespace.
    pub(crate) namespace: &'g str,
    /// Their names, sorted.
    pub(crate) service_accounts: &'g BTreeSet<String>,
}

/// What all templates of a run need together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Grants {
    needed: BTreeMap<(String, KubeletAccess), BTreeSet<String>>,
    /// Templates whose agents read from the read-only port.
    without: usize,
}

impl Grants {
    /// Takes up the templates that carry the agent afterwards.
    pub(crate) fn take(&mut self, outcomes: &[Outcome]) {
        let carries = |reason: Reason| reason.class() == Class::Done && reason != Reason::Removed;
        for outcome in outcomes.iter().filter(|outcome| carries(outcome.decision.reason)) {
            match &outcome.rbac_subject {
                Some(RbacSubject { access: KubeletAccess::ReadOnlyPort, .. }) => self.without += 1,
                Some(RbacSubject { access, namespace: Some(namespace), service_account }) => {
                    let of = self.needed.entry((namespace.clone(), *access)).or_default();
                    of.insert(service_account.clone());
                }
                // Without a namespace it was refused.
                Some(RbacSubject { namespace: None, .. }) | None => {}
            }
        }
    }

    /// By namespace, then by the way of reading.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Grant<'_>> {
        self.needed.iter().map(|((namespace, access), service_accounts)| Grant {
            access: *access,
            namespace,
            service_accounts,
        })
    }

    /// How many ServiceAccounts need a permission.
    #[must_use]
    pub(crate) fn service_accounts(&self) -> usize {
        let named = |((namespace, _), names): (&'_ (String, KubeletAccess), &'_ BTreeSet<String>)| {
            names.iter().map(|name| (namespace.clone(), name.clone())).collect::<Vec<_>>()
        };
        self.needed.iter().flat_map(named).collect::<BTreeSet<_>>().len()
    }

    /// Which agents need no permission; none where all need some.
    #[must_use]
    pub(crate) fn without(&self) -> Option<String> {
        let templates = match self.without {
            0 => return None,
            1 => "1 pod template reads".to_owned(),
            count => format!("{count} pod templates read"),
        };
        Some(format!("{templates} from the kubelet's read-only port, which asks for no permission"))
    }

    /// Why there is nothing to permit; none where there is something.
    #[must_use]
    pub(crate) fn nothing(&self) -> Option<String> {
        let why = || self.without().unwrap_or_else(|| "no pod template here carries the agent".to_owned());
        self.needed.is_empty().then(why)
    }
}
