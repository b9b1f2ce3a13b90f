//! Which pod templates are looked at.

use super::setting::settings;
use std::collections::BTreeMap;
use std::fmt;

settings! {
    /// Which pod templates are looked at. Every condition must hold.
    pub struct Select {
        /// Kinds of resources, as `Kind` (of any group) or `group/Kind`. Default: none given, all kinds.
        "kinds" kinds: Vec<KindPattern> = Vec::new();
        /// Namespaces to look into. Default: none given, all namespaces.
        "namespaces" namespaces: Vec<String> = Vec::new();
        /// Namespaces to leave alone. A list, replaced as a whole. Default: `[kube-system, kube-public, kube-node-lease]`.
        "excludeNamespaces" exclude_namespaces: Vec<String> =
            ["kube-system", "kube-public", "kube-node-lease"].map(str::to_owned).to_vec();
        /// Labels that the pod template must have. Default: none given, all templates.
        "labels" labels: BTreeMap<String, String> = BTreeMap::new();
        /// Resources to leave alone: each item leaves out what matches all of its fields. Default: none.
        "exclude" exclude: Vec<Exclusion> = Vec::new();
    }
}

settings! {
    /// Resources to leave alone: those that match every field given.
    pub struct Exclusion {
        /// The API group, such as `apps`; `""` is the core group. Default: any.
        "group" group: Option<String> = None;
        /// The kind. Default: any.
        "kind" kind: Option<String> = None;
        /// The namespace. Default: any.
        "namespace" namespace: Option<String> = None;
        /// The resource's name. Default: any.
        "name" name: Option<String> = None;
        /// Labels of the pod template. Default: any.
        "labels" labels: BTreeMap<String, String> = BTreeMap::new();
    }
}

/// A kind of resource: `Kind` in any group, or `group/Kind`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindPattern {
    /// None: any group.
    pub group: Option<String>,
    /// Compared exactly.
    pub kind: String,
}

impl KindPattern {
    /// True when a resource of this group and kind is meant.
    #[must_use]
    pub fn matches(&self, group: &str, kind: &str) -> bool {
        self.kind == kind && self.group.as_deref().is_none_or(|wanted| wanted == group)
    }
}

impl fmt::Display for KindPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.group {
            Some(group) => write!(f, "{group}/{}", self.kind),
            None => f.write_str(&self.kind),
        }
    }
}
