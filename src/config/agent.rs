//! Settings of the agent's container.

use crate::config::kubernetes_type::Merged;
use crate::config::role::Role;
use crate::config::setting::settings;
use crate::config::string_enum::string_enum;
use crate::config::violation::Violation;
use crate::mackerel::names::Volume;
use k8s_openapi::api::core::v1::{
    Capabilities, EnvVar, ResourceRequirements, SeccompProfile, SecurityContext, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use std::borrow::Cow;
use std::collections::BTreeMap;

settings! {
    /// The agent's container. Its variables are in the order of the rows, which is that of the agent's documentation.
    pub(crate) group AgentSettings at "agent." {
        /// The image. Pin a version or a digest. Releases: `mackerel/mackerel-container-agent` on Docker Hub, also at `public.ecr.aws/mackerel` and `ghcr.io/mackerelio`. Default: `mackerel/mackerel-container-agent:v0.13.2-plugins`.
        "image" image: String = "mackerel/mackerel-container-agent:v0.13.2-plugins".to_owned(), check Image, annotation Image;
        /// When the image is pulled. Default: `IfNotPresent`.
        "imagePullPolicy" image_pull_policy: ImagePullPolicy = ImagePullPolicy::IfNotPresent;
        /// Names of Secrets to pull the image with, added to pods that name pull secrets themselves. Default: none.
        "imagePullSecrets" image_pull_secrets: Vec<String> = Vec::new(), check ObjectName;
        /// The URL of the Mackerel API, without a path (agent: MACKEREL_APIBASE). Default: none, the agent takes `https://api.mackerelio.com/`.
        "apiBase" api_base: Option<String> = None, check ApiUrl,
            variable "MACKEREL_APIBASE";
        /// Roles of the host, each as `service:role` (agent: MACKEREL_ROLES). A list, replaced as a whole. Default: none.
        "roles" roles: Vec<Role> = Vec::new(),
            variable "MACKEREL_ROLES" as List,
            annotation Roles;
        /// The host's display name (agent: MACKEREL_DISPLAY_NAME). Kubernetes replaces `$(MACKEREL_KUBERNETES_POD_NAME)` and `$(MACKEREL_KUBERNETES_NAMESPACE)` in it. Default: none.
        "displayName" display_name: Option<String> = None,
            variable "MACKEREL_DISPLAY_NAME",
            annotation DisplayName;
        /// The host's memo (agent: MACKEREL_MEMO). Takes variables as `displayName` does. Default: none.
        "memo" memo: Option<String> = None,
            variable "MACKEREL_MEMO",
            annotation Memo;
        /// The agent's own configuration file, from a ConfigMap or from a path or URL.
        "config" config: AgentConfig = AgentConfig::default(),
            variable "MACKEREL_AGENT_CONFIG" as ConfigFile;
        /// The host's status when the agent starts (agent: MACKEREL_HOST_STATUS_ON_START). Default: none, the default status of the Mackerel organization.
        "hostStatusOnStart" host_status_on_start: Option<HostStatus> = None,
            variable "MACKEREL_HOST_STATUS_ON_START",
            annotation HostStatusOnStart;
        /// The place where the agent keeps the host's id (agent: MACKEREL_HOST_ID_STORE). Default: `file`; without `agent.tmp`, `memory`.
        "hostIdStore" host_id_store: HostIdStore = HostIdStore::File,
            variable "MACKEREL_HOST_ID_STORE";
        /// Containers to ignore, as a Go regular expression on their names, combined with the agent's own container (agent: MACKEREL_IGNORE_CONTAINER). Go's `\Q`, octal numbers and a literal `{` or `[` without a backslash are not supported. Default: none, only the agent's own container.
        "ignoreContainer" ignore_container: Option<String> = None, check GoRegexp,
            variable "MACKEREL_IGNORE_CONTAINER" as IgnorePattern,
            annotation IgnoreContainer;
        /// The agent's log level (agent: MACKEREL_LOG_LEVEL). Default: none, the agent takes `INFO`.
        "logLevel" log_level: Option<LogLevel> = None,
            variable "MACKEREL_LOG_LEVEL",
            annotation LogLevel;
        /// Further environment variables, as a Kubernetes EnvVar list, merged by name: an entry replaces the injector's variable of the same name. They are the last variables, behind MACKEREL_APIKEY, so that they may refer to it. It is an error to set a variable here and by its own setting; an annotation for that setting wins. `MACKEREL_CONTAINER_PLATFORM`, the variables of `kubelet.readOnlyPort` and `kubelet.insecureTLS`, and MACKEREL_APIKEY with a plain `value` are not allowed. In a native agent, references to Secrets and ConfigMaps are `optional` by default. Default: none.
        "env" env: Vec<EnvVar> = Vec::new(),
            annotation Env;
        /// Mounts of the pod's own volumes, as a Kubernetes VolumeMount list, so that plugins read sockets and files of the pod. Where a pod lacks the volume, the mount is left out, with the warning `volume-missing`. A path at which the agent has another mount is an error: `/var/tmp` unless `agent.tmp` is `null`, the folder of the ServiceAccount token, and `/etc/mackerel-agent` with a ConfigMap; `/var/run` counts as `/run`. A list, replaced as a whole. Default: none.
        "volumeMounts" volume_mounts: Vec<VolumeMount> = Vec::new();
        /// Requests and limits, as Kubernetes ResourceRequirements, merged with the default field by field; `null` removes a field. If the pod has `resources` of its own, only amounts of annotations are written. Default: `{requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 128Mi}}`.
        "resources" resources: Merged<ResourceRequirements> = Merged(default_resources()),
            annotation CpuRequest of ".requests.cpu",
            annotation CpuLimit of ".limits.cpu",
            annotation MemoryRequest of ".requests.memory",
            annotation MemoryLimit of ".limits.memory";
        /// A Kubernetes SecurityContext, merged with the default field by field; `null` removes a field (OpenShift: `runAsUser: null`). Default: one that satisfies Pod Security "restricted".
        "securityContext" security_context: Merged<SecurityContext> = Merged(default_security_context());
        /// The token by which the agent reads from the kubelet.
        "token" token: AgentToken = AgentToken::default();
        /// The agent's scratch space, an emptyDir at /var/tmp. `null`: none. Then the agent adds no local storage to the pod; it keeps the host's id in memory, and plugins that keep state do not work.
        "tmp" tmp: Option<Tmp> = Some(Tmp::default());
    }
}

settings! {
    /// The token of the pod's ServiceAccount, as the agent gets it.
    pub(crate) group AgentToken at "agent.token." {
        /// The pods in which the agent gets its own token volume. Default: `auto`.
        "mount" mount: TokenMount = TokenMount::Auto;
        /// The lifetime of the token in that volume, in seconds, at least 600. Another value than the default implies `mount: always`. The API server may shorten it. Default: `3607`, which API servers extend to a year by default.
        "expirationSeconds" expiration_seconds: u32 = DEFAULT_TOKEN_LIFETIME, check TokenLifetime;
    }
}

/// The one lifetime that the API server extends, for clients which read the token once, as the agent does.
const DEFAULT_TOKEN_LIFETIME: u32 = 3607;

impl AgentToken {
    /// Returns true if every agent that needs a token gets its own volume.
    pub(crate) fn is_always_mounted(&self) -> bool {
        self.mount == TokenMount::Always || self.expiration_seconds != DEFAULT_TOKEN_LIFETIME
    }
}

string_enum! {
    /// The mount of the agent's token.
    pub(crate) enum TokenMount {
        /// Pods with `automountServiceAccountToken: false`; in others, Kubernetes mounts a token into every container
        Auto = "auto",
        /// All pods, unless the agent uses the read-only port
        Always = "always",
    }
}

settings! {
    /// The agent's scratch space.
    pub(crate) group Tmp at "agent.tmp." {
        /// The medium. `null` or `""`: the node's disk, which keeps the cluster autoscaler from removing the node. Default: `Memory`.
        "medium" medium: Option<TmpMedium> = Some(TmpMedium::Memory);
        /// The size limit, in bytes or with a suffix such as `Mi`. In memory, the agent cannot write more, and what it has written counts towards its memory limit; on disk, the kubelet evicts the whole pod. `null`: no limit. Default: `64Mi`.
        "sizeLimit" size_limit: Option<Quantity> = Some(Quantity("64Mi".to_owned()));
    }
}

string_enum! {
    /// The medium of the scratch space.
    pub(crate) enum TmpMedium {
        /// The node's memory (tmpfs)
        Memory = "Memory",
    }
}

settings! {
    /// The source of the agent's own configuration file: a ConfigMap, or a path or URL; not both.
    pub(crate) group AgentConfig at "agent.config." {
        /// The ConfigMap and the key in it, mounted as a directory at /etc/mackerel-agent. With `pollingMinutes`, the agent sees updates. Its values win over these settings.
        "configMapKeyRef" config_map_key_ref: ConfigMapKeyRef = ConfigMapKeyRef::default();
        /// An `https://`, `http://` or `s3://` URL, or the path of a file in the image (agent: MACKEREL_AGENT_CONFIG). Default: none.
        "location" location: Option<String> = None, check ConfigLocation, annotation AgentConfigLocation;
        /// The interval in which the agent reads its configuration again, in minutes, if it has one (agent: MACKEREL_AGENT_CONFIG_POLLING_DURATION_MINUTES). Default: none, it reads it once.
        "pollingMinutes" polling_minutes: Option<u32> = None, check Positive,
            variable "MACKEREL_AGENT_CONFIG_POLLING_DURATION_MINUTES";
    }
}

settings! {
    /// The ConfigMap with the agent's configuration, and the key in it.
    pub(crate) group ConfigMapKeyRef at "agent.config.configMapKeyRef." {
        /// The ConfigMap's name. Default: none.
        "name" name: Option<String> = None, check ObjectName, annotation AgentConfigMapName;
        /// The key in the ConfigMap. Default: `mackerel-agent.conf`.
        "key" key: String = "mackerel-agent.conf".to_owned(), check DataKey, annotation AgentConfigMapKey;
    }
}

impl AgentSettings {
    /// Rejects an item of `agent.volumeMounts` at a path where the agent has another mount: pods with both would not start.
    pub(crate) fn taken_path(&self, index: usize) -> Option<Violation> {
        let path = &self.volume_mounts.get(index)?.mount_path;
        if !self.is_taken(path) {
            return None;
        }
        let item = Self::volume_mounts().item(index);
        let what = format!("`{item}` is at `{path}`, where the agent has another mount");
        Some(Violation::new(what).with_help("use another `mountPath`"))
    }

    /// Returns true for a path at which the injector, or Kubernetes, mounts a volume of its own.
    fn is_taken(&self, path: &str) -> bool {
        let path = real_path(path);
        Volume::ALL.into_iter().any(|volume| {
            let is_mounted = match volume {
                Volume::Tmp => self.tmp.is_some(),
                Volume::Token => true,
                Volume::Config => self.config.config_map_key_ref.name.is_some(),
            };
            is_mounted && real_path(volume.folder()) == path
        })
    }
}

/// Returns a path as a container runtime reads it in the agent's image, where `/var/run` is a link to `/run`:
/// `/var//run/./web/` -> `run/web`
pub(crate) fn real_path(path: &str) -> String {
    let names = path.split('/').filter(|name| !matches!(*name, "" | "."));
    let names: Vec<&str> = names.collect();
    match &names[..] {
        ["var", below @ ..] if below.first() == Some(&"run") => below.join("/"),
        names => names.join("/"),
    }
}

impl AgentConfig {
    /// Returns the value of MACKEREL_AGENT_CONFIG. A location wins over the ConfigMap's path; only annotations can set both.
    pub(crate) fn variable(&self) -> Option<Cow<'_, str>> {
        let of_config_map = || {
            let reference = &self.config_map_key_ref;
            reference
                .name
                .as_ref()
                .map(|_| Cow::Owned(format!("{}/{}", Volume::Config.folder(), reference.key)))
        };
        self.location
            .as_deref()
            .map(Cow::Borrowed)
            .or_else(of_config_map)
    }
}

string_enum! {
    /// The pull policy of the image.
    pub(crate) enum ImagePullPolicy {
        /// At each start
        Always = "Always",
        /// When the node does not have it
        IfNotPresent = "IfNotPresent",
        /// Never; the node must have it
        Never = "Never",
    }
}

string_enum! {
    /// The status of a Mackerel host.
    pub(crate) enum HostStatus {
        /// Monitored, and alerts are notified
        Working = "working",
        /// Monitored, and alerts are not notified
        Standby = "standby",
        /// Not monitored
        Maintenance = "maintenance",
        /// Not monitored
        Poweroff = "poweroff",
    }
}

string_enum! {
    /// The agent's log levels.
    pub(crate) enum LogLevel {
        /// Everything
        Trace = "TRACE",
        /// Details
        Debug = "DEBUG",
        /// The usual
        Info = "INFO",
        /// Possible mistakes
        Warning = "WARNING",
        /// Mistakes
        Error = "ERROR",
        /// Mistakes that stop the agent
        Critical = "CRITICAL",
    }
}

string_enum! {
    /// The storage of the host's id.
    pub(crate) enum HostIdStore {
        /// In a file below /var/tmp: the id outlives restarts of the container, not the pod
        File = "file",
        /// In memory: after a restart the agent finds its host by the pod's UID, and makes a second one where the kubelet does not answer
        Memory = "memory",
    }
}

fn quantities(pairs: &[(&str, &str)]) -> Option<BTreeMap<String, Quantity>> {
    Some(
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Quantity((*value).to_owned())))
            .collect(),
    )
}

fn default_resources() -> ResourceRequirements {
    ResourceRequirements {
        requests: quantities(&[("cpu", "10m"), ("memory", "64Mi")]),
        limits: quantities(&[("memory", "128Mi")]),
        ..ResourceRequirements::default()
    }
}

fn default_security_context() -> SecurityContext {
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
