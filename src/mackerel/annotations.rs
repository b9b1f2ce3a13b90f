//! The closed list of the injector's annotations, with the settings that they give.

/// Prefix of every key.
pub const PREFIX: &str = "agent-injector.contrib.mackerel.io/";

macro_rules! annotations {
    ($($(#[doc = $doc:literal])* $Variant:ident = $name:literal, $path:expr;)*) => {
        /// The annotations of the injector.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Annotation { $($(#[doc = $doc])* $Variant,)* }

        impl Annotation {
            /// Every annotation, in the order of the documentation.
            pub const ALL: &'static [Annotation] = &[$(Annotation::$Variant,)*];

            /// Returns the name behind the prefix.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Annotation::$Variant => $name,)* }
            }

            /// Returns the full key.
            #[must_use]
            pub fn key(self) -> &'static str {
                match self { $(Annotation::$Variant => concat!("agent-injector.contrib.mackerel.io/", $name),)* }
            }

            /// Returns its purpose in one sentence.
            #[must_use]
            pub fn sentence(self) -> &'static str {
                match self { $(Annotation::$Variant => concat!($($doc),*).trim_ascii(),)* }
            }

            /// Returns the setting that it overrides, as a dotted path below `spec`.
            #[must_use]
            pub fn setting(self) -> Option<&'static str> {
                match self { $(Annotation::$Variant => $path,)* }
            }
        }
    };
}

annotations! {
    /// `"true"` to inject, `"false"` to opt out; in quotes, case-insensitive
    Inject = "inject", None;
    /// Set by the injector on injected templates, so that the mackerelio-labs webhook skips the pod; a value that is already there is kept
    Status = "status", None;
    /// Set by the injector: the record of what was added, for updates and `uninject`
    Record = "record", None;
    /// Roles of the host, `service:role` separated by commas; empty: none
    Roles = "roles", Some("agent.roles");
    /// Name of the Secret that holds the API key; alias: `mackerel_apikey.secret_name`
    ApiKeySecretName = "api-key-secret-name", Some("apiKey.secretKeyRef.name");
    /// The key in that Secret
    ApiKeySecretKey = "api-key-secret-key", Some("apiKey.secretKeyRef.key");
    /// Name of the ConfigMap with the agent's configuration; alias: `mackerel_agent_config.configmap_name`
    AgentConfigMapName = "agent-config-configmap-name", Some("agent.config.configMapKeyRef.name");
    /// The key in that ConfigMap; not together with `agent-config-location`
    AgentConfigMapKey = "agent-config-configmap-key", Some("agent.config.configMapKeyRef.key");
    /// The agent's MACKEREL_AGENT_CONFIG: a path or URL; wins over the ConfigMap's path; alias: `env.mackerel_agent_config`
    AgentConfigLocation = "agent-config-location", Some("agent.config.location");
    /// The agent's image
    Image = "image", Some("agent.image");
    /// The kind of the agent's container: `auto`, `native` or `container`
    Sidecar = "sidecar", Some("sidecar");
    /// The platform that the pod runs on: `kubernetes` or `eks-fargate`
    Platform = "platform", Some("platform");
    /// The kubelet's TLS port
    KubeletPort = "kubelet-port", Some("kubelet.port");
    /// The kubelet's port without TLS; not together with the other two
    KubeletReadOnlyPort = "kubelet-read-only-port", Some("kubelet.readOnlyPort");
    /// Do not verify the kubelet's certificate
    KubeletInsecureTls = "kubelet-insecure-tls", Some("kubelet.insecureTLS");
    /// The host's display name
    DisplayName = "display-name", Some("agent.displayName");
    /// The host's memo
    Memo = "memo", Some("agent.memo");
    /// The host's status when the agent starts: `working`, `standby`, `maintenance` or `poweroff`
    HostStatusOnStart = "host-status-on-start", Some("agent.hostStatusOnStart");
    /// Containers to leave out, as a Go regular expression
    IgnoreContainer = "ignore-container", Some("agent.ignoreContainer");
    /// The agent's log level: `TRACE`, `DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`
    LogLevel = "log-level", Some("agent.logLevel");
    /// The agent's CPU request; `null`: none
    CpuRequest = "cpu-request", Some("agent.resources.requests.cpu");
    /// The agent's CPU limit; `null`: none
    CpuLimit = "cpu-limit", Some("agent.resources.limits.cpu");
    /// The agent's memory request; `null`: none
    MemoryRequest = "memory-request", Some("agent.resources.requests.memory");
    /// The agent's memory limit; `null`: none
    MemoryLimit = "memory-limit", Some("agent.resources.limits.memory");
    /// Hosts to wait for before the pod's containers start, `host:port` separated by commas; empty: none
    WaitFor = "wait-for", None;
    /// Warnings about this template to ignore, ids separated by commas, in addition to `warnings.ignore`
    IgnoreWarnings = "ignore-warnings", None;
}

impl Annotation {
    /// Returns the annotation of this full key.
    #[must_use]
    pub fn of(key: &str) -> Option<Annotation> {
        let name = key.strip_prefix(PREFIX)?;
        Annotation::ALL
            .iter()
            .copied()
            .find(|annotation| annotation.names().any(|of| of == name))
    }

    /// Returns the original injector's name for it, if that differs.
    fn alias(self) -> Option<&'static str> {
        match self {
            Annotation::ApiKeySecretName => Some("mackerel_apikey.secret_name"),
            Annotation::AgentConfigMapName => Some("mackerel_agent_config.configmap_name"),
            Annotation::AgentConfigLocation => Some("env.mackerel_agent_config"),
            _ => None,
        }
    }

    /// Returns its name and its alias, without the prefix.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name()).chain(self.alias())
    }
}
