//! Checks the resources of the input that the injected pods need to start: Secrets, ConfigMaps, ServiceAccounts.
//!
//! The injection only notes their locations, since most of them have nothing to do with an agent. Those that may matter are
//! parsed after it.

mod agent_config;
mod api_key;
mod missing_key;
mod nothing_selected;
mod objects;
mod service_account;

pub use nothing_selected::{Unmatched, idle_selection, unmatched_namespaces};
pub use objects::{Object, Objects};

use crate::agent::prerequisites::{Prerequisites, Presence, Requirement};
use crate::inject::Injection;
use crate::inject::outcome::{Outcome, Remark};
use config::Config;
use objects::Named;
use std::collections::HashSet;

/// One text of a run and its result.
#[derive(Debug, Clone, Copy)]
pub struct ProcessedText<'r> {
    /// The name of its file, `<stdin>` for stdin.
    pub name: &'r str,
    /// The text.
    pub text: &'r str,
    /// Its result.
    pub injection: &'r Injection,
}

/// The result of the checks.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// The objects that the injected pods need: by namespace, then in the order of the texts.
    pub requirements: Vec<Requirement>,
    /// Warnings about objects of the input, each with the index of its text.
    pub remarks: Vec<(usize, Remark)>,
}

/// Checks the resources that the injected pods of all texts of a run need.
pub fn check_inputs(inputs: &[ProcessedText<'_>], config: &Config) -> Checked {
    let agents = agent_groups(inputs, config);
    if agents.is_empty() {
        return Checked::default();
    }
    let mut requirements: Vec<Requirement> = Vec::new();
    let mut known = HashSet::new();
    for AgentGroup { namespace, needs } in &agents {
        for need in &needs.objects {
            if known.insert((namespace, need)) {
                requirements.push(Requirement {
                    namespace: namespace.map(str::to_owned),
                    need: need.clone(),
                    presence: Presence::Absent,
                });
            }
        }
    }
    requirements.sort_by(|one, other| one.namespace.cmp(&other.namespace));
    let objects = objects::read(inputs, &Named::by(inputs, &agents, config), config);
    let objects = Objects::new(&objects);
    for requirement in &mut requirements {
        requirement.presence = presence(requirement, &objects);
    }
    let mut remarks = missing_key::remarks(&objects, &requirements);
    remarks.extend(api_key::remarks(&agents, &objects));
    remarks.extend(agent_config::remarks(&agents, &objects));
    remarks.extend(service_account::remarks(inputs, &objects, config));
    remarks.sort_by_key(|(input, remark)| (*input, remark.finding.offset));
    Checked {
        requirements,
        remarks,
    }
}

/// The agents of a namespace with the same prerequisites.
#[derive(Debug, Clone, Copy)]
struct AgentGroup<'r> {
    namespace: Option<&'r str>,
    needs: &'r Prerequisites,
}

/// Returns the groups in order of their first templates. Equal agents mostly share one value of prerequisites; a few that do not are
/// groups of their own.
fn agent_groups<'r>(inputs: &[ProcessedText<'r>], config: &'r Config) -> Vec<AgentGroup<'r>> {
    let mut groups = Vec::new();
    let mut known = HashSet::new();
    for outcome in inputs.iter().flat_map(|input| &input.injection.outcomes) {
        let Some(needs) = outcome.needs() else {
            continue;
        };
        let namespace = namespace_of(outcome, config);
        if known.insert((namespace, std::ptr::from_ref(needs))) {
            groups.push(AgentGroup { namespace, needs });
        }
    }
    groups
}

/// Returns the namespace of a template's pods, if it is known.
fn namespace_of<'r>(outcome: &'r Outcome, config: &'r Config) -> Option<&'r str> {
    let default = config.spec.namespace.as_deref();
    outcome.identity.namespace_or(default).map(String::as_str)
}

fn presence(requirement: &Requirement, objects: &Objects<'_>) -> Presence {
    let mut presence = Presence::Absent;
    for object in objects.required(requirement) {
        let key = requirement.need.key.as_ref();
        if object.is_source || key.is_none_or(|key| object.has_value(key)) {
            return Presence::Present {
                part: object.input,
                offset: object.offset,
            };
        }
        presence = Presence::WithoutKey;
    }
    presence
}
