//! The ClusterRole and the ClusterRoleBinding of a grant.
//!
//! Every namespace has its own pair, so that its permissions come and go with its deployment, and two deployments never
//! write the same object. A RoleBinding is not enough: nodes belong to no namespace.

use crate::agent::field_order::arrange;
use crate::config::Config;
use crate::manifest::related::{Location, RelatedKind};
use crate::rbac::Grant;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use memchr::memmem::Finder;
use serde_json::Value;

/// The prefix of every name.
const NAME_PREFIX: &str = "mackerel-agent-injector:";

/// The API group of both.
const GROUP: &str = "rbac.authorization.k8s.io";

/// The order of the fields, as people write them.
const ORDER: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "apiVersion",
            "kind",
            "metadata",
            "rules",
            "roleRef",
            "subjects",
        ],
    ),
    ("rules", &["apiGroups", "resources", "verbs"]),
    ("roleRef", &["apiGroup", "kind", "name"]),
    ("subjects", &["kind", "name", "namespace"]),
];

/// Returns true if a text has a ClusterRole or binding with such a name, which kustomize's `namePrefix` may have changed.
pub fn has_objects(text: &str, related: &[Location]) -> bool {
    let permissions = related
        .iter()
        .filter(|location| location.kind == RelatedKind::Permission);
    // A list that is read as a whole is one piece, with all its permissions.
    let mut pieces: Vec<_> = permissions.map(|location| &location.piece).collect();
    pieces.dedup();
    let finder = Finder::new(NAME_PREFIX);
    let mut pieces = pieces.into_iter();
    pieces.any(|piece| finder.find(&text.as_bytes()[piece.clone()]).is_some())
}

/// Returns the two objects of a grant, in the order in which they are applied.
pub(super) fn objects(grant: Grant<'_>, config: &Config) -> [Value; 2] {
    let name = name(grant, config);
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        ..ObjectMeta::default()
    };
    let resources = grant.access.resources(config.spec.kubernetes_version);
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(resources.iter().map(ToString::to_string).collect()),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    let role = ClusterRole {
        metadata: metadata.clone(),
        rules: Some(vec![rule]),
        ..ClusterRole::default()
    };
    let subject = |service_account: &String| Subject {
        kind: "ServiceAccount".to_owned(),
        name: service_account.clone(),
        namespace: Some(grant.namespace.to_owned()),
        ..Subject::default()
    };
    let binding = ClusterRoleBinding {
        metadata,
        role_ref: RoleRef {
            api_group: Some(GROUP.to_owned()),
            kind: "ClusterRole".to_owned(),
            name,
        },
        subjects: Some(grant.service_accounts.iter().map(subject).collect()),
    };
    // Serialising typed Kubernetes values cannot fail: their maps have string keys.
    [serde_json::to_value(role), serde_json::to_value(binding)]
        .map(|object| arrange(object.unwrap_or_default(), ORDER))
}

/// Returns the name of both objects. No part of it can hold a colon, so that names are unique.
fn name(grant: Grant<'_>, config: &Config) -> String {
    let access = grant.access.suffix();
    format!("{NAME_PREFIX}{}:{}:{access}", config.name, grant.namespace)
}
