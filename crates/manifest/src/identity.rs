//! The identity of a resource: API version, kind, namespace and name.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

/// The namespace of resources that name none, unless the command that applies them names another one.
pub const DEFAULT_NAMESPACE: &str = "default";

/// API version, kind, namespace and name, as the manifest has them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Identity {
    /// For example `apps/v1`.
    pub api_version: String,
    /// For example `Deployment`.
    pub kind: String,
    /// `metadata.namespace`; not the configuration's `namespace`.
    pub namespace: Option<String>,
    /// `metadata.name`, else `metadata.generateName`, else empty.
    pub name: String,
    /// True if the name is a `metadata.generateName`, to which the API server adds a suffix.
    pub is_generated: bool,
}

impl Serialize for Identity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Identity", 4)?;
        fields.serialize_field("apiVersion", &self.api_version)?;
        fields.serialize_field("kind", &self.kind)?;
        match &self.namespace {
            Some(namespace) => fields.serialize_field("namespace", namespace)?,
            None => fields.skip_field("namespace")?,
        }
        fields.serialize_field(
            if self.is_generated {
                "generateName"
            } else {
                "name"
            },
            &self.name,
        )?;
        fields.end()
    }
}

impl Identity {
    /// Returns its namespace, or `default` (the configuration's) if the resource names none.
    pub fn namespace_or<'a>(&'a self, default: Option<&'a String>) -> Option<&'a String> {
        self.namespace.as_ref().or(default)
    }

    /// Returns `Deployment/shop/web`.
    pub fn short_name(&self) -> String {
        joined([
            &self.kind,
            self.namespace.as_deref().unwrap_or_default(),
            &self.name,
        ])
    }

    /// Returns `apps/v1/Deployment/shop/web`, as kpt writes it.
    pub fn full_name(&self) -> String {
        joined([&self.api_version, &self.short_name()])
    }
}

/// Joins the parts that are not empty by slashes.
fn joined<const N: usize>(parts: [&str; N]) -> String {
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("/")
}

/// Returns true for a kind whose `items` are resources: `List`, `ResourceList` and typed lists such as `DeploymentList`.
pub fn is_list(kind: &str) -> bool {
    kind.ends_with("List")
}

#[cfg(test)]
mod tests {
    use super::Identity;

    #[test]
    fn a_resource_is_named_with_its_namespace_where_it_has_one() {
        let mut identity = Identity {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            name: "web".into(),
            ..Identity::default()
        };
        assert_eq!(identity.full_name(), "apps/v1/Deployment/web");
        identity.namespace = Some("prod".into());
        assert_eq!(identity.full_name(), "apps/v1/Deployment/prod/web");
        assert_eq!(identity.short_name(), "Deployment/prod/web");
    }
}
