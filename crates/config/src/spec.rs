//! Settings below `spec`.

use crate::agent::{AgentSettings, quantities};
use crate::allowed_annotations::AnnotationSettings;
use crate::checked::{DataKey, Image, MetadataName, Namespace, ObjectName};
use crate::select::Select;
use crate::template_path::PodTemplatePath;
use crate::version::KubernetesVersion;
use crate::warning::WarningSettings;
use k8s_openapi::api::core::v1::ResourceRequirements;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::LazyLock;

/// The settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// The pod templates that get the agent. With `disabled`, nothing is added, and existing agents stay. Default: `always`.
    pub injection: InjectionMode,
    /// The effect of a selected template that cannot be injected. Errors of reading, writing and verification always fail the run. Default: `fail`.
    pub on_error: OnError,
    /// The namespace of resources without `metadata.namespace`, as in Helm charts and kustomize bases. Default: none, it is unknown.
    pub namespace: Option<Namespace>,
    /// The selection of pod templates.
    pub select: Select,
    /// The treatment of hooks of Helm and Argo CD, and of chart tests. Their pods are short-lived and seldom need an agent. Default: `skip`.
    pub hooks: Hooks,
    /// The kind of the agent's container. Default: `auto`.
    pub sidecar: SidecarKind,
    /// The oldest cluster that the manifests must work on, as `major.minor`. Native sidecars need 1.29; below it, `auto` skips what needs one. Below 1.33, agents need the permission `nodes/proxy`. A field that came later is an error. Quote it: `1.30` without quotes is the number 1.3. Default: `"1.33"`.
    pub kubernetes_version: KubernetesVersion,
    /// The platform that the pods run on. Default: `auto`.
    pub platform: Platform,
    /// The agent's connection to the kubelet of its node; nothing to set on `eks-fargate`.
    pub kubelet: Kubelet,
    /// The Secret that holds the Mackerel API key. It must exist in the pod's namespace before the pod starts.
    pub api_key: ApiKey,
    /// The agent's container.
    pub agent: AgentSettings,
    /// The treatment of a pod that the agent would change from Guaranteed to Burstable. Default: `warn`.
    pub qos: Qos,
    /// The treatment of warnings.
    pub warnings: WarningSettings,
    /// The annotations that templates may use.
    pub annotations: AnnotationSettings,
    /// The init container of the annotation `wait-for`, with or without the agent. `select` and `injection: disabled` apply to it too.
    pub wait_for: WaitForSettings,
    /// Further kinds with pod templates, in addition to the known ones, each as `{group, kind, path, completes}`. With `completes: true` the pods run to completion although the template has no `restartPolicy`. A list, replaced as a whole. Default: none.
    pub pod_templates: Vec<PodTemplatePath>,
}

/// The templates that get the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum InjectionMode {
    /// All selected templates that do not opt out by annotation
    #[default]
    Always,
    /// Only templates that opt in by annotation
    Annotated,
    /// None; existing agents stay
    Disabled,
}

/// The effect of a template that cannot be injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// The run fails and nothing is written
    #[default]
    Fail,
    /// The template stays unchanged, with a warning; `--check` exits with 1 if its agent is missing
    Skip,
}

/// The treatment of hooks and chart tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Hooks {
    /// Leave them alone
    #[default]
    Skip,
    /// Treat them like any other resource
    Inject,
}

/// The kind of the agent's container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SidecarKind {
    /// Native where the pod completes, by its restartPolicy (Never or OnFailure) or its kind (such as JobSet); else a container
    #[default]
    Auto,
    /// An init container with `restartPolicy: Always`: starts before the app and ends after it
    Native,
    /// A regular container
    Container,
}

/// The platform of the pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Platform {
    /// EKS Fargate where the pod has the label `eks.amazonaws.com/fargate-profile` or the scheduler `fargate-scheduler`, or requires nodes with `eks.amazonaws.com/compute-type: fargate`; else nodes
    #[default]
    Auto,
    /// On nodes whose kubelet the agent can reach
    Kubernetes,
    /// On EKS Fargate, where the agent reads through the API server
    EksFargate,
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The treatment of a Guaranteed pod that would change its QoS class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Qos {
    /// Inject and warn
    #[default]
    Warn,
    /// Inject without a warning
    Allow,
    /// Raise the agent's requests to its limits, so that the pod stays Guaranteed; a missing CPU limit becomes 100m
    Keep,
    /// Refuse the template
    Refuse,
}

/// The position of the wait-for init container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WaitForPosition {
    /// Before the other init containers
    First,
    /// After them
    #[default]
    Last,
}

/// The connection to the kubelet: over TLS or through the read-only port; unused on `eks-fargate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct Kubelet {
    /// The kubelet's TLS port, 1 to 65535 (agent: MACKEREL_KUBERNETES_KUBELET_PORT). Default: `10250`.
    pub port: NonZeroU16,
    /// Do not verify the kubelet's certificate (agent: MACKEREL_KUBERNETES_KUBELET_INSECURE_TLS). Default: `false`.
    #[serde(rename = "insecureTLS")]
    pub(crate) insecure_tls: bool,
    /// The kubelet's port without TLS and authentication, mostly 10255, for clusters such as GKE Autopilot (agent: MACKEREL_KUBERNETES_KUBELET_READ_ONLY_PORT). Not together with `port` or `insecureTLS`. Default: none, the TLS port is used.
    pub(crate) read_only_port: Option<NonZeroU16>,
}

const KUBELET_PORT: NonZeroU16 = NonZeroU16::new(10250).unwrap();

impl Default for Kubelet {
    fn default() -> Self {
        Self {
            port: KUBELET_PORT,
            insecure_tls: false,
            read_only_port: None,
        }
    }
}

/// The Secret that holds the Mackerel API key.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct ApiKey {
    /// The Secret and the key in it.
    pub secret_key_ref: SecretKeyRef,
}

/// The Secret that holds the Mackerel API key, and the key in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// The Secret's name. Default: `mackerel-container-agent`.
    pub name: ObjectName,
    /// The key in the Secret. Default: `MACKEREL_APIKEY`.
    pub key: DataKey,
}

impl Default for SecretKeyRef {
    fn default() -> Self {
        Self {
            name: ObjectName::from("mackerel-container-agent"),
            key: DataKey::from("MACKEREL_APIKEY"),
        }
    }
}

/// The init container that waits for hosts to accept TCP. Its security context, pull policy and pull secrets are the agent's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct WaitForSettings {
    /// The image whose entry point is this program. Default: the published image of this version. Without an image, a template with the annotation is an error.
    pub image: Option<Image>,
    /// The time to wait for all hosts, in seconds. Then the container fails, and Kubernetes restarts it according to the restartPolicy. Default: `15`.
    pub timeout_seconds: NonZeroU32,
    /// Requests and limits, as Kubernetes ResourceRequirements. They are equal by default, so that a Guaranteed pod stays Guaranteed. Default: `{requests: {cpu: 20m, memory: 32Mi}, limits: {cpu: 20m, memory: 32Mi}}`.
    pub resources: ResourceRequirements,
    /// Its position among the init containers; a native agent is directly before it. Default: `last`.
    pub position: WaitForPosition,
    /// Further annotations for it, by full name, such as `com.baeldung/wait-for-it`. They are read on the pod template, else on the workload. The webhook reads the pod only. A list, replaced as a whole. Default: none.
    pub annotations: Vec<MetadataName>,
}

const WAIT_FOR_SECONDS: NonZeroU32 = NonZeroU32::new(15).unwrap();

impl Default for WaitForSettings {
    fn default() -> Self {
        Self {
            image: PUBLISHED_IMAGE.as_deref().map(Image::from),
            timeout_seconds: WAIT_FOR_SECONDS,
            resources: default_resources(),
            position: WaitForPosition::Last,
            annotations: Vec::new(),
        }
    }
}

/// The image of this version. A file names it, not the environment, so that the same commit gives the same program.
static PUBLISHED_IMAGE: LazyLock<Option<String>> =
    LazyLock::new(|| published_image(include_str!("../../../.ci/published")));

fn published_image(published: &str) -> Option<String> {
    published
        .lines()
        .filter_map(|line| line.strip_prefix("image="))
        .find(|name| !name.is_empty())
        .map(|name| format!("{name}:{}", env!("CARGO_PKG_VERSION")))
}

pub(super) fn default_resources() -> ResourceRequirements {
    let amounts = quantities(&[("cpu", "20m"), ("memory", "32Mi")]);
    ResourceRequirements {
        requests: amounts.clone(),
        limits: amounts,
        ..ResourceRequirements::default()
    }
}

/// The connection by which the agent reads from the kubelet of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KubeletConnection {
    /// Through the API server, with the pod's token: on EKS Fargate no kubelet can be reached.
    ApiServer,
    /// Over TLS, with the pod's token.
    Tls {
        port: u16,
        /// Skip verification of the kubelet's certificate.
        insecure: bool,
    },
    /// Without TLS and authentication.
    ReadOnly { port: u16 },
}

impl KubeletConnection {
    /// Returns true if the agent needs the token of the pod's ServiceAccount.
    pub fn needs_token(self) -> bool {
        !matches!(self, KubeletConnection::ReadOnly { .. })
    }
}

impl Spec {
    /// Returns the connection that the settings choose: on nodes the read-only port if one is set.
    pub fn kubelet_connection(&self) -> KubeletConnection {
        match (self.platform, self.kubelet.read_only_port) {
            (Platform::EksFargate, _) => KubeletConnection::ApiServer,
            (_, Some(port)) => KubeletConnection::ReadOnly { port: port.get() },
            (_, None) => KubeletConnection::Tls {
                port: self.kubelet.port.get(),
                insecure: self.kubelet.insecure_tls,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_image_has_the_version_as_its_tag() {
        let image = format!("registry.example/a/b:{}", env!("CARGO_PKG_VERSION"));
        for (published, expected) in [
            ("# image=none\nrepository=a/b\nimage=\n", None),
            ("repository=a/b\nimage=registry.example/a/b\n", Some(image)),
        ] {
            assert_eq!(published_image(published), expected, "{published}");
        }
    }
}
