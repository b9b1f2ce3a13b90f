//! Resources beside the workloads that matter to their pods: Secrets, ConfigMaps, quotas, ServiceAccounts.

use kube_core::TypeMeta;
use std::ops::Range;
use std::rc::Rc;

/// The kinds of objects that a container takes settings from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
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

/// The kinds that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RelatedKind {
    /// May hold a key that an agent needs.
    Holds(Source),
    /// May refuse a pod whose containers do not say what they take.
    Quota,
    /// May say for them what they take.
    LimitRange,
    /// May give its pods no token.
    ServiceAccount,
}

impl RelatedKind {
    /// By a resource's kind. All of them are of the core group, which is for whoever reads the resource to check.
    #[must_use]
    pub(crate) fn of_kind(kind: &str) -> Option<Self> {
        match kind {
            "Secret" => Some(RelatedKind::Holds(Source::Secret)),
            "ConfigMap" => Some(RelatedKind::Holds(Source::ConfigMap)),
            "ResourceQuota" => Some(RelatedKind::Quota),
            "LimitRange" => Some(RelatedKind::LimitRange),
            "ServiceAccount" => Some(RelatedKind::ServiceAccount),
            _ => None,
        }
    }

    /// True for what concerns no pod that does not name it.
    pub(crate) fn is_named(self) -> bool {
        match self {
            RelatedKind::Holds(_) | RelatedKind::ServiceAccount => true,
            RelatedKind::Quota | RelatedKind::LimitRange => false,
        }
    }
}

/// Where one of them stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// What it is.
    pub(crate) kind: RelatedKind,
    /// Bytes of the document, or of the item of a list, that it stands in.
    pub(crate) piece: Range<usize>,
    /// JSON Pointer from the piece's root.
    pub(crate) pointer: String,
    /// What a typed list around the piece says of its items.
    pub(crate) inherited: Option<Rc<TypeMeta>>,
}
