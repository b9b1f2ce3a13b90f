//! `container-conflict`, `volume-conflict`: the user's container or volume has a name that the injection needs.

use crate::agent::Component;
use crate::decide::Evaluation;
use mackerel::names::CONTAINER;
use manifest::{field_path, item_pointer};
use report::{Finding, Reason};

impl Evaluation<'_, '_> {
    /// Finds a container or volume with a name that the agent needs.
    pub(super) fn name_conflict(&self, agent: &Component) -> Option<Finding> {
        self.container_conflict(CONTAINER, agent.record.list.field())
            .or_else(|| self.volume_conflict(agent))
    }

    fn volume_conflict(&self, agent: &Component) -> Option<Finding> {
        for volume in &self.template.volumes {
            if let Some(name) = volume.name.as_deref()
                && agent.adds_volume(name)
            {
                let message = format!("a volume named {name} already exists");
                let pointer = item_pointer("volumes", volume.index);
                let finding =
                    self.finding_at(Reason::VolumeConflict, message, volume.node, &pointer);
                let injected = item_pointer("volumes", self.template.volumes.len());
                return Some(self.conflict(finding, &injected));
            }
        }
        None
    }

    /// Finds a container with the name of the one that would be added to the list `field`.
    pub(super) fn container_conflict(&self, name: &str, field: &str) -> Option<Finding> {
        let containers = &self.template.containers;
        let container = containers
            .iter()
            .find(|container| container.name.as_deref() == Some(name))?;
        let image = container.image.as_deref().unwrap_or("no image");
        let message = format!("a container named {name} already exists, with {image}");
        let pointer = container.pointer();
        let reason = Reason::ContainerConflict;
        let finding = self.finding_at(reason, message, container.node, &pointer);
        let length = containers
            .iter()
            .filter(|other| other.list.field() == field)
            .count();
        Some(self.conflict(finding, &item_pointer(field, length)))
    }

    /// Adds the place of the injected item to the finding about the existing one.
    fn conflict(&self, existing: Finding, injected: &str) -> Finding {
        let place = field_path(&format!("{}{injected}", self.at));
        Finding {
            message: format!("{}; the injected one would be {place}", existing.message),
            help: Some("rename the existing one".to_owned()),
            ..existing
        }
    }
}
