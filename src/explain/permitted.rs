//! What the agents must be permitted. One that is not reports nothing, and only its log says so: the pod is ready.

use crate::agent::kubelet_access::KubeletAccess;
use crate::agent::kubelet_access::RbacSubject;
use crate::config::Config;
use crate::inject::outcome::Outcome;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What the ServiceAccounts of one namespace must be permitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionView {
    /// Their namespace; none where nobody names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    /// Their names, sorted.
    pub(crate) service_accounts: BTreeSet<String>,
    /// The resources that they must be permitted to `get`.
    pub(crate) get: &'static [&'static str],
    /// Who writes it down.
    #[serde(skip)]
    pub(crate) written: &'static str,
    /// How the agents use it.
    #[serde(skip)]
    pub(crate) access: KubeletAccess,
}

/// By namespace, then by what it takes; nothing for agents that need no permission.
pub(super) fn permitted(shown: &[&Outcome], config: &Config) -> Vec<PermissionView> {
    let mut needed: BTreeMap<(Option<String>, KubeletAccess), BTreeSet<String>> = BTreeMap::new();
    for RbacSubject { access, namespace, service_account } in
        shown.iter().filter_map(|outcome| outcome.rbac_subject.as_ref())
    {
        needed.entry((namespace.clone(), *access)).or_default().insert(service_account.clone());
    }
    let written = if config.spec.rbac.generate { "`rbac.generate` writes" } else { "the command `rbac` prints" };
    let permitted = needed.into_iter().map(|((namespace, access), service_accounts)| {
        let get = access.resources(config.spec.kubernetes_version);
        PermissionView { namespace, service_accounts, get, written, access }
    });
    permitted.filter(|permitted| !permitted.get.is_empty()).collect()
}
