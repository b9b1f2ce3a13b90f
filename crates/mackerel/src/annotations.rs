//! The closed list of the injector's annotations. The rows of the settings name those that override them.

/// Prefix of every key.
pub const PREFIX: &str = "agent-injector.contrib.mackerel.io/";

/// Beginning of the names that set a variable.
pub const VARIABLE: &str = "env.";

macro_rules! annotations {
    ($($(#[doc = $doc:literal])* $Variant:ident = $name:literal;)*) => {
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
        }
    };
}

annotations! {
    /// `"true"` to inject, `"false"` to opt out; in quotes, case-insensitive
    Inject = "inject";
    /// Set by the injector on injected templates, so that the mackerelio-labs webhook skips the pod; a value that is already there is kept
    Status = "status";
    /// Set by the injector: the record of what was added, for updates and `uninject`
    Record = "record";
    /// Roles of the host, `service:role` separated by commas; empty: none
    Roles = "roles";
    /// Name of the Secret that holds the API key; alias: `mackerel_apikey.secret_name`
    ApiKeySecretName = "api-key-secret-name";
    /// The key in that Secret
    ApiKeySecretKey = "api-key-secret-key";
    /// Name of the ConfigMap with the agent's configuration; alias: `mackerel_agent_config.configmap_name`
    AgentConfigMapName = "agent-config-configmap-name";
    /// The key in that ConfigMap; not together with `agent-config-location`
    AgentConfigMapKey = "agent-config-configmap-key";
    /// The agent's MACKEREL_AGENT_CONFIG: a path or URL; wins over the ConfigMap's path; alias: `env.mackerel_agent_config`
    AgentConfigLocation = "agent-config-location";
    /// The agent's image
    Image = "image";
    /// The kind of the agent's container: `auto`, `native` or `container`
    Sidecar = "sidecar";
    /// The platform that the pod runs on: `auto`, `kubernetes` or `eks-fargate`
    Platform = "platform";
    /// The kubelet's TLS port
    KubeletPort = "kubelet-port";
    /// The kubelet's port without TLS; not together with the other two
    KubeletReadOnlyPort = "kubelet-read-only-port";
    /// Do not verify the kubelet's certificate
    KubeletInsecureTls = "kubelet-insecure-tls";
    /// The host's display name
    DisplayName = "display-name";
    /// The host's memo
    Memo = "memo";
    /// The host's status when the agent starts: `working`, `standby`, `maintenance` or `poweroff`
    HostStatusOnStart = "host-status-on-start";
    /// Containers to leave out, as a Go regular expression
    IgnoreContainer = "ignore-container";
    /// The agent's log level: `TRACE`, `DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`
    LogLevel = "log-level";
    /// The agent's CPU request; `null`: none
    CpuRequest = "cpu-request";
    /// The agent's CPU limit; `null`: none
    CpuLimit = "cpu-limit";
    /// The agent's memory request; `null`: none
    MemoryRequest = "memory-request";
    /// The agent's memory limit; `null`: none
    MemoryLimit = "memory-limit";
    /// Another environment variable of the agent, by its name, over `agent.env`; in plain text, so no secrets
    Env = "env.NAME";
    /// Hosts to wait for before the pod's containers start, `host:port` separated by commas; empty: none
    WaitFor = "wait-for";
    /// Warnings about this template to ignore, ids separated by commas, in addition to `warnings.ignore`
    IgnoreWarnings = "ignore-warnings";
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
            .or_else(|| name.starts_with(VARIABLE).then_some(Annotation::Env))
    }

    /// Returns the name of the variable that a full key sets: `…/env.HTTPS_PROXY` -> `HTTPS_PROXY`
    pub fn variable(key: &str) -> Option<&str> {
        let is_variable = Annotation::of(key) == Some(Annotation::Env);
        let name = key.strip_prefix(PREFIX)?.strip_prefix(VARIABLE)?;
        is_variable.then_some(name)
    }

    /// Returns its name in `annotations.allow`.
    pub fn allowed_name(self) -> &'static str {
        match self {
            Annotation::Env => "env.*",
            other => other.name(),
        }
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
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name()).chain(self.alias())
    }
}
