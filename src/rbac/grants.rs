//! The permissions that a run needs: the ServiceAccounts of every namespace, from the outcomes.

use crate::agent::kubelet_access::KubeletAccess;
use crate::config::Config;
use crate::inject::outcome::Outcome;
use crate::rbac::checks;
use crate::report::{Class, Reason};
use std::collections::{BTreeMap, BTreeSet};

/// The ServiceAccounts of one namespace whose agents reach the kubelet in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant<'g> {
    /// The agents' connection to the kubelet; never the read-only port.
    pub access: KubeletAccess,
    /// Their namespace.
    pub namespace: &'g str,
    /// Their names, sorted.
    pub service_accounts: &'g BTreeSet<String>,
}

/// The permissions that all templates of a run need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    needed: BTreeMap<(String, KubeletAccess), BTreeSet<String>>,
    /// The number of templates whose agents use the read-only port.
    without: usize,
    /// The number of templates without a namespace.
    pub without_namespace: usize,
    /// True if a namespace or ServiceAccount is left out, since its name is not valid.
    has_invalid: bool,
}

impl Grants {
    /// Adds the templates that have an agent after the run. Warns of invalid names, and once for each namespace of `nodes/proxy`.
    pub fn take(&mut self, outcomes: &mut [Outcome], config: &Config) {
        for outcome in outcomes {
            let reason = outcome.decision.reason;
            if reason.class() != Class::Done || reason == Reason::Removed {
                continue;
            }
            let Some(subject) = outcome.rbac_subject() else {
                continue;
            };
            let access = subject.access;
            if access == KubeletAccess::ReadOnlyPort {
                self.without += 1;
                continue;
            }
            let Some(namespace) = subject.namespace.as_deref() else {
                self.without_namespace += 1;
                continue;
            };
            match checks::invalid_name(outcome, subject, namespace) {
                None => {
                    let accounts = self.needed.entry((namespace.to_owned(), access));
                    let accounts = accounts.or_default();
                    let is_first = accounts.is_empty();
                    accounts.insert(subject.account.name.clone());
                    let warning = checks::nodes_proxy(outcome, access, config);
                    outcome.warnings.extend(warning.filter(|_| is_first));
                }
                Some(warning) => {
                    self.has_invalid = true;
                    outcome.warnings.push(warning);
                }
            }
        }
    }

    /// Returns the grants by namespace, then by access.
    pub fn iter(&self) -> impl Iterator<Item = Grant<'_>> {
        self.needed
            .iter()
            .map(|((namespace, access), service_accounts)| Grant {
                access: *access,
                namespace,
                service_accounts,
            })
    }

    /// Returns the number of ServiceAccounts that need a permission.
    pub fn service_accounts(&self) -> usize {
        let mut accounts = BTreeSet::new();
        for grant in self.iter() {
            for name in grant.service_accounts {
                accounts.insert((grant.namespace, name));
            }
        }
        accounts.len()
    }

    /// Returns a sentence on the agents that need no permission; none if all need one.
    pub fn without(&self) -> Option<String> {
        let templates = match self.without {
            0 => return None,
            1 => "1 pod template reads".to_owned(),
            count => format!("{count} pod templates read"),
        };
        Some(format!(
            "{templates} from the read-only port of the kubelet, which needs no RBAC permission"
        ))
    }

    /// Returns the reason why no permission is printed; none if one is.
    pub fn nothing(&self) -> Option<String> {
        if !self.needed.is_empty() {
            return None;
        }
        let why = if self.has_invalid || self.without_namespace > 0 {
            "no pod template has a valid name of its namespace and ServiceAccount"
        } else {
            "no pod template in the input has an agent of this program"
        };
        Some(self.without().unwrap_or_else(|| why.to_owned()))
    }
}
