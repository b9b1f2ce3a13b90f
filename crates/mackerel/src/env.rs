//! The agent's environment variables, as the table of settings names them.

/// The variable that names the pod's node, for the API server.
pub const NODE_NAME: &str = "MACKEREL_KUBERNETES_NODE_NAME";

/// The variable that has the address of the kubelet.
pub const KUBELET_HOST: &str = "MACKEREL_KUBERNETES_KUBELET_HOST";

/// The variable that names the pod's namespace.
pub const NAMESPACE: &str = "MACKEREL_KUBERNETES_NAMESPACE";

/// The beginning of the names of variables that have a label of the pod, for others to refer to.
pub const POD_LABEL: &str = "MACKEREL_POD_LABEL_";

/// The variable that names the pod.
pub const POD_NAME: &str = "MACKEREL_KUBERNETES_POD_NAME";

/// The variables that texts of annotations may refer to: `$(MACKEREL_KUBERNETES_POD_NAME)`.
pub const REFERABLE: [&str; 2] = [NAMESPACE, POD_NAME];

/// The variable that has the kubelet's port without TLS; "0" for the one with TLS.
pub const READ_ONLY_PORT: &str = "MACKEREL_KUBERNETES_KUBELET_READ_ONLY_PORT";

/// The variable that has the kubelet's port with TLS.
pub const KUBELET_PORT: &str = "MACKEREL_KUBERNETES_KUBELET_PORT";

/// The variable that turns verification of the kubelet's certificate off, whatever its value.
pub const INSECURE_TLS: &str = "MACKEREL_KUBERNETES_KUBELET_INSECURE_TLS";

/// The variable that says where the agent has its configuration.
pub const AGENT_CONFIG: &str = "MACKEREL_AGENT_CONFIG";

/// The variable that names the folder for temporary files.
pub const TMPDIR: &str = "TMPDIR";

/// The variable that a setting gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    pub form: VariableForm,
    pub env_override: EnvOverride,
}

/// The form in which a variable holds its setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableForm {
    /// The setting's value.
    Text,
    /// The items, separated by commas.
    List,
    /// The pattern, combined with one for the agent's own container.
    IgnorePattern,
    /// The location of the agent's configuration file, which may be in a ConfigMap.
    ConfigFile,
    /// A reference to a key of a Secret.
    SecretKey,
    /// A part of the connection to the kubelet, whose variables depend on each other.
    Connection,
}

/// Permission for `agent.env` to have a variable that a setting gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvOverride {
    /// Allowed if the setting is unset: one of the two would have no effect.
    IfUnset,
    /// Forbidden: the setting also controls other things, such as permissions and warnings.
    Forbidden,
}
