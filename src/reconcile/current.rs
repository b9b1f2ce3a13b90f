//! The current state: an existing injection beside the rest of its template, compared with the plan of today.

use crate::agent::existing::ExistingInjection;
use crate::agent::plan::Plan;
use crate::agent::record::Record;
use crate::agent::{Component, ComponentKind, ComponentKinds};
use crate::config::WaitForPosition;
use crate::manifest::pod_template::{ContainerList, PodTemplate};
use crate::options::Tense;
use crate::reconcile::patch::ListPositions;
use crate::report::Finding;

/// The lists that containers are added to.
const LISTS: [ContainerList; 2] = [ContainerList::Containers, ContainerList::InitContainers];

/// An existing injection and the rest of its template.
#[derive(Clone, Copy)]
pub(crate) struct CurrentState<'a> {
    pub(crate) template: &'a PodTemplate,
    pub(crate) existing: &'a ExistingInjection,
}

impl<'a> CurrentState<'a> {
    /// Returns the positions for new containers: those of the old ones, if a user moved them within their list.
    pub(crate) fn positions(self, plan: &Plan) -> ListPositions {
        ListPositions {
            containers: self.list_position(plan, ContainerList::Containers),
            init_containers: self.list_position(plan, ContainerList::InitContainers),
            adopted: None,
        }
    }

    fn list_position(self, plan: &Plan, list: ContainerList) -> Option<usize> {
        let is_replaced = plan.of_list(list).next().is_some() && plan.position() == self.position();
        let others = self.others_before(list)?;
        (is_replaced && others != self.default_index(list)).then_some(others)
    }

    /// Returns true if everything is at the position that an injection would choose.
    pub(crate) fn is_at_default_position(self) -> bool {
        let injected = self
            .existing
            .volumes()
            .filter_map(|(_, volume)| volume.as_ref());
        let first_volume = injected.map(|volume| volume.index).min();
        let mut volumes = self.template.volumes.iter().map(|volume| volume.index);
        let volumes_are_last = first_volume.is_none_or(|first| volumes.all(|other| other < first));
        let mut annotations = self.template.annotations.iter();
        LISTS.into_iter().all(|list| self.is_list_at_default(list))
            && volumes_are_last
            && annotations.all(|annotation| annotation.offset < self.existing.offset)
    }

    /// Returns true if a list has no injected containers, or has them together at the default position.
    fn is_list_at_default(self, list: ContainerList) -> bool {
        let Some(others_before_first) = self.others_before(list) else {
            return true;
        };
        let default_index = self.default_index(list);
        let last = self.indices(list).max();
        let others = others(self.template, list);
        let others_before_last = others.filter(|other| Some(*other) < last).count();
        others_before_first == default_index && others_before_last == default_index
    }

    /// Returns the indices of the injected containers in a list.
    fn indices(self, list: ContainerList) -> impl Iterator<Item = usize> {
        let containers = self.existing.containers().map(|(_, container)| container);
        let of_list = containers.filter(move |container| container.list == list);
        of_list.map(|container| container.index)
    }

    /// Returns the number of other containers before the first injected one.
    fn others_before(self, list: ContainerList) -> Option<usize> {
        let first = self.indices(list).min()?;
        let others = others(self.template, list);
        Some(others.filter(|other| *other < first).count())
    }

    /// Returns the number of other containers that an injection would leave before its own.
    fn default_index(self, list: ContainerList) -> usize {
        match (list, self.position()) {
            (ContainerList::InitContainers, WaitForPosition::First) => 0,
            _ => others(self.template, list).count(),
        }
    }

    /// Returns the recorded position of the init containers; after the others if the record cannot be read.
    fn position(self) -> WaitForPosition {
        match &self.existing.record {
            Ok(record) => record.position(),
            Err(_) => WaitForPosition::Last,
        }
    }

    /// Returns the record if new components can replace the old ones one by one.
    pub(crate) fn replaceable(self, plan: &Plan) -> Option<&'a Record> {
        let record = self.existing.record.as_ref().ok()?;
        let same_components = self.existing.kinds() == plan.kinds();
        let fit = plan.components.iter().all(|new| self.fits(new));
        let recorded = record.pull_secrets.iter().flat_map(|added| &added.names);
        let same_pull_secrets = recorded.eq(plan.pull_secrets());
        (same_components && fit && same_pull_secrets && self.has_status()).then_some(record)
    }

    /// Returns true if a new component has the list, position and volumes of the old one, of which nothing is absent.
    fn fits(self, new: &Component) -> bool {
        let Some(old) = self.existing.component(new.kind) else {
            return false;
        };
        let Some(record) = &old.record else {
            return false;
        };
        old.is_complete()
            && record.list == new.record.list
            && record.position == new.record.position
            && record.volumes == new.record.volumes
    }

    /// Returns true unless the `status` annotation that an injection added is absent.
    fn has_status(self) -> bool {
        let record = self.existing.record.as_ref();
        self.existing.status || !record.is_ok_and(Record::added_status)
    }

    /// Returns true if an injection would add byte for byte what the record says, and image, Secret and ConfigMap have the wanted
    /// names.
    pub(crate) fn is_current(self, plan: &Plan) -> bool {
        let mut changes = ComponentKind::ALL
            .into_iter()
            .filter_map(|kind| self.change(kind, plan));
        changes.all(|change| change == ComponentChange::Kept)
    }

    /// Returns the change of one component; none if it is neither present nor wanted.
    fn change(self, kind: ComponentKind, plan: &Plan) -> Option<ComponentChange> {
        let is_present = self.existing.kinds().contains(kind);
        match (is_present, plan.component(kind)) {
            (false, None) => None,
            (false, Some(_)) => Some(ComponentChange::Added),
            (true, None) => Some(ComponentChange::Removed),
            (true, Some(new)) if self.is_current_component(new) => Some(ComponentChange::Kept),
            (true, Some(_)) => Some(ComponentChange::Updated),
        }
    }

    fn is_current_component(self, new: &Component) -> bool {
        let Some(old) = self.existing.component(new.kind) else {
            return false;
        };
        let same_plan = match &old.record {
            Some(record) => record.plan == new.record.plan,
            None => false,
        };
        // The `status` goes with the agent.
        let has_status = new.kind != ComponentKind::Agent || self.has_status();
        same_plan && has_status && *old.names() == new.names
    }

    /// Describes an update: `wait-for was added, the agent was removed: the template asks to be left alone`.
    pub(crate) fn describe_update(
        self,
        tense: Tense,
        plan: &Plan,
        no_agent: Option<&Finding>,
    ) -> UpdateDescription {
        let mut changes = Vec::new();
        for change in [
            ComponentChange::Added,
            ComponentChange::Updated,
            ComponentChange::Removed,
        ] {
            let kinds = ComponentKind::ALL.into_iter();
            let kinds = kinds.filter(|kind| self.change(*kind, plan) == Some(change));
            let kinds: ComponentKinds = kinds.collect();
            if !kinds.is_empty() {
                changes.push(kinds.passive(tense, change.participle()));
            }
        }
        let updated = ComponentChange::Updated.participle();
        if changes.is_empty() {
            // `--force` overwrites drift, which the record does not show.
            changes.push(self.existing.kinds().passive(tense, updated));
        }
        let mut message = changes.join(", ");
        let agent = self.change(ComponentKind::Agent, plan);
        if let Some(skip) = no_agent
            && agent == Some(ComponentChange::Removed)
        {
            message = format!("{message}: {}", skip.message);
        }
        let agent = ComponentKinds::from(ComponentKind::Agent);
        let has_details = message != agent.passive(tense, updated);
        UpdateDescription {
            message,
            has_details,
        }
    }
}

/// The message about an update.
pub(crate) struct UpdateDescription {
    pub(crate) message: String,
    /// False if the message only says that the agent was updated, as the id does.
    pub(crate) has_details: bool,
}

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

/// Returns the indices of the containers that are not part of the injection.
pub(crate) fn others(template: &PodTemplate, list: ContainerList) -> impl Iterator<Item = usize> {
    let containers = template.containers.iter();
    let of_list = containers.filter(move |container| container.list == list);
    of_list.map(|container| container.index)
}
