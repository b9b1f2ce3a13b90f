//! Settings below `spec`.

use crate::config::agent::AgentSettings;
use crate::config::allowed_annotations::AnnotationSettings;
use crate::config::select::Select;
use crate::config::setting::settings;
use crate::config::string_enum::string_enum;
use crate::config::template_path::PodTemplatePath;
use crate::config::version::KubernetesVersion;
use crate::config::warning::WarningSettings;
use crate::mackerel::names::{API_KEY, PLATFORM};

settings! {
    /// The settings.
    pub(crate) group Spec at "" {
        /// The pod templates that get the agent. With `disabled`, nothing is added, and existing agents stay. Default: `always`.
        "injection" injection: InjectionMode = InjectionMode::Always;
        /// The effect of a selected template that cannot be injected. Errors of reading, writing and verification always fail the run. Default: `fail`.
        "onError" on_error: OnError = OnError::Fail;
        /// The namespace of resources without `metadata.namespace`, as in Helm charts and kustomize bases. Default: none, it is unknown.
        "namespace" namespace: Option<String> = None, check Namespace;
        /// The selection of pod templates.
        "select" select: Select = Select::default();
        /// The treatment of hooks of Helm and Argo CD, and of chart tests. Their pods are short-lived and seldom need an agent. Default: `skip`.
        "hooks" hooks: Hooks = Hooks::Skip;
        /// The kind of the agent's container. Default: `auto`.
        "sidecar" sidecar: SidecarKind = SidecarKind::Auto, annotation Sidecar;
        /// The oldest cluster that the manifests must work on, as `major.minor`. Native sidecars need 1.29; below it, `auto` skips what needs one. Quote it: `1.30` without quotes is the number 1.3. Default: `"1.29"`.
        "kubernetesVersion" kubernetes_version: KubernetesVersion = KubernetesVersion { minor: 29 };
        /// The platform that the pods run on. Default: `kubernetes`.
        "platform" platform: Platform = Platform::Kubernetes,
            variable PLATFORM as Connection override Forbidden,
            annotation Platform;
        /// The agent's connection to the kubelet of its node; nothing to set on `eks-fargate`.
        "kubelet" kubelet: Kubelet = Kubelet::default();
        /// The Secret that holds the Mackerel API key. It must exist in the pod's namespace before the pod starts.
        "apiKey" api_key: ApiKey = ApiKey::default(),
            variable API_KEY as SecretKey;
        /// The agent's container.
        "agent" agent: AgentSettings = AgentSettings::default();
        /// The treatment of a pod that the agent would change from Guaranteed to Burstable. Default: `warn`.
        "qos" qos: Qos = Qos::Warn;
        /// The treatment of warnings.
        "warnings" warnings: WarningSettings = WarningSettings::default();
        /// The annotations that templates may use.
        "annotations" annotations: AnnotationSettings = AnnotationSettings::default();
        /// The init container of the annotation `wait-for`, with or without the agent. `select` and `injection: disabled` apply to it too.
        "waitFor" wait_for: WaitForSettings = WaitForSettings::default();
        /// Further kinds with pod templates, in addition to the known ones, each as `{group, kind, path, completes}`. With `completes: true` the pods run to completion although the template has no `restartPolicy`. A list, replaced as a whole. Default: none.
        "podTemplates" pod_templates: Vec<PodTemplatePath> = Vec::new();
    }
}

string_enum! {
    /// The templates that get the agent.
    pub(crate) enum InjectionMode {
        /// All selected templates that do not opt out by annotation
        Always = "always",
        /// Only templates that opt in by annotation
        Annotated = "annotated",
        /// None; existing agents stay
        Disabled = "disabled",
    }
}

string_enum! {
    /// The effect of a template that cannot be injected.
    pub(crate) enum OnError {
        /// The run fails and nothing is written
        Fail = "fail",
        /// The template stays unchanged, with a warning; `--check` exits with 1 if its agent is missing
        Skip = "skip",
    }
}

string_enum! {
    /// The treatment of hooks and chart tests.
    pub(crate) enum Hooks {
        /// Leave them alone
        Skip = "skip",
        /// Treat them like any other resource
        Inject = "inject",
    }
}

string_enum! {
    /// The kind of the agent's container.
    pub(crate) enum SidecarKind {
        /// Native where the pod completes, by its restartPolicy (Never or OnFailure) or its kind (such as JobSet); else a container
        Auto = "auto",
        /// An init container with `restartPolicy: Always`: starts before the app and ends after it
        Native = "native",
        /// A regular container
        Container = "container",
    }
}

string_enum! {
    /// The platform of the pods.
    pub(crate) enum Platform {
        /// On nodes whose kubelet the agent can reach
        Kubernetes = "kubernetes",
        /// On EKS Fargate, where the agent reads through the API server
        EksFargate = "eks-fargate",
    }
}

string_enum! {
    /// The treatment of a Guaranteed pod that would change its QoS class.
    pub(crate) enum Qos {
        /// Inject and warn
        Warn = "warn",
        /// Inject without a warning
        Allow = "allow",
        /// Raise the agent's requests to its limits, so that the pod stays Guaranteed; a missing CPU limit becomes 100m
        Keep = "keep",
        /// Refuse the template
        Refuse = "refuse",
    }
}

string_enum! {
    /// The position of the wait-for init container.
    pub(crate) enum WaitForPosition {
        /// Before the other init containers
        First = "first",
        /// After them
        Last = "last",
    }
}

settings! {
    /// The connection to the kubelet: over TLS or through the read-only port; unused on `eks-fargate`.
    pub(crate) group Kubelet at "kubelet." {
        /// The kubelet's TLS port, 1 to 65535 (agent: MACKEREL_KUBERNETES_KUBELET_PORT). Default: `10250`.
        "port" port: u16 = 10250, check Port,
            variable "MACKEREL_KUBERNETES_KUBELET_PORT" as Connection,
            annotation KubeletPort;
        /// Do not verify the kubelet's certificate (agent: MACKEREL_KUBERNETES_KUBELET_INSECURE_TLS). Default: `false`.
        "insecureTLS" insecure_tls: bool = false,
            variable "MACKEREL_KUBERNETES_KUBELET_INSECURE_TLS" as Connection override Forbidden,
            annotation KubeletInsecureTls;
        /// The kubelet's port without TLS and authentication, mostly 10255, for clusters such as GKE Autopilot (agent: MACKEREL_KUBERNETES_KUBELET_READ_ONLY_PORT). Not together with `port` or `insecureTLS`. Default: none, the TLS port is used.
        "readOnlyPort" read_only_port: Option<u16> = None, check Port,
            variable "MACKEREL_KUBERNETES_KUBELET_READ_ONLY_PORT" as Connection override Forbidden,
            annotation KubeletReadOnlyPort;
    }
}

settings! {
    /// The Secret that holds the Mackerel API key.
    pub(crate) group ApiKey at "apiKey." {
        /// The Secret and the key in it.
        "secretKeyRef" secret_key_ref: SecretKeyRef = SecretKeyRef::default();
    }
}

settings! {
    /// The Secret that holds the Mackerel API key, and the key in it.
    pub(crate) group SecretKeyRef at "apiKey.secretKeyRef." {
        /// The Secret's name. Default: `mackerel-container-agent`.
        "name" name: String = "mackerel-container-agent".to_owned(), check ObjectName, annotation ApiKeySecretName;
        /// The key in the Secret. Default: `MACKEREL_APIKEY`.
        "key" key: String = "MACKEREL_APIKEY".to_owned(), check DataKey, annotation ApiKeySecretKey;
    }
}

settings! {
    /// The init container that waits for hosts to accept TCP. Its security context, pull policy and pull secrets are the agent's.
    pub(crate) group WaitForSettings at "waitFor." {
        /// The image whose entry point is this program. Default: none; a template with the annotation is then an error.
        "image" image: Option<String> = None, check Image;
        /// The time to wait for all hosts, in seconds. Then the container fails, and Kubernetes restarts it according to the restartPolicy. Default: `15`.
        "timeoutSeconds" timeout_seconds: u32 = 15, check Positive;
        /// Its position among the init containers; a native agent is directly before it. Default: `last`.
        "position" position: WaitForPosition = WaitForPosition::Last;
        /// Further annotations for it, by full name, such as `com.baeldung/wait-for-it`. They are read on the pod template, else on the workload. The webhook reads the pod only. A list, replaced as a whole. Default: none.
        "annotations" annotations: Vec<String> = Vec::new(), check MetadataName;
    }
}

/// The connection by which the agent reads from the kubelet of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KubeletConnection {
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
    pub(crate) fn needs_token(self) -> bool {
        !matches!(self, KubeletConnection::ReadOnly { .. })
    }
}

impl Spec {
    /// Returns true for the name of a setting, or of a group of settings, right below `spec`.
    pub(crate) fn has_setting(name: &str) -> bool {
        Self::ROWS.iter().any(|row| row.name == name)
    }

    /// Returns the connection that the settings choose: on nodes the read-only port if one is set.
    pub(crate) fn kubelet_connection(&self) -> KubeletConnection {
        match (self.platform, self.kubelet.read_only_port) {
            (Platform::EksFargate, _) => KubeletConnection::ApiServer,
            (Platform::Kubernetes, Some(port)) => KubeletConnection::ReadOnly { port },
            (Platform::Kubernetes, None) => KubeletConnection::Tls {
                port: self.kubelet.port,
                insecure: self.kubelet.insecure_tls,
            },
        }
    }
}
