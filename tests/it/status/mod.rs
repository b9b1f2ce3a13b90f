//! `status`: from what kubectl prints of living pods to one row for each workload and state.

mod api_server;
mod equal_to_webhook;
mod errors;
mod owners;
mod pods;
mod report;

use crate::admission::{answer_of, patched, review};
use crate::program::{Folder, Ran};
use admission::{Hook, Reviewer};
use config::{Config, Sources, load};
use serde_json::{Value, json};
use std::sync::Arc;

const AGENT: &str = "mackerel-container-agent";
const RECORD: &str = "agent-injector.contrib.mackerel.io/record";

/// A pod as the API server stores it, running on a node.
pub(crate) struct Living(Value);

impl Living {
    /// A pod without an owner.
    fn pod(namespace: &str, name: &str) -> Self {
        let mount = json!({"name": "kube-api-access-x7k2p", "readOnly": true,
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"});
        Self(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": name, "namespace": namespace, "uid": format!("uid-of-{name}"),
            "creationTimestamp": "2026-11-20T08:15:00Z", "labels": {"app": "web"},
        }, "spec": {
            "containers": [{"name": "web", "image": "web:1", "resources": {}, "imagePullPolicy": "IfNotPresent",
                "terminationMessagePath": "/dev/termination-log", "volumeMounts": [mount]}],
            "nodeName": "node-1", "restartPolicy": "Always", "serviceAccountName": "default",
            "volumes": [{"name": "kube-api-access-x7k2p", "projected": {"defaultMode": 420, "sources": []}}],
        }, "status": {"phase": "Running", "containerStatuses": [
            {"name": "web", "ready": true, "restartCount": 0, "state": {"running": {}}},
        ]}}))
    }

    /// The first pod of a Deployment, whose ReplicaSet is `NAME-5d4f9c7b8`.
    fn of_deployment(namespace: &str, deployment: &str) -> Self {
        let replica_set = format!("{deployment}-5d4f9c7b8");
        Self::pod(namespace, &format!("{replica_set}-2xkzq"))
            .owned_by("apps/v1", "ReplicaSet", &replica_set)
            .with("/metadata/labels/pod-template-hash", json!("5d4f9c7b8"))
    }

    fn owned_by(self, api_version: &str, kind: &str, name: &str) -> Self {
        let owner = json!([{"apiVersion": api_version, "kind": kind, "name": name, "uid": "0", "controller": true,
            "blockOwnerDeletion": true}]);
        self.with("/metadata/ownerReferences", owner)
    }

    /// Sets a member by its JSON Pointer.
    fn with(mut self, pointer: &str, value: Value) -> Self {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/");
        self.0.pointer_mut(parent).unwrap()[key] = value;
        self
    }

    fn without_record(mut self) -> Self {
        let annotations = self.0["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.remove(RECORD).unwrap();
        self
    }

    /// The pod as the webhook has changed it before it was stored, its agent ready.
    fn injected(self, settings: &[&str]) -> Self {
        let set: Vec<String> = settings.iter().map(|&set| set.to_owned()).collect();
        let config: Config = load(&Sources::default().with_set(&set)).unwrap();
        let reviewer = Reviewer::new(Arc::new(config));
        let (answer, response) = answer_of(&reviewer, Hook::Mutate, &review(&self.0));
        assert_eq!(answer.decision, "injected");
        Self(patched(&self.0, &response))
            .agent_status(json!({"ready": true, "state": {"running": {}}}))
    }

    /// Sets the status of the agent's container, where the kubelet reports it.
    fn agent_status(mut self, status: Value) -> Self {
        let containers = self.0["spec"]["containers"].as_array().unwrap();
        let is_native = containers.iter().all(|one| one["name"] != AGENT);
        let list = match is_native {
            true => "initContainerStatuses",
            false => "containerStatuses",
        };
        let mut status = status;
        status["name"] = json!(AGENT);
        let statuses = &mut self.0["status"][list];
        let mut kept = statuses.as_array().cloned().unwrap_or_default();
        kept.retain(|one| one["name"] != AGENT);
        kept.push(status);
        *statuses = json!(kept);
        self
    }
}

/// An object that owns pods or other owners.
fn owner(api_version: &str, kind: &str, name: &str) -> Living {
    Living(
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "shop"},
        "spec": {"template": {"metadata": {}}}}),
    )
}

fn namespace(name: &str, labels: &Value) -> Living {
    Living(
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}),
    )
}

/// A list as `kubectl get … -o json` prints it.
fn list(objects: impl IntoIterator<Item = Living>) -> String {
    let items: Vec<Value> = objects.into_iter().map(|object| object.0).collect();
    let list = json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}});
    serde_json::to_string_pretty(&list).unwrap() + "\n"
}

/// The report where the configuration gives no pod an agent.
const NONE: &str = "no pod of the input has or is to have the agent\n";

/// Runs `status` over a list on stdin.
fn status(arguments: &[&str], objects: impl IntoIterator<Item = Living>) -> Ran {
    status_of(arguments, &list(objects))
}

fn status_of(arguments: &[&str], text: &str) -> Ran {
    let arguments = [&["status"], arguments, &["-"]].concat();
    Folder::with(&[]).run_with(&arguments, text)
}

/// The rows of the table, their columns joined by bars.
fn rows(arguments: &[&str], objects: impl IntoIterator<Item = Living>) -> Vec<String> {
    let ran = status(arguments, objects);
    assert_eq!(ran.stderr, "");
    if ran.stdout == NONE {
        return Vec::new();
    }
    // A running agent may be of others, and of no workload that the configuration is about.
    let rows = ran.stdout.split_once("\n\n");
    let (rows, totals) = rows.unwrap_or(("", &ran.stdout));
    let start = if rows.is_empty() {
        "pods with "
    } else {
        "workloads: "
    };
    assert!(totals.starts_with(start), "{totals}");
    let rows = rows.lines().map(|row| {
        let columns = row.split("  ").map(str::trim);
        let columns: Vec<&str> = columns.filter(|column| !column.is_empty()).collect();
        columns.join(" | ")
    });
    rows.collect()
}
