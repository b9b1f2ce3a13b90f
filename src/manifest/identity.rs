//! A resource by its text: API version, kind, namespace and name.

use serde::Serialize;

/// Who a resource is, as its text says.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Identity {
    /// For example `apps/v1`.
    pub api_version: String,
    /// For example `Deployment`.
    pub kind: String,
    /// As written in the resource; not the configuration's `namespace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// `metadata.name`, else `metadata.generateName`, else empty.
    pub name: String,
}

impl Identity {
    /// Its namespace, else the one of the configuration for resources that name none.
    #[must_use]
    pub(crate) fn namespace_or<'a>(&'a self, default: Option<&'a String>) -> Option<&'a String> {
        self.namespace.as_ref().or(default)
    }
}

/// True for a kind whose `items` are resources: `List`, `ResourceList` and typed lists such as `DeploymentList`.
#[must_use]
pub(crate) fn is_list(kind: &str) -> bool {
    kind.ends_with("List")
}
