//! The webhook behind a real API server.

mod away;
mod balancer;
mod hostile;
mod law5;
mod rollout;

use crate::kubernetes::cluster::{ApiVerdict, Cluster, Run, cluster};
use crate::program::Folder;
use crate::webhook::server::{PemTexts, Server, certificate, mount_certificate, until};
use balancer::Balancer;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

/// The Service of the certificates.
const SERVICE: (&str, &str) = ("mackerel", "injector");

/// A webhook of the API server, its balancer, and the certificate of the servers behind it.
pub(crate) struct Webhook {
    cluster: &'static Cluster,
    pub(crate) balancer: Balancer,
    files: PemTexts,
    /// The namespace whose pods the webhook reviews.
    pub(crate) namespace: String,
}

impl Webhook {
    /// Registers a webhook for the pods of a namespace of this name. None, with a line on standard error, if a program is missing.
    pub(crate) fn register(name: &str) -> Option<Self> {
        let cluster = cluster()?;
        let files = certificate(&Folder::with(&[]), &[]);
        let webhook = Self {
            cluster,
            balancer: Balancer::start(),
            files,
            namespace: name.to_owned(),
        };
        cluster.namespace(SERVICE.0, &json!({}));
        cluster.namespace(name, &json!({"webhook": name}));
        webhook
            .cluster
            .apply(&json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": SERVICE.1, "namespace": SERVICE.0},
            "spec": {"type": "ExternalName", "externalName": "localhost"}}));
        webhook.configure(&webhook.files.authority);
        Some(webhook)
    }

    /// Writes the webhook configuration with this bundle of authorities.
    fn configure(&self, authorities: &str) {
        self.cluster.apply(&self.configuration(authorities));
    }

    fn configuration(&self, authorities: &str) -> Value {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": self.namespace},
        "webhooks": [{
            "name": "mutate.agent-injector.contrib.mackerel.io",
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore", "timeoutSeconds": 5,
            "namespaceSelector": {"matchLabels": {"webhook": self.namespace}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
            "clientConfig": {
                "service": {"namespace": SERVICE.0, "name": SERVICE.1, "path": "/mutate", "port": self.balancer.port},
                "caBundle": ByteString(authorities.as_bytes().to_vec()),
            },
        }]})
    }

    /// Says if the API server calls the webhook again once others have changed the pod: `Never` or `IfNeeded`.
    pub(crate) fn reinvoke(&self, policy: &str) {
        let mut configuration = self.configuration(&self.files.authority);
        configuration["webhooks"][0]["reinvocationPolicy"] = policy.into();
        self.cluster.apply(&configuration);
    }

    /// A server with the certificate; it is no endpoint yet.
    pub(crate) fn server(&self, arguments: &[&str], files: &[(&str, &str)]) -> Server {
        let folder = Folder::with(files);
        mount_certificate(&folder, &self.files);
        Server::start_in(folder, self.files.authority.clone(), arguments)
    }

    /// Creates a pod as a dry run.
    pub(crate) fn create(&self, pod: &Value) -> ApiVerdict {
        self.cluster.create(Run::Dry, &self.namespace, pod)
    }

    /// True if a plain pod gets the agent.
    fn injects(&self) -> bool {
        matches!(self.create(&plain_pod()), ApiVerdict::Accepted { object, .. } if has_agent(&object))
    }

    /// Waits until the API server knows of the webhook, which it learns of soon after.
    pub(crate) fn wait(&self) {
        until("the API server calls the webhook", || self.injects());
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.cluster
            .delete(&json!({"apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration", "metadata": {"name": self.namespace}}));
    }
}

fn plain_pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]}})
}

fn has_agent(pod: &Value) -> bool {
    let containers = pod["spec"]["containers"].as_array().unwrap();
    containers
        .iter()
        .any(|container| container["name"] == "mackerel-container-agent")
}
