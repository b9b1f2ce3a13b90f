//! The webhook's answers, without a server: what the API server sends, and what it gets back.

mod answers;
mod beside_original;
pub(crate) mod pods;
mod unread;
mod warnings;

use admission::{Answer, Hook, Reviewer};
use config::Config;
use json_patch::Patch;
use serde_json::{Value, json};
use std::sync::Arc;

/// The AdmissionReview of a request to create an object, in one line as the API server sends it.
pub(crate) fn review(object: &Value) -> Value {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion")
        .rsplit_once('/')
        .unwrap_or(("", text("apiVersion")));
    let kind = text("kind");
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": format!("{}s", kind.to_lowercase())},
        "namespace": object["metadata"]["namespace"].as_str().unwrap_or("shop"),
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
        "object": object,
        "oldObject": null,
        "dryRun": false,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }})
}

/// The answer to a review under a configuration, and its body.
pub(crate) fn answer(hook: Hook, review: &Value, config: &Config) -> (Answer, Value) {
    answer_of(&Reviewer::new(Arc::new(config.clone())), hook, review)
}

/// The same by a reviewer that may have answered other reviews.
pub(crate) fn answer_of(reviewer: &Reviewer, hook: Hook, review: &Value) -> (Answer, Value) {
    let answer = reviewer
        .answer(hook, review.to_string().as_bytes())
        .unwrap();
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["response"]["uid"], review["request"]["uid"]);
    assert_eq!(
        body["response"]["auditAnnotations"]["decision"],
        answer.decision
    );
    (answer, body["response"].clone())
}

/// The object with the response's patch, as the API server applies it.
pub(crate) fn patched(object: &Value, response: &Value) -> Value {
    let mut object = object.clone();
    if let Some(patch) = response["patch"].as_str() {
        assert_eq!(response["patchType"], "JSONPatch");
        let patch = serde_json::from_value::<k8s_openapi::ByteString>(patch.into())
            .unwrap()
            .0;
        let patch: Patch = serde_json::from_slice(&patch).unwrap();
        json_patch::patch(&mut object, &patch).unwrap();
    }
    object
}
