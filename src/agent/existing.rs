//! An existing injection: the components that an earlier run added to a pod template, found by its record.
//!
//! Every decision is made on the template without it, so that a changed configuration gives the result that it would have
//! given on the original template.

use crate::agent::canonical::CanonicalForm;
use crate::agent::component_kind::{ComponentKind, ComponentKinds};
use crate::agent::record::{ComponentRecord, PullSecrets, Record, RecordError};
use crate::agent::replaceable_names::ReplaceableNames;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::{INJECTED, PLATFORM, Volume, is_agent_image};
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
    /// The recorded components; if the record cannot be read, those that are present.
    pub(crate) components: Vec<ExistingComponent>,
    /// The recorded pull secrets; none for an absent one.
    pub(crate) pull_secrets: Vec<(String, Option<PullSecret>)>,
}

/// A component of an existing injection.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExistingComponent {
    pub(crate) kind: ComponentKind,
    /// Its part of the record; none if the record cannot be read.
    pub(crate) record: Option<ComponentRecord>,
    /// None if it is absent.
    pub(crate) container: Option<Container>,
    /// The recorded volumes; none for an absent one.
    pub(crate) volumes: Vec<(Volume, Option<PodVolume>)>,
    /// The canonical form; none if the container or a volume is absent.
    pub(crate) value: Option<Value>,
    /// The current names.
    pub(crate) names: ReplaceableNames,
}

impl ExistingInjection {
    /// Returns the recorded components, or those that are present if the record cannot be read.
    pub(crate) fn kinds(&self) -> ComponentKinds {
        let mut components = self.components.iter();
        match &self.record {
            Ok(record) => record.kinds(),
            Err(_) if components.all(|component| component.container.is_none()) => {
                ComponentKind::Agent.into()
            }
            Err(_) => self.containers().map(|(kind, _)| kind).collect(),
        }
    }

    pub(crate) fn component(&self, kind: ComponentKind) -> Option<&ExistingComponent> {
        let mut components = self.components.iter();
        components.find(|component| component.kind == kind)
    }

    /// Returns the container of a component, if it is present.
    pub(crate) fn container(&self, kind: ComponentKind) -> Option<&Container> {
        self.component(kind)?.container.as_ref()
    }

    /// Returns the containers that are present.
    pub(crate) fn containers(&self) -> impl Iterator<Item = (ComponentKind, &Container)> {
        let components = self.components.iter();
        components.filter_map(|component| Some((component.kind, component.container.as_ref()?)))
    }

    /// Returns the recorded volumes.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = &(Volume, Option<PodVolume>)> {
        let components = self.components.iter();
        components.flat_map(|component| &component.volumes)
    }

    /// Returns true if everything that the record names is present and can be read.
    pub(crate) fn is_complete(&self) -> bool {
        let mut components = self.components.iter();
        let mut pull_secrets = self.pull_secrets.iter();
        components.all(|component| component.value.is_some())
            && pull_secrets.all(|(_, secret)| secret.is_some())
    }

    /// Removes an existing injection from the view of a template, if there is a record.
    pub(crate) fn take_from(template: &mut PodTemplate, tree: &Tree<'_>) -> Option<Self> {
        let mut annotations = template.annotations.iter();
        let index =
            annotations.rposition(|annotation| annotation.key == Annotation::Record.key())?;
        let annotation = template.annotations.remove(index);
        let record = match &annotation.value {
            Some(text) => Record::parse(text),
            None => Err(RecordError::Broken),
        };
        let mut components = Vec::new();
        for kind in ComponentKind::ALL {
            components.extend(ExistingComponent::take_from(template, tree, kind, &record));
        }
        // A status beside an init container alone was not added by us.
        let has_status = match &record {
            Ok(record) => record.agent.is_some(),
            Err(_) => true,
        };
        let added = match &record {
            Ok(record) => record.pull_secrets.as_ref(),
            Err(_) => None,
        };
        Some(Self {
            offset: annotation.offset,
            status: has_status && take_status(&mut template.annotations),
            components,
            pull_secrets: match added {
                Some(added) => take_pull_secrets(added, &mut template.pull_secrets),
                None => Vec::new(),
            },
            record,
        })
    }
}

/// Removes the `status` annotation. Returns true if it says that there is an injection.
fn take_status(annotations: &mut Vec<PodAnnotation>) -> bool {
    let mut known = annotations.iter();
    match known.position(|annotation| annotation.key == Annotation::Status.key()) {
        Some(index) => annotations.remove(index).value.as_deref() == Some(INJECTED),
        None => false,
    }
}

impl ExistingComponent {
    /// Returns true if the container and every volume is present.
    pub(crate) fn is_complete(&self) -> bool {
        self.container.is_some() && self.volumes.iter().all(|(_, volume)| volume.is_some())
    }

    /// Removes a recorded component from the view of a template. If the record cannot be read, the names of the container and of
    /// the volumes identify it.
    fn take_from(
        template: &mut PodTemplate,
        tree: &Tree<'_>,
        kind: ComponentKind,
        record: &Result<Record, RecordError>,
    ) -> Option<Self> {
        let (record, lists, names) = match record {
            Ok(record) => {
                let record = record.component(kind)?;
                let names = record.volumes.iter().copied().collect();
                (Some(record), std::slice::from_ref(&record.list), names)
            }
            Err(_) => {
                let mut names = kind.volumes().to_vec();
                names.retain(|volume| find_volume(template, *volume).is_some());
                (None, kind.lists(), names)
            }
        };
        let container = take_container(template, lists, kind.container());
        let mut volumes = Vec::new();
        for name in names {
            let index = find_volume(template, name);
            volumes.push((name, index.map(|index| template.volumes.remove(index))));
        }
        let mut component = Self {
            kind,
            record: record.cloned(),
            container,
            volumes,
            value: None,
            names: ReplaceableNames::new(),
        };
        component.read(tree);
        Some(component)
    }

    /// Reads the parts that are present.
    fn read(&mut self, tree: &Tree<'_>) {
        let container = self.container.as_ref();
        let container = container.and_then(|container| to_json(tree, container.node).ok());
        let mut volumes = Vec::new();
        for (_, volume) in &self.volumes {
            if let Some(volume) = volume
                && let Ok(value) = to_json(tree, volume.node)
            {
                volumes.push(value);
            }
        }
        let is_complete = container.is_some() && volumes.len() == self.volumes.len();
        let canonical = CanonicalForm::of(container.unwrap_or_default(), volumes);
        self.value = is_complete.then_some(canonical.value);
        self.names = canonical.names;
    }
}

fn take_container(
    template: &mut PodTemplate,
    lists: &[ContainerList],
    name: &str,
) -> Option<Container> {
    let mut containers = template.containers.iter();
    let index = containers.position(|container| {
        lists.contains(&container.list) && container.name.as_deref() == Some(name)
    })?;
    Some(template.containers.remove(index))
}

fn find_volume(template: &PodTemplate, volume: Volume) -> Option<usize> {
    let mut volumes = template.volumes.iter();
    volumes.position(|other| other.name.as_deref() == Some(volume.name()))
}

/// Removes the added pull secrets from the view. kustomize may have put a prefix or suffix to their names, and keeps their order;
/// those before the recorded index are never taken for added ones.
fn take_pull_secrets(
    added: &PullSecrets,
    present: &mut Vec<PullSecret>,
) -> Vec<(String, Option<PullSecret>)> {
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (position, secret) in present.iter().enumerate() {
        if let Some(name) = &secret.name {
            by_name.entry(name.clone()).or_default().push(position);
        }
    }
    // A renamed one is at or after this position.
    let mut renamed = present
        .iter()
        .position(|secret| secret.index >= added.after)
        .unwrap_or(present.len());
    let mut left: Vec<Option<PullSecret>> = present.drain(..).map(Some).collect();
    let mut taken = Vec::new();
    for name in &added.names {
        let mut found = None;
        // The last one of this name that is left; those after it have been taken.
        while found.is_none()
            && let Some(position) = by_name.get_mut(name).and_then(Vec::pop)
        {
            found = left.get_mut(position).and_then(Option::take);
        }
        if found.is_none() {
            let contains_name = |secret: &PullSecret| {
                secret
                    .name
                    .as_ref()
                    .is_some_and(|other| other.contains(name.as_str()))
            };
            let mut later = left.iter_mut().enumerate().skip(renamed);
            let same = later.find(|(_, secret)| secret.as_ref().is_some_and(contains_name));
            // Where one is missing, nothing is known about the names of the others.
            renamed = same
                .as_ref()
                .map_or(usize::MAX, |(position, _)| position + 1);
            found = same.and_then(|(_, secret)| secret.take());
        }
        taken.push((name.clone(), found));
    }
    present.extend(left.into_iter().flatten());
    taken
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
