//! The permissions that a run needs: the ServiceAccounts of every namespace, from the outcomes.
//!
//! `invalid-name`, `nodes-proxy`: permissions that the command `rbac` leaves out, or should not grant unseen.

use config::{Config, KubernetesVersion, Namespace, ObjectName};
use injector::{KubeletAccess, LESS, Outcome, PERMITS, RbacSubject};
use report::{Class, Finding, Reason};
use std::collections::{BTreeMap, BTreeSet};

/// The permissions that all templates of a run need.
#[derive(Debug, Default)]
pub struct Grants {
    /// The names of ServiceAccounts, by their namespace and their agents' connection to the kubelet, which is never the read-only port.
    pub(super) needed: BTreeMap<(String, KubeletAccess), BTreeSet<String>>,
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
            let Some(namespace) = &subject.namespace else {
                self.without_namespace += 1;
                continue;
            };
            let mut warning = invalid_name(subject, namespace, &outcome.template);
            if warning.is_some() {
                self.has_invalid = true;
            } else {
                let accounts = self.needed.entry((namespace.clone(), access)).or_default();
                if accounts.is_empty() {
                    warning = nodes_proxy(access, config.spec.kubernetes_version, outcome.offset);
                }
                accounts.insert(subject.account.name.clone());
            }
            outcome.warnings.extend(warning.map(|warning| {
                let is_acknowledged = outcome.acknowledged.contains(warning.reason);
                warning.acknowledged_if(is_acknowledged)
            }));
        }
    }

    /// Returns the number of ServiceAccounts that need a permission.
    pub fn service_accounts(&self) -> usize {
        self.needed
            .iter()
            .flat_map(|((namespace, _), names)| names.iter().map(move |name| (namespace, name)))
            .collect::<BTreeSet<_>>()
            .len()
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
        let why = if self.has_invalid || self.without_namespace > 0 {
            "no pod template has a valid name of its namespace and ServiceAccount"
        } else {
            "no pod template in the input has an agent of this program"
        };
        self.needed
            .is_empty()
            .then(|| self.without().unwrap_or_else(|| why.to_owned()))
    }
}

/// Returns the warning about a namespace or ServiceAccount with a name that Kubernetes does not take: the objects and their comments would
/// contain it.
fn invalid_name(subject: &RbacSubject, namespace: &str, template: &str) -> Option<Finding> {
    let (violation, name, offset, parent) = match namespace.parse::<Namespace>() {
        Err(violation) => (
            violation,
            "namespace",
            subject.namespace_offset,
            "/metadata".to_owned(),
        ),
        Ok(_) => {
            let violation = subject.account.name.parse::<ObjectName>().err()?;
            let (field, offset) = subject.account.field?;
            (violation, field, offset, format!("{template}/spec"))
        }
    };
    let message = format!("left out of the permissions: `{name}` {}", violation.what);
    let pointer = format!("{parent}/{name}");
    Some(
        Finding::new(Reason::InvalidName, message, offset, &pointer)
            .with_help("correct the name; if it is a placeholder, render the manifest first"),
    )
}

/// Returns the warning about an agent that needs `nodes/proxy`.
fn nodes_proxy(
    access: KubeletAccess,
    version: KubernetesVersion,
    offset: usize,
) -> Option<Finding> {
    let (place, help) = match access {
        KubeletAccess::ApiServer => ("EKS Fargate".to_owned(), None),
        _ => (format!("Kubernetes {version}"), Some(LESS.to_owned())),
    };
    let message = format!("on {place} the agent needs `nodes/proxy`; {PERMITS}");
    access.needs_proxy(version).then(|| Finding {
        help,
        ..Finding::new(Reason::NodesProxy, message, offset, "")
    })
}
