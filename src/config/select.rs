//! Which pod templates are looked at.

use super::collection::Item;
use super::reading::{Complaint, Reading};
use super::rule::Rule;
use super::scalar::{Form, Scalar};
use super::setting::{Setting, settings};
use super::value::Value;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt;

settings! {
    /// Which pod templates are looked at. Every condition must hold.
    pub(crate) struct Select {
        /// Kinds of resources, as `Kind` (of any group) or `group/Kind`. Default: none given, all kinds.
        "kinds" kinds: Vec<KindPattern> = Vec::new();
        /// Namespaces to look into. Default: none given, all namespaces.
        "namespaces" namespaces: Vec<String> = Vec::new(), Namespace;
        /// Namespaces to leave alone. A list, replaced as a whole. Default: `[kube-system, kube-public, kube-node-lease]`.
        "excludeNamespaces" exclude_namespaces: Vec<String> =
            ["kube-system", "kube-public", "kube-node-lease"].map(str::to_owned).to_vec(), Namespace;
        /// Labels that the pod template must have. Default: none given, all templates.
        "labels" labels: BTreeMap<String, String> = BTreeMap::new(), LabelValue;
        /// Resources to leave alone: each item leaves out what matches all of its fields. Default: none.
        "exclude" exclude: Vec<Exclusion> = Vec::new();
    }
}

settings! {
    /// Resources to leave alone: those that match every field given.
    pub(crate) struct Exclusion {
        /// The API group, such as `apps`; `""` is the core group. Default: any.
        "group" group: Option<String> = None, Group;
        /// The kind. Default: any.
        "kind" kind: Option<String> = None, Kind;
        /// The namespace. Default: any.
        "namespace" namespace: Option<String> = None, Namespace;
        /// The resource's name. Default: any.
        "name" name: Option<String> = None, ObjectName;
        /// Labels of the pod template. Default: any.
        "labels" labels: BTreeMap<String, String> = BTreeMap::new(), LabelValue;
    }
}

/// A kind of resource: `Kind` in any group, or `group/Kind`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KindPattern {
    /// None: any group.
    pub(crate) group: Option<String>,
    /// Compared exactly.
    pub(crate) kind: String,
}

impl KindPattern {
    /// True when a resource of this group and kind is meant.
    #[must_use]
    pub(crate) fn matches(&self, group: &str, kind: &str) -> bool {
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

impl Scalar for KindPattern {
    const FORM: Form = Form::Text;

    fn parse(text: &str) -> Result<Self, Complaint> {
        let (group, kind) = match text.rsplit_once('/') {
            Some((group, kind)) => (Some(group), kind),
            None => (None, text),
        };
        if Rule::Kind.test(kind).is_err() || group.is_some_and(|group| Rule::Group.test(group).is_err()) {
            return Err(Complaint::new(format!("must be a kind, found `{text}`"))
                .with_help("write `Deployment`, or with its group but no version: `apps/Deployment`"));
        }
        Ok(KindPattern { group: group.map(str::to_owned), kind: kind.to_owned() })
    }

    fn json(&self) -> Json {
        self.to_string().into()
    }

    fn schema() -> Json {
        json!({"type": "string", "pattern": "^([a-z0-9.-]*/)?[A-Z][A-Za-z0-9]*$"})
    }
}

impl Item for Exclusion {
    fn read_item(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let mut item = Exclusion::default();
        let before = reading.problems.len();
        item.read(value, reading);
        if reading.problems.len() == before && item == Exclusion::default() {
            let complaint = Complaint::new("names nothing, which would leave out every resource");
            reading
                .problem(value.range(), complaint.with_help("give `kind`, `name`, `namespace`, `group` or `labels`"));
        }
        (reading.problems.len() == before).then_some(item)
    }

    fn item_json(&self) -> Json {
        let mut json = self.json();
        if let Some(object) = json.as_object_mut() {
            object.retain(|_, value| !value.is_null() && value.as_object().is_none_or(|labels| !labels.is_empty()));
        }
        json
    }

    fn item_schema() -> Json {
        let mut schema = Exclusion::default().schema();
        if let Some(object) = schema.as_object_mut() {
            object.insert("minProperties".to_owned(), 1.into());
        }
        schema
    }
}
