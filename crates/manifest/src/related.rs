//! Kinds of resources that pods depend on: Secrets, ConfigMaps, ServiceAccounts, permissions.

use kube_core::TypeMeta;
use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;

/// The kinds of objects that a container takes settings from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Source {
    /// A Secret.
    Secret,
    /// A ConfigMap.
    ConfigMap,
}

impl Source {
    /// The kind, as a manifest writes it.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Source::Secret => "Secret",
            Source::ConfigMap => "ConfigMap",
        }
    }
}

/// A kind of resource that pods depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RelatedKind {
    /// A Secret or ConfigMap, which may hold a key that an agent needs.
    Holds(Source),
    /// A ServiceAccount, which may turn off the token of its pods.
    ServiceAccount,
    /// A ClusterRole or ClusterRoleBinding, by which an agent may read from the kubelet.
    Permission,
}

impl RelatedKind {
    /// Classifies a kind. The caller checks the group. An ExternalSecret or SealedSecret becomes a Secret in the cluster.
    pub fn of_kind(kind: &str) -> Option<Self> {
        match kind {
            "Secret" | "ExternalSecret" | "SealedSecret" => {
                Some(RelatedKind::Holds(Source::Secret))
            }
            "ConfigMap" => Some(RelatedKind::Holds(Source::ConfigMap)),
            "ServiceAccount" => Some(RelatedKind::ServiceAccount),
            "ClusterRole" | "ClusterRoleBinding" => Some(RelatedKind::Permission),
            _ => None,
        }
    }
}

/// The location of such a resource in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub kind: RelatedKind,
    /// Bytes of the document, or of the list item, that holds it.
    pub piece: Range<usize>,
    /// JSON Pointer from the piece's root.
    pub pointer: String,
    /// The type of items that a typed list around the piece gives.
    pub inherited: Option<Arc<TypeMeta>>,
}

impl Location {
    /// Returns the location of a resource that is a whole document.
    pub fn of_document(kind: RelatedKind, document: Range<usize>) -> Self {
        Self {
            kind,
            piece: document,
            pointer: String::new(),
            inherited: None,
        }
    }
}
