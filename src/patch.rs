//! RFC 6902 operations for one pod template, built directly from what is wanted, never by comparing documents.
//!
//! The order is fixed: metadata, containers, volumes. Parents that are missing are created; a parent that stands there
//! as a null gives way. What was created and what gave way is remembered in the record, so that [`removal`] is the exact
//! inverse of an insertion.

use crate::agent::record::{Parent, PullSecrets, Record};
use crate::agent::{Agent, Sidecar, Volume};
use crate::annotations::Annotation;
use crate::pod_template::{ContainerList, Ours, PodTemplate, PodVolume};
use crate::splice::{Operation, Spelling, gave_way};
use crate::yaml::{Kind, NodeId, Resolved, Style, Tree, resolve};
use json_patch::Patch;
use json_patch::jsonptr::PointerBuf;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::rc::Rc;

/// What `status` says beside an agent: the original injector then leaves the pod alone.
pub(crate) const INJECTED: &str = "injected";

/// Operations, and how restored nulls are to be spelled.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TemplatePatch {
    /// Pointers from the document's root.
    pub(crate) operations: Vec<Operation>,
    /// For the operations that put a null back.
    pub(crate) spellings: Vec<Spelling>,
}

impl TemplatePatch {
    /// These operations and then the others.
    pub(crate) fn then(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.operations.extend(other.operations.iter().cloned());
        both.spellings.extend(other.spellings.iter().cloned());
        both
    }

    /// The operations with pointers that begin at a resource, which stands at `prefix`.
    pub(crate) fn seen_from(self, prefix: &str) -> Patch {
        let near = |path: PointerBuf| pointer(path.as_str().strip_prefix(prefix).unwrap_or(path.as_str()));
        let operations = self.operations.into_iter().map(|operation| match operation {
            Operation::Add { path, value } => Operation::Add { path: near(path), value },
            Operation::Remove { path } => Operation::Remove { path: near(path) },
            Operation::Replace { path, value } => Operation::Replace { path: near(path), value },
            // Nothing here moves, copies or tests.
            other => other,
        });
        Patch(operations.map(Into::into).collect())
    }
}

/// Where the agent goes in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind all others.
    Last,
    /// Where an earlier one stood.
    At(usize),
    /// In the place of somebody else's, or of its list where ours belongs into another one.
    InsteadOf(ContainerList, usize),
}

/// What stands where a collection is needed.
enum Found {
    Collection,
    Null { raw: String },
    Missing,
}

/// A place in the template that holds something else than the collection it must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotACollection {
    /// Which.
    pub parent: &'static str,
    /// Where it stands.
    pub offset: usize,
}

struct Builder<'a, 't> {
    tree: &'a Tree<'t>,
    /// Pointer from the document's root to the template.
    at: &'a str,
    patch: TemplatePatch,
}

/// The annotations of records that were written before: most templates of a stream get the same one.
#[derive(Debug, Default)]
pub(crate) struct Records {
    written: RefCell<Vec<(Record, Rc<OwnAnnotations>)>>,
}

/// More than any real stream has. Beyond it, work is done again.
const MOST_RECORDS: usize = 64;

/// `status` and `record`, in each of the forms in which they are added.
#[derive(Debug)]
struct OwnAnnotations {
    /// Key and value, one by one.
    each: Vec<(&'static str, Rc<Value>)>,
    /// As a mapping.
    mapping: Rc<Value>,
    /// As metadata that hold nothing else.
    metadata: Rc<Value>,
}

impl Records {
    fn annotations(&self, record: Record) -> Rc<OwnAnnotations> {
        let mut written = self.written.borrow_mut();
        if let Some((_, annotations)) = written.iter().find(|(known, _)| *known == record) {
            return Rc::clone(annotations);
        }
        let annotations = Rc::new(OwnAnnotations::of(&record));
        if written.len() < MOST_RECORDS {
            written.push((record, Rc::clone(&annotations)));
        }
        annotations
    }
}

impl OwnAnnotations {
    fn of(record: &Record) -> Self {
        let status = record.status_is_ours.then(|| (Annotation::Status.key(), Value::from(INJECTED)));
        let record = (Annotation::Record.key(), Value::from(record.to_string()));
        let each: Vec<(&'static str, Value)> = status.into_iter().chain([record]).collect();
        let mapping: Map<String, Value> = each.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        Self {
            metadata: Rc::new(json!({ "annotations": mapping })),
            mapping: Rc::new(Value::Object(mapping)),
            each: each.into_iter().map(|(key, value)| (key, Rc::new(value))).collect(),
        }
    }
}

/// What adds the agent, and the record that goes with it, to a template that carries none of ours.
///
/// # Errors
/// When `metadata`, `annotations`, `volumes` or `initContainers` holds something that is neither a collection nor null.
pub(crate) fn insertion(
    tree: &Tree<'_>,
    template: &PodTemplate,
    at: &str,
    agent: &Agent,
    place: Place,
    records: &Records,
) -> Result<TemplatePatch, NotACollection> {
    // What another injector said of its agent says it of ours.
    let is_taken_over = matches!(place, Place::InsteadOf(..));
    let status_is_ours = is_taken_over || template.annotation(Annotation::Status.key()).is_none();
    let mut record = Record { status_is_ours, ..agent.record() };
    let mut builder = Builder { tree, at, patch: TemplatePatch::default() };
    let child = |parent: Option<NodeId>, key: &str| parent.and_then(|parent| tree.get(tree.resolve(parent), key));
    let note = |record: &mut Record, parent: Parent, found: &Found| match found {
        Found::Collection => {}
        Found::Null { raw } if raw.is_empty() => {}
        Found::Null { raw } => record.was.push((parent, raw.clone())),
        Found::Missing => record.created.push(parent),
    };

    let metadata = builder.found(Some(template.node), template.metadata, Kind::Mapping, "metadata")?;
    let annotations = match metadata {
        Found::Collection => {
            let annotations = child(template.metadata, "annotations");
            builder.found(template.metadata, annotations, Kind::Mapping, "metadata.annotations")?
        }
        _ => Found::Missing,
    };
    note(&mut record, Parent::Metadata, &metadata);
    note(&mut record, Parent::Annotations, &annotations);

    let field = agent.sidecar.field();
    let containers = builder.found(template.spec, child(template.spec, field), Kind::Sequence, field)?;
    if agent.sidecar == Sidecar::Native {
        note(&mut record, Parent::InitContainers, &containers);
    }
    let volumes = builder.found(template.spec, child(template.spec, "volumes"), Kind::Sequence, "volumes")?;
    note(&mut record, Parent::Volumes, &volumes);
    if let Place::InsteadOf(list, _) = place {
        // What holds nothing but ours goes with it.
        let taken = agent.volumes.iter().filter(|(volume, _)| gives_way(template, place, *volume).is_some()).count();
        let mut only_ours = |parent: Parent, is: bool| record.created.extend(is.then_some(parent));
        let listed = template.containers.iter().filter(|container| container.list == list).count();
        only_ours(
            Parent::InitContainers,
            list == ContainerList::InitContainers && list.field() == field && listed == 1,
        );
        only_ours(Parent::Volumes, taken > 0 && taken == template.volumes.len());
    }

    if !agent.pull_secrets.is_empty() {
        let behind = template.pull_secrets.len();
        record.pull_secrets = Some(PullSecrets { behind, names: agent.pull_secrets.clone() });
    }

    builder.add_annotations(&metadata, &annotations, &records.annotations(record));
    match (containers, place) {
        (Found::Collection, Place::InsteadOf(list, index)) if list.field() == field => {
            builder.replace(&format!("/spec/{field}/{index}"), Rc::clone(&agent.container));
        }
        (Found::Collection, Place::Last | Place::InsteadOf(..)) => {
            builder.add(&format!("/spec/{field}/-"), Rc::clone(&agent.container))
        }
        (Found::Collection, Place::At(index)) => {
            builder.add(&format!("/spec/{field}/{index}"), Rc::clone(&agent.container))
        }
        _ => builder.add(&format!("/spec/{field}"), Rc::clone(&agent.container_list)),
    }
    if let Place::InsteadOf(list, index) = place
        && list.field() != field
    {
        let is_only = template.containers.iter().filter(|container| container.list == list).count() == 1;
        let path = format!("/spec/{}", list.field());
        builder.remove(&if is_only { path } else { format!("{path}/{index}") });
    }
    match volumes {
        Found::Collection => {
            for (volume, value) in &agent.volumes {
                match gives_way(template, place, *volume) {
                    Some(old) => builder.replace(&format!("/spec/volumes/{}", old.index), Rc::clone(value)),
                    None => builder.add("/spec/volumes/-", Rc::clone(value)),
                }
            }
        }
        _ => builder.add("/spec/volumes", Rc::clone(&agent.volume_list)),
    }
    for name in &agent.pull_secrets {
        builder.add("/spec/imagePullSecrets/-", Rc::new(json!({ "name": name })));
    }
    Ok(builder.patch)
}

/// The volume of the same name that an adopted agent brought along. Where somebody else mounts it, it does not come to this.
fn gives_way(template: &PodTemplate, place: Place, volume: Volume) -> Option<&PodVolume> {
    let mut named = template.volumes.iter().filter(|other| other.name.as_deref() == Some(volume.name()));
    named.next().filter(|_| matches!(place, Place::InsteadOf(..)))
}

/// What takes out everything that the record names, and puts back what gave way.
#[must_use]
pub fn removal(tree: &Tree<'_>, template: &PodTemplate, at: &str, ours: &Ours) -> TemplatePatch {
    let mut builder = Builder { tree, at, patch: TemplatePatch::default() };
    let record = ours.record.as_ref().ok();
    let child = |parent: Option<NodeId>, key: &str| parent.and_then(|parent| tree.get(tree.resolve(parent), key));

    let annotations = child(template.metadata, "annotations");
    let keys: Vec<&str> = [Annotation::Status.key(), Annotation::Record.key()]
        .into_iter()
        .filter(|key| *key == Annotation::Record.key() || record.is_some_and(|record| record.status_is_ours))
        .filter(|key| child(annotations, key).is_some())
        .collect();
    let members = |node: Option<NodeId>| node.map_or(0, |node| tree.entries(tree.resolve(node)).count());
    let only_ours = members(annotations) == keys.len();
    let whole_metadata = only_ours && members(template.metadata) == 1 && has_created(record, Parent::Annotations);
    let emptied = (whole_metadata && builder.empty(Parent::Metadata, template.metadata, record))
        || (only_ours && builder.empty(Parent::Annotations, annotations, record));
    if !emptied {
        for key in &keys {
            builder.remove(&format!("/metadata/annotations/{}", escape(key)));
        }
    }

    let items = |node: Option<NodeId>| node.map_or(0, |node| tree.items(tree.resolve(node)).count());
    if let Some(agent) = &ours.agent {
        let list = child(template.spec, agent.list.field());
        let parent = (agent.list.field() == Sidecar::Native.field()).then_some(Parent::InitContainers);
        let emptied = items(list) == 1 && parent.is_some_and(|parent| builder.empty(parent, list, record));
        if !emptied {
            builder.remove(&format!("/spec/{}/{}", agent.list.field(), agent.index));
        }
    }

    let mut indices: Vec<usize> = ours.volumes.iter().filter_map(|(_, volume)| Some(volume.as_ref()?.index)).collect();
    indices.sort_unstable_by(|a, b| b.cmp(a));
    let list = child(template.spec, "volumes");
    if indices.is_empty() || items(list) > indices.len() || !builder.empty(Parent::Volumes, list, record) {
        for index in indices {
            builder.remove(&format!("/spec/volumes/{index}"));
        }
    }
    let mut indices: Vec<usize> =
        ours.pull_secrets.iter().filter_map(|(_, secret)| Some(secret.as_ref()?.index)).collect();
    indices.sort_unstable_by(|a, b| b.cmp(a));
    // Others stood in front of ours; where somebody took them away since, nothing is left.
    if !indices.is_empty() && template.pull_secrets.is_empty() {
        builder.remove("/spec/imagePullSecrets");
    } else {
        for index in indices {
            builder.remove(&format!("/spec/imagePullSecrets/{index}"));
        }
    }
    builder.patch
}

/// What brings an agent up to date where it stands: same list, same volumes, same pull secrets. What was created around it stays so.
#[must_use]
pub fn replacement(at: &str, ours: &Ours, old: &Record, agent: &Agent) -> TemplatePatch {
    let record = Record {
        pull_secrets: old.pull_secrets.clone(),
        created: old.created.clone(),
        was: old.was.clone(),
        status_is_ours: old.status_is_ours,
        ..agent.record()
    };
    let replace = |path: String, value: Rc<Value>| Operation::Replace { path: pointer(&format!("{at}{path}")), value };
    let annotation = replace(
        format!("/metadata/annotations/{}", escape(Annotation::Record.key())),
        Rc::new(Value::String(record.to_string())),
    );
    let container = ours
        .agent
        .iter()
        .map(|old| replace(format!("/spec/{}/{}", old.list.field(), old.index), Rc::clone(&agent.container)));
    let volumes = ours.volumes.iter().zip(&agent.volumes).filter_map(|((_, old), (_, new))| {
        Some(replace(format!("/spec/volumes/{}", old.as_ref()?.index), Rc::clone(new)))
    });
    TemplatePatch {
        operations: std::iter::once(annotation).chain(container).chain(volumes).collect(),
        spellings: Vec::new(),
    }
}

fn has_created(record: Option<&Record>, parent: Parent) -> bool {
    record.is_some_and(|record| record.created.contains(&parent))
}

impl Builder<'_, '_> {
    /// What `holder` has at `node`.
    fn found(
        &self,
        holder: Option<NodeId>,
        node: Option<NodeId>,
        kind: Kind,
        parent: &'static str,
    ) -> Result<Found, NotACollection> {
        let (Some(holder), Some(node)) = (holder, node) else { return Ok(Found::Missing) };
        let value = self.tree.resolve(node);
        if self.tree.kind(value) == kind {
            return Ok(Found::Collection);
        }
        match resolve(self.tree, value) {
            Ok(Resolved::Null) if self.tree.kind(value) == Kind::Scalar => {
                Ok(Found::Null { raw: gave_way(self.tree, self.tree.resolve(holder), node) })
            }
            _ => Err(NotACollection { parent, offset: self.tree.span(node).start }),
        }
    }

    fn add(&mut self, path: &str, value: Rc<Value>) {
        let path = pointer(&format!("{}{path}", self.at));
        self.patch.operations.push(Operation::Add { path, value });
    }

    fn replace(&mut self, path: &str, value: Rc<Value>) {
        let path = pointer(&format!("{}{path}", self.at));
        self.patch.operations.push(Operation::Replace { path, value });
    }

    fn remove(&mut self, path: &str) {
        let path = pointer(&format!("{}{path}", self.at));
        self.patch.operations.push(Operation::Remove { path });
    }

    fn add_annotations(&mut self, metadata: &Found, annotations: &Found, ours: &OwnAnnotations) {
        match (metadata, annotations) {
            (Found::Collection, Found::Collection) => {
                for (key, value) in &ours.each {
                    self.add(&format!("/metadata/annotations/{}", escape(key)), Rc::clone(value));
                }
            }
            (Found::Collection, _) => self.add("/metadata/annotations", Rc::clone(&ours.mapping)),
            _ => self.add("/metadata", Rc::clone(&ours.metadata)),
        }
    }

    /// A parent that holds nothing but ours becomes what it was: absent, or a null as it was written. False for one that
    /// was an empty collection in brackets: `[]` comes back by taking ours out of it.
    fn empty(&mut self, parent: Parent, node: Option<NodeId>, record: Option<&Record>) -> bool {
        let path = parent.pointer();
        if has_created(record, parent) {
            self.remove(path);
            return true;
        }
        let was = record.and_then(|record| record.was.iter().find(|(was, _)| *was == parent));
        let is_flow = node.is_some_and(|node| self.tree.style(self.tree.resolve(node)) == Style::Flow);
        if was.is_none() && is_flow {
            return false;
        }
        let path = pointer(&format!("{}{path}", self.at));
        let raw = was.map(|(_, raw)| raw.clone()).unwrap_or_default();
        self.patch.spellings.push(Spelling { pointer: path.to_string(), raw });
        self.patch.operations.push(Operation::Replace { path, value: Rc::new(Value::Null) });
        true
    }
}

/// Every pointer here is made of constants, indices and escaped keys.
pub(crate) fn pointer(text: &str) -> PointerBuf {
    PointerBuf::parse(text).unwrap_or_default()
}

pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
