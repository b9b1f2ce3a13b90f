//! Kubernetes versions.

use crate::checked::texts;
use crate::violation::Violation;
use std::fmt;
use std::str::FromStr;

/// A Kubernetes version 1.x, without its patch number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KubernetesVersion {
    pub minor: u16,
}

impl KubernetesVersion {
    /// The first version that runs native sidecars without a feature gate.
    pub const NATIVE_SIDECARS: KubernetesVersion = KubernetesVersion { minor: 29 };
    /// The first version whose kubelets authorize with `nodes/pods` instead of `nodes/proxy`, without a feature gate.
    pub const FINE_GRAINED_KUBELET: KubernetesVersion = KubernetesVersion { minor: 33 };
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

impl Default for KubernetesVersion {
    fn default() -> Self {
        Self::FINE_GRAINED_KUBELET
    }
}

texts! { KubernetesVersion: "pattern" = "^v?1\\.([1-5][0-9]|60)(\\.[0-9]+([-+].*)?)?$"; }

impl FromStr for KubernetesVersion {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        let number = |digits: &str| match digits.parse::<u16>() {
            Ok(number) if !digits.starts_with('+') => Some(number),
            _ => None,
        };
        // Clusters report `v1.29.3-gke.1`.
        let mut parts = text.strip_prefix('v').unwrap_or(text).splitn(3, '.');
        let (major, minor) = (parts.next().and_then(number), parts.next().and_then(number));
        match (major, minor, parts.next().is_none_or(is_patch)) {
            // `1.30` without quotes is the number 1.3. No cluster of a version below 1.10 is left.
            (Some(1), Some(minor @ 1..10), true) => Err(Violation::new(format!(
                "must be version 1.10 or later, found `{text}`"
            ))
            .with_help(format!(
                "for Kubernetes 1.{minor}0 write `1.{minor}0`, in YAML with quotes: `\"1.{minor}0\"`"
            ))),
            (Some(1), Some(minor @ 10..=60), true) => Ok(KubernetesVersion { minor }),
            _ => Err(
                Violation::new(format!("must be a Kubernetes version, found `{text}`"))
                    .with_help("write it as `major.minor`, from `1.10` to `1.60`"),
            ),
        }
    }
}

/// Returns true for a patch number with an optional vendor suffix: `3`, `3-gke.1`, `3+k3s1`.
fn is_patch(text: &str) -> bool {
    let suffix = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    suffix.len() < text.len() && (suffix.is_empty() || suffix.starts_with(['-', '+']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_people_and_clusters_write_them() {
        for (text, expected) in [
            ("1.29", Some(29)),
            ("v1.33.2", Some(33)),
            ("1.30.1-gke.4", Some(30)),
            ("v1.31.0+k3s1", Some(31)),
            ("1.27.3.4", None),
            ("1.27.x", None),
            ("1.27.", None),
            ("1", None),
            ("1.", None),
            ("one.two", None),
            ("1.29+", None),
            ("1.3", None),
            ("v1.9.4", None),
            ("0.21", None),
            ("1.60", Some(60)),
            ("1.61", None),
            ("1.290", None),
            ("2.0", None),
        ] {
            let read = KubernetesVersion::from_str(text).ok();
            assert_eq!(read.map(|version| version.minor), expected, "{text}");
        }
        assert!(KubernetesVersion { minor: 9 } < KubernetesVersion::NATIVE_SIDECARS);
        let help = KubernetesVersion::from_str("1.3").unwrap_err().help;
        assert_eq!(
            help.as_deref(),
            Some("for Kubernetes 1.30 write `1.30`, in YAML with quotes: `\"1.30\"`")
        );
    }
}
