//! The operations that remove an existing injection.

use crate::agent::existing::ExistingInjection;
use crate::agent::record::{Parent, Record};
use crate::reconcile::kept_settings::KeptSetting;
use crate::reconcile::patch::{PatchBuilder, PatchTarget, TemplatePatch};
use mackerel::annotations::Annotation;
use manifest::{ContainerList, item_pointer};
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{NodeId, NullSource, Operation, Style, to_json};

impl PatchTarget<'_, '_> {
    /// Removes everything that the record names, and restores parents that were null or absent. `kept` are annotations that have just
    /// been added beside it.
    pub(super) fn removal(
        self,
        existing: &ExistingInjection,
        kept: &[KeptSetting],
    ) -> TemplatePatch {
        let mut removal = Removal {
            target: self,
            record: existing.record.as_ref().ok(),
            has_status: existing.status,
            builder: PatchBuilder::new(self),
        };
        removal.remove_annotations(kept);
        for list in [ContainerList::Containers, ContainerList::InitContainers] {
            let indices = existing
                .containers()
                .filter(|(_, container)| container.list == list)
                .map(|(_, container)| container.index)
                .collect();
            let parent = match list {
                ContainerList::InitContainers => Some(Parent::InitContainers),
                ContainerList::Containers | ContainerList::EphemeralContainers => None,
            };
            removal.remove_items(list.field(), indices, parent);
        }
        let indices = existing
            .volumes()
            .filter_map(|(_, volume)| Some(volume.as_ref()?.index))
            .collect();
        removal.remove_items("volumes", indices, Some(Parent::Volumes));
        let indices: Vec<usize> = existing
            .pull_secrets
            .iter()
            .filter_map(|(_, secret)| Some(secret.as_ref()?.index))
            .collect();
        // At the injection there were others before them; if a user has removed those since, the list goes.
        if !indices.is_empty() && self.template.pull_secrets.is_empty() {
            removal.builder.remove("/spec/imagePullSecrets");
        } else {
            removal.remove_items("imagePullSecrets", indices, None);
        }
        removal.builder.finish()
    }
}

/// The removal of an existing injection from its template.
struct Removal<'a, 't> {
    target: PatchTarget<'a, 't>,
    /// None if it cannot be read. Then the injection is taken to have made what it makes in most templates: the `status`, and every
    /// parent that has nothing else.
    record: Option<&'a Record>,
    /// True if `status: injected` is beside the record of an agent.
    has_status: bool,
    builder: PatchBuilder<'a, 't>,
}

impl Removal<'_, '_> {
    fn remove_annotations(&mut self, kept: &[KeptSetting]) {
        let annotations = self.target.node(Parent::Annotations);
        let mut keys = vec![Annotation::Record.key()];
        if self.record.map_or(self.has_status, Record::added_status) {
            keys.insert(0, Annotation::Status.key());
        }
        let is_own = |key: &str| self.target.child(annotations, key).is_some();
        // One that a merge key brings cannot be removed: the editor refuses it.
        keys.retain(|key| is_own(key) || self.is_merged(annotations, key));
        let are_own = keys.iter().all(|key| is_own(key));
        let only_injected = are_own && self.members(annotations) == keys.len() && kept.is_empty();
        if only_injected {
            let only_annotations = self.members(self.target.template.metadata) == 1;
            if only_annotations
                && self.has_created(Parent::Annotations)
                && self.restore(Parent::Metadata)
            {
                return;
            }
            if self.restore(Parent::Annotations) {
                return;
            }
        }
        for key in keys {
            self.builder
                .remove(&format!("/metadata/annotations/{}", escape(key)));
        }
    }

    /// Returns true if a merge key brings the member.
    fn is_merged(&self, mapping: Option<NodeId>, key: &str) -> bool {
        mapping
            .and_then(|node| to_json(self.target.tree, node).ok())
            .is_some_and(|json| json.get(key).is_some())
    }

    /// Returns the number of members of a mapping.
    fn members(&self, node: Option<NodeId>) -> usize {
        let tree = self.target.tree;
        node.map_or(0, |node| tree.entries(tree.alias_target(node)).count())
    }

    /// Removes items of the list `field` of the spec, or restores the list if it has no others.
    fn remove_items(&mut self, field: &str, mut indices: Vec<usize>, parent: Option<Parent>) {
        if let Some(parent) = parent
            && !indices.is_empty()
            && self.items(parent) == indices.len()
            && self.restore(parent)
        {
            return;
        }
        // From the last to the first, so that each index stays true.
        indices.sort_unstable();
        for index in indices.into_iter().rev() {
            self.builder.remove(&item_pointer(field, index));
        }
    }

    fn items(&self, parent: Parent) -> usize {
        let tree = self.target.tree;
        self.target
            .node(parent)
            .map_or(0, |node| tree.items(tree.alias_target(node)).count())
    }

    fn has_created(&self, parent: Parent) -> bool {
        self.record
            .is_none_or(|record| record.created.contains(&parent))
    }

    /// Restores a parent that has injected members only: to absent, or to null as it was written. Returns false for one that
    /// was empty, and for a null where a tool has since changed between lines and brackets: removing the members leaves `[]`.
    fn restore(&mut self, parent: Parent) -> bool {
        if self.has_created(parent) {
            self.builder.remove(parent.pointer());
            return true;
        }
        let original = self.record.and_then(|record| record.replaced.get(&parent));
        let source = match original {
            Some(original) => original.null(),
            // The shortest null, a key with a colon, is not recorded where lines replaced it.
            None if self.style(self.target.node(parent)) == Some(Style::Flow) => None,
            None => Some(NullSource::Block(String::new())),
        };
        let holder_style = self.style(self.target.holder(parent));
        let Some(source) = source.filter(|source| holder_style == Some(source.style())) else {
            return false;
        };
        self.builder
            .push(parent.pointer(), |path| Operation::RestoreNull {
                path,
                source,
            });
        true
    }

    fn style(&self, node: Option<NodeId>) -> Option<Style> {
        let tree = self.target.tree;
        Some(tree.style(tree.alias_target(node?)))
    }
}
