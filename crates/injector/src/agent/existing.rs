//! An existing injection: the components that an earlier run added to a pod template, found by its record.
//!
//! Every decision is made on the template without it, so that a changed configuration gives the result that it would have
//! given on the original template.

use crate::agent::canonical::{CanonicalForm, Digest};
use crate::agent::component_kind::{ComponentKind, ComponentKinds};
use crate::agent::record::{ComponentRecord, PullSecrets, Record, RecordError};
use crate::agent::replaceable_names::{ReplaceableName, ReplaceableNames};
use mackerel::annotations::Annotation;
use mackerel::names::{INJECTED, Volume};
use manifest::{Container, ContainerList, PodAnnotation, PodTemplate, PodVolume, PullSecret};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use yaml_json_patch::{Tree, to_json};

/// An existing injection.
#[derive(Debug, Clone, PartialEq)]
pub struct ExistingInjection {
    pub record: Result<Record, RecordError>,
    /// Byte offset of the record.
    pub offset: usize,
    /// True if `status: injected` is beside the record.
    pub status: bool,
    /// The recorded components; if the record cannot be read, those that are present.
    pub components: Vec<ExistingComponent>,
    /// The recorded pull secrets; none for an absent one.
    pub pull_secrets: Vec<(String, Option<PullSecret>)>,
}

/// A component of an existing injection.
#[derive(Debug, Clone, PartialEq)]
pub struct ExistingComponent {
    pub kind: ComponentKind,
    /// Its part of the record; none if the record cannot be read.
    pub record: Option<ComponentRecord>,
    /// None if it is absent.
    pub container: Option<Container>,
    /// The recorded volumes; none for an absent one.
    pub volumes: Vec<(Volume, Option<PodVolume>)>,
    /// The canonical form of what is present.
    form: Arc<CanonicalForm>,
    /// True if the container and every volume is present and can be read.
    is_whole: bool,
}

/// Records and components that were read before, for reuse: most templates of a stream have the same ones, in the same text.
#[derive(Debug, Clone, Default)]
pub struct EarlierReadings {
    records: RefCell<Vec<(String, Record)>>,
    forms: RefCell<Vec<(String, Arc<CanonicalForm>)>>,
}

/// Readings that are kept of each sort.
const CAPACITY: usize = 64;

impl EarlierReadings {
    fn record(&self, text: &str) -> Result<Record, RecordError> {
        let mut records = self.records.borrow_mut();
        if let Some((_, record)) = records.iter().find(|(known, _)| known == text) {
            return Ok(record.clone());
        }
        let record = Record::parse(text)?;
        if records.len() < CAPACITY {
            records.push((text.to_owned(), record.clone()));
        }
        Ok(record)
    }

    fn form(&self, source: &str) -> Option<Arc<CanonicalForm>> {
        self.forms
            .borrow()
            .iter()
            .find(|(known, _)| known == source)
            .map(|(_, form)| Arc::clone(form))
    }

    fn keep_form(&self, source: String, form: &Arc<CanonicalForm>) {
        let mut forms = self.forms.borrow_mut();
        if forms.len() < CAPACITY {
            forms.push((source, Arc::clone(form)));
        }
    }
}

impl ExistingInjection {
    /// Returns the recorded components, or those that are present if the record cannot be read.
    pub fn kinds(&self) -> ComponentKinds {
        match &self.record {
            Ok(record) => record.kinds(),
            Err(_) if self.containers().next().is_none() => ComponentKind::Agent.into(),
            Err(_) => self.containers().map(|(kind, _)| kind).collect(),
        }
    }

    pub fn component(&self, kind: ComponentKind) -> Option<&ExistingComponent> {
        self.components
            .iter()
            .find(|component| component.kind == kind)
    }

    /// Returns the container of a component, if it is present.
    pub fn container(&self, kind: ComponentKind) -> Option<&Container> {
        self.component(kind)?.container.as_ref()
    }

    /// Returns the containers that are present.
    pub fn containers(&self) -> impl Iterator<Item = (ComponentKind, &Container)> {
        self.components
            .iter()
            .filter_map(|component| Some((component.kind, component.container.as_ref()?)))
    }

    /// Returns the recorded volumes.
    pub fn volumes(&self) -> impl Iterator<Item = &(Volume, Option<PodVolume>)> {
        self.components
            .iter()
            .flat_map(|component| &component.volumes)
    }

    /// Returns true if everything that the record names is present and can be read.
    pub(crate) fn is_complete(&self) -> bool {
        self.components.iter().all(|component| component.is_whole)
            && self.pull_secrets.iter().all(|(_, secret)| secret.is_some())
    }

    /// Removes an existing injection from the view of a template, if there is a record.
    pub fn take_from(
        template: &mut PodTemplate,
        tree: &Tree<'_>,
        earlier: &EarlierReadings,
    ) -> Option<Self> {
        let index = template
            .annotations
            .iter()
            .rposition(|annotation| annotation.key == Annotation::Record.key())?;
        let annotation = template.annotations.remove(index);
        let record = match &annotation.value {
            Some(text) => earlier.record(text),
            None => Err(RecordError::Broken),
        };
        let mut components = Vec::new();
        for kind in ComponentKind::ALL {
            if let Some(component) = ExistingComponent::take_from(template, kind, &record) {
                components.push(component.read(tree, earlier));
            }
        }
        let mut existing = Self {
            offset: annotation.offset,
            status: false,
            components,
            pull_secrets: match &record {
                Ok(Record {
                    pull_secrets: Some(added),
                    ..
                }) => take_pull_secrets(added, &mut template.pull_secrets),
                _ => Vec::new(),
            },
            record,
        };
        // A status beside an init container alone was not added by us.
        if existing.kinds().contains(ComponentKind::Agent) {
            existing.status = take_status(&mut template.annotations);
        }
        Some(existing)
    }
}

/// Removes the `status` annotation. Returns true if it says that there is an injection.
fn take_status(annotations: &mut Vec<PodAnnotation>) -> bool {
    annotations
        .iter()
        .position(|annotation| annotation.key == Annotation::Status.key())
        .is_some_and(|index| annotations.remove(index).value.as_deref() == Some(INJECTED))
}

impl ExistingComponent {
    /// Removes a recorded component from the view of a template. If the record cannot be read, the names of the container and of
    /// the volumes identify it.
    fn take_from(
        template: &mut PodTemplate,
        kind: ComponentKind,
        record: &Result<Record, RecordError>,
    ) -> Option<Self> {
        let (record, lists, names) = match record {
            Ok(record) => {
                let record = record.component(kind)?;
                let names = Some(&record.volumes);
                (Some(record), std::slice::from_ref(&record.list), names)
            }
            Err(_) => (None, kind.lists(), None),
        };
        let container = take_container(template, lists, kind.container());
        let volumes = if kind.has_volumes() {
            take_volumes(template, names)
        } else {
            Vec::new()
        };
        Some(Self {
            kind,
            record: record.cloned(),
            container,
            volumes,
            form: Arc::default(),
            is_whole: false,
        })
    }

    /// Returns the canonical form; none if the container or a volume is absent.
    pub fn value(&self) -> Option<&Value> {
        self.is_whole.then_some(&self.form.value)
    }

    /// Returns true if it has another value than the record says.
    pub fn is_changed(&self) -> bool {
        let Some(record) = self.record.as_ref().filter(|_| self.is_whole) else {
            return true;
        };
        let digest = if record.names.keys().any(ReplaceableName::is_reference) {
            self.form.digest
        } else {
            self.form.digest_with_references
        };
        record.value != digest && record.value != self.digest_without_default_lifetime()
    }

    /// Returns the digest without the default lifetime of a token, which the API server fills in, and which one earlier version left out.
    fn digest_without_default_lifetime(&self) -> Digest {
        let value = self.form.value.to_string();
        Digest::of(&value.replace(r#""expirationSeconds":3600,"#, ""))
    }

    /// Returns the current names.
    pub fn names(&self) -> &ReplaceableNames {
        &self.form.names
    }

    /// Reads the parts that are present.
    fn read(mut self, tree: &Tree<'_>, earlier: &EarlierReadings) -> Self {
        let source = self.source(tree);
        if let Some(form) = source.as_ref().and_then(|source| earlier.form(source)) {
            self.is_whole = true;
            self.form = form;
            return self;
        }
        let container = self
            .container
            .as_ref()
            .and_then(|container| to_json(tree, container.node).ok());
        let volumes: Vec<Value> = self
            .volumes
            .iter()
            .filter_map(|(_, volume)| to_json(tree, volume.as_ref()?.node).ok())
            .collect();
        self.is_whole = container.is_some() && volumes.len() == self.volumes.len();
        self.form = Arc::new(CanonicalForm::of(container.unwrap_or_default(), volumes));
        if let Some(source) = source.filter(|_| self.is_whole) {
            earlier.keep_form(source, &self.form);
        }
        self
    }

    /// Returns the text of all parts; none where a part is absent, or the text alone does not say what is read.
    fn source(&self, tree: &Tree<'_>) -> Option<String> {
        let mut nodes = vec![self.container.as_ref()?.node];
        for (_, volume) in &self.volumes {
            nodes.push(volume.as_ref()?.node);
        }
        let mut source = String::new();
        for node in nodes {
            let (column, text) = tree.portable(node)?;
            // YAML has no NUL.
            source += &format!("{column}:{text}\0");
        }
        Some(source)
    }
}

fn take_container(
    template: &mut PodTemplate,
    lists: &[ContainerList],
    name: &str,
) -> Option<Container> {
    let index = template.containers.iter().position(|container| {
        lists.contains(&container.list) && container.name.as_deref() == Some(name)
    })?;
    Some(template.containers.remove(index))
}

/// Removes the recorded volumes from the view, without a record those with our names.
fn take_volumes(
    template: &mut PodTemplate,
    recorded: Option<&BTreeSet<Volume>>,
) -> Vec<(Volume, Option<PodVolume>)> {
    let absent = |volume: &Volume| (volume.clone(), None);
    let mut found: BTreeMap<Volume, Option<PodVolume>> =
        recorded.into_iter().flatten().map(absent).collect();
    let mut others = Vec::new();
    for present in template.volumes.drain(..) {
        let volume = present.name.as_deref().and_then(Volume::of);
        let is_ours = |volume: &Volume| match recorded {
            Some(recorded) => recorded.contains(volume),
            // A user may have a volume of such a name.
            None => Volume::KNOWN.contains(volume),
        };
        match volume
            .filter(is_ours)
            .map(|volume| found.entry(volume).or_default())
        {
            Some(place @ None) => *place = Some(present),
            _ => others.push(present),
        }
    }
    template.volumes = others;
    found.into_iter().collect()
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
            let same = left
                .iter_mut()
                .enumerate()
                .skip(renamed)
                .find(|(_, secret)| secret.as_ref().is_some_and(contains_name));
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
