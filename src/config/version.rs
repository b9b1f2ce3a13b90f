//! A Kubernetes version.

use std::fmt;

/// A Kubernetes version, without its patch number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KubernetesVersion {
    /// The `1` of `1.29`.
    pub major: u16,
    /// The `29` of `1.29`.
    pub minor: u16,
}

impl KubernetesVersion {
    /// The first version that runs native sidecars without a feature gate.
    pub const NATIVE_SIDECARS: KubernetesVersion = KubernetesVersion { major: 1, minor: 29 };
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
