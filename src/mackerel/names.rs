//! Names of the agent's container, image, variable and volumes.

use serde::{Deserialize, Serialize};

/// Name of the agent's container, native or not.
pub const CONTAINER: &str = "mackerel-container-agent";

/// The variable that holds the API key.
pub const API_KEY: &str = "MACKEREL_APIKEY";

/// The variable that says where the agent runs. The agent requires it, and nothing else reads it.
pub const PLATFORM: &str = "MACKEREL_CONTAINER_PLATFORM";

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

/// The volumes that the injector adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Volume {
    /// `/var/tmp`, the one writable folder, where the agent's plugins keep state.
    Tmp,
    /// The ServiceAccount's token, for pods that do not mount it.
    Token,
    /// The agent's configuration, from a ConfigMap.
    Config,
}

impl Volume {
    /// Every volume, in the order of insertion.
    pub const ALL: [Volume; 3] = [Volume::Tmp, Volume::Token, Volume::Config];

    /// Returns the volume's name in the pod.
    pub fn name(self) -> &'static str {
        match self {
            Volume::Tmp => "mackerel-agent-tmp",
            Volume::Token => "mackerel-agent-token",
            Volume::Config => "mackerel-agent-config",
        }
    }

    /// Returns the folder at which the agent has it.
    pub const fn folder(self) -> &'static str {
        match self {
            Volume::Tmp => "/var/tmp",
            Volume::Token => "/var/run/secrets/kubernetes.io/serviceaccount",
            Volume::Config => "/etc/mackerel-agent",
        }
    }
}

/// Returns true for an agent's image: `registry.example/team/mackerel-container-agent:v1@sha256:…`.
pub fn is_agent_image(image: &str) -> bool {
    let path = image.split('@').next().unwrap_or_default();
    let last = path.rsplit('/').next().unwrap_or_default();
    last.split(':').next() == Some(IMAGE_NAME)
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
