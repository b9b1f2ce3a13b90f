//! The agent's environment variables, as the rows of the settings name them.

/// The variable that names the pod's node, for the API server.
pub const NODE_NAME: &str = "MACKEREL_KUBERNETES_NODE_NAME";

/// The variable that has the address of the kubelet.
pub const KUBELET_HOST: &str = "MACKEREL_KUBERNETES_KUBELET_HOST";

/// The variable that names the pod's namespace.
pub const NAMESPACE: &str = "MACKEREL_KUBERNETES_NAMESPACE";

/// The variable that names the pod.
pub const POD_NAME: &str = "MACKEREL_KUBERNETES_POD_NAME";

/// The variables that texts of annotations may refer to: `$(MACKEREL_KUBERNETES_POD_NAME)`.
pub const REFERABLE: [&str; 2] = [NAMESPACE, POD_NAME];

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

impl Variable {
    /// A variable that holds the setting's value.
    pub const fn named(name: &'static str) -> Self {
        Variable {
            name,
            form: VariableForm::Text,
            env_override: EnvOverride::IfUnset,
        }
    }
}
