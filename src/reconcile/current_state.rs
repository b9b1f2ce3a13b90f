//! The current state of an existing injection: is it up to date, and is it at its default position?

use crate::agent::components::Components;
use crate::agent::existing::ExistingInjection;
use crate::agent::plan::Plan;
use crate::agent::wait_for::WaitFor;
use crate::agent::{Agent, Record};
use crate::config::WaitForPosition;
use crate::manifest::pod_template::{ContainerList, PodTemplate};
use crate::options::Tense;
use crate::reconcile::patch::{ListPosition, ListPositions};
use crate::report::Finding;

/// An existing injection and the rest of its template.
#[derive(Clone, Copy)]
pub(crate) struct CurrentState<'a> {
    pub(crate) template: &'a PodTemplate,
    pub(crate) existing: &'a ExistingInjection,
}

impl<'a> CurrentState<'a> {
    /// Returns the positions for new containers.
    pub(crate) fn positions(self, plan: &Plan) -> ListPositions {
        ListPositions {
            containers: self.list_position(plan, ContainerList::Containers),
            init_containers: self.list_position(plan, ContainerList::InitContainers),
            adopted: None,
        }
    }

    /// Returns the position of the old containers if a user moved them within the list.
    fn list_position(self, plan: &Plan, list: ContainerList) -> ListPosition {
        let stay = !plan.containers(list.field()).is_empty() && position(plan) == self.position();
        match self.containers_before(list) {
            Some(others) if stay && others != self.default_index(list) => ListPosition::At(others),
            _ => ListPosition::Default,
        }
    }

    /// True if everything is at the position that an injection would choose.
    pub(crate) fn is_at_default_position(self) -> bool {
        let Self { template, existing } = self;
        let containers = [ContainerList::Containers, ContainerList::InitContainers]
            .into_iter()
            .all(|list| {
                self.containers_before(list).is_none_or(|in_front| {
                    let last = existing
                        .containers()
                        .filter(|container| container.list == list)
                        .map(|it| it.index)
                        .max();
                    let default_index = self.default_index(list);
                    // No other container is between them either.
                    in_front == default_index
                        && others(template, list)
                            .filter(|other| Some(*other) < last)
                            .count()
                            == default_index
                })
            });
        let volumes = existing.volumes.iter().all(|(_, volume)| {
            volume.as_ref().is_some_and(|volume| {
                template
                    .volumes
                    .iter()
                    .all(|other| other.index < volume.index)
            })
        });
        let annotations = template
            .annotations
            .iter()
            .all(|annotation| annotation.offset < existing.offset);
        self.has_containers() && containers && volumes && annotations
    }

    fn has_containers(self) -> bool {
        let components = self.existing.component_set();
        self.existing.agent.is_some() == components.agent().is_some()
            && self.existing.wait_for.is_some() == components.wait_for().is_some()
    }

    /// Returns the number of other containers before the first injected one.
    fn containers_before(self, list: ContainerList) -> Option<usize> {
        let of_list = self
            .existing
            .containers()
            .filter(|container| container.list == list);
        let first = of_list.map(|container| container.index).min()?;
        Some(
            others(self.template, list)
                .filter(|other| *other < first)
                .count(),
        )
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
        self.existing
            .record
            .as_ref()
            .map_or(WaitForPosition::Last, Record::position)
    }

    /// Returns the record if new components can replace the old ones one by one.
    pub(crate) fn replaceable(self, plan: &Plan) -> Option<&'a Record> {
        let existing = self.existing;
        let record = existing.record.as_ref().ok()?;
        let agent = both(record.components.agent(), plan.agent(), |record, agent| {
            let same_volumes = record
                .volumes
                .iter()
                .eq(agent.volumes.iter().map(|(volume, _)| volume));
            (existing.status || !record.status_is_added)
                && same_volumes
                && record.sidecar == agent.sidecar
        });
        let wait_for = both(
            record.components.wait_for(),
            plan.wait_for(),
            |record, wait_for| record.position == wait_for.position,
        );
        let pulled = record
            .pull_secrets
            .as_ref()
            .map_or(&[][..], |existing| &existing.names);
        let is_complete =
            self.has_containers() && existing.volumes.iter().all(|(_, volume)| volume.is_some());
        (is_complete && agent && wait_for && *pulled == *plan.pull_secrets()).then_some(record)
    }

    /// True if an injection would add byte for byte what the record says, and image, Secret and ConfigMap have the wanted
    /// names.
    pub(crate) fn is_current(self, plan: &Plan) -> bool {
        let Ok(Record { components, .. }) = &self.existing.record else {
            return false;
        };
        both(components.agent(), plan.agent(), |_, agent| {
            self.is_current_agent(agent)
        }) && both(components.wait_for(), plan.wait_for(), |_, wait_for| {
            self.is_current_wait_for(wait_for)
        })
    }

    fn is_current_agent(self, agent: &Agent) -> bool {
        let existing = self.existing;
        let record = existing
            .record
            .as_ref()
            .ok()
            .and_then(|record| record.components.agent());
        record.is_some_and(|record| {
            record.plan == agent.record().plan
                && (existing.status || !record.status_is_added)
                && existing.names == agent.names()
        })
    }

    fn is_current_wait_for(self, wait_for: &WaitFor) -> bool {
        let record = self
            .existing
            .record
            .as_ref()
            .ok()
            .and_then(|record| record.components.wait_for());
        let image = self
            .existing
            .wait_for_value
            .as_ref()
            .and_then(|(_, image)| image.as_deref());
        record.is_some_and(|record| {
            record.plan == wait_for.record().plan && image == Some(wait_for.image())
        })
    }

    /// Describes an update: `wait-for was added, the agent was taken out: the template asks to be left alone`.
    pub(crate) fn describe_update(
        self,
        tense: Tense,
        plan: &Plan,
        no_agent: Option<&Finding>,
    ) -> String {
        let was = self.existing.component_set();
        let agent = ComponentChange::of(
            was.agent().is_some(),
            plan.agent().map(|agent| self.is_current_agent(agent)),
        );
        let wait_for = ComponentChange::of(
            was.wait_for().is_some(),
            plan.wait_for()
                .map(|wait_for| self.is_current_wait_for(wait_for)),
        );
        let changes = [
            (ComponentChange::Added, "added"),
            (ComponentChange::Changed, "updated"),
            (ComponentChange::Gone, "removed"),
        ]
        .into_iter()
        .filter_map(|(fate, done)| {
            let components = Components::of(
                (agent == fate).then_some(()),
                (wait_for == fate).then_some(()),
            )?;
            Some(components.passive(tense, done))
        });
        let changes: Vec<String> = changes.collect();
        match (
            changes.is_empty(),
            no_agent.filter(|_| agent == ComponentChange::Gone),
        ) {
            // `--force` overwrites drift, which the record does not show.
            (true, _) => was.passive(tense, "updated"),
            (false, Some(skip)) => format!("{}: {}", changes.join(", "), skip.message),
            (false, None) => changes.join(", "),
        }
    }
}

/// The change of the agent or of the init container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ComponentChange {
    /// Neither present nor wanted.
    Absent,
    Added,
    Kept,
    Changed,
    Gone,
}

impl ComponentChange {
    /// `current`: the wanted one, if any, equals the present one.
    fn of(was: bool, current: Option<bool>) -> Self {
        match (was, current) {
            (false, None) => ComponentChange::Absent,
            (false, Some(_)) => ComponentChange::Added,
            (true, None) => ComponentChange::Gone,
            (true, Some(true)) => ComponentChange::Kept,
            (true, Some(false)) => ComponentChange::Changed,
        }
    }
}

/// Returns the position of a plan's init containers. An agent alone goes after the others.
fn position(plan: &Plan) -> WaitForPosition {
    plan.wait_for()
        .map_or(WaitForPosition::Last, |wait_for| wait_for.position)
}

/// Returns the indices of the containers that are not part of the injection.
pub(crate) fn others(template: &PodTemplate, list: ContainerList) -> impl Iterator<Item = usize> {
    template
        .containers
        .iter()
        .filter(move |other| other.list == list)
        .map(|other| other.index)
}

/// True if both are absent, or if both are present and `holds` is true for them.
fn both<A, B>(one: Option<A>, other: Option<B>, holds: impl FnOnce(A, B) -> bool) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => holds(one, other),
        (Some(_), None) | (None, Some(_)) => false,
    }
}
