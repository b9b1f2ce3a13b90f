//! The agent's variables: the setting that gives each, what it means where `agent.env` has one too, and the key of the
//! agent's own configuration file that wins over it.

use crate::mackerel::names::API_KEY;

/// One variable of the agent.
#[derive(Debug)]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: &'static str,
    /// What gives it: a dotted path below `spec`.
    pub(crate) setting: &'static str,
    /// Whether `agent.env` may have it.
    pub(crate) in_env: InEnv,
    /// The key of the agent's configuration file that makes the agent pass it by. That of the API key must not be there at all.
    pub(crate) in_file: Option<&'static str>,
}

/// Whether `agent.env` may have a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InEnv {
    /// Where its setting is not set: one of the two would have no effect.
    Instead,
    /// Never: more than the variable hangs on its setting, such as permissions and what is warned of.
    Never,
    /// Always: its setting decides about more.
    Freely,
}

/// Every variable that a setting gives.
pub(crate) const VARIABLES: [Variable; 17] = [
    given(API_KEY, "apiKey", InEnv::Instead, None),
    given("MACKEREL_CONTAINER_PLATFORM", "platform", InEnv::Never, None),
    given("MACKEREL_KUBERNETES_KUBELET_READ_ONLY_PORT", "kubelet.readOnlyPort", InEnv::Never, None),
    given("MACKEREL_KUBERNETES_KUBELET_PORT", "kubelet.port", InEnv::Instead, None),
    given("MACKEREL_KUBERNETES_KUBELET_INSECURE_TLS", "kubelet.insecureTLS", InEnv::Never, None),
    given("MACKEREL_KUBERNETES_NODE_NAME", "platform", InEnv::Freely, None),
    given("MACKEREL_KUBERNETES_KUBELET_HOST", "platform", InEnv::Freely, None),
    given("MACKEREL_APIBASE", "agent.apiBase", InEnv::Instead, Some("apibase")),
    given("MACKEREL_ROLES", "agent.roles", InEnv::Instead, Some("roles")),
    given("MACKEREL_DISPLAY_NAME", "agent.displayName", InEnv::Instead, Some("displayName")),
    given("MACKEREL_MEMO", "agent.memo", InEnv::Instead, Some("memo")),
    given("MACKEREL_AGENT_CONFIG", "agent.config", InEnv::Instead, None),
    given("MACKEREL_AGENT_CONFIG_POLLING_DURATION_MINUTES", "agent.config.pollingMinutes", InEnv::Instead, None),
    given("MACKEREL_HOST_STATUS_ON_START", "agent.hostStatusOnStart", InEnv::Instead, Some("hostStatusOnStart")),
    given("MACKEREL_HOST_ID_STORE", "agent.hostIdStore", InEnv::Instead, Some("hostIdStore")),
    given("MACKEREL_IGNORE_CONTAINER", "agent.ignoreContainer", InEnv::Instead, Some("ignoreContainer")),
    given("MACKEREL_LOG_LEVEL", "agent.logLevel", InEnv::Instead, None),
];

const fn given(name: &'static str, setting: &'static str, in_env: InEnv, in_file: Option<&'static str>) -> Variable {
    Variable { name, setting, in_env, in_file }
}
