//! An existing injection: the components that an earlier run added to a pod template, found by its record.
//!
//! Every decision is made on the template without it, so that a changed configuration gives the result that it would have
//! given on the original template.

use crate::agent::canonical::{ReplaceableNames, canonical_parts, take_image, take_names};
use crate::agent::components::{ComponentSet, Components};
use crate::agent::record::{PullSecrets, Record, RecordError};
use crate::agent::wait_for::CONTAINER as WAIT_FOR_CONTAINER;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::{CONTAINER, INJECTED, PLATFORM, Sidecar, Volume, is_agent_image};
use crate::manifest::pod_template::{
    Container, ContainerList, PodAnnotation, PodTemplate, PodVolume, PullSecret,
};
use serde_json::Value;
use std::collections::HashMap;
use yaml_json_patch::{Tree, to_json};

/// An existing injection.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExistingInjection {
    pub(crate) record: Result<Record, RecordError>,
    /// Byte offset of the record.
    pub(crate) offset: usize,
    /// True if `status: injected` is beside the record.
    pub(crate) status: bool,
    /// The recorded agent; none if it is absent.
    pub(crate) agent: Option<Container>,
    /// The recorded init container; none if it is absent.
    pub(crate) wait_for: Option<Container>,
    /// The recorded volumes; none for an absent one.
    pub(crate) volumes: Vec<(Volume, Option<PodVolume>)>,
    /// The recorded pull secrets; none for an absent one.
    pub(crate) pull_secrets: Vec<(String, Option<PullSecret>)>,
    /// The canonical form of agent and volumes without their names; none if a part is absent.
    pub(crate) value: Option<Value>,
    /// The current names.
    pub(crate) names: ReplaceableNames,
    /// The canonical form of the init container without its image, and the image.
    pub(crate) wait_for_value: Option<(Value, Option<String>)>,
}

impl ExistingInjection {
    /// Returns the recorded components, or those that are present if the record cannot be read.
    pub(crate) fn component_set(&self) -> ComponentSet {
        match &self.record {
            Ok(record) => record.components.component_set(),
            Err(_) => {
                let found = Components::of(self.agent.as_ref(), self.wait_for.as_ref());
                found.map_or(Components::Agent(()), |found| found.component_set())
            }
        }
    }

    /// Returns the containers that are present.
    pub(crate) fn containers(&self) -> impl Iterator<Item = &Container> {
        self.agent.iter().chain(&self.wait_for)
    }

    /// Removes an existing injection from the view of a template, if there is a record.
    pub(crate) fn take_from(template: &mut PodTemplate, tree: &Tree<'_>) -> Option<Self> {
        let record = template
            .annotations
            .iter()
            .rposition(|annotation| annotation.key == Annotation::Record.key())?;
        let record = template.annotations.remove(record);
        Some(take(tree, record, template))
    }
}

/// Removes the recorded components from the view.
fn take(
    tree: &Tree<'_>,
    annotation: PodAnnotation,
    template: &mut PodTemplate,
) -> ExistingInjection {
    let PodTemplate {
        annotations,
        containers,
        volumes,
        pull_secrets,
        ..
    } = template;
    let record = annotation
        .value
        .as_deref()
        .map_or(Err(RecordError::Broken), Record::parse);
    let components = record.as_ref().map(|record| &record.components);
    // A status beside an init container alone was not added by us.
    let mut status = None;
    if components.map_or(true, |components| components.agent().is_some()) {
        let at = annotations
            .iter()
            .position(|annotation| annotation.key == Annotation::Status.key());
        status = at
            .map(|at| annotations.remove(at))
            .and_then(|annotation| annotation.value);
    }
    let mut take = |lists: &[ContainerList], name: &str| {
        let is_it = |container: &Container| {
            lists.contains(&container.list) && container.name.as_deref() == Some(name)
        };
        containers
            .iter()
            .position(is_it)
            .map(|at| containers.remove(at))
    };
    let agent = match components.map(|components| components.agent().map(|agent| agent.sidecar)) {
        Ok(Some(Sidecar::Native)) => take(&[ContainerList::InitContainers], CONTAINER),
        Ok(Some(Sidecar::Container)) => take(&[ContainerList::Containers], CONTAINER),
        Ok(None) => None,
        Err(_) => take(
            &[ContainerList::Containers, ContainerList::InitContainers],
            CONTAINER,
        ),
    };
    let has_wait_for = components.map_or(true, |components| components.wait_for().is_some());
    let wait_for = has_wait_for
        .then(|| take(&[ContainerList::InitContainers], WAIT_FOR_CONTAINER))
        .flatten();
    let is_named = |volume: &Volume| {
        volumes
            .iter()
            .any(|other| other.name.as_deref() == Some(volume.name()))
    };
    let named: Vec<Volume> = match components {
        Ok(components) => components
            .agent()
            .map_or_else(Vec::new, |agent| agent.volumes.clone()),
        Err(_) => Volume::ALL.into_iter().filter(is_named).collect(),
    };
    let taken: Vec<(Volume, Option<PodVolume>)> = named
        .into_iter()
        .map(|volume| {
            let at = volumes
                .iter()
                .position(|candidate| candidate.name.as_deref() == Some(volume.name()));
            (volume, at.map(|at| volumes.remove(at)))
        })
        .collect();
    let pulled = record
        .as_ref()
        .ok()
        .and_then(|record| record.pull_secrets.as_ref());
    let pulled = pulled.map_or_else(Vec::new, |existing| {
        take_pull_secrets(existing, pull_secrets)
    });
    let is_complete = pulled.iter().all(|(_, secret)| secret.is_some());
    let (value, names) = value_of(tree, agent.as_ref(), &taken);
    ExistingInjection {
        record,
        offset: annotation.offset,
        status: status.as_deref() == Some(INJECTED),
        agent,
        wait_for_value: wait_for
            .as_ref()
            .and_then(|container| wait_for_value(tree, container)),
        wait_for,
        volumes: taken,
        pull_secrets: pulled,
        value: value.filter(|_| is_complete),
        names,
    }
}

/// Removes the added pull secrets from the view. kustomize may have put a prefix or suffix to their names, and keeps their order;
/// those before the recorded index are never taken for added ones.
fn take_pull_secrets(
    existing: &PullSecrets,
    there: &mut Vec<PullSecret>,
) -> Vec<(String, Option<PullSecret>)> {
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, name) in there
        .iter()
        .enumerate()
        .filter_map(|(at, secret)| Some((at, secret.name.clone()?)))
    {
        by_name.entry(name).or_default().push(at);
    }
    let mut renamed = there
        .iter()
        .position(|secret| secret.index >= existing.behind)
        .unwrap_or(there.len());
    let mut left: Vec<Option<PullSecret>> = there.drain(..).map(Some).collect();
    let mut take = |name: &String| {
        let same = by_name.get_mut(name).and_then(|known| {
            let at = known
                .iter()
                .rposition(|at| left.get(*at).is_some_and(Option::is_some))?;
            known.drain(at..).next()
        });
        let at = same.or_else(|| {
            let is_it = |secret: &PullSecret| {
                secret
                    .name
                    .as_ref()
                    .is_some_and(|other| other.contains(name.as_str()))
            };
            let at = (renamed..left.len())
                .find(|at| left.get(*at).and_then(Option::as_ref).is_some_and(is_it));
            // Where one is missing, the others decide nothing any more.
            renamed = at.map_or(left.len(), |at| at + 1);
            at
        });
        (name.clone(), at.and_then(|at| left.get_mut(at)?.take()))
    };
    let taken = existing.names.iter().map(&mut take).collect();
    there.extend(left.into_iter().flatten());
    taken
}

/// Returns the canonical form of agent and volumes, or none if a part is absent; and their names.
fn value_of(
    tree: &Tree<'_>,
    agent: Option<&Container>,
    volumes: &[(Volume, Option<PodVolume>)],
) -> (Option<Value>, ReplaceableNames) {
    let container = agent.and_then(|agent| to_json(tree, agent.node).ok());
    let there = volumes
        .iter()
        .filter_map(|(_, volume)| to_json(tree, volume.as_ref()?.node).ok());
    let mut there: Vec<Value> = there.collect();
    let is_complete = container.is_some() && there.len() == volumes.len();
    let mut container = container.unwrap_or_default();
    let names = take_names(&mut container, &mut there);
    (
        is_complete.then(|| canonical_parts(&container, &there)),
        names,
    )
}

/// Returns the canonical form of the init container, and its image.
fn wait_for_value(tree: &Tree<'_>, container: &Container) -> Option<(Value, Option<String>)> {
    let mut container = to_json(tree, container.node).ok()?;
    let image = take_image(&mut container);
    Some((canonical_parts(&container, &[]), image))
}

/// Returns true for any agent, injected or foreign: by its image, or by the variable that it does not start without. A registry
/// mirror may have the image under any name.
pub(crate) fn is_agent(tree: &Tree<'_>, container: &Container) -> bool {
    container.image.as_deref().is_some_and(is_agent_image)
        || tree.member(container.node, "env").is_some_and(|env| {
            let mut variables = tree.items(tree.alias_target(env));
            variables.any(|variable| {
                let name = tree
                    .member(variable, "name")
                    .and_then(|name| tree.scalar(tree.alias_target(name)));
                name.as_deref() == Some(PLATFORM)
            })
        })
}
