//! RFC 6902 operations for one pod template, built from the plan, never by comparing documents.
//!
//! The order is fixed: metadata, containers, init containers, volumes. Missing parents are created, a null parent is replaced.
//! The record remembers both, so that [`removal`] is the exact inverse of an insertion.

pub(crate) use crate::reconcile::own_annotations::RecordCache;

use crate::agent::components::Components;
use crate::agent::existing::ExistingInjection;
use crate::agent::plan::Plan;
use crate::agent::record::{OriginalParent, Parent, PullSecrets, Record};
use crate::agent::{Agent, AgentRecord};
use crate::config::WaitForPosition;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::Volume;
use crate::manifest::pod_template::{ContainerList, PodTemplate, PodVolume};
use crate::reconcile::own_annotations::{OwnAnnotations, status_is_added};
use json_patch::Patch;
use json_patch::jsonptr::PointerBuf;
use serde_json::{Value, json};
use std::rc::Rc;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{
    Kind, NodeId, NullSource, Operation, ScalarValue, Style, Tree, null_source, scalar_value,
};

/// Operations on one template.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TemplatePatch {
    /// Pointers from the document's root.
    pub(crate) operations: Vec<Operation>,
}

impl TemplatePatch {
    /// Returns these operations followed by the others.
    pub(crate) fn then(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.operations.extend(other.operations.iter().cloned());
        both
    }

    /// Makes the pointers relative to the resource at `prefix`.
    pub(crate) fn seen_from(self, prefix: &str) -> Patch {
        let near =
            |path: PointerBuf| pointer(path.as_str().strip_prefix(prefix).unwrap_or(path.as_str()));
        let operations = self
            .operations
            .into_iter()
            .map(|operation| match operation {
                Operation::Add { path, value } => Operation::Add {
                    path: near(path),
                    value,
                },
                Operation::InsertBefore {
                    path,
                    value,
                    before,
                } => Operation::InsertBefore {
                    path: near(path),
                    value,
                    before,
                },
                Operation::Remove { path } => Operation::Remove { path: near(path) },
                Operation::Replace { path, value } => Operation::Replace {
                    path: near(path),
                    value,
                },
                Operation::RestoreNull { path, source } => Operation::RestoreNull {
                    path: near(path),
                    source,
                },
                // Nothing here moves, copies or tests.
                other => other,
            });
        Patch(operations.map(Into::into).collect())
    }
}

/// The position of new containers in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ListPosition {
    /// After all others; with `waitFor.position: first`, init containers before them.
    #[default]
    Default,
    /// After this number of others, as earlier ones were.
    At(usize),
}

/// An adopted agent. The injected one replaces it, or is added to the other list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AdoptedContainer {
    pub(crate) list: ContainerList,
    pub(crate) index: usize,
}

/// The positions of new containers in both lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ListPositions {
    pub(crate) containers: ListPosition,
    pub(crate) init_containers: ListPosition,
    pub(crate) adopted: Option<AdoptedContainer>,
}

/// The state of a mapping or list that must exist before something is added to it.
enum ParentState {
    Collection,
    /// An empty mapping or list that lines will replace.
    Empty,
    Null(NullSource),
    Missing,
}

/// A field of the template that is neither null nor the mapping or list that it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrongKind {
    /// Its path.
    pub(crate) parent: &'static str,
    /// The kind that it must have.
    pub(crate) wanted: Kind,
    /// Its byte offset.
    pub(crate) offset: usize,
}

struct PatchBuilder<'a, 't> {
    tree: &'a Tree<'t>,
    template: &'a PodTemplate,
    /// Pointer from the document's root to the template.
    at: &'a str,
    patch: TemplatePatch,
}

/// Adds the components of a plan, and their record, to a template without an existing injection.
///
/// # Errors
/// When `metadata`, `annotations`, `volumes` or a list of containers is of the wrong kind.
pub(crate) fn insertion(
    tree: &Tree<'_>,
    template: &PodTemplate,
    at: &str,
    plan: &Plan,
    places: ListPositions,
    records: &RecordCache,
) -> Result<TemplatePatch, WrongKind> {
    insertion_beside(tree, template, at, (plan, None), places, records)
}

/// Adds the agent to a pod that has the init container that waits, and completes the record. The webhook does so where the
/// init container came with the workload.
///
/// # Errors
/// As [`insertion`].
pub(crate) fn completion(
    tree: &Tree<'_>,
    pod: &PodTemplate,
    existing: &ExistingInjection,
    agent: &Rc<Agent>,
    records: &RecordCache,
) -> Result<TemplatePatch, WrongKind> {
    // Together, a native agent stands before the init container.
    let before = existing
        .wait_for
        .as_ref()
        .map_or(ListPosition::Default, |there| ListPosition::At(there.index));
    let places = ListPositions {
        init_containers: before,
        ..ListPositions::default()
    };
    let plan = Components::Agent(Rc::clone(agent));
    insertion_beside(
        tree,
        pod,
        "",
        (&plan, existing.record.as_ref().ok()),
        places,
        records,
    )
}

/// Adds the components of a plan beside those of another record.
fn insertion_beside(
    tree: &Tree<'_>,
    template: &PodTemplate,
    at: &str,
    (plan, there): (&Plan, Option<&Record>),
    places: ListPositions,
    records: &RecordCache,
) -> Result<TemplatePatch, WrongKind> {
    // The `status` of an adopted agent goes on to be true of the injected one.
    let status_is_added =
        places.adopted.is_some() || template.annotation(Annotation::Status.key()).is_none();
    let mut record = record(plan, status_is_added);
    if let Some(there) = there {
        record = beside(record, there);
    }
    let mut builder = PatchBuilder {
        tree,
        template,
        at,
        patch: TemplatePatch::default(),
    };
    let child = |parent: Option<NodeId>, key: &str| {
        parent.and_then(|parent| tree.get(tree.alias_target(parent), key))
    };
    let note = |record: &mut Record, parent: Parent, found: &ParentState| match found {
        ParentState::Collection => {}
        ParentState::Empty => record.was.push((parent, OriginalParent::Empty)),
        ParentState::Null(NullSource::Block(text)) if text.is_empty() => {}
        ParentState::Null(source) => record
            .was
            .push((parent, OriginalParent::Null(source.clone()))),
        ParentState::Missing => record.created.push(parent),
    };

    let (metadata, annotations) = builder.parents_of_annotations(template)?;
    note(&mut record, Parent::Metadata, &metadata);
    note(&mut record, Parent::Annotations, &annotations);
    // Annotations that are only the adopted agent's `status` are removed with it.
    let only_status = places.adopted.is_some()
        && matches!(&template.annotations[..], [status] if status.key == Annotation::Status.key());
    record
        .created
        .extend(only_status.then_some(Parent::Annotations));

    let listed = |list: ContainerList| {
        template
            .containers
            .iter()
            .filter(|container| container.list == list)
            .count()
    };
    let mut lists = Vec::with_capacity(2);
    for (list, place) in [
        (ContainerList::Containers, places.containers),
        (ContainerList::InitContainers, places.init_containers),
    ] {
        let containers = plan.containers(list.field());
        let old = places
            .adopted
            .filter(|old| old.list == list)
            .map(|old| old.index);
        if containers.is_empty() && old.is_none() {
            continue;
        }
        let found = builder.state(
            template.spec,
            child(template.spec, list.field()),
            Kind::Sequence,
            list.field(),
        )?;
        if list == ContainerList::InitContainers {
            note(&mut record, Parent::InitContainers, &found);
            // A list that then has only injected containers is removed with them.
            let only_injected = old.is_some() && listed(list) == 1 && !containers.is_empty();
            record
                .created
                .extend(only_injected.then_some(Parent::InitContainers));
        }
        let is_first =
            list == ContainerList::InitContainers && record.position() == WaitForPosition::First;
        let first = match place {
            ListPosition::At(index) => Some(index),
            ListPosition::Default => is_first.then_some(0),
        };
        lists.push((list, found, first, old, containers));
    }
    let agent = plan.agent();
    let volumes = match agent {
        Some(agent) => {
            let found = builder.state(
                template.spec,
                child(template.spec, "volumes"),
                Kind::Sequence,
                "volumes",
            )?;
            note(&mut record, Parent::Volumes, &found);
            let taken = agent
                .volumes
                .iter()
                .filter(|(volume, _)| replaced_volume(template, places, *volume).is_some())
                .count();
            let only_injected = taken > 0 && taken == template.volumes.len();
            record
                .created
                .extend(only_injected.then_some(Parent::Volumes));
            Some(found)
        }
        None => None,
    };
    let known = record
        .pull_secrets
        .take()
        .map_or_else(Vec::new, |known| known.names);
    let pull_secrets: Vec<&String> = plan
        .pull_secrets()
        .iter()
        .filter(|name| !known.contains(name))
        .collect();
    if !(known.is_empty() && pull_secrets.is_empty()) {
        let names = known
            .iter()
            .chain(pull_secrets.iter().copied())
            .cloned()
            .collect();
        record.pull_secrets = Some(PullSecrets {
            behind: template.pull_secrets.len(),
            names,
        });
    }

    builder.add_annotations(&metadata, &annotations, &records.annotations(record));
    for (list, found, first, old, containers) in lists {
        let field = list.field();
        let mut containers = containers.into_iter().peekable();
        let first = match old {
            // The agent replaces the adopted one, and further containers follow it.
            Some(index) if agent.is_some_and(|agent| agent.sidecar.field() == field) => {
                containers
                    .next()
                    .into_iter()
                    .for_each(|agent| builder.replace(&format!("/spec/{field}/{index}"), agent));
                Some(index + 1)
            }
            Some(_) if containers.peek().is_none() && listed(list) == 1 => {
                builder.remove(&format!("/spec/{field}"));
                first
            }
            Some(index) => {
                builder.remove(&format!("/spec/{field}/{index}"));
                first
            }
            None => first,
        };
        builder.add_containers(field, &found, first, containers.collect(), plan);
    }
    match (agent, volumes) {
        (Some(agent), Some(ParentState::Collection | ParentState::Empty)) => {
            for (volume, value) in &agent.volumes {
                match replaced_volume(template, places, *volume) {
                    Some(old) => {
                        builder.replace(&format!("/spec/volumes/{}", old.index), Rc::clone(value))
                    }
                    None => builder.add("/spec/volumes/-", Rc::clone(value)),
                }
            }
        }
        (Some(agent), _) => builder.add("/spec/volumes", Rc::clone(&agent.volume_list)),
        (None, _) => {}
    }
    for name in pull_secrets {
        builder.add("/spec/imagePullSecrets/-", Rc::new(json!({ "name": name })));
    }
    Ok(builder.patch)
}

/// Returns the volume of the same name that an adopted agent brought along.
fn replaced_volume(
    template: &PodTemplate,
    places: ListPositions,
    volume: Volume,
) -> Option<&PodVolume> {
    let mut named = template
        .volumes
        .iter()
        .filter(|other| other.name.as_deref() == Some(volume.name()));
    named.next().filter(|_| places.adopted.is_some())
}

/// Returns the record of a plan, as yet without pull secrets and parents.
fn record(plan: &Plan, status_is_added: bool) -> Record {
    let agent = |agent: &Rc<Agent>| AgentRecord {
        status_is_added,
        ..agent.record()
    };
    let components = match plan {
        Components::Agent(one) => Components::Agent(agent(one)),
        Components::WaitFor(wait_for) => Components::WaitFor(wait_for.record()),
        Components::Both(one, wait_for) => Components::Both(agent(one), wait_for.record()),
    };
    Record {
        components,
        pull_secrets: None,
        created: Vec::new(),
        was: Vec::new(),
    }
}

/// Returns the record of an agent beside that of an init container which is there.
fn beside(agent: Record, there: &Record) -> Record {
    let Record {
        components,
        pull_secrets,
        created,
        was,
    } = there.clone();
    let components = match (agent.components.agent(), components.wait_for()) {
        (Some(agent), Some(wait_for)) => Components::Both(agent.clone(), *wait_for),
        _ => agent.components,
    };
    Record {
        components,
        pull_secrets,
        created,
        was,
    }
}

/// Adds annotations that are the user's from then on: no record names them. A parent of the wrong kind is refused later, where the
/// agent is added.
pub(crate) fn kept_annotations(
    tree: &Tree<'_>,
    template: &PodTemplate,
    at: &str,
    kept: &[(Annotation, String)],
) -> TemplatePatch {
    let mut builder = PatchBuilder {
        tree,
        template,
        at,
        patch: TemplatePatch::default(),
    };
    if let Ok((metadata, annotations)) = builder.parents_of_annotations(template)
        && !kept.is_empty()
    {
        let each = kept
            .iter()
            .map(|(annotation, value)| (annotation.key(), Value::from(value.as_str())))
            .collect();
        builder.add_annotations(&metadata, &annotations, &OwnAnnotations::of(each));
    }
    builder.patch
}

/// Removes everything that the record names, and restores null parents.
pub(crate) fn removal(
    tree: &Tree<'_>,
    template: &PodTemplate,
    at: &str,
    existing: &ExistingInjection,
) -> TemplatePatch {
    removal_beside(tree, template, at, existing, &[])
}

/// Removes the same beside annotations that have just been added.
pub(crate) fn removal_beside(
    tree: &Tree<'_>,
    template: &PodTemplate,
    at: &str,
    existing: &ExistingInjection,
    added: &[(Annotation, String)],
) -> TemplatePatch {
    let mut builder = PatchBuilder {
        tree,
        template,
        at,
        patch: TemplatePatch::default(),
    };
    let record = existing.record.as_ref().ok();
    let child = |parent: Option<NodeId>, key: &str| {
        parent.and_then(|parent| tree.get(tree.alias_target(parent), key))
    };

    let annotations = child(template.metadata, "annotations");
    let keys: Vec<&str> = [Annotation::Status.key(), Annotation::Record.key()]
        .into_iter()
        .filter(|key| *key == Annotation::Record.key() || record.is_some_and(status_is_added))
        .filter(|key| child(annotations, key).is_some())
        .collect();
    let members =
        |node: Option<NodeId>| node.map_or(0, |node| tree.entries(tree.alias_target(node)).count());
    let only_injected = members(annotations) == keys.len() && added.is_empty();
    let whole_metadata = only_injected
        && members(template.metadata) == 1
        && has_created(record, Parent::Annotations);
    let restored = (whole_metadata && builder.restore(Parent::Metadata, template.metadata, record))
        || (only_injected && builder.restore(Parent::Annotations, annotations, record));
    if !restored {
        for key in &keys {
            builder.remove(&format!("/metadata/annotations/{}", escape(key)));
        }
    }

    for list in [ContainerList::Containers, ContainerList::InitContainers] {
        let of_list = existing
            .containers()
            .filter(|container| container.list == list);
        let parent = (list == ContainerList::InitContainers).then_some(Parent::InitContainers);
        let node = child(template.spec, list.field());
        builder.remove_items(
            list.field(),
            of_list.map(|container| container.index),
            node,
            parent,
            record,
        );
    }
    let volumes = existing
        .volumes
        .iter()
        .filter_map(|(_, volume)| Some(volume.as_ref()?.index));
    builder.remove_items(
        "volumes",
        volumes,
        child(template.spec, "volumes"),
        Some(Parent::Volumes),
        record,
    );
    let mut pull_secrets = existing
        .pull_secrets
        .iter()
        .filter_map(|(_, secret)| Some(secret.as_ref()?.index))
        .peekable();
    // At the injection there were others before them; if a user has removed those since, the list goes.
    if pull_secrets.peek().is_some() && template.pull_secrets.is_empty() {
        builder.remove("/spec/imagePullSecrets");
    } else {
        builder.remove_items("imagePullSecrets", pull_secrets, None, None, record);
    }
    builder.patch
}

/// Replaces an existing injection at its positions: for a plan with the same components, lists, volumes and pull secrets.
pub(crate) fn replacement(
    at: &str,
    existing: &ExistingInjection,
    old: &Record,
    plan: &Plan,
) -> TemplatePatch {
    let record = Record {
        pull_secrets: old.pull_secrets.clone(),
        created: old.created.clone(),
        was: old.was.clone(),
        ..record(plan, status_is_added(old))
    };
    let replace = |path: String, value: Rc<Value>| Operation::Replace {
        path: pointer(&format!("{at}{path}")),
        value,
    };
    let annotation = replace(
        format!("/metadata/annotations/{}", escape(Annotation::Record.key())),
        Rc::new(Value::String(record.to_string())),
    );
    let agent = existing
        .agent
        .iter()
        .zip(plan.agent())
        .map(|(old, new)| (old, &new.container));
    let wait_for = existing
        .wait_for
        .iter()
        .zip(plan.wait_for())
        .map(|(old, new)| (old, &new.container));
    let containers = agent.chain(wait_for).map(|(old, new)| {
        replace(
            format!("/spec/{}/{}", old.list.field(), old.index),
            Rc::clone(new),
        )
    });
    let volumes = existing
        .volumes
        .iter()
        .zip(plan.agent().into_iter().flat_map(|agent| &agent.volumes));
    let volumes = volumes.filter_map(|((_, old), (_, new))| {
        Some(replace(
            format!("/spec/volumes/{}", old.as_ref()?.index),
            Rc::clone(new),
        ))
    });
    TemplatePatch {
        operations: std::iter::once(annotation)
            .chain(containers)
            .chain(volumes)
            .collect(),
    }
}

fn has_created(record: Option<&Record>, parent: Parent) -> bool {
    record.is_some_and(|record| record.created.contains(&parent))
}

impl PatchBuilder<'_, '_> {
    /// Returns the states of `metadata` and of `annotations` in it.
    fn parents_of_annotations(
        &self,
        template: &PodTemplate,
    ) -> Result<(ParentState, ParentState), WrongKind> {
        let metadata = self.state(
            Some(template.node),
            template.metadata,
            Kind::Mapping,
            "metadata",
        )?;
        let annotations = match (&metadata, template.metadata) {
            (ParentState::Collection | ParentState::Empty, Some(node)) => {
                let annotations = self.tree.get(self.tree.alias_target(node), "annotations");
                self.state(
                    template.metadata,
                    annotations,
                    Kind::Mapping,
                    "metadata.annotations",
                )?
            }
            _ => ParentState::Missing,
        };
        Ok((metadata, annotations))
    }

    /// Returns the state of `node`, a field of `holder`.
    fn state(
        &self,
        holder: Option<NodeId>,
        node: Option<NodeId>,
        kind: Kind,
        parent: &'static str,
    ) -> Result<ParentState, WrongKind> {
        let (Some(holder), Some(node)) = (holder, node) else {
            return Ok(ParentState::Missing);
        };
        let value = self.tree.alias_target(node);
        let source = || null_source(self.tree, self.tree.alias_target(holder), node);
        if self.tree.kind(value) == kind {
            let is_empty = self.tree.place(value).len() == "{}".len();
            return Ok(if is_empty && opens_into_lines(&source()) {
                ParentState::Empty
            } else {
                ParentState::Collection
            });
        }
        match scalar_value(self.tree, value) {
            Ok(ScalarValue::Null) if self.tree.kind(value) == Kind::Scalar => {
                Ok(ParentState::Null(source()))
            }
            _ => Err(WrongKind {
                parent,
                wanted: kind,
                offset: self.tree.place(node).start,
            }),
        }
    }

    fn add(&mut self, path: &str, value: Rc<Value>) {
        let path = pointer(&[self.at, path].concat());
        self.patch.operations.push(Operation::Add { path, value });
    }

    fn replace(&mut self, path: &str, value: Rc<Value>) {
        let path = pointer(&[self.at, path].concat());
        self.patch
            .operations
            .push(Operation::Replace { path, value });
    }

    fn remove(&mut self, path: &str) {
        let path = pointer(&[self.at, path].concat());
        self.patch.operations.push(Operation::Remove { path });
    }

    /// Removes items of the list `field` of the spec, at `node`, or restores the list if it has no others.
    fn remove_items(
        &mut self,
        field: &str,
        indices: impl Iterator<Item = usize>,
        node: Option<NodeId>,
        parent: Option<Parent>,
        record: Option<&Record>,
    ) {
        let mut indices: Vec<usize> = indices.collect();
        indices.sort_unstable_by(|a, b| b.cmp(a));
        let items = node.map_or(0, |node| {
            self.tree.items(self.tree.alias_target(node)).count()
        });
        let is_whole = !indices.is_empty() && items == indices.len();
        if !is_whole || !parent.is_some_and(|parent| self.restore(parent, node, record)) {
            for index in indices {
                self.remove(&format!("/spec/{field}/{index}"));
            }
        }
    }

    /// Adds containers from the index `first` on, or after all others.
    fn add_containers(
        &mut self,
        field: &str,
        found: &ParentState,
        first: Option<usize>,
        containers: Vec<Rc<Value>>,
        plan: &Plan,
    ) {
        match (found, first) {
            (ParentState::Collection | ParentState::Empty, None) => {
                for container in containers {
                    self.add(&format!("/spec/{field}/-"), container);
                }
            }
            (ParentState::Collection | ParentState::Empty, Some(first)) => {
                for (number, container) in containers.into_iter().enumerate() {
                    self.add(&format!("/spec/{field}/{}", first + number), container);
                }
            }
            _ => {
                // Most templates get the agent alone: its list exists already.
                let list = match plan {
                    Components::Agent(agent) => Rc::clone(&agent.container_list),
                    _ => Rc::new(
                        containers
                            .iter()
                            .map(|container| Value::clone(container))
                            .collect(),
                    ),
                };
                self.add(&format!("/spec/{field}"), list);
            }
        }
    }

    fn add_annotations(
        &mut self,
        metadata: &ParentState,
        annotations: &ParentState,
        existing: &OwnAnnotations,
    ) {
        match (metadata, annotations) {
            (
                ParentState::Collection | ParentState::Empty,
                ParentState::Collection | ParentState::Empty,
            ) => {
                for (key, value) in &existing.each {
                    self.add(
                        &format!("/metadata/annotations/{}", escape(key)),
                        Rc::clone(value),
                    );
                }
            }
            (ParentState::Collection | ParentState::Empty, _) => {
                self.add("/metadata/annotations", Rc::clone(&existing.mapping))
            }
            // Metadata are expected before the spec.
            _ => {
                let (path, value) = (
                    pointer(&[self.at, "/metadata"].concat()),
                    Rc::clone(&existing.metadata),
                );
                self.patch.operations.push(Operation::InsertBefore {
                    path,
                    value,
                    before: "spec",
                });
            }
        }
    }

    /// Restores a parent that has injected members only: to absent, or to null as it was written. Returns false for one that
    /// was empty, and for a null where a tool has since changed between lines and brackets: removing the members leaves `[]`.
    fn restore(&mut self, parent: Parent, node: Option<NodeId>, record: Option<&Record>) -> bool {
        let path = parent.pointer();
        if has_created(record, parent) {
            self.remove(path);
            return true;
        }
        let style_of = |node: NodeId| self.tree.style(self.tree.alias_target(node));
        let source = match record.and_then(|record| record.original(parent)) {
            Some(OriginalParent::Empty) => return false,
            Some(OriginalParent::Null(source)) => source.clone(),
            None if node.map(style_of) == Some(Style::Flow) => return false,
            // The shortest null, a key with a colon, is not recorded.
            None => NullSource::Block(String::new()),
        };
        let holder = match parent {
            Parent::Metadata => Some(self.template.node),
            Parent::Annotations => self.template.metadata,
            Parent::Volumes | Parent::InitContainers => self.template.spec,
        };
        if holder.map(style_of) != Some(source.style()) {
            return false;
        }
        let path = pointer(&[self.at, path].concat());
        self.patch
            .operations
            .push(Operation::RestoreNull { path, source });
        true
    }
}

/// Returns true for the text of an empty mapping or list that lines replace, and that replaces the lines when they are removed.
fn opens_into_lines(source: &NullSource) -> bool {
    matches!(source, NullSource::Block(text) if matches!(&**text, " {}" | " []"))
}

/// Parses a pointer of constants, indices and escaped keys, which is always valid.
pub(crate) fn pointer(text: &str) -> PointerBuf {
    PointerBuf::parse(text).unwrap_or_default()
}
