//! Refusals of hand edits: to overwrite one, and to remove a volume that another container uses.

use crate::agent::ComponentKind;
use crate::agent::existing::ExistingInjection;
use crate::agent::plan::Plan;
use crate::options::{Direction, HandEdits};
use crate::reconcile::Reconciler;
use crate::reconcile::drift::{Drift, DriftDescription};
use mackerel::names::CONTAINER;
use report::{Finding, Reason};
use std::collections::HashMap;

impl Reconciler<'_, '_> {
    /// Returns the drift that must not be overwritten: any without `--force`, and always that of a later version's record.
    pub(super) fn protected_drift(&self, existing: &ExistingInjection) -> Option<Drift> {
        let drift = Drift::detect(existing)?;
        let is_overwritten =
            self.options.hand_edits == HandEdits::Overwrite && drift != Drift::NewerRecord;
        (!is_overwritten).then_some(drift)
    }

    /// Refuses to overwrite a hand edit. `wanted` is the plan of today, if there is one.
    pub(super) fn refuse_drift(
        &self,
        drift: Drift,
        existing: &ExistingInjection,
        wanted: Option<&Plan>,
    ) -> Finding {
        let direction = self.options.direction;
        let DriftDescription {
            message,
            offset,
            pointer,
        } = drift.describe(self.tree, existing, wanted);
        let renamed = match drift {
            Drift::Gone => self.renamed_agent(existing),
            Drift::NewerRecord | Drift::BrokenRecord | Drift::Changed => None,
        };
        let help = match (renamed, direction) {
            (Some(renamed), Direction::Inject) => format!(
                "{renamed}; otherwise, remove that container and run `inject --force` on the file"
            ),
            (Some(renamed), Direction::Uninject) => {
                format!("{renamed}; otherwise, run `uninject --force` on the file")
            }
            (None, _) => drift.help(direction),
        };
        let pointer = [self.at, &pointer].concat();
        Finding::new(Reason::HandEdited, message, offset, &pointer).with_help(help)
    }

    /// Refuses to remove a volume that a foreign container mounts, even with `--force`: the API server refuses a pod that mounts
    /// a missing volume. The volumes of `plan` stay.
    pub(super) fn refuse_mounted_volume(
        &self,
        existing: &ExistingInjection,
        plan: Option<&Plan>,
    ) -> Option<Finding> {
        let mut users = HashMap::new();
        for container in &self.template.containers {
            for volume in container.mounted_volumes(self.tree) {
                users.entry(volume).or_insert(container);
            }
        }
        for (volume, present) in existing.volumes() {
            let stays = plan.is_some_and(|plan| plan.volumes().any(|kept| kept == volume));
            if present.is_none() || stays {
                continue;
            }
            let volume = volume.name();
            let Some(container) = users.get(&volume) else {
                continue;
            };
            let name = container.name.as_deref().unwrap_or("without a name");
            let message = format!("the container {name} mounts the volume {volume} of the agent");
            let pointer = [self.at, &container.pointer()].concat();
            let offset = self.tree.place(container.node).start;
            let separate = "add a separate volume for the container";
            let help = match self.renamed_agent(existing) {
                Some(renamed) => format!("{renamed}; otherwise, {separate}"),
                None => separate.to_owned(),
            };
            return Some(
                Finding::new(Reason::HandEdited, message, offset, &pointer).with_help(help),
            );
        }
        None
    }

    /// Returns the advice to undo a new name or list of the injected agent, if it is absent and another agent is present.
    pub(super) fn renamed_agent(&self, existing: &ExistingInjection) -> Option<String> {
        let was_injected = existing.kinds().contains(ComponentKind::Agent);
        if !was_injected || existing.container(ComponentKind::Agent).is_some() {
            return None;
        }
        let other = self
            .template
            .containers
            .iter()
            .find(|container| container.is_agent)?;
        Some(match other.name.as_deref() {
            Some(CONTAINER) => format!(
                "if the container in `{}` is it, move it back",
                other.list.field()
            ),
            name => {
                let name = name.unwrap_or("without a name");
                format!("if the container `{name}` is it, rename it to `{CONTAINER}`")
            }
        })
    }
}
