//! `container-conflict`, `volume-conflict`: the user's container or volume has a name that the injection needs.

use crate::agent::Component;
use crate::decide::Evaluation;
use crate::mackerel::names::CONTAINER;
use crate::manifest::field_path::field_path;
use crate::report::{Finding, Reason};
use yaml_json_patch::NodeId;

impl Evaluation<'_, '_> {
    /// Finds a container or volume with a name that the agent needs.
    pub(super) fn name_conflict(&self, agent: &Component) -> Option<Finding> {
        if let Some(conflict) = self.container_conflict(CONTAINER, agent.record.list.field()) {
            return Some(conflict);
        }
        let is_needed = |name: &str| agent.adds_volume(name);
        let mut volumes = self.template.volumes.iter();
        let volume = volumes.find(|volume| volume.name.as_deref().is_some_and(is_needed))?;
        let subject = format!(
            "a volume named {} already exists",
            volume.name.as_deref().unwrap_or_default()
        );
        let others = self.template.volumes.len();
        Some(self.conflict(
            Reason::VolumeConflict,
            &subject,
            ("volumes", others),
            ("volumes", volume.index),
            volume.node,
        ))
    }

    /// Finds a container with the name of the one that would be added to the list `field`.
    pub(super) fn container_conflict(&self, name: &str, field: &str) -> Option<Finding> {
        let container = self
            .template
            .containers
            .iter()
            .find(|container| container.name.as_deref() == Some(name))?;
        let image = container.image.as_deref().unwrap_or("no image");
        let others = self
            .template
            .containers
            .iter()
            .filter(|other| other.list.field() == field)
            .count();
        let subject = format!("a container named {name} already exists, with {image}");
        let existing = (container.list.field(), container.index);
        Some(self.conflict(
            Reason::ContainerConflict,
            &subject,
            (field, others),
            existing,
            container.node,
        ))
    }

    fn conflict(
        &self,
        reason: Reason,
        subject: &str,
        wanted: (&str, usize),
        existing: (&str, usize),
        node: NodeId,
    ) -> Finding {
        let pointer = |(list, index): (&str, usize)| format!("{}/spec/{list}/{index}", self.at);
        let message = format!(
            "{subject}; the injected one would be {}",
            field_path(&pointer(wanted))
        );
        Finding::new(
            reason,
            message,
            self.tree.place(node).start,
            &pointer(existing),
        )
        .with_help("rename the existing one")
    }
}
