//! The agent as the engine that injects files renders it: for each shape of a pod, and for each annotation that the policy reads.

use crate::agent::record::Record;
use crate::agent::shape::{AgentResources, AgentShape, Token};
use crate::agent::{Agents, Component};
use crate::annotations::overlay;
use crate::config::{Config, KubernetesVersion, Qos, SidecarKind};
use crate::mackerel::names::{Sidecar, Volume};
use crate::manifest::pod_template::ContainerList;
use crate::manifest::qos;
use crate::policy::annotations::Row;
use crate::policy::cel::{self, Named};
use crate::policy::choice::{Chooser, Rendered, Slot};
use crate::policy::conditions::{COMPLETES, GUARANTEED, POD_RESOURCES};
use crate::policy::error::PolicyError;
use serde_json::{Value, json};
use std::borrow::Cow;

/// A property of the pod that the agent depends on, as a variable of the policy.
#[derive(Debug)]
pub(super) struct Switch {
    pub(super) variable: Named,
    /// Its effect on the agent.
    effect: fn(&mut AgentShape),
}

/// Returns the properties of pods that make a difference under this configuration.
pub(super) fn switches(config: &Config) -> Vec<Switch> {
    let spec = &config.spec;
    let mut switches = Vec::new();
    let mut push = |name: &str, expression: &str, effect| {
        let variable = Named::new(name, expression);
        switches.push(Switch { variable, effect });
    };
    let has_native = spec.kubernetes_version >= KubernetesVersion::NATIVE_SIDECARS;
    if spec.sidecar == SidecarKind::Auto && has_native {
        push("completes", COMPLETES, |shape| {
            shape.sidecar = Sidecar::Native;
        });
    }
    if token(config) == Token::Mounted && spec.kubelet_connection().needs_token() {
        push("lacksToken", &lacks_token(), |shape| {
            shape.token = Token::Projected;
        });
    }
    push("podResources", POD_RESOURCES, |shape| {
        shape.amounts = AgentResources::Annotated;
    });
    if spec.qos == Qos::Keep && !qos::keeps_guaranteed(&spec.agent.resources) {
        push("guaranteed", GUARANTEED, |shape| {
            shape.amounts = AgentResources::Guaranteed;
        });
    }
    switches
}

/// Returns the condition that no container mounts the token of the pod's ServiceAccount.
fn lacks_token() -> String {
    let name = cel::string(Volume::Token.name());
    let folder = cel::string(&format!("^{}/*$", Volume::Token.folder()));
    format!(
        "!object.spec.?automountServiceAccountToken.orValue(true)
|| !variables.containers.exists(c, c.?volumeMounts.orValue([]).exists(m, m.name != {name} && m.mountPath.matches({folder})))"
    )
}

/// Returns the token of an agent whose pod mounts one.
fn token(config: &Config) -> Token {
    let needs_token = config.spec.kubelet_connection().needs_token();
    match needs_token && config.spec.agent.token.is_always_mounted() {
        true => Token::Projected,
        false => Token::Mounted,
    }
}

/// Returns the shape of the agent for a pod with the properties whose bits are set.
fn shape(config: &Config, switches: &[Switch], case: u32) -> AgentShape {
    let mut shape = AgentShape {
        sidecar: match config.spec.sidecar {
            SidecarKind::Native => Sidecar::Native,
            SidecarKind::Auto | SidecarKind::Container => Sidecar::Container,
        },
        token: token(config),
        amounts: AgentResources::Configured,
        pull_secrets: Vec::new(),
        volume_mounts: Vec::new(),
    };
    for (index, switch) in switches.iter().enumerate() {
        if case & (1 << index) != 0 {
            (switch.effect)(&mut shape);
        }
    }
    shape
}

/// An agent as the engine renders it.
#[derive(Debug)]
struct RenderedAgent {
    case: u32,
    /// Its parts, which go to different places of the pod.
    parts: Value,
}

/// The agents of all cases, and the choice among them.
#[derive(Debug, Default)]
pub(super) struct RenderedAgents {
    agents: Vec<RenderedAgent>,
    /// The rows of annotations that the configuration takes.
    pub(super) rows: Vec<Row>,
    chooser: Chooser,
}

impl RenderedAgents {
    /// Renders the agent for each shape without annotations, and with each annotation. No two annotations change the same field, so
    /// that each is rendered by itself.
    ///
    /// # Errors
    /// If the configuration has a text that stands for the value of an annotation: the policy would replace it.
    pub(super) fn new(
        config: &Config,
        switches: &[Switch],
        rows: Vec<Row>,
    ) -> Result<Self, PolicyError> {
        let mut rendered = Self::default();
        for switch in switches {
            let condition = format!("variables.{}", switch.variable.name);
            rendered.chooser.conditions.push(condition);
        }
        rendered.render(config, switches, 0);
        for agent in &rendered.agents {
            let text = agent.parts.to_string();
            for Row { sample, .. } in &rows {
                if text.contains(sample) {
                    return Err(PolicyError::Reserved { sample });
                }
            }
        }
        for row in rows {
            let annotation = [(row.annotation.key(), row.sample, 0)];
            let Ok(config) = overlay(config, &annotation) else {
                continue;
            };
            let variable = format!("variables.{}", row.variable);
            let case = 1 << rendered.chooser.conditions.len();
            rendered
                .chooser
                .conditions
                .push(format!("{variable} != ''"));
            rendered.render(&config, switches, case);
            rendered.chooser.slots.push(Slot {
                sample: row.sample,
                expression: variable,
            });
            rendered.rows.push(row);
        }
        Ok(rendered)
    }

    fn render(&mut self, config: &Config, switches: &[Switch], annotation: u32) {
        let engine = Agents::default();
        for case in 0..1 << switches.len() {
            let shape = shape(config, switches, case);
            let agent = engine.agent(Cow::Borrowed(config), shape);
            self.agents.push(RenderedAgent {
                case: case | annotation,
                parts: parts(&agent, annotation),
            });
        }
    }

    /// Returns the expression for a part of the agent.
    pub(super) fn expression(&self, part: &str) -> String {
        self.chooser.expression(&self.part(part))
    }

    /// Returns the condition that the agent is a native sidecar.
    pub(super) fn is_native(&self) -> String {
        let mut natives = Vec::new();
        for RenderedAgent { case, parts } in &self.agents {
            let value = parts["isNative"] == true;
            natives.push(Rendered { case: *case, value });
        }
        self.chooser.condition(&natives)
    }

    /// Returns the volumes that an agent may have.
    pub(super) fn volumes(&self) -> Vec<Volume> {
        let agents = self.part("volumes");
        let volumes = agents.iter().flat_map(|agent| agent.value.as_array());
        let names = Vec::from_iter(volumes.flatten().map(|volume| &volume["name"]));
        let mut added = Volume::ALL.to_vec();
        added.retain(|volume| names.iter().any(|name| **name == volume.name()));
        added
    }

    /// Returns a part of the agent in all cases in which it is rendered.
    fn part(&self, name: &str) -> Vec<Rendered<&Value>> {
        let mut values = Vec::new();
        for RenderedAgent { case, parts } in &self.agents {
            if let Some(value) = parts.get(name) {
                values.push(Rendered { case: *case, value });
            }
        }
        values
    }
}

/// Returns the parts of an agent. With an annotation it gets no record, since that depends on the value.
fn parts(agent: &Component, annotation: u32) -> Value {
    let mut parts = json!({
        "isNative": agent.record.list == ContainerList::InitContainers,
        "container": *agent.container,
        "volumes": *agent.volume_list,
    });
    if annotation == 0 {
        let record = Record {
            agent: Some(agent.record.clone()),
            ..Record::default()
        };
        // The pod decides the rest of it.
        parts["record"] = record.to_string().strip_suffix('}').into();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{RenderedAgents, switches};
    use crate::config::{Config, Sources, load};
    use crate::policy::annotations::rows;
    use serde_json::Value;
    use std::collections::BTreeSet;

    /// Adds the pointers of the values that differ.
    fn differences(before: &Value, after: &Value, at: &str, found: &mut BTreeSet<String>) {
        let name = |item: &Value| item["name"].as_str().unwrap_or_default().to_owned();
        let names = |value: &Value| match value {
            Value::Object(members) => members.keys().cloned().collect(),
            Value::Array(items) => items.iter().map(name).collect(),
            _ => BTreeSet::new(),
        };
        let part = |value: &Value, wanted: &str| match value {
            Value::Array(items) => items.iter().find(|item| name(item) == wanted).cloned(),
            value => value.get(wanted).cloned(),
        };
        let all: BTreeSet<String> = names(before).union(&names(after)).cloned().collect();
        if all.is_empty() && before != after {
            found.insert(at.to_owned());
        }
        for name in all {
            let [before, after] = [before, after].map(|value| part(value, &name));
            let at = format!("{at}/{name}");
            match (before, after) {
                (Some(before), Some(after)) => differences(&before, &after, &at, found),
                _ => _ = found.insert(at),
            }
        }
    }

    #[test]
    fn no_two_annotations_change_the_same_field() {
        let set = ["qos=keep"].map(str::to_owned);
        let config = load(&Sources::default().with_set(&set)).unwrap();
        for config in [Config::default(), config] {
            let switches = switches(&config);
            let rendered = RenderedAgents::new(&config, &switches, rows(&config)).unwrap();
            let shapes = 1 << switches.len();
            let mut first = shapes;
            let mut known = BTreeSet::new();
            for row in &rendered.rows {
                let mut changed = BTreeSet::new();
                for shape in 0..shapes {
                    let [before, after] =
                        [shape, first + shape].map(|index| &rendered.agents[index].parts);
                    let [before, after] = [before, after].map(|parts| &parts["container"]);
                    differences(before, after, "", &mut changed);
                }
                first += shapes;
                assert!(!changed.is_empty(), "{row:?}");
                assert!(known.is_disjoint(&changed), "{changed:?}");
                known.append(&mut changed);
            }
        }
    }
}
