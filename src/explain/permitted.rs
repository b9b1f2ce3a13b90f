//! Permissions that the agents need. Without them an agent reports nothing and only logs errors, though its pod is ready.

use crate::agent::kubelet_access::{KubeletAccess, RbacSubject};
use crate::checks::ProcessedText;
use crate::config::Config;
use crate::inject::outcome::Outcome;
use crate::rbac::RbacCoverage;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Permissions for the ServiceAccounts of one namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionView {
    /// Their namespace; none if neither manifest nor configuration names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    /// Their names, sorted.
    pub(crate) service_accounts: BTreeSet<String>,
    /// The resources that they must be permitted to `get`.
    pub(crate) get: &'static [&'static str],
    /// The feature that writes the RBAC manifests, or the input.
    #[serde(skip)]
    pub(crate) written: &'static str,
    /// Endpoint that the agents read.
    #[serde(skip)]
    pub(crate) access: KubeletAccess,
}

/// Groups agents by namespace and access; leaves out those that need no permission.
pub(super) fn permitted(
    shown: &[&Outcome],
    parts: &[ProcessedText<'_>],
    config: &Config,
) -> Vec<PermissionView> {
    let mut needed: BTreeMap<(Option<String>, KubeletAccess), BTreeSet<String>> = BTreeMap::new();
    for RbacSubject {
        access,
        namespace,
        service_account,
    } in shown.iter().filter_map(|outcome| outcome.rbac_subject())
    {
        needed
            .entry((namespace.clone(), *access))
            .or_default()
            .insert(service_account.clone());
    }
    let mut rbac = RbacCoverage::default();
    rbac.require(shown.iter().copied());
    parts
        .iter()
        .for_each(|part| rbac.read(part.text, part.injection, config));
    let written = match (rbac.is_complete(config), config.spec.rbac.generate) {
        (true, _) => "the input has",
        (false, true) => "`rbac.generate` writes",
        (false, false) => "`mackerel-agent-injector rbac` prints",
    };
    let permitted = needed
        .into_iter()
        .map(|((namespace, access), service_accounts)| {
            let get = access.resources(config.spec.kubernetes_version);
            PermissionView {
                namespace,
                service_accounts,
                get,
                written,
                access,
            }
        });
    permitted
        .filter(|permitted| !permitted.get.is_empty())
        .collect()
}
