//! The webhook's handler: an AdmissionReview in, the answer out, without a network.

use crate::clock::{Of, timed};
use admission::{Hook, Reviewer};
use config::Config;
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

/// A review of a pod with that many containers of that many variables each, in one line as the API server sends it.
pub(crate) fn review(containers: usize, variables: usize) -> String {
    let fields: Value = (0..variables)
        .map(|n| (format!("k:{{\"name\":\"VARIABLE_{n}\"}}"), json!({})))
        .collect();
    let container = |number: usize| {
        let env: Vec<Value> = (0..variables)
            .map(|n| json!({"name": format!("VARIABLE_{n}"), "value": format!("value {n}")}))
            .collect();
        json!({
            "name": format!("web-{number}"), "image": "registry.example/shop/web:1.27", "env": env, "resources": {},
            "ports": [{"containerPort": 8080, "protocol": "TCP"}],
            "volumeMounts": [{"name": "kube-api-access-x7k2p", "readOnly": true,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "imagePullPolicy": "IfNotPresent",
        })
    };
    let containers: Vec<Value> = (0..containers).map(container).collect();
    json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "shop", "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
        "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {
            "generateName": "web-6f7c-", "creationTimestamp": null, "labels": {"app": "web", "pod-template-hash": "6f7c"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6f7c", "controller": true,
                "uid": "1a2b", "blockOwnerDeletion": true}],
            "managedFields": [{"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
                "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:containers": fields}}}],
        }, "spec": {
            "volumes": [{"name": "kube-api-access-x7k2p", "projected": {"sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}]}}],
            "containers": containers, "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst", "serviceAccountName": "default", "securityContext": {},
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 300}],
        }, "status": {}},
        "oldObject": null, "dryRun": false, "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }})
    .to_string()
}

/// Prints the least time of one review, for each size.
pub(crate) fn print() {
    let reviewer = Reviewer::new(Arc::new(Config::default()));
    println!("| AdmissionReview in one line | size | in process |");
    println!("| --- | ---: | ---: |");
    for (name, containers, variables) in [
        ("1 container", 1, 4),
        ("12 containers of 150 variables", 12, 150),
        ("1 container of 2,000 variables", 1, 2000),
        ("96 containers of 150 variables", 96, 150),
    ] {
        let review = review(containers, variables);
        let answer = || {
            reviewer
                .answer(Hook::Mutate, black_box(review.as_bytes()))
                .expect("a review")
        };
        assert_eq!(answer().decision, "injected");
        let repeats = (2_000_000 / review.len()).max(5) as u32;
        let least = (0..15).map(|_| {
            timed(Of::Us, || {
                (0..repeats).for_each(|_| drop(black_box(answer())))
            })
            .1
            .cpu / repeats
        });
        let least: Duration = least.min().unwrap_or_default();
        println!(
            "| {name} | {:.1} KB | {:.3} ms |",
            review.len() as f64 / 1e3,
            least.as_secs_f64() * 1e3
        );
    }
}
