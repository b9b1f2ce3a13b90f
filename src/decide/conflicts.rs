//! Something of the user's that has one of our names.

use crate::agent::Agent;
use crate::decide::Evaluation;
use crate::mackerel::names::{CONTAINER, Volume};
use crate::manifest::field_path::field_path;
use crate::report::{Finding, Reason};

impl Evaluation<'_, '_> {
    /// Something of the user's that has one of our names.
    pub(super) fn name_conflict(&self, agent: &Agent) -> Option<Finding> {
        if let Some(name_conflict) = self.container_conflict(CONTAINER, agent.sidecar.field()) {
            return Some(name_conflict);
        }
        let ours: Vec<Volume> = agent.volumes.iter().map(|(volume, _)| *volume).collect();
        let volume =
            self.template.volumes.iter().find(|volume| {
                volume.name.as_deref().is_some_and(|name| ours.iter().any(|ours| ours.name() == name))
            })?;
        let name = volume.name.as_deref().unwrap_or_default();
        let message = format!(
            "a volume is named {name} already; ours would be {}",
            field_path(&format!("{}/spec/volumes/{}", self.at, self.template.volumes.len()))
        );
        let finding = self.finding(Reason::VolumeConflict, message);
        let pointer = format!("{}/spec/volumes/{}", self.at, volume.index);
        let offset = Some(self.tree.span(volume.node).start);
        Some(Finding { help: Some("rename it".to_owned()), offset, pointer, ..finding })
    }

    /// A container of the user's that has the name of the one that would go into a list.
    pub(super) fn container_conflict(&self, name: &str, field: &str) -> Option<Finding> {
        let container = self.template.containers.iter().find(|container| container.name.as_deref() == Some(name))?;
        let image = container.image.as_deref().unwrap_or("no image");
        let others = self.template.containers.iter().filter(|other| other.list.field() == field).count();
        let message = format!(
            "a container is named {name} already, with {image}; ours would be {}",
            field_path(&format!("{}/spec/{field}/{others}", self.at))
        );
        let finding = self.finding(Reason::ContainerConflict, message);
        let pointer = format!("{}/spec/{}/{}", self.at, container.list.field(), container.index);
        let offset = Some(self.tree.span(container.node).start);
        Some(Finding { help: Some("rename it".to_owned()), offset, pointer, ..finding })
    }
}
