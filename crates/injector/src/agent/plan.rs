//! The plan for a pod template: the components to add.

use crate::agent::component::Component;
use crate::agent::component_kind::{ComponentKind, ComponentKinds};
use crate::agent::record::Record;
use mackerel::names::Volume;
use manifest::ContainerList;
use std::sync::Arc;

/// The components to add, in the order of insertion; never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub components: Vec<Arc<Component>>,
}

impl Plan {
    pub fn kinds(&self) -> ComponentKinds {
        self.components
            .iter()
            .map(|component| component.kind)
            .collect()
    }

    pub fn component(&self, kind: ComponentKind) -> Option<&Arc<Component>> {
        self.components
            .iter()
            .find(|component| component.kind == kind)
    }

    pub fn agent(&self) -> Option<&Arc<Component>> {
        self.component(ComponentKind::Agent)
    }

    pub fn wait_for(&self) -> Option<&Arc<Component>> {
        self.component(ComponentKind::WaitFor)
    }

    /// Returns the components to add to one list of containers.
    pub fn of_list(&self, list: ContainerList) -> impl Iterator<Item = &Arc<Component>> {
        self.components
            .iter()
            .filter(move |component| component.record.list == list)
    }

    /// Returns the volumes to add.
    pub fn volumes(&self) -> impl Iterator<Item = &Volume> {
        self.components
            .iter()
            .flat_map(|component| &component.volumes)
            .map(|(volume, _)| volume)
    }

    /// Returns the names of the pull secrets that the pod lacks.
    pub fn pull_secrets(&self) -> impl Iterator<Item = &String> {
        self.components
            .iter()
            .flat_map(|component| &component.pull_secrets)
    }

    /// Returns the record, as yet without pull secrets and parents.
    pub fn record(&self) -> Record {
        let recorded = |kind: ComponentKind| Some(self.component(kind)?.record.clone());
        Record {
            agent: recorded(ComponentKind::Agent),
            wait_for: recorded(ComponentKind::WaitFor),
            ..Record::default()
        }
    }
}
