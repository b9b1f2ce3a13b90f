//! The agent's environment variables: the setting that gives each, whether `agent.env` may have it too, and the key of
//! the agent's own configuration file that wins over it.

use crate::mackerel::names::{API_KEY, PLATFORM};

/// An environment variable of the agent.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    /// The setting that gives it: a dotted path below `spec`.
    pub(crate) setting: &'static str,
    pub(crate) env_override: EnvOverride,
    /// The key of the agent's configuration file that makes the agent ignore it. A key `apikey` must not be there at all.
    pub(crate) in_file: Option<&'static str>,
}

/// Permission for `agent.env` to have a variable that a setting gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnvOverride {
    /// Allowed if the setting is unset: one of the two would have no effect.
    IfUnset,
    /// Forbidden: the setting also controls other things, such as permissions and warnings.
    Forbidden,
    /// Allowed: the setting also controls other fields.
    Allowed,
}

/// Every variable that a setting gives.
pub(crate) const VARIABLES: [Variable; 17] = [
    given(API_KEY, "apiKey", EnvOverride::IfUnset, None),
    given(PLATFORM, "platform", EnvOverride::Forbidden, None),
    given(
        "MACKEREL_KUBERNETES_KUBELET_READ_ONLY_PORT",
        "kubelet.readOnlyPort",
        EnvOverride::Forbidden,
        None,
    ),
    given(
        "MACKEREL_KUBERNETES_KUBELET_PORT",
        "kubelet.port",
        EnvOverride::IfUnset,
        None,
    ),
    given(
        "MACKEREL_KUBERNETES_KUBELET_INSECURE_TLS",
        "kubelet.insecureTLS",
        EnvOverride::Forbidden,
        None,
    ),
    given(
        "MACKEREL_KUBERNETES_NODE_NAME",
        "platform",
        EnvOverride::Allowed,
        None,
    ),
    given(
        "MACKEREL_KUBERNETES_KUBELET_HOST",
        "platform",
        EnvOverride::Allowed,
        None,
    ),
    given(
        "MACKEREL_APIBASE",
        "agent.apiBase",
        EnvOverride::IfUnset,
        Some("apibase"),
    ),
    given(
        "MACKEREL_ROLES",
        "agent.roles",
        EnvOverride::IfUnset,
        Some("roles"),
    ),
    given(
        "MACKEREL_DISPLAY_NAME",
        "agent.displayName",
        EnvOverride::IfUnset,
        Some("displayName"),
    ),
    given(
        "MACKEREL_MEMO",
        "agent.memo",
        EnvOverride::IfUnset,
        Some("memo"),
    ),
    given(
        "MACKEREL_AGENT_CONFIG",
        "agent.config",
        EnvOverride::IfUnset,
        None,
    ),
    given(
        "MACKEREL_AGENT_CONFIG_POLLING_DURATION_MINUTES",
        "agent.config.pollingMinutes",
        EnvOverride::IfUnset,
        None,
    ),
    given(
        "MACKEREL_HOST_STATUS_ON_START",
        "agent.hostStatusOnStart",
        EnvOverride::IfUnset,
        Some("hostStatusOnStart"),
    ),
    given(
        "MACKEREL_HOST_ID_STORE",
        "agent.hostIdStore",
        EnvOverride::IfUnset,
        Some("hostIdStore"),
    ),
    given(
        "MACKEREL_IGNORE_CONTAINER",
        "agent.ignoreContainer",
        EnvOverride::IfUnset,
        Some("ignoreContainer"),
    ),
    given(
        "MACKEREL_LOG_LEVEL",
        "agent.logLevel",
        EnvOverride::IfUnset,
        None,
    ),
];

const fn given(
    name: &'static str,
    setting: &'static str,
    env_override: EnvOverride,
    in_file: Option<&'static str>,
) -> Variable {
    Variable {
        name,
        setting,
        env_override,
        in_file,
    }
}
