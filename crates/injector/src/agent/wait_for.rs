//! The init container that delays the pod's containers until hosts accept TCP connections. It runs this program.

use crate::agent::canonical::Digest;
use crate::agent::component::Component;
use crate::agent::component_kind::{ComponentKind, WAIT_FOR_CONTAINER};
use crate::agent::endpoint::{Endpoint, EndpointError};
use crate::agent::field_order::ordered;
use config::Config;
use k8s_openapi::api::core::v1::{ResourceRequirements, SecurityContext};
use manifest::ContainerList;
use serde_json::{Value, json};

/// Its requests and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitForResources {
    /// The configured ones.
    Own,
    /// None: the pod has resources of its own for all containers.
    OfThePod,
}

/// Makes the init container. `pull_secrets` are empty beside an agent, which has its own.
pub fn wait_for(
    config: &Config,
    image: &str,
    endpoints: Vec<Endpoint>,
    amounts: WaitForResources,
    pull_secrets: Vec<String>,
) -> Component {
    let container = container(config, image, &endpoints, amounts);
    let position = config.spec.wait_for.position;
    let plan = Digest::of_json(&(position, &container, &pull_secrets));
    let list = ContainerList::InitContainers;
    let mut component = Component::new(ComponentKind::WaitFor, list, container, Vec::new(), plan);
    component.record.position = position;
    component.pull_secrets = pull_secrets;
    component.endpoints = endpoints;
    component
}

fn container(
    config: &Config,
    image: &str,
    endpoints: &[Endpoint],
    amounts: WaitForResources,
) -> Value {
    let agent = &config.spec.agent;
    let mut args = vec!["wait-for".to_owned()];
    args.extend(endpoints.iter().map(ToString::to_string));
    let timeout = format!("{}s", config.spec.wait_for.timeout_seconds);
    args.extend(["--timeout".to_owned(), timeout]);
    let mut container = json!({
        "name": WAIT_FOR_CONTAINER,
        "image": image,
        "args": args,
        // The API server would fill in its own default, which would look like drift.
        "imagePullPolicy": agent.image_pull_policy,
    });
    let resources = &config.spec.wait_for.resources;
    if amounts == WaitForResources::Own && *resources != ResourceRequirements::default() {
        container["resources"] = json!(resources);
    }
    if agent.security_context != SecurityContext::default() {
        container["securityContext"] = json!(agent.security_context);
    }
    ordered(container)
}

/// Parses an annotation's value: `db:5432, cache:6379`.
///
/// # Errors
/// When an item is no endpoint.
pub fn endpoints(value: &str) -> Result<Vec<Endpoint>, EndpointError> {
    items(value).map(str::parse).collect()
}

/// True for a value without endpoints: empty, or commas only.
pub fn asks_for_nothing(value: &str) -> bool {
    items(value).next().is_none()
}

fn items(value: &str) -> impl Iterator<Item = &str> {
    value
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{asks_for_nothing, endpoints};

    #[test]
    fn hosts_are_separated_by_commas() {
        let shown = |value: &str| {
            endpoints(value)
                .unwrap()
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(" db:5432, [::1]:80,"), ["db:5432", "[::1]:80"]);
        assert!(endpoints("db:5432 cache:6379").is_err());
        for (value, nothing) in [("", true), (" , ", true), ("db", false)] {
            assert_eq!(asks_for_nothing(value), nothing, "{value}");
        }
    }
}
