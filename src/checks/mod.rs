//! The other resources of an input that say whether the injected pods will start: Secrets, ConfigMaps, quotas.
//!
//! They are not read on the way, since most of them have nothing to do with an agent: an injection only notes where they
//! stand, and those that may matter are read when everything else is done.

mod agent_config;
mod missing_key;
mod objects;
mod quota;
mod service_account;

pub(crate) use objects::{Entry, Object, Objects};

use crate::agent::prerequisites::{Presence, Requirement};
use crate::config::Config;
use crate::inject::Injection;
use crate::inject::outcome::Remark;
use objects::Named;
use std::collections::HashSet;

/// One text of a run and what became of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'r> {
    /// The text.
    pub(crate) text: &'r str,
    /// What it gave.
    pub(crate) injection: &'r Injection,
}

/// The result of the checks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checked {
    /// What the injected pods need: by namespace, then in the order of the texts.
    pub(crate) requirements: Vec<Requirement>,
    /// What is wrong with what is there, each with the text that it stands in.
    pub(crate) remarks: Vec<(usize, Remark)>,
}

/// Looks at what surrounds the injected pods of all texts of a run.
#[must_use]
pub(crate) fn check_inputs(parts: &[Part<'_>], config: &Config) -> Checked {
    if !has_agents(parts) {
        return Checked::default();
    }
    let mut requirements: Vec<Requirement> = Vec::new();
    let mut known = HashSet::new();
    for part in parts {
        for outcome in &part.injection.outcomes {
            let Some(needs) = &outcome.needs else { continue };
            let namespace = outcome.identity.namespace_or(config.spec.namespace.as_ref());
            for need in &needs.objects {
                if known.insert((namespace, need)) {
                    let (namespace, need) = (namespace.cloned(), need.clone());
                    requirements.push(Requirement { namespace, need, presence: Presence::Absent });
                }
            }
        }
    }
    requirements.sort_by(|one, other| one.namespace.cmp(&other.namespace));
    let objects = objects::read(parts, &Named::by(parts, config), config);
    let objects = Objects::new(&objects);
    for requirement in &mut requirements {
        requirement.presence = presence(requirement, &objects);
    }
    let remarks = warnings(parts, &objects, &requirements, config);
    Checked { requirements, remarks }
}

fn has_agents(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| part.injection.outcomes.iter().any(|outcome| outcome.needs.is_some()))
}

fn presence(requirement: &Requirement, objects: &Objects<'_>) -> Presence {
    let mut presence = Presence::Absent;
    for object in objects.required(requirement) {
        let is_filled = |entry: &Entry| entry.value.as_ref().is_none_or(|value| !value.is_empty());
        let has = |key: &String| object.entries.iter().any(|entry| entry.key == *key && is_filled(entry));
        let (part, offset) = (object.part, object.offset);
        if requirement.need.key.as_ref().is_none_or(has) {
            return Presence::Present { part, offset };
        }
        presence = Presence::WithoutKey;
    }
    presence
}

/// Warnings about the objects of the input, each with the number of its text.
fn warnings(
    parts: &[Part<'_>],
    objects: &Objects<'_>,
    requirements: &[Requirement],
    config: &Config,
) -> Vec<(usize, Remark)> {
    let mut remarks = missing_key::remarks(objects, requirements);
    remarks.extend(agent_config::remarks(parts, objects, config));
    remarks.extend(quota::remarks(parts, objects, config));
    remarks.extend(service_account::remarks(parts, objects, config));
    remarks.sort_by_key(|(part, remark)| (*part, remark.finding.offset));
    remarks
}
