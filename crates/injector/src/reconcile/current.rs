//! The current state: an existing injection beside the plan of today.

use crate::agent::existing::{ExistingComponent, ExistingInjection};
use crate::agent::plan::Plan;
use crate::agent::record::Record;
use crate::agent::replaceable_names::ReplaceableName;
use crate::agent::{Component, ComponentKind, ComponentKinds};
use crate::options::Tense;
use crate::reconcile::differing::differing;
use report::Finding;

/// The change of one component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ComponentChange {
    Added,
    Kept,
    Updated,
    Removed,
}

impl ComponentChange {
    fn participle(self) -> &'static str {
        match self {
            ComponentChange::Added => "added",
            ComponentChange::Kept => "kept",
            ComponentChange::Updated => "updated",
            ComponentChange::Removed => "removed",
        }
    }
}

impl ExistingInjection {
    /// Returns true if an injection would add byte for byte what the record says, and image, Secret and ConfigMap have the wanted
    /// names. Positions do not count.
    pub(super) fn is_current(&self, plan: &Plan) -> bool {
        ComponentKind::ALL
            .into_iter()
            .filter_map(|kind| self.change(kind, plan))
            .all(|change| change == ComponentChange::Kept)
    }

    /// Returns the change of one component; none if it is neither present nor wanted.
    fn change(&self, kind: ComponentKind, plan: &Plan) -> Option<ComponentChange> {
        let is_present = self.kinds().contains(kind);
        match (is_present, plan.component(kind)) {
            (false, None) => None,
            (false, Some(_)) => Some(ComponentChange::Added),
            (true, None) => Some(ComponentChange::Removed),
            (true, Some(new)) if self.is_current_component(new) => Some(ComponentChange::Kept),
            (true, Some(_)) => Some(ComponentChange::Updated),
        }
    }

    fn is_current_component(&self, new: &Component) -> bool {
        let Some(old) = self.component(new.kind) else {
            return false;
        };
        let same_plan = old
            .record
            .as_ref()
            .is_some_and(|record| record.plan == new.record.plan);
        // The `status` goes with the agent.
        let has_status = new.kind != ComponentKind::Agent
            || self.status
            || !self.record.as_ref().is_ok_and(Record::added_status);
        same_plan && has_status && *old.names() == new.names
    }

    /// Describes an update: `wait-for was added, the agent was removed: the template asks to be left alone`
    pub(super) fn describe_update(
        &self,
        tense: Tense,
        plan: &Plan,
        no_agent: Option<&Finding>,
    ) -> String {
        let mut changes = Vec::new();
        for change in [
            ComponentChange::Added,
            ComponentChange::Updated,
            ComponentChange::Removed,
        ] {
            let kinds: ComponentKinds = ComponentKind::ALL
                .into_iter()
                .filter(|kind| self.change(*kind, plan) == Some(change))
                .collect();
            if !kinds.is_empty() {
                changes.push(kinds.passive(tense, change.participle()));
            }
        }
        if changes.is_empty() {
            // `--force` overwrites drift, which the record does not show.
            let updated = ComponentChange::Updated.participle();
            changes.push(self.kinds().passive(tense, updated));
        }
        let message = changes.join(", ");
        let agent = self.change(ComponentKind::Agent, plan);
        match no_agent.filter(|_| agent == Some(ComponentChange::Removed)) {
            Some(skip) => format!("{message}: {}", skip.message),
            None => message,
        }
    }

    /// Returns the names of the fields that the plan changes in components that are present.
    pub(crate) fn changed_fields(&self, plan: &Plan) -> Vec<String> {
        let mut changed = Vec::new();
        for new in &plan.components {
            let Some(old) = self.component(new.kind) else {
                continue;
            };
            let mut fields = old.fields_unlike(new);
            for (name, value) in &new.names {
                let field = name.field();
                if let Some(old) = old.names().get(name).filter(|old| *old != value)
                    && !fields.contains(&field)
                {
                    fields.push(match name {
                        // A version that becomes lower has to be seen.
                        ReplaceableName::Image => format!("{field}: {}", image_change(old, value)),
                        _ => field,
                    });
                }
            }
            for field in fields {
                changed.push(match new.kind {
                    ComponentKind::Agent => field,
                    ComponentKind::WaitFor => format!("{}.{field}", new.kind.container()),
                });
            }
        }
        if let Ok(record) = &self.record {
            let recorded = record.pull_secrets.iter().flat_map(|added| &added.names);
            if !recorded.eq(plan.pull_secrets()) {
                changed.push("imagePullSecrets".to_owned());
            }
        }
        changed
    }
}

/// `v0.13.0 → v0.13.2`, or both images as a whole if they are not two versions of one.
fn image_change(old: &str, new: &str) -> String {
    fn parts(image: &str) -> Option<(&str, &str)> {
        image.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'))
    }
    match (parts(old), parts(new)) {
        (Some((of_old, old)), Some((of_new, new))) if of_old == of_new => format!("{old} → {new}"),
        _ => format!("{old} → {new}"),
    }
}

impl ExistingComponent {
    /// Returns the names of the fields that differ from the new component, but for the names that other tools may change.
    pub(super) fn fields_unlike(&self, new: &Component) -> Vec<String> {
        self.value()
            .map(|value| differing(value, &new.canonical))
            .into_iter()
            .flatten()
            .map(|field| field.name)
            .collect()
    }
}
