//! The containers of `explain --resource`: the settings that are not defaults, with their places, and the container.

use crate::explain::{Because, Explanation, origin};
use config::{Config, Origin};
use injector::{Outcome, Row, Waiting};
use manifest::{ContainerList, document, field_path};
use serde::Serialize;
use serde_json::{Value, json};

/// A container that a template has after the run.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ContainerView<'o> {
    #[serde(skip)]
    pub(super) subject: &'static str,
    /// Its key in a report.
    #[serde(skip)]
    pub(super) key: &'static str,
    /// Path of the list that holds the container.
    pub(super) list: String,
    /// The settings that are not defaults.
    pub(super) settings: Vec<Because>,
    container: &'o Value,
}

impl ContainerView<'_> {
    /// Returns the container as the only item of a list.
    pub(super) fn yaml(&self) -> String {
        document(&json!([self.container]))
    }
}

impl Explanation<'_> {
    /// Returns the containers of a template, if the user asks for one resource.
    pub(super) fn containers<'o>(
        &self,
        row: &Row<'_>,
        outcome: &'o Outcome,
    ) -> Vec<ContainerView<'o>> {
        let mut containers = Vec::new();
        if !self.shows_containers {
            return containers;
        }
        let list = |list: ContainerList| {
            field_path(&format!("{}/spec/{}", outcome.template, list.field()))
        };
        if let Some(agent) = outcome.agent().and_then(|agent| agent.component.as_ref()) {
            let config = agent.annotated.as_deref().unwrap_or(self.config);
            containers.push(ContainerView {
                subject: "the agent",
                key: "agent",
                list: list(agent.record.list),
                settings: settings(row, config, is_of_the_agent),
                container: &agent.container,
            });
        }
        if let Some(Waiting { wait_for, cause }) = &outcome.components.wait_for {
            let mut of_both = vec![self.because(row, cause)];
            of_both.extend(settings(row, self.config, |path| {
                path.starts_with("waitFor.")
            }));
            containers.push(ContainerView {
                subject: "wait-for",
                key: "waitFor",
                list: list(wait_for.record.list),
                settings: of_both,
                container: &wait_for.container,
            });
        }
        containers
    }
}

/// Returns the settings that are not defaults.
fn settings(row: &Row<'_>, config: &Config, is_shown: fn(&str) -> bool) -> Vec<Because> {
    config
        .settings()
        .into_iter()
        .filter(|(path, _, from)| is_shown(path) && **from != Origin::Default)
        .map(|(path, value, from)| Because {
            rule: path,
            value: Some(value),
            origin: origin(row, from),
        })
        .collect()
}

/// Returns true for a setting of the agent's container. The others select templates, or belong to the run.
fn is_of_the_agent(path: &str) -> bool {
    !matches!(
        path.split('.').next().unwrap_or_default(),
        "annotations"
            | "injection"
            | "onError"
            | "namespace"
            | "select"
            | "hooks"
            | "waitFor"
            | "podTemplates"
    )
}
