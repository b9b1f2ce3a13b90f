//! The agent as the engine that injects files renders it, for each shape of a pod.

use crate::cel::{self, Named};
use crate::choice::{Chooser, Rendered};
use crate::conditions::{COMPLETES, GUARANTEED, POD_RESOURCES};
use config::{Config, KubernetesVersion, Qos, SidecarKind};
use injector::{AgentResources, AgentShape, Agents, Component, Record, Token};
use mackerel::names::{Sidecar, TOKEN_FOLDER, Volume};
use manifest::{ContainerList, qos};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;

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
    let name = cel::string(&Volume::Token.name());
    let folder = cel::string(&format!("^{TOKEN_FOLDER}/*$"));
    format!(
        "!object.spec.?automountServiceAccountToken.orValue(true)
|| !variables.containers.exists(c, c.?volumeMounts.orValue([]).exists(m, m.name != {name} && m.mountPath.matches({folder})))"
    )
}

/// Returns the token of an agent whose pod mounts one.
fn token(config: &Config) -> Token {
    let needs_token = config.spec.kubelet_connection().needs_token();
    if needs_token && config.spec.agent.token.is_always_mounted() {
        Token::Projected
    } else {
        Token::Mounted
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
        roles: config.spec.agent.roles.clone(),
    };
    for (index, switch) in switches.iter().enumerate() {
        if case & (1 << index) != 0 {
            (switch.effect)(&mut shape);
        }
    }
    shape
}

/// The agents of all cases, and the choice among them.
#[derive(Debug)]
pub(super) struct RenderedAgents {
    /// The parts of each agent, which go to different places of the pod.
    agents: Vec<Rendered<Value>>,
    chooser: Chooser,
}

impl RenderedAgents {
    /// Renders the agent for each shape.
    pub(super) fn new(config: &Config, switches: &[Switch]) -> Self {
        let engine = Agents::default();
        let mut agents = Vec::new();
        for case in 0..1 << switches.len() {
            let shape = shape(config, switches, case);
            let value = parts(&engine.agent(Cow::Borrowed(config), shape));
            agents.push(Rendered { case, value });
        }
        let conditions = switches
            .iter()
            .map(|switch| format!("variables.{}", switch.variable.name))
            .collect();
        let chooser = Chooser { conditions };
        Self { agents, chooser }
    }

    /// Returns the expression for a part of the agent.
    pub(super) fn expression(&self, part: &str) -> String {
        self.chooser.expression(&self.values(|parts| &parts[part]))
    }

    /// Returns the condition that the agent is a native sidecar.
    pub(super) fn is_native(&self) -> String {
        self.chooser
            .condition(&self.values(|parts| parts["isNative"] == true))
    }

    /// Returns the volumes that an agent may have.
    pub(super) fn volumes(&self) -> BTreeSet<Volume> {
        self.agents
            .iter()
            .filter_map(|agent| agent.value["volumes"].as_array())
            .flatten()
            .filter_map(|volume| volume["name"].as_str())
            .filter_map(Volume::of)
            .collect()
    }

    /// Returns what the parts of the agent have in all cases.
    fn values<'a, T>(&'a self, of: impl Fn(&'a Value) -> T) -> Vec<Rendered<T>> {
        self.agents
            .iter()
            .map(|agent| Rendered {
                case: agent.case,
                value: of(&agent.value),
            })
            .collect()
    }
}

fn parts(agent: &Component) -> Value {
    let record = Record {
        agent: Some(agent.record.clone()),
        ..Record::default()
    };
    json!({
        "isNative": agent.record.list == ContainerList::InitContainers,
        "container": *agent.container,
        "volumes": *agent.volume_list,
        // The pod decides the rest of it.
        "record": record.to_string().strip_suffix('}'),
    })
}
