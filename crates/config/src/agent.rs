//! Settings of the agent's container.

use crate::checked::{
    ApiUrl, ConfigLocation, DataKey, GoRegexp, HostText, Image, ObjectName, TokenLifetime,
};
use crate::role::Role;
use crate::violation::Violation;
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMapVolumeSource, EmptyDirVolumeSource, EnvFromSource, EnvVar,
    HostPathVolumeSource, Lifecycle, PersistentVolumeClaimVolumeSource, Probe,
    ResourceRequirements, SeccompProfile, SecretVolumeSource, SecurityContext, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use mackerel::names::{CONFIG_FOLDER, Volume};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// The agent's container. Its variables are in the order of the rows, which is that of the agent's documentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct AgentSettings {
    /// The image. Pin a version or a digest. Releases: `mackerel/mackerel-container-agent` on Docker Hub, also at `public.ecr.aws/mackerel` and `ghcr.io/mackerelio`. Default: `mackerel/mackerel-container-agent:v0.13.2-plugins`.
    pub image: Image,
    /// When the image is pulled. Default: `IfNotPresent`.
    pub image_pull_policy: ImagePullPolicy,
    /// Names of Secrets to pull the image with, added to pods that name pull secrets themselves. Default: none.
    pub image_pull_secrets: Vec<ObjectName>,
    /// The URL of the Mackerel API, without a path (agent: MACKEREL_APIBASE). Default: none, the agent takes `https://api.mackerelio.com/`.
    pub(crate) api_base: Option<ApiUrl>,
    /// Roles of the host, each as `service:role` (agent: MACKEREL_ROLES). `$(namespace)` or `$(label:KEY)` may be the service or the role: the pod's namespace, or the value of its label. A role is left out where the pod lacks the label or Mackerel does not take the value. A list, replaced as a whole. Default: none.
    pub roles: Vec<Role>,
    /// The host's display name (agent: MACKEREL_DISPLAY_NAME). It may contain `$(MACKEREL_KUBERNETES_POD_NAME)`, `$(namespace)` and `$(label:KEY)`. Default: none.
    pub display_name: Option<HostText>,
    /// The host's memo (agent: MACKEREL_MEMO). Takes variables as `displayName` does. Default: none.
    pub memo: Option<HostText>,
    /// The agent's own configuration file, from a ConfigMap or from a path or URL.
    pub config: AgentConfig,
    /// The host's status when the agent starts (agent: MACKEREL_HOST_STATUS_ON_START). Default: none, the default status of the Mackerel organization.
    pub(crate) host_status_on_start: Option<HostStatus>,
    /// The place where the agent keeps the host's id (agent: MACKEREL_HOST_ID_STORE). Default: `file`; without `agent.tmp`, `memory`.
    pub(crate) host_id_store: HostIdStore,
    /// Containers to ignore, as a Go regular expression on their names, combined with the agent's own container (agent: MACKEREL_IGNORE_CONTAINER). Go's `\Q`, octal numbers and a literal `{` or `[` without a backslash are not supported. Default: none, only the agent's own container.
    pub(crate) ignore_container: Option<GoRegexp>,
    /// The agent's log level (agent: MACKEREL_LOG_LEVEL). Default: none, the agent takes `INFO`.
    pub(crate) log_level: Option<LogLevel>,
    /// Further environment variables, as a Kubernetes EnvVar list, merged by name: an entry replaces the injector's variable of the same name. They are the last variables, behind MACKEREL_APIKEY, so that they may refer to it. It is an error to set a variable here and by its own setting (an annotation for that setting wins), or one that a setting refers to, such as MACKEREL_KUBERNETES_NAMESPACE. `MACKEREL_CONTAINER_PLATFORM`, the variables of `kubelet.readOnlyPort` and `kubelet.insecureTLS`, and MACKEREL_APIKEY with a plain `value` are not allowed. In a native agent, references to Secrets and ConfigMaps are `optional` by default. `fileKeyRef` is not supported, since the API server refuses a pod without its volume. Default: none.
    pub env: Vec<EnvVar>,
    /// Further sources of environment variables, as a Kubernetes EnvFromSource list. Variables of `agent.env` and of the injector win. In a native agent, the Secrets and ConfigMaps are `optional` by default. A list, replaced as a whole. Default: none.
    pub env_from: Vec<EnvFromSource>,
    /// The entry point, in place of the image's. What it starts must be the agent. A list, replaced as a whole. Default: none, the image's.
    pub command: Vec<String>,
    /// The arguments of the entry point. A list, replaced as a whole. Default: none, the image's.
    pub args: Vec<String>,
    /// A Kubernetes Probe: on failure the kubelet restarts the agent. Pod Security "restricted" refuses `host`, here and below. Default: none.
    pub liveness_probe: Option<Probe>,
    /// A Kubernetes Probe: while it fails, the pod is not ready. Default: none.
    pub readiness_probe: Option<Probe>,
    /// A Kubernetes Probe: the others wait for it. Of a native agent, the pod's containers wait for it too. Default: none.
    pub startup_probe: Option<Probe>,
    /// A Kubernetes Lifecycle. The pod's containers wait for `postStart` of a native agent. `sleep` is for at most 30 seconds; the API server refuses a pod whose `terminationGracePeriodSeconds` is less. Default: none.
    pub lifecycle: Option<Lifecycle>,
    /// Volumes for the agent, as a Kubernetes Volume list: `configMap`, `secret`, `emptyDir`, `persistentVolumeClaim`, `hostPath` (refused by Pod Security "restricted"), `csi`, `downwardAPI`, `image` (Kubernetes 1.35) or `projected`. The fields of the last four are passed through. Each is added to the pod as `mackerel-agent-NAME`; `agent.volumeMounts` mounts it by `NAME`, which has at most 48 characters. Secrets and ConfigMaps are `optional` by default, also in `projected`, so that the pod starts without them. It does not start without a claim, an image, or what the driver of `csi` needs. A list, replaced as a whole. Default: none.
    pub volumes: Vec<AgentVolume>,
    /// Mounts of `agent.volumes`, else of the pod's own volumes, as a Kubernetes VolumeMount list, so that plugins read sockets and files of the pod. Where a pod lacks the volume, the mount is left out, with the warning `volume-missing`. A path at which the agent has another mount is an error: `/var/tmp` unless `agent.tmp` is `null`, the folder of the ServiceAccount token, and `/etc/mackerel-agent` with a ConfigMap; `/var/run` counts as `/run`. A list, replaced as a whole. Default: none.
    pub volume_mounts: Vec<VolumeMount>,
    /// Requests and limits, as Kubernetes ResourceRequirements, merged with the default field by field; `null` removes a field. If the pod has `resources` of its own, only amounts of annotations are written. Default: `{requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 128Mi}}`.
    pub resources: ResourceRequirements,
    /// A Kubernetes SecurityContext, merged with the default field by field; `null` removes a field (OpenShift: `runAsUser: null`). Default: one that satisfies Pod Security "restricted".
    pub security_context: SecurityContext,
    /// The token by which the agent reads from the kubelet.
    pub token: AgentToken,
    /// The agent's scratch space, an emptyDir at /var/tmp. `null`: none. Then the agent adds no local storage to the pod; it keeps the host's id in memory, and plugins that keep state do not work.
    pub tmp: Option<Tmp>,
}

/// A Kubernetes Volume with the sources that agents use. The type of Kubernetes has some thirty, and made the program a tenth larger;
/// so some are passed through as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentVolume {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    config_map: Option<ConfigMapVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    csi: Option<Map<String, Json>>,
    #[serde(rename = "downwardAPI", skip_serializing_if = "Option::is_none")]
    downward_api: Option<Map<String, Json>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    empty_dir: Option<EmptyDirVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_path: Option<HostPathVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<Map<String, Json>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    projected: Option<Map<String, Json>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<SecretVolumeSource>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            image: Image::from("mackerel/mackerel-container-agent:v0.13.2-plugins"),
            image_pull_policy: ImagePullPolicy::IfNotPresent,
            image_pull_secrets: Vec::new(),
            api_base: None,
            roles: Vec::new(),
            display_name: None,
            memo: None,
            config: AgentConfig::default(),
            host_status_on_start: None,
            host_id_store: HostIdStore::File,
            ignore_container: None,
            log_level: None,
            env: Vec::new(),
            env_from: Vec::new(),
            command: Vec::new(),
            args: Vec::new(),
            liveness_probe: None,
            readiness_probe: None,
            startup_probe: None,
            lifecycle: None,
            volumes: Vec::new(),
            volume_mounts: Vec::new(),
            resources: default_resources(),
            security_context: default_security_context(),
            token: AgentToken::default(),
            tmp: Some(Tmp::default()),
        }
    }
}

/// The token of the pod's ServiceAccount, as the agent gets it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct AgentToken {
    /// The pods in which the agent gets its own token volume. Default: `auto`.
    pub mount: TokenMount,
    /// The lifetime of the token in that volume, in seconds, at least 600. Another value than the default implies `mount: always`. The API server may shorten it. Default: `3607`, which API servers extend to a year by default.
    pub expiration_seconds: TokenLifetime,
}

impl AgentToken {
    /// Returns true if every agent that needs a token gets its own volume.
    pub fn is_always_mounted(&self) -> bool {
        self.mount == TokenMount::Always || self.expiration_seconds != TokenLifetime::default()
    }
}

/// The mount of the agent's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TokenMount {
    /// Pods with `automountServiceAccountToken: false`; in others, Kubernetes mounts a token into every container
    #[default]
    Auto,
    /// All pods, unless the agent uses the read-only port
    Always,
}

/// The agent's scratch space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct Tmp {
    /// The medium. `null` or `""`: the node's disk, which keeps the cluster autoscaler from removing the node. Default: `Memory`.
    pub medium: Option<TmpMedium>,
    /// The size limit, in bytes or with a suffix such as `Mi`. In memory, the agent cannot write more, and what it has written counts towards its memory limit; on disk, the kubelet evicts the whole pod. `null`: no limit. Default: `64Mi`.
    pub(crate) size_limit: Option<Quantity>,
}

impl Default for Tmp {
    fn default() -> Self {
        Self {
            medium: Some(TmpMedium::Memory),
            size_limit: Some(Quantity("64Mi".to_owned())),
        }
    }
}

/// The medium of the scratch space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum TmpMedium {
    /// The node's memory (tmpfs)
    Memory,
}

/// The source of the agent's own configuration file: a ConfigMap, or a path or URL; not both.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct AgentConfig {
    /// The ConfigMap and the key in it, mounted as a directory at /etc/mackerel-agent. With `pollingMinutes`, the agent sees updates. Its values win over these settings.
    pub config_map_key_ref: ConfigMapKeyRef,
    /// An `https://`, `http://` or `s3://` URL, or the path of a file in the image (agent: MACKEREL_AGENT_CONFIG). Default: none.
    pub location: Option<ConfigLocation>,
    /// The interval in which the agent reads its configuration again, in minutes, if it has one (agent: MACKEREL_AGENT_CONFIG_POLLING_DURATION_MINUTES). Default: none, it reads it once.
    pub(crate) polling_minutes: Option<NonZeroU32>,
}

/// The ConfigMap with the agent's configuration, and the key in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigMapKeyRef {
    /// The ConfigMap's name. Default: none.
    pub name: Option<ObjectName>,
    /// The key in the ConfigMap. Default: `mackerel-agent.conf`.
    pub key: DataKey,
}

impl Default for ConfigMapKeyRef {
    fn default() -> Self {
        Self {
            name: None,
            key: DataKey::from("mackerel-agent.conf"),
        }
    }
}

impl AgentSettings {
    /// Returns true for the name of an item of `agent.volumes`.
    pub fn has_volume(&self, name: &str) -> bool {
        self.volumes.iter().any(|volume| volume.name == name)
    }

    /// Rejects an item of `agent.volumeMounts` at a path where the agent has another mount: pods with both would not start.
    pub fn taken_path(&self, index: usize) -> Option<Violation> {
        let path = &self.volume_mounts.get(index)?.mount_path;
        if !self.is_taken(path) {
            return None;
        }
        let what = format!(
            "`agent.volumeMounts[{index}]` is at `{path}`, where the agent has another mount"
        );
        Some(Violation::new(what).with_help("use another `mountPath`"))
    }

    /// Returns true for a path at which the injector, or Kubernetes, mounts a volume of its own.
    fn is_taken(&self, path: &str) -> bool {
        let path = real_path(path);
        Volume::KNOWN.iter().any(|volume| {
            let is_mounted = match volume {
                Volume::Tmp => self.tmp.is_some(),
                Volume::Config => self.config.config_map_key_ref.name.is_some(),
                Volume::Token | Volume::Configured(_) => true,
            };
            is_mounted && volume.folder().map(real_path).as_ref() == Some(&path)
        })
    }
}

/// Returns a path as a container runtime reads it in the agent's image, where `/var/run` is a link to `/run`:
/// `/var//run/./web/` -> `run/web`
pub fn real_path(path: &str) -> String {
    let names: Vec<&str> = path
        .split('/')
        .filter(|name| !matches!(*name, "" | "."))
        .collect();
    match &names[..] {
        ["var", below @ ..] if below.first() == Some(&"run") => below.join("/"),
        names => names.join("/"),
    }
}

impl AgentConfig {
    /// Returns the value of MACKEREL_AGENT_CONFIG. A location wins over the ConfigMap's path; only annotations can set both.
    pub fn variable(&self) -> Option<String> {
        let reference = &self.config_map_key_ref;
        match (&self.location, &reference.name) {
            (Some(location), _) => Some(location.to_string()),
            (None, Some(_)) => Some(format!("{CONFIG_FOLDER}/{}", reference.key)),
            (None, None) => None,
        }
    }
}

/// The pull policy of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum ImagePullPolicy {
    /// At each start
    Always,
    /// When the node does not have it
    #[default]
    IfNotPresent,
    /// Never; the node must have it
    Never,
}

/// The status of a Mackerel host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HostStatus {
    /// Monitored, and alerts are notified
    Working,
    /// Monitored, and alerts are not notified
    Standby,
    /// Not monitored
    Maintenance,
    /// Not monitored
    Poweroff,
}

/// The agent's log levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum LogLevel {
    /// Everything
    Trace,
    /// Details
    Debug,
    /// The usual
    Info,
    /// Possible mistakes
    Warning,
    /// Mistakes
    Error,
    /// Mistakes that stop the agent
    Critical,
}

/// The storage of the host's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HostIdStore {
    /// In a file below /var/tmp: the id outlives restarts of the container, not the pod
    #[default]
    File,
    /// In memory: after a restart the agent finds its host by the pod's UID, and makes a second one where the kubelet does not answer
    Memory,
}

pub(super) fn quantities(pairs: &[(&str, &str)]) -> Option<BTreeMap<String, Quantity>> {
    Some(
        pairs
            .iter()
            .map(|&(name, value)| (name.to_owned(), Quantity(value.to_owned())))
            .collect(),
    )
}

pub(super) fn default_resources() -> ResourceRequirements {
    ResourceRequirements {
        requests: quantities(&[("cpu", "10m"), ("memory", "64Mi")]),
        limits: quantities(&[("memory", "128Mi")]),
        ..ResourceRequirements::default()
    }
}

pub(super) fn default_security_context() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities {
            add: None,
            drop: Some(vec!["ALL".to_owned()]),
        }),
        read_only_root_filesystem: Some(true),
        run_as_non_root: Some(true),
        run_as_user: Some(65532),
        seccomp_profile: Some(SeccompProfile {
            localhost_profile: None,
            type_: "RuntimeDefault".to_owned(),
        }),
        ..SecurityContext::default()
    }
}
