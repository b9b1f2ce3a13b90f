//! The identity of a resource: API version, kind, namespace and name.

use serde::Serialize;

/// API version, kind, namespace and name, as the manifest has them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Identity {
    /// For example `apps/v1`.
    pub api_version: String,
    /// For example `Deployment`.
    pub kind: String,
    /// `metadata.namespace`; not the configuration's `namespace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// `metadata.name`, else `metadata.generateName`, else empty.
    pub name: String,
}

impl Identity {
    /// Returns its namespace, or `default` (the configuration's) if the resource names none.
    pub(crate) fn namespace_or<'a>(&'a self, default: Option<&'a String>) -> Option<&'a String> {
        self.namespace.as_ref().or(default)
    }
}

/// Returns true for a kind whose `items` are resources: `List`, `ResourceList` and typed lists such as `DeploymentList`.
pub(crate) fn is_list(kind: &str) -> bool {
    kind.ends_with("List")
}
