//! An existing injection: what an earlier run put into a pod template, found by its record.
//!
//! Every decision is made on the template without it, so that a changed configuration gives what it would have given in the
//! first place.

use crate::agent::canonical::{ReplaceableNames, canonical_parts, take_image, take_names};
use crate::agent::components::{ComponentSet, Components};
use crate::agent::record::{PullSecrets, Record, RecordError};
use crate::agent::wait_for::CONTAINER as WAIT_FOR_CONTAINER;
use crate::mackerel::annotations::Annotation as Key;
use crate::mackerel::names::{CONTAINER, INJECTED, Sidecar, Volume, is_agent_image};
use crate::manifest::pod_template::{Annotation, Container, ContainerList, PodTemplate, PodVolume, PullSecret};
use serde_json::Value;
use yaml_json_patch::{Tree, to_json};

/// What we find of an earlier injection.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExistingInjection {
    /// The record, or why it cannot be read.
    pub(crate) record: Result<Record, RecordError>,
    /// Where the record stands.
    pub(crate) offset: usize,
    /// `status: injected` stands beside it.
    pub(crate) status: bool,
    /// The agent that the record names; none where it is gone.
    pub(crate) agent: Option<Container>,
    /// The init container that the record names; none where it is gone.
    pub(crate) wait_for: Option<Container>,
    /// The volumes that the record names, each with its place; none for one that is gone.
    pub(crate) volumes: Vec<(Volume, Option<PodVolume>)>,
    /// The pull secrets that the record names, each with its place; none for one that is gone.
    pub(crate) pull_secrets: Vec<(String, Option<PullSecret>)>,
    /// The normal form of agent and volumes without their names; none where a part is gone.
    pub(crate) value: Option<Value>,
    /// The names in use, as far as what holds them is there.
    pub(crate) names: ReplaceableNames,
    /// The normal form of the init container without its image, and that; none where it is gone.
    pub(crate) wait_for_value: Option<(Value, Option<String>)>,
}

impl ExistingInjection {
    /// Which of the two it is; by what stands there where the record cannot be read.
    #[must_use]
    pub(crate) fn component_set(&self) -> ComponentSet {
        match &self.record {
            Ok(record) => record.components.component_set(),
            Err(_) => {
                let found = Components::of(self.agent.as_ref(), self.wait_for.as_ref());
                found.map_or(Components::Agent(()), |found| found.component_set())
            }
        }
    }

    /// Both containers, as far as they are there.
    pub(crate) fn containers(&self) -> impl Iterator<Item = &Container> {
        self.agent.iter().chain(&self.wait_for)
    }
}

impl ExistingInjection {
    /// Removes an existing injection from the view of a template, where the template carries a record.
    #[must_use]
    pub(crate) fn take_from(template: &mut PodTemplate, tree: &Tree<'_>) -> Option<Self> {
        let record = template.annotations.iter().rposition(|annotation| annotation.key == Key::Record.key())?;
        let record = template.annotations.remove(record);
        Some(take(tree, record, template))
    }
}

/// Removes from the view what an earlier injection put there, as the record says.
// Most templates never had an agent: this is apart from what they all run.
#[inline(never)]
fn take(tree: &Tree<'_>, annotation: Annotation, template: &mut PodTemplate) -> ExistingInjection {
    let PodTemplate { annotations, containers, volumes, pull_secrets, .. } = template;
    let record = annotation.value.as_deref().map_or(Err(RecordError::Broken), Record::parse);
    let components = record.as_ref().map(|record| &record.components);
    // Beside an init container alone a status is somebody else's.
    let mut status = None;
    if components.map_or(true, |components| components.agent().is_some()) {
        let at = annotations.iter().position(|annotation| annotation.key == Key::Status.key());
        status = at.map(|at| annotations.remove(at)).and_then(|annotation| annotation.value);
    }
    let mut take = |lists: &[ContainerList], name: &str| {
        let is_it = |container: &Container| lists.contains(&container.list) && container.name.as_deref() == Some(name);
        containers.iter().position(is_it).map(|at| containers.remove(at))
    };
    let agent = match components.map(|components| components.agent().map(|agent| agent.sidecar)) {
        Ok(Some(Sidecar::Native)) => take(&[ContainerList::InitContainers], CONTAINER),
        Ok(Some(Sidecar::Container)) => take(&[ContainerList::Containers], CONTAINER),
        Ok(None) => None,
        Err(_) => take(&[ContainerList::Containers, ContainerList::InitContainers], CONTAINER),
    };
    let has_wait_for = components.map_or(true, |components| components.wait_for().is_some());
    let wait_for = has_wait_for.then(|| take(&[ContainerList::InitContainers], WAIT_FOR_CONTAINER)).flatten();
    let is_named = |volume: &Volume| volumes.iter().any(|other| other.name.as_deref() == Some(volume.name()));
    let named: Vec<Volume> = match components {
        Ok(components) => components.agent().map_or_else(Vec::new, |agent| agent.volumes.clone()),
        Err(_) => Volume::ALL.into_iter().filter(is_named).collect(),
    };
    let taken: Vec<(Volume, Option<PodVolume>)> = named
        .into_iter()
        .map(|volume| {
            let at = volumes.iter().position(|candidate| candidate.name.as_deref() == Some(volume.name()));
            (volume, at.map(|at| volumes.remove(at)))
        })
        .collect();
    let pulled = record.as_ref().ok().and_then(|record| record.pull_secrets.as_ref());
    let pulled = pulled.map_or_else(Vec::new, |existing| take_pull_secrets(existing, pull_secrets));
    let is_complete = pulled.iter().all(|(_, secret)| secret.is_some());
    let (value, names) = value_of(tree, agent.as_ref(), &taken);
    ExistingInjection {
        record,
        offset: annotation.offset,
        status: status.as_deref() == Some(INJECTED),
        agent,
        wait_for_value: wait_for.as_ref().and_then(|container| wait_for_value(tree, container)),
        wait_for,
        volumes: taken,
        pull_secrets: pulled,
        value: value.filter(|_| is_complete),
        names,
    }
}

/// Takes out the pull secrets that we added. kustomize may have given them another name with ours inside it; what stood
/// there before us stands in front of them, and is never taken for one.
fn take_pull_secrets(existing: &PullSecrets, there: &mut Vec<PullSecret>) -> Vec<(String, Option<PullSecret>)> {
    let take = |name: &String| {
        let same = there.iter().rposition(|secret| secret.name.as_ref() == Some(name));
        let renamed = || {
            let is_it = |secret: &PullSecret| {
                secret.index >= existing.behind
                    && secret.name.as_ref().is_some_and(|other| other.contains(name.as_str()))
            };
            there.iter().position(is_it)
        };
        let at = same.or_else(renamed);
        (name.clone(), at.map(|at| there.remove(at)))
    };
    existing.names.iter().map(take).collect()
}

/// The normal form of what stands there, or none where a part of it is gone; and the names in what is there.
fn value_of(
    tree: &Tree<'_>,
    agent: Option<&Container>,
    volumes: &[(Volume, Option<PodVolume>)],
) -> (Option<Value>, ReplaceableNames) {
    let container = agent.and_then(|agent| to_json(tree, agent.node).ok());
    let there = volumes.iter().filter_map(|(_, volume)| to_json(tree, volume.as_ref()?.node).ok());
    let mut there: Vec<Value> = there.collect();
    let is_complete = container.is_some() && there.len() == volumes.len();
    let mut container = container.unwrap_or_default();
    let names = take_names(&mut container, &mut there);
    (is_complete.then(|| canonical_parts(&container, &there)), names)
}

/// The same of the init container that waits.
fn wait_for_value(tree: &Tree<'_>, container: &Container) -> Option<(Value, Option<String>)> {
    let mut container = to_json(tree, container.node).ok()?;
    let image = take_image(&mut container);
    Some((canonical_parts(&container, &[]), image))
}

/// True for a container that is an agent, whoever put it there.
#[must_use]
pub(crate) fn is_agent(container: &Container) -> bool {
    container.image.as_deref().is_some_and(is_agent_image)
}
