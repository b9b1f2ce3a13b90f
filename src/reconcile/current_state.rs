//! How what an earlier run put into a template stands there: whether an injection would put it there too, and whether it is
//! what is wanted today.

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

/// Ours, within the template.
#[derive(Clone, Copy)]
pub(crate) struct CurrentState<'a> {
    pub(crate) template: &'a PodTemplate,
    pub(crate) existing: &'a ExistingInjection,
}

impl<'a> CurrentState<'a> {
    /// Where new ones go.
    pub(crate) fn places(self, plan: &Plan) -> ListPositions {
        ListPositions {
            containers: self.place(plan, ContainerList::Containers),
            init_containers: self.place(plan, ContainerList::InitContainers),
            adopted: None,
        }
    }

    /// To the old ones' place, where somebody moved those within the list and they stay in it.
    fn place(self, plan: &Plan, list: ContainerList) -> ListPosition {
        let stay = !plan.containers(list.field()).is_empty() && position(plan) == self.position();
        match self.containers_before(list) {
            Some(others) if stay && others != self.default_index(list) => ListPosition::At(others),
            _ => ListPosition::Default,
        }
    }

    /// True where everything stands where an injection would put it.
    pub(crate) fn is_at_default_position(self) -> bool {
        let Self { template, existing } = self;
        let containers = [ContainerList::Containers, ContainerList::InitContainers].into_iter().all(|list| {
            self.containers_before(list).is_none_or(|in_front| {
                let last = existing.containers().filter(|container| container.list == list).map(|it| it.index).max();
                let default_index = self.default_index(list);
                // Nobody stands between them either.
                in_front == default_index
                    && others(template, list).filter(|other| Some(*other) < last).count() == default_index
            })
        });
        let volumes = existing.volumes.iter().all(|(_, volume)| {
            volume.as_ref().is_some_and(|volume| template.volumes.iter().all(|other| other.index < volume.index))
        });
        let annotations = template.annotations.iter().all(|annotation| annotation.offset < existing.offset);
        self.has_containers() && containers && volumes && annotations
    }

    fn has_containers(self) -> bool {
        let components = self.existing.component_set();
        self.existing.agent.is_some() == components.agent().is_some()
            && self.existing.wait_for.is_some() == components.wait_for().is_some()
    }

    /// How many others stand in front of the first of ours.
    fn containers_before(self, list: ContainerList) -> Option<usize> {
        let of_list = self.existing.containers().filter(|container| container.list == list);
        let first = of_list.map(|container| container.index).min()?;
        Some(others(self.template, list).filter(|other| *other < first).count())
    }

    /// How many others an injection would leave in front.
    fn default_index(self, list: ContainerList) -> usize {
        match (list, self.position()) {
            (ContainerList::InitContainers, WaitForPosition::First) => 0,
            _ => others(self.template, list).count(),
        }
    }

    /// Where the init containers went; behind the others where that is not known.
    fn position(self) -> WaitForPosition {
        self.existing.record.as_ref().map_or(WaitForPosition::Last, Record::position)
    }

    /// The record, where new ones can take the place of the old ones, each for each.
    pub(crate) fn replaceable(self, plan: &Plan) -> Option<&'a Record> {
        let existing = self.existing;
        let record = existing.record.as_ref().ok()?;
        let agent = both(record.components.agent(), plan.agent(), |record, agent| {
            let same_volumes = record.volumes.iter().eq(agent.volumes.iter().map(|(volume, _)| volume));
            (existing.status || !record.status_is_ours) && same_volumes && record.sidecar == agent.sidecar
        });
        let wait_for = both(record.components.wait_for(), plan.wait_for(), |record, wait_for| {
            record.position == wait_for.position
        });
        let pulled = record.pull_secrets.as_ref().map_or(&[][..], |existing| &existing.names);
        let is_complete = self.has_containers() && existing.volumes.iter().all(|(_, volume)| volume.is_some());
        (is_complete && agent && wait_for && *pulled == *plan.pull_secrets()).then_some(record)
    }

    /// True where an injection would add, to the letter, what the record says was added, and nobody put a name of theirs in
    /// the place of one that we insist on.
    pub(crate) fn is_current(self, plan: &Plan) -> bool {
        let Ok(Record { components, .. }) = &self.existing.record else { return false };
        both(components.agent(), plan.agent(), |_, agent| self.is_current_agent(agent))
            && both(components.wait_for(), plan.wait_for(), |_, wait_for| self.is_current_wait_for(wait_for))
    }

    fn is_current_agent(self, agent: &Agent) -> bool {
        let existing = self.existing;
        let record = existing.record.as_ref().ok().and_then(|record| record.components.agent());
        record.is_some_and(|record| {
            record.plan == agent.record().plan
                && (existing.status || !record.status_is_ours)
                && existing.names == agent.names()
        })
    }

    fn is_current_wait_for(self, wait_for: &WaitFor) -> bool {
        let record = self.existing.record.as_ref().ok().and_then(|record| record.components.wait_for());
        let image = self.existing.wait_for_value.as_ref().and_then(|(_, image)| image.as_deref());
        record.is_some_and(|record| record.plan == wait_for.record().plan && image == Some(wait_for.image()))
    }

    /// What an update does: `wait-for was added, the agent was taken out: the template asks to be left alone`.
    pub(crate) fn updated(self, tense: Tense, plan: &Plan, no_agent: Option<&Finding>) -> String {
        let was = self.existing.component_set();
        let agent = ComponentChange::of(was.agent().is_some(), plan.agent().map(|agent| self.is_current_agent(agent)));
        let wait_for = ComponentChange::of(
            was.wait_for().is_some(),
            plan.wait_for().map(|wait_for| self.is_current_wait_for(wait_for)),
        );
        let told = [
            (ComponentChange::Added, "added"),
            (ComponentChange::Changed, "brought up to date"),
            (ComponentChange::Gone, "taken out"),
        ]
        .into_iter()
        .filter_map(|(fate, done)| {
            let components = Components::of((agent == fate).then_some(()), (wait_for == fate).then_some(()))?;
            Some(components.passive(tense, done))
        });
        let told: Vec<String> = told.collect();
        match (told.is_empty(), no_agent.filter(|_| agent == ComponentChange::Gone)) {
            // What `--force` overwrites is no part of the record.
            (true, _) => was.passive(tense, "brought up to date"),
            (false, Some(skip)) => format!("{}: {}", told.join(", "), skip.message),
            (false, None) => told.join(", "),
        }
    }
}

/// What becomes of one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ComponentChange {
    /// Neither there nor wanted.
    Absent,
    Added,
    Kept,
    Changed,
    Gone,
}

impl ComponentChange {
    /// `current`: whether the one that is wanted is the one that is there.
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

/// Where the init containers of a plan go. An agent alone goes behind the others.
fn position(plan: &Plan) -> WaitForPosition {
    plan.wait_for().map_or(WaitForPosition::Last, |wait_for| wait_for.position)
}

/// The places of everybody else's.
pub(crate) fn others(template: &PodTemplate, list: ContainerList) -> impl Iterator<Item = usize> {
    template.containers.iter().filter(move |other| other.list == list).map(|other| other.index)
}

/// True where there is neither, or where there are both and it holds for them.
fn both<A, B>(one: Option<A>, other: Option<B>, holds: impl FnOnce(A, B) -> bool) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => holds(one, other),
        (Some(_), None) | (None, Some(_)) => false,
    }
}
