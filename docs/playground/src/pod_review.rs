//! The review of a Pod that a controller makes of a pod template.

use config::Config;
use injector::Outcome;
use kube_core::TypeMeta;
use manifest::{DEFAULT_NAMESPACE, resources};
use serde_json::{Map, Value, json};
use yaml_json_patch::{documents, read, to_json};

/// Returns the AdmissionReview that an API server sends to create the Pod.
pub(crate) fn review(manifest: &str, outcome: &Outcome, config: &Config) -> Option<Value> {
    let namespace = outcome
        .identity
        .namespace_or(config.spec.namespace.as_deref())
        .map_or(DEFAULT_NAMESPACE, String::as_str);
    Some(
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "00000000-0000-0000-0000-000000000000",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": namespace,
            "operation": "CREATE",
            "object": pod(manifest, outcome)?,
        }}),
    )
}

fn pod(manifest: &str, outcome: &Outcome) -> Option<Value> {
    let span = documents(manifest)
        .map(|document| document.span)
        .find(|span| span.contains(&outcome.offset))?;
    let start = span.start;
    let tree = read(&manifest[span]).ok()?;
    let resource = resources(&tree, tree.root()?, &TypeMeta::default())
        .into_iter()
        .find(|resource| start + tree.place(resource.node).start == outcome.offset)?;
    let resource = to_json(&tree, resource.node).ok()?;
    let template = resource.pointer(&outcome.template)?;
    let mut metadata = match &template["metadata"] {
        Value::Object(metadata) => metadata.clone(),
        _ => Map::new(),
    };
    if !outcome.template.is_empty() {
        metadata.remove("name");
        let prefix = format!("{}-", outcome.identity.name);
        metadata.insert("generateName".to_owned(), prefix.into());
    }
    Some(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}))
}
