//! Names of the agent's container, image, variable and volumes.

use serde::{Deserialize, Serialize};

/// Name of the agent's container, native or not.
pub const CONTAINER: &str = "mackerel-container-agent";

/// The variable that holds the API key.
pub const API_KEY: &str = "MACKEREL_APIKEY";

/// The variable that says where the agent runs. The agent requires it, and nothing else reads it.
pub const PLATFORM: &str = "MACKEREL_CONTAINER_PLATFORM";

/// Its value on EKS Fargate.
pub const FARGATE_PLATFORM: &str = "eks_fargate";

/// The label that EKS sets on pods for Fargate.
pub const FARGATE_LABEL: &str = "eks.amazonaws.com/fargate-profile";

/// The scheduler that EKS sets on pods for Fargate.
pub const FARGATE_SCHEDULER: &str = "fargate-scheduler";

/// The beginning of the names of variables about the kubelet and the pod, which only the agent reads.
pub const KUBERNETES_VARIABLES: &str = "MACKEREL_KUBERNETES_";

/// The value of the annotation `status`: the original injector skips pods that have it.
pub const INJECTED: &str = "injected";

/// The last segment of an image's path by which a container is recognised as an agent.
pub const IMAGE_NAME: &str = "mackerel-container-agent";

/// The list of the PodSpec that holds the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sidecar {
    /// A container beside the others.
    Container,
    /// An init container with `restartPolicy: Always`: starts before the others, ends after them, lets Jobs complete.
    Native,
}

/// The beginning of the names of injected volumes.
pub(crate) const VOLUME_PREFIX: &str = "mackerel-agent-";

/// The folder of the volume [`Volume::Tmp`].
pub const TMP_FOLDER: &str = "/var/tmp";

/// The folder of the ServiceAccount's token.
pub const TOKEN_FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The folder of the agent's configuration.
pub const CONFIG_FOLDER: &str = "/etc/mackerel-agent";

/// The volumes that the injector adds, in the order of insertion.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Volume {
    /// `/var/tmp`, the one writable folder, where the agent's plugins keep state.
    Tmp,
    /// The ServiceAccount's token, for pods that do not mount it.
    Token,
    /// The agent's configuration, from a ConfigMap.
    Config,
    /// One of `agent.volumes`, by its name there.
    #[serde(untagged)]
    Configured(String),
}

impl Volume {
    /// The volumes that the injector knows.
    pub const KNOWN: [Volume; 3] = [Volume::Tmp, Volume::Token, Volume::Config];

    /// Returns the volume of this name in a pod: `mackerel-agent-tmp` -> `Tmp`
    pub fn of(name: &str) -> Option<Self> {
        let id = name.strip_prefix(VOLUME_PREFIX)?;
        Self::KNOWN
            .into_iter()
            .find(|volume| volume.id() == id)
            .or_else(|| Some(Volume::Configured(id.to_owned())))
    }

    /// Returns its name without the prefix.
    pub fn id(&self) -> &str {
        match self {
            Volume::Tmp => "tmp",
            Volume::Token => "token",
            Volume::Config => "config",
            Volume::Configured(name) => name,
        }
    }

    /// Returns the volume's name in the pod.
    pub fn name(&self) -> String {
        [VOLUME_PREFIX, self.id()].concat()
    }

    /// Returns the folder at which the agent has it; `agent.volumeMounts` says it of a configured one.
    pub const fn folder(&self) -> Option<&'static str> {
        match self {
            Volume::Tmp => Some(TMP_FOLDER),
            Volume::Token => Some(TOKEN_FOLDER),
            Volume::Config => Some(CONFIG_FOLDER),
            Volume::Configured(_) => None,
        }
    }
}

/// Returns true for an agent's image: `registry.example/team/mackerel-container-agent:v1@sha256:…`.
pub fn is_agent_image(image: &str) -> bool {
    let name = image
        .split('@')
        .next()
        .and_then(|path| path.rsplit('/').next())
        .and_then(|last| last.split(':').next());
    name == Some(IMAGE_NAME)
}

#[cfg(test)]
mod tests {
    use super::is_agent_image;

    #[test]
    fn an_agent_is_recognised_by_the_last_path_segment_of_its_image() {
        for (image, expected) in [
            ("mackerel/mackerel-container-agent:v0.13.2-plugins", true),
            ("mackerel-container-agent", true),
            ("localhost:5000/mackerel-container-agent", true),
            (
                "public.ecr.aws/mackerel/mackerel-container-agent@sha256:0123",
                true,
            ),
            ("example/mackerel-container-agent-extra:1", false),
            ("example/mackerel-container-agent/proxy:1", false),
            ("nginx:mackerel-container-agent", false),
            ("", false),
        ] {
            assert_eq!(is_agent_image(image), expected, "{image}");
        }
    }
}
