//! Compares the RBAC objects of the input with those that the command `rbac` prints.

use crate::config::Config;
use crate::inject::Injection;
use crate::inject::outcome::Outcome;
use crate::manifest::kustomization::{PREVIOUS_NAMES, previous_names};
use crate::rbac::Grants;
use crate::rbac::existing::Existing;
use crate::rbac::objects::objects;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The permissions that a run needs, and the generated objects that its input holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct RbacCoverage {
    grants: Grants,
    /// True if the namespace of an agent is unknown.
    has_unknown: bool,
    objects: Vec<Value>,
}

impl RbacCoverage {
    /// Adds the agents of the outcomes.
    pub(crate) fn require<'o>(&mut self, outcomes: impl Iterator<Item = &'o Outcome> + Clone) {
        let mut subjects = outcomes.clone().filter_map(Outcome::rbac_subject);
        self.has_unknown |= subjects.any(|subject| subject.namespace.is_none());
        self.grants.take(outcomes);
    }

    /// Adds the objects of an injected text that stay: without `rbac.generate`, a run removes those of an earlier one.
    pub(crate) fn read(&mut self, text: &str, injection: &Injection, config: &Config) {
        // Without the namespace of an agent, no objects make the coverage complete.
        if self.has_unknown {
            return;
        }
        let Existing {
            managed, unmanaged, ..
        } = Existing::of(text, &injection.related);
        if config.spec.rbac.generate {
            self.objects
                .extend(managed.into_iter().map(|managed| managed.value));
        }
        self.objects.extend(
            unmanaged
                .into_iter()
                .filter_map(|unmanaged| unmanaged.value),
        );
    }

    /// Returns true if the input holds all objects that the agents need.
    pub(crate) fn is_complete(&self, config: &Config) -> bool {
        if self.has_unknown {
            return false;
        }
        let mut by_name: HashMap<&str, Vec<&Value>> = HashMap::new();
        for object in &self.objects {
            for name in names(object) {
                by_name.entry(name).or_default().push(object);
            }
        }
        let is_permitted = |needed: Value| {
            let name = needed["metadata"]["name"].as_str().unwrap_or_default();
            let mut named = by_name.get(name).into_iter().flatten();
            named.any(|object| permits(object, &needed))
        };
        let mut needed = self.grants.iter().flat_map(|grant| objects(grant, config));
        needed.all(is_permitted)
    }
}

/// The name of an object, and those before kustomize's `namePrefix` or `nameSuffix` changed it: its references follow at the end of
/// the build.
fn names(object: &Value) -> impl Iterator<Item = &str> {
    let metadata = &object["metadata"];
    let previous = metadata["annotations"][PREVIOUS_NAMES].as_str();
    let previous = previous.into_iter().flat_map(previous_names);
    metadata["name"].as_str().into_iter().chain(previous)
}

/// Returns true for the needed object, whatever its name, possibly with further subjects.
fn permits(object: &Value, needed: &Value) -> bool {
    let has_fields = ["kind", "rules", "roleRef"]
        .iter()
        .all(|field| object.get(field) == needed.get(field));
    if !has_fields {
        return false;
    }
    let known: HashSet<&Value> = subjects(object).collect();
    subjects(needed).all(|subject| known.contains(subject))
}

fn subjects(binding: &Value) -> impl Iterator<Item = &Value> {
    binding["subjects"].as_array().into_iter().flatten()
}
