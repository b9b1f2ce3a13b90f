//! Selection of pod templates by kind, namespace, labels and name.

use crate::checked::{Group, Kind, LabelValue, MetadataName, Namespace, ObjectName, texts};
use crate::violation::Violation;
use report::Reason;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Which pod templates are looked at. Every condition must hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct Select {
    /// Kinds of resources, as `Kind` (of any group) or `group/Kind`. Default: none given, all kinds.
    pub kinds: Vec<KindPattern>,
    /// Namespaces to select, as names or globs: `*` matches any characters, `?` matches one. Default: none given, all namespaces.
    pub namespaces: Vec<NamespacePattern>,
    /// Namespaces to exclude, in addition to the system namespaces, as names or globs. Default: none.
    pub exclude_namespaces: Vec<NamespacePattern>,
    /// Select the system namespaces too: kube-system, kube-public and kube-node-lease. Default: `false`.
    pub system_namespaces: bool,
    /// A LabelSelector for the labels of the pod template.
    pub pod_selector: LabelSelector,
    /// Resources to exclude. An item excludes resources that match all of its fields. Default: none.
    pub exclude: Vec<Exclusion>,
}

/// Resources to leave alone: those that match every field given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
#[cfg_attr(test, schemars(extend("minProperties" = 1)))]
pub struct Exclusion {
    /// The API group, such as `apps`; `""` is the core group. Default: any.
    pub group: Option<Group>,
    /// The kind. `Pod` matches only pods without a controller. Default: any.
    pub kind: Option<Kind>,
    /// The namespace, as a name or glob. Default: any.
    pub namespace: Option<NamespacePattern>,
    /// The resource's name. Default: any.
    pub name: Option<ObjectName>,
    /// A LabelSelector for the labels of the pod template. Default: any.
    pub pod_selector: LabelSelector,
}

/// A LabelSelector of Kubernetes: every condition must hold, and one without conditions selects everything.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that must have these values. Default: none.
    pub match_labels: BTreeMap<String, LabelValue>,
    /// Conditions on labels, each as `{key, operator, values}` with the operator `In`, `NotIn`, `Exists` or `DoesNotExist`. A list, replaced as a whole. Default: none.
    pub match_expressions: Vec<LabelRequirement>,
}

/// A condition on one label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LabelRequirement {
    /// The label.
    pub key: MetadataName,
    /// The relation of the label to the values.
    pub operator: LabelOperator,
    /// The values, for `In` and `NotIn`.
    #[serde(default)]
    pub values: Vec<LabelValue>,
}

/// The relation of a label to values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum LabelOperator {
    /// The label has one of the values
    In,
    /// The label has none of the values, or is absent
    NotIn,
    /// The label is there
    Exists,
    /// The label is absent
    DoesNotExist,
}

impl LabelSelector {
    /// Returns true if the labels, as names and values, meet every condition.
    pub fn matches(&self, labels: &[(String, String)]) -> bool {
        self.match_labels
            .iter()
            .all(|(key, wanted)| value_of(key, labels) == Some(&**wanted))
            && self
                .match_expressions
                .iter()
                .all(|requirement| requirement.is_met(labels))
    }
}

impl LabelRequirement {
    fn is_met(&self, labels: &[(String, String)]) -> bool {
        let value = value_of(&self.key, labels);
        let is_among = value.is_some_and(|value| self.values.iter().any(|one| **one == *value));
        match self.operator {
            LabelOperator::In => is_among,
            LabelOperator::NotIn => !is_among,
            LabelOperator::Exists => value.is_some(),
            LabelOperator::DoesNotExist => value.is_none(),
        }
    }
}

/// Returns the value of a label.
fn value_of<'l>(key: &str, labels: &'l [(String, String)]) -> Option<&'l String> {
    let (_, value) = labels.iter().find(|(name, _)| name == key)?;
    Some(value)
}

impl Select {
    /// Returns the reason why nothing in a namespace is selected.
    pub fn leaves_out(&self, namespace: &str) -> Option<Reason> {
        let matches = |patterns: &[NamespacePattern]| {
            patterns.iter().any(|pattern| pattern.matches(namespace))
        };
        let is_system = !self.system_namespaces && is_system_namespace(namespace);
        if is_system || matches(&self.exclude_namespaces) {
            return Some(Reason::NamespaceExcluded);
        }
        let is_selected = self.namespaces.is_empty() || matches(&self.namespaces);
        let is_excluded = self
            .exclude
            .iter()
            .any(|exclusion| exclusion.is_of_namespace(namespace));
        (!is_selected || is_excluded).then_some(Reason::NotSelected)
    }

    /// Returns true if it selects or excludes by the kind or name of a workload.
    pub fn names_workloads(&self) -> bool {
        !self.kinds.is_empty() || self.exclude.iter().any(Exclusion::names_workload)
    }
}

impl Exclusion {
    /// Returns true if it is about everything in a namespace.
    fn is_of_namespace(&self, name: &str) -> bool {
        let Self {
            group,
            kind,
            namespace,
            name: resource,
            pod_selector,
        } = self;
        let is_of_all = group.is_none() && kind.is_none() && resource.is_none();
        is_of_all
            && *pod_selector == LabelSelector::default()
            && namespace
                .as_ref()
                .is_some_and(|pattern| pattern.matches(name))
    }

    /// Returns true if it is about a workload, by its kind, group or name. `kind: Pod` and `group: ""` are about pods without a
    /// controller.
    pub(crate) fn names_workload(&self) -> bool {
        match (self.kind.as_deref(), self.group.as_deref()) {
            (None, None) => self.name.is_some(),
            (kind, group) => {
                kind.is_some_and(|kind| kind != "Pod")
                    || group.is_some_and(|group| !group.is_empty())
            }
        }
    }
}

/// The namespaces of Kubernetes itself.
pub const SYSTEM_NAMESPACES: [&str; 3] = ["kube-system", "kube-public", "kube-node-lease"];

/// Returns true for a namespace of Kubernetes itself.
pub fn is_system_namespace(name: &str) -> bool {
    SYSTEM_NAMESPACES.contains(&name)
}

/// A namespace's name, or a glob: `*` matches any characters, `?` one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespacePattern(pub String);

impl NamespacePattern {
    /// Returns true if the pattern matches the whole name.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut at, mut seen) = (0, 0);
        // Backtracking to the last `*`: the pattern behind it, and how much of the name it has consumed.
        let mut star: Option<(usize, usize)> = None;
        while let Some(byte) = name.get(seen) {
            match pattern.get(at) {
                Some(b'*') => {
                    at += 1;
                    star = Some((at, seen));
                }
                Some(wanted) if *wanted == b'?' || wanted == byte => {
                    (at, seen) = (at + 1, seen + 1)
                }
                _ => {
                    let Some((behind, taken)) = star else {
                        return false;
                    };
                    (at, seen) = (behind, taken + 1);
                    star = Some((at, seen));
                }
            }
        }
        pattern.iter().skip(at).all(|byte| *byte == b'*')
    }

    /// Returns true for a name without `*` and `?`.
    pub fn is_name(&self) -> bool {
        !self.0.contains(['*', '?'])
    }
}

impl fmt::Display for NamespacePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

texts! {
    NamespacePattern: "pattern" = "^[a-z0-9*?]([a-z0-9*?-]{0,61}[a-z0-9*?])?$";
    KindPattern: "pattern" = "^([a-z0-9.-]*/)?[A-Z][A-Za-z0-9]*$";
}

impl FromStr for NamespacePattern {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        match text.replace(['*', '?'], "a").parse::<Namespace>() {
            Ok(_) => Ok(NamespacePattern(text.to_owned())),
            Err(Violation { help, .. }) => {
                let help = format!(
                    "{}; `*` stands for any characters, `?` for one",
                    help.unwrap_or_default()
                );
                Err(Violation::found("the name of a namespace or a glob", text).with_help(help))
            }
        }
    }
}

/// A kind of resource: `Kind` in any group, or `group/Kind`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindPattern {
    /// `None` matches any group.
    pub group: Option<String>,
    pub kind: String,
}

impl KindPattern {
    /// Returns true if the pattern matches the group and kind.
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

impl FromStr for KindPattern {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        let (group, kind) = match text.rsplit_once('/') {
            Some((group, kind)) => (Some(group), kind),
            None => (None, text),
        };
        if kind.parse::<Kind>().is_err()
            || group.is_some_and(|group| group.parse::<Group>().is_err())
        {
            let help = "for example `Deployment`, or with the group but without the version: `apps/Deployment`";
            return Err(Violation::found("a kind", text).with_help(help));
        }
        Ok(KindPattern {
            group: group.map(str::to_owned),
            kind: kind.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_fits_whole_names() {
        for (pattern, name, expected) in [
            ("shop", "shop", true),
            ("shop", "shop-2", false),
            ("shop-*", "shop-2", true),
            ("shop-*", "shop-", true),
            ("*", "a", true),
            ("*-a-*b", "x-a-a-bb", true),
            ("*-a-*b", "x-a-a-bc", false),
            ("team-?", "team-1", true),
            ("team-?", "team-12", false),
        ] {
            assert_eq!(
                NamespacePattern(pattern.to_owned()).matches(name),
                expected,
                "{pattern} {name}"
            );
        }
        let long = NamespacePattern("*a*a*a*a*a*b".to_owned());
        assert!(!long.matches(&"a".repeat(10_000)));
        assert!(
            "-*".parse::<NamespacePattern>().is_err() && "".parse::<NamespacePattern>().is_err()
        );
    }

    #[test]
    fn a_label_selector_asks_as_in_kubernetes() {
        let labels = [
            ("app".to_owned(), "web".to_owned()),
            ("tier".to_owned(), "backend".to_owned()),
        ];
        let expression = |key: &str, operator, values: &[&str]| LabelSelector {
            match_expressions: vec![LabelRequirement {
                key: key.parse().unwrap(),
                operator,
                values: values.iter().map(|value| value.parse().unwrap()).collect(),
            }],
            ..LabelSelector::default()
        };
        assert!(LabelSelector::default().matches(&labels) && LabelSelector::default().matches(&[]));
        for (key, operator, values, expected) in [
            ("app", LabelOperator::In, &["db", "web"][..], true),
            ("app", LabelOperator::In, &["db"], false),
            ("none", LabelOperator::In, &["db"], false),
            ("app", LabelOperator::NotIn, &["web"], false),
            ("none", LabelOperator::NotIn, &["web"], true),
            ("tier", LabelOperator::Exists, &[], true),
            ("none", LabelOperator::Exists, &[], false),
            ("tier", LabelOperator::DoesNotExist, &[], false),
            ("none", LabelOperator::DoesNotExist, &[], true),
        ] {
            let selector = expression(key, operator, values);
            assert_eq!(
                selector.matches(&labels),
                expected,
                "{key} {operator:?} {values:?}"
            );
            let other = LabelSelector {
                match_labels: [("app".to_owned(), "db".parse().unwrap())].into(),
                ..selector
            };
            assert!(!other.matches(&labels));
        }
    }
}
