//! Permissions that the agents need. Without them an agent reports nothing and only logs errors, though its pod is ready.

use crate::explain::Inputs;
use config::{Namespace, ObjectName};
use injector::{KubeletAccess, Outcome};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Permissions for the ServiceAccounts of one namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionView {
    /// Their namespace; none if neither manifest nor configuration has it, or only a placeholder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Their names, sorted.
    pub service_accounts: BTreeSet<String>,
    /// The resources that they must be permitted to `get`.
    pub get: &'static [&'static str],
}

/// Returns the permissions by namespace and access; leaves out agents that need none.
pub(super) fn permissions(outcomes: &[&Outcome], inputs: Inputs<'_, '_>) -> Vec<PermissionView> {
    let mut needed: BTreeMap<(Option<String>, KubeletAccess), BTreeSet<String>> = BTreeMap::new();
    for outcome in outcomes {
        if let Some(subject) = outcome.rbac_subject()
            && subject.account.name.parse::<ObjectName>().is_ok()
        {
            let mut namespace = subject.namespace.clone();
            namespace.take_if(|name| name.parse::<Namespace>().is_err());
            needed
                .entry((namespace, subject.access))
                .or_default()
                .insert(subject.account.name.clone());
        }
    }
    let mut permissions = Vec::new();
    for ((namespace, access), service_accounts) in needed {
        let get = access.resources(inputs.config.spec.kubernetes_version);
        if !get.is_empty() {
            permissions.push(PermissionView {
                namespace,
                service_accounts,
                get,
            });
        }
    }
    permissions
}
