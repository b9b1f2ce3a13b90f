//! Detects changes by hand: differences between an existing injection and its record. The names of its image and of the objects that it refers to are exempt.

use crate::agent::ComponentKinds;
use crate::agent::existing::{ExistingComponent, ExistingInjection};
use crate::agent::plan::Plan;
use crate::agent::record::RecordError;
use crate::options::Direction;
use crate::reconcile::differing::listed;
use mackerel::annotations::Annotation;
use manifest::item_pointer;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{NodeId, Tree};

/// The advice about a record of a later version.
const USE_NEWER: &str = "use that version or a newer one";

/// The advice for an injection.
const OVERWRITE: &str = "undo the edit, or run `inject --force` on the file to overwrite it (`--force --diff` shows how)";

/// The advice for the removal of an edited agent.
const REMOVE_EDITED: &str =
    "undo the edit, or run `uninject --force` on the file to remove the agent";

/// The advice to keep an edit.
const KEEP: &str = "to keep it, give its annotation or setting the same value first";

/// The kind of difference between an existing injection and its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drift {
    /// A later version of this program wrote the record; its additions are never touched, even with `--force`.
    NewerRecord,
    /// The record cannot be parsed.
    BrokenRecord,
    /// Something that the record names is absent, whether or not the rest has changed.
    Gone,
    /// All is present, but a component has changed.
    Changed,
}

/// The message about a drift, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftDescription {
    pub message: String,
    /// Byte offset of the first field that differs, else of the record.
    pub offset: usize,
    /// JSON Pointer from the template to the same.
    pub pointer: String,
}

impl Drift {
    /// Compares an existing injection with its record.
    pub fn detect(existing: &ExistingInjection) -> Option<Self> {
        match existing.record {
            Err(RecordError::Newer) => return Some(Drift::NewerRecord),
            Err(RecordError::Broken) => return Some(Drift::BrokenRecord),
            Ok(_) => {}
        }
        // First: a change may be what the configuration wants, and must not hide that something is absent.
        if !existing.is_complete() {
            return Some(Drift::Gone);
        }
        existing
            .components
            .iter()
            .any(ExistingComponent::is_changed)
            .then_some(Drift::Changed)
    }

    /// Describes the drift. The message names the fields that differ from `wanted`, the plan of today, if there is one: the record
    /// has a digest alone, which does not show the fields that were edited.
    pub fn describe(
        self,
        tree: &Tree<'_>,
        existing: &ExistingInjection,
        wanted: Option<&Plan>,
    ) -> DriftDescription {
        let message = match self {
            Drift::NewerRecord => {
                "the agent was injected by a newer version of mackerel-agent-injector".to_owned()
            }
            Drift::BrokenRecord => "the `record` annotation cannot be read".to_owned(),
            Drift::Gone => match gone(existing) {
                Some(part) => format!("{part}, but the `record` annotation still lists it"),
                None => "the `record` annotation lists something that cannot be read".to_owned(),
            },
            Drift::Changed => {
                let unwanted = existing
                    .components
                    .iter()
                    .find(|old| old.is_changed() && wanted.is_none_or(|plan| !old.is_wanted(plan)));
                match unwanted.and_then(|edited| describe_change(tree, edited, wanted)) {
                    Some(description) => return description,
                    None => "the agent cannot be read".to_owned(),
                }
            }
        };
        DriftDescription {
            message,
            offset: existing.offset,
            pointer: format!("/metadata/annotations/{}", escape(Annotation::Record.key())),
        }
    }

    /// Returns true if the edited components are what the plan adds: an annotation or setting keeps the edit.
    pub fn is_wanted(self, existing: &ExistingInjection, plan: &Plan) -> bool {
        self == Drift::Changed
            && existing
                .components
                .iter()
                .all(|old| !old.is_changed() || old.is_wanted(plan))
    }

    pub(super) fn help(self, direction: Direction) -> String {
        match (self, direction) {
            (Drift::NewerRecord, _) => USE_NEWER.to_owned(),
            (Drift::Changed, Direction::Inject) => format!("{OVERWRITE}; {KEEP}"),
            (_, Direction::Inject) => OVERWRITE.to_owned(),
            (_, Direction::Uninject) => REMOVE_EDITED.to_owned(),
        }
    }
}

/// Describes an edited component, at the first field that differs from the plan.
fn describe_change(
    tree: &Tree<'_>,
    edited: &ExistingComponent,
    wanted: Option<&Plan>,
) -> Option<DriftDescription> {
    let fields = wanted
        .and_then(|plan| plan.component(edited.kind))
        .map(|new| edited.fields_unlike(new))
        .unwrap_or_default();
    let subject = ComponentKinds::from(edited.kind).subject();
    let mut message = format!("{subject} was modified after injection");
    if !fields.is_empty() {
        message += &format!("; it differs from the configuration in {}", listed(&fields));
    }
    let (node, pointer) = fields
        .iter()
        .find_map(|field| edited.place(tree, field))
        .or_else(|| edited.place(tree, ""))?;
    Some(DriftDescription {
        message,
        offset: tree.place(node).start,
        pointer,
    })
}

impl ExistingComponent {
    fn is_wanted(&self, plan: &Plan) -> bool {
        plan.component(self.kind)
            .is_some_and(|new| self.fields_unlike(new).is_empty())
    }

    /// Returns the node of the field that a name leads to, as far as it exists, and its JSON Pointer from the template; the
    /// container for an empty name.
    fn place(&self, tree: &Tree<'_>, name: &str) -> Option<(NodeId, String)> {
        for (volume, present) in &self.volumes {
            if let Some(present) = present
                && let Some(below) = name.strip_prefix(&volume.name())
            {
                let pointer = item_pointer("volumes", present.index);
                return Some(below_node(tree, present.node, pointer, below));
            }
        }
        let container = self.container.as_ref()?;
        Some(below_node(tree, container.node, container.pointer(), name))
    }
}

/// Follows a name such as `env: TZ`, `resources.limits.memory` from a node, as far as it leads.
fn below_node(tree: &Tree<'_>, node: NodeId, pointer: String, name: &str) -> (NodeId, String) {
    let name = name.trim_start_matches(['.', ':', ' ']);
    let node = tree.alias_target(node);
    for (key, value) in tree.entries(node) {
        let Some(key) = tree.scalar(key) else {
            continue;
        };
        if let Some(below) = name.strip_prefix(&*key)
            && (below.is_empty() || below.starts_with(['.', ':']))
        {
            let pointer = format!("{pointer}/{}", escape(&key));
            return below_node(tree, value, pointer, below);
        }
    }
    for (index, item) in tree.items(node).enumerate() {
        let key = tree
            .member(item, "mountPath")
            .or_else(|| tree.member(item, "name"))
            .and_then(|key| tree.scalar(key));
        if key.as_deref() == Some(name) {
            return (item, format!("{pointer}/{index}"));
        }
    }
    (node, pointer)
}

/// Describes the first part that is absent.
fn gone(existing: &ExistingInjection) -> Option<String> {
    if let Some(component) = existing
        .components
        .iter()
        .find(|component| component.container.is_none())
    {
        let name = component.kind.container();
        return Some(format!(
            "the container `{name}` was removed, renamed or moved"
        ));
    }
    if let Some((volume, _)) = existing.volumes().find(|(_, present)| present.is_none()) {
        return Some(format!(
            "the volume `{}` was removed or renamed",
            volume.name()
        ));
    }
    let (name, _) = existing
        .pull_secrets
        .iter()
        .find(|(_, secret)| secret.is_none())?;
    Some(format!("the pull secret `{name}` was removed or renamed"))
}
