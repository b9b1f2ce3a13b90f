//! Compares the RBAC objects of the input with those that the command `rbac` prints.

use crate::config::Config;
use crate::inject::Injection;
use crate::inject::outcome::Outcome;
use crate::manifest::kustomization::{PREVIOUS_NAMES, previous_names};
use crate::rbac::Grants;
use crate::rbac::existing::Existing;
use crate::rbac::objects::objects;
use serde_json::Value;

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

    /// Adds the objects of an injected text that stay: without `rbac.generate`, a run removes those of an earlier one. Call it after
    /// [`require`](Self::require).
    pub(crate) fn read(&mut self, text: &str, injection: &Injection, config: &Config) {
        // A search of every text would cost more than all else that is done with most of them.
        let kinds = &injection.kinds_without_template;
        if self.has_unknown || !kinds.has("ClusterRoleBinding") {
            return;
        }
        let Existing {
            managed, unmanaged, ..
        } = Existing::of(text);
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
        let mut needed = self.grants.iter().flat_map(|grant| objects(grant, config));
        !self.has_unknown
            && needed.all(|needed| self.objects.iter().any(|object| permits(object, &needed)))
    }
}

/// Returns true for the needed object, possibly with further subjects, or with a name that kustomize's `namePrefix` or `nameSuffix` has
/// changed: its references follow at the end of the build.
fn permits(object: &Value, needed: &Value) -> bool {
    let name = &needed["metadata"]["name"];
    let metadata = &object["metadata"];
    let previous = metadata["annotations"][PREVIOUS_NAMES].as_str();
    let has_name = metadata["name"] == *name
        || previous_names(previous.unwrap_or_default()).any(|previous| *name == previous);
    let has_fields = ["kind", "rules", "roleRef"]
        .iter()
        .all(|field| object.get(field) == needed.get(field));
    has_name && has_fields && subjects(needed).all(|subject| subjects(object).any(|s| s == subject))
}

fn subjects(binding: &Value) -> impl Iterator<Item = &Value> {
    binding["subjects"].as_array().into_iter().flatten()
}
