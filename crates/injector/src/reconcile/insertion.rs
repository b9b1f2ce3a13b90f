//! The operations that add the components of a plan, and their record.
//!
//! The order is fixed: metadata, containers, init containers, volumes, pull secrets. Missing parents are created, a null parent is
//! replaced. The record remembers both, so that a removal is the exact inverse of an insertion.

use crate::agent::Component;
use crate::agent::component_kind::ComponentKind;
use crate::agent::existing::ExistingInjection;
use crate::agent::plan::Plan;
use crate::agent::record::{OlderStatus, Parent, PullSecrets, Record, ReplacedParent};
use crate::reconcile::kept_settings::KeptSetting;
use crate::reconcile::own_annotations::{OwnAnnotations, RecordCache};
use crate::reconcile::patch::{
    AgentPlace, ParentState, PatchBuilder, PatchTarget, TemplatePatch, UneditableChange,
};
use config::WaitForPosition;
use mackerel::annotations::Annotation;
use mackerel::names::Volume;
use manifest::{ContainerList, PodVolume, item_pointer};
use serde_json::{Value, json};
use std::sync::Arc;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{NodeId, Operation, Style};

impl<'a> PatchTarget<'a, '_> {
    /// Adds the components of a plan, and their record, to a template without an existing injection.
    ///
    /// # Errors
    /// When `metadata`, `annotations`, `volumes` or a list of containers is of the wrong kind.
    pub fn insertion(
        self,
        plan: &Plan,
        place: AgentPlace,
        records: &RecordCache,
    ) -> Result<TemplatePatch, UneditableChange> {
        let insertion = Insertion {
            target: self,
            plan,
            place,
            record: plan.record(),
        };
        insertion.patch(records)
    }

    /// Adds the agent to a pod that has the init container that waits, and completes the record. The webhook does so where the
    /// init container came with the workload.
    ///
    /// # Errors
    /// As [`PatchTarget::insertion`].
    pub fn completion(
        self,
        existing: &ExistingInjection,
        agent: &Arc<Component>,
        records: &RecordCache,
    ) -> Result<TemplatePatch, UneditableChange> {
        // Together, a native agent stands before the init container.
        let place = match existing.container(ComponentKind::WaitFor) {
            Some(container) => AgentPlace::BeforeWaitFor {
                index: container.index,
            },
            None => AgentPlace::Last,
        };
        let plan = Plan {
            components: vec![Arc::clone(agent)],
        };
        let record = match &existing.record {
            Ok(record) => Record {
                agent: Some(agent.record.clone()),
                ..record.clone()
            },
            Err(_) => plan.record(),
        };
        let insertion = Insertion {
            target: self,
            plan: &plan,
            place,
            record,
        };
        insertion.patch(records)
    }

    /// Adds annotations that are the user's from then on: no record names them. A parent of the wrong kind is refused later, where
    /// the agent is added.
    pub(super) fn kept_annotations(self, kept: &[KeptSetting]) -> TemplatePatch {
        let mut builder = PatchBuilder::new(self);
        if !kept.is_empty()
            && let Ok(metadata) = self.state(Parent::Metadata)
            && let Ok(annotations) = self.state(Parent::Annotations)
        {
            let each = kept
                .iter()
                .map(|kept| (kept.key.clone(), Value::from(&*kept.value)))
                .collect();
            let added = OwnAnnotations::of(each);
            add_annotations(&mut builder, &metadata, &annotations, &added);
        }
        builder.finish()
    }
}

/// Components on their way into a template.
struct Insertion<'a, 't> {
    target: PatchTarget<'a, 't>,
    plan: &'a Plan,
    place: AgentPlace,
    record: Record,
}

/// The change of one list of containers.
struct ListInsertion<'a> {
    list: ContainerList,
    state: ParentState,
    components: Vec<&'a Arc<Component>>,
    /// Index of the adopted agent, if it is in this list.
    adopted: Option<usize>,
}

impl<'a> Insertion<'a, '_> {
    fn patch(mut self, records: &RecordCache) -> Result<TemplatePatch, UneditableChange> {
        // The states of all parents come first: the record, which is added first, names them.
        let metadata = self.parent(Parent::Metadata)?;
        let annotations = self.parent(Parent::Annotations)?;
        self.record_status();
        let containers = self.containers(ContainerList::Containers)?;
        let init_containers = self.containers(ContainerList::InitContainers)?;
        let volumes = self.volumes()?;
        let pull_secrets = self.pull_secrets();

        let mut builder = PatchBuilder::new(self.target);
        let Some(own) = records.annotations(&self.record) else {
            let PatchTarget { tree, template, .. } = self.target;
            return Err(UneditableChange {
                message: "the `record` annotation would be too long to be read again".to_owned(),
                help: "use fewer pull secrets, and fewer Secrets and ConfigMaps in `agent.env` and `agent.volumes`"
                    .to_owned(),
                offset: tree.place(template.node).start,
            });
        };
        add_annotations(&mut builder, &metadata, &annotations, &own);
        for change in [containers, init_containers].into_iter().flatten() {
            self.add_containers(&mut builder, &change);
        }
        self.add_volumes(&mut builder, &volumes);
        for name in pull_secrets {
            builder.add(
                "/spec/imagePullSecrets/-",
                Arc::new(json!({ "name": name })),
            );
        }
        Ok(builder.finish())
    }

    /// Returns the state of a parent, and records what a removal must put back.
    fn parent(&mut self, parent: Parent) -> Result<ParentState, UneditableChange> {
        let state = self.target.state(parent)?;
        match &state {
            ParentState::Missing => _ = self.record.created.insert(parent),
            // The shortest null, a key with a colon, needs no record where lines replace it.
            ParentState::Replaced(ReplacedParent::Block(text))
                if text.is_empty() && !self.has_list_in_brackets(self.target.holder(parent)) => {}
            ParentState::Replaced(original) => {
                self.record.replaced.insert(parent, original.clone());
            }
            ParentState::Collection => {}
        }
        Ok(state)
    }

    /// Returns true if a field of `holder` is a list in brackets. The editor may write a new list like it.
    fn has_list_in_brackets(&self, holder: Option<NodeId>) -> bool {
        let tree = self.target.tree;
        holder.is_some_and(|holder| {
            tree.entries(tree.alias_target(holder)).any(|(_, value)| {
                tree.style(value) == Style::Flow && tree.items(value).next().is_some()
            })
        })
    }

    /// Records a `status` annotation that is there.
    fn record_status(&mut self) {
        let template = self.target.template;
        if template.annotation(Annotation::Status.key()).is_none() {
            return;
        }
        // The `status` of an adopted agent goes on to be true of the injected one, and is removed with it.
        let adopts = matches!(self.place, AgentPlace::Adopted { .. });
        if !adopts && self.record.agent.is_some() {
            self.record.status = Some(OlderStatus::Kept);
        } else if adopts && template.annotations.len() == 1 {
            self.record.created.insert(Parent::Annotations);
        }
    }

    /// Returns the change of one list; none if it does not change.
    fn containers(
        &mut self,
        list: ContainerList,
    ) -> Result<Option<ListInsertion<'a>>, UneditableChange> {
        let components: Vec<_> = self.plan.of_list(list).collect();
        let adopted = match self.place {
            AgentPlace::Adopted { list: of, index } if of == list => Some(index),
            _ => None,
        };
        if components.is_empty() && adopted.is_none() {
            return Ok(None);
        }
        let state = if list == ContainerList::InitContainers {
            self.parent(Parent::InitContainers)?
        } else {
            self.target.containers_state()?
        };
        // A list that then has only injected containers is removed with them.
        let only_injected = adopted.is_some() && self.count(list) == 1 && !components.is_empty();
        if only_injected && list == ContainerList::InitContainers {
            self.record.created.insert(Parent::InitContainers);
        }
        Ok(Some(ListInsertion {
            list,
            state,
            components,
            adopted,
        }))
    }

    /// Returns the number of containers that the list has.
    fn count(&self, list: ContainerList) -> usize {
        self.target
            .template
            .containers
            .iter()
            .filter(|container| container.list == list)
            .count()
    }

    fn volumes(&mut self) -> Result<ParentState, UneditableChange> {
        let added: Vec<&Volume> = self.plan.volumes().collect();
        if added.is_empty() {
            return Ok(ParentState::Missing);
        }
        let replaced = added
            .iter()
            .filter(|volume| self.replaced_volume(volume).is_some())
            .count();
        let only_injected = replaced > 0 && replaced == self.target.template.volumes.len();
        let state = self.parent(Parent::Volumes)?;
        if only_injected {
            self.record.created.insert(Parent::Volumes);
        }
        Ok(state)
    }

    /// Returns the volume of the same name that an adopted agent brought along.
    fn replaced_volume(&self, volume: &Volume) -> Option<&'a PodVolume> {
        if !matches!(self.place, AgentPlace::Adopted { .. }) {
            return None;
        }
        let name = volume.name();
        self.target
            .template
            .volumes
            .iter()
            .find(|other| other.name.as_ref() == Some(&name))
    }

    /// Returns the names of the pull secrets to add, and records them after those that are recorded.
    fn pull_secrets(&mut self) -> Vec<&'a String> {
        let mut names = self
            .record
            .pull_secrets
            .take()
            .map_or_else(Vec::new, |recorded| recorded.names);
        let added: Vec<&String> = self
            .plan
            .pull_secrets()
            .filter(|name| !names.contains(name))
            .collect();
        names.extend(added.iter().copied().cloned());
        if !names.is_empty() {
            let after = self.target.template.pull_secrets.len();
            self.record.pull_secrets = Some(PullSecrets { after, names });
        }
        added
    }

    fn add_containers(&self, builder: &mut PatchBuilder<'_, '_>, change: &ListInsertion<'_>) {
        let field = change.list.field();
        let mut index = self.index(change.list);
        let mut components = change.components.iter().peekable();
        if let Some(adopted) = change.adopted {
            if let Some(agent) = components.next_if(|next| next.kind == ComponentKind::Agent) {
                // The agent replaces the adopted one, and further containers follow it.
                let container = Arc::clone(&agent.container);
                builder.replace(&item_pointer(field, adopted), container);
                index = Some(adopted + 1);
            } else if components.peek().is_none() && self.count(change.list) == 1 {
                builder.remove(&format!("/spec/{field}"));
            } else {
                builder.remove(&item_pointer(field, adopted));
            }
        }
        if change.state.takes_members() {
            for (number, component) in components.enumerate() {
                let container = Arc::clone(&component.container);
                match index {
                    Some(first) => builder.add(&item_pointer(field, first + number), container),
                    None => builder.add(&["/spec/", field, "/-"].concat(), container),
                }
            }
            return;
        }
        let list = match &change.components[..] {
            [component] => Arc::clone(&component.container_list),
            components => Arc::new(
                components
                    .iter()
                    .map(|component| Value::clone(&component.container))
                    .collect(),
            ),
        };
        builder.add(&["/spec/", field].concat(), list);
    }

    /// Returns the index for new containers; none for the end of the list.
    fn index(&self, list: ContainerList) -> Option<usize> {
        if list != ContainerList::InitContainers {
            return None;
        }
        match (self.place, self.record.position()) {
            (AgentPlace::BeforeWaitFor { index }, _) => Some(index),
            (_, WaitForPosition::First) => Some(0),
            (_, WaitForPosition::Last) => None,
        }
    }

    fn add_volumes(&self, builder: &mut PatchBuilder<'_, '_>, state: &ParentState) {
        for component in &self.plan.components {
            if component.volumes.is_empty() {
                continue;
            }
            // Only one kind of component has volumes.
            if !state.takes_members() {
                builder.add("/spec/volumes", Arc::clone(&component.volume_list));
                continue;
            }
            for (volume, value) in &component.volumes {
                match self.replaced_volume(volume) {
                    Some(old) => {
                        builder.replace(&item_pointer("volumes", old.index), Arc::clone(value));
                    }
                    None => builder.add("/spec/volumes/-", Arc::clone(value)),
                }
            }
        }
    }
}

fn add_annotations(
    builder: &mut PatchBuilder<'_, '_>,
    metadata: &ParentState,
    annotations: &ParentState,
    added: &OwnAnnotations,
) {
    if !metadata.takes_members() {
        // Metadata are expected before the spec.
        builder.push("/metadata", |path| Operation::InsertBefore {
            path,
            value: Arc::clone(&added.metadata),
            before: "spec".to_owned(),
        });
        return;
    }
    if !annotations.takes_members() {
        builder.add("/metadata/annotations", Arc::clone(&added.mapping));
        return;
    }
    for (key, value) in &added.each {
        let path = ["/metadata/annotations/", &*escape(key)].concat();
        builder.add(&path, Arc::clone(value));
    }
}
