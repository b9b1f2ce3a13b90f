//! Detects changes by hand: differences between an existing injection and its record. Image, Secret and ConfigMap names are exempt.

use crate::agent::difference::{DifferenceKind, differences};
use crate::agent::existing::{ExistingComponent, ExistingInjection};
use crate::agent::plan::Plan;
use crate::agent::record::RecordError;
use crate::agent::{Component, ComponentKind, ComponentKinds};
use crate::mackerel::annotations::Annotation;
use crate::options::Direction;
use crate::reconcile::edited_fields::{EditedField, EditedSetting};
use crate::reconcile::only_edit::only_edit;
use serde_json::Value;
use yaml_json_patch::Tree;
use yaml_json_patch::pointer::escape;

/// The advice about a record of a later version.
const USE_NEWER: &str = "use that version or a newer one";

/// The advice for the removal of an edited agent.
const REMOVE_EDITED: &str =
    "undo the edit, or run `uninject --force` on the file to remove the agent";

/// Further fields in a message.
const MAX_FIELDS: usize = 5;

/// The kind of difference between an existing injection and its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drift {
    /// A later version of this program wrote the record; its additions are never touched, even with `--force`.
    NewerRecord,
    /// The record cannot be parsed.
    BrokenRecord,
    /// Something that the record names is absent, whether or not the rest has changed.
    Gone,
    /// All is present, but this component has changed.
    Changed(ComponentKind),
}

/// The message about a drift, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DriftDescription {
    pub(crate) message: String,
    /// Byte offset of the edited field, else of the record.
    pub(crate) offset: usize,
    /// JSON Pointer from the template to the same.
    pub(crate) pointer: String,
    /// The settings that the edited fields have their values from.
    pub(super) settings: Vec<EditedSetting>,
    pub(super) edits: NamedEdits,
}

/// The edits that a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedEdits {
    All,
    /// The plan is not the recorded one, so fields that differ from it need not be edits.
    Unknown,
}

impl ExistingComponent {
    /// Returns true if the record is that of this plan: what differs from the plan was edited by hand.
    pub(super) fn is_recorded(&self, plan: &Component) -> bool {
        let record = self.record.as_ref();
        record.is_some_and(|record| record.value == plan.record.value)
    }
}

impl Drift {
    /// Compares an existing injection with its record.
    pub(crate) fn detect(existing: &ExistingInjection) -> Option<Self> {
        match existing.record {
            Err(RecordError::Newer) => return Some(Drift::NewerRecord),
            Err(RecordError::Broken) => return Some(Drift::BrokenRecord),
            Ok(_) => {}
        }
        // First: a change may be what the configuration wants, and must not hide that something is absent.
        if !existing.is_complete() {
            return Some(Drift::Gone);
        }
        let mut components = existing.components.iter();
        let changed = components.find(|component| component.is_changed())?;
        Some(Drift::Changed(changed.kind))
    }

    /// Describes the drift. The message names the fields that differ from `wanted`, the plan of today; if that is the recorded one, also
    /// both values. A removal may run without the configuration of the injection: it names only what was edited for certain.
    pub(crate) fn describe(
        self,
        tree: &Tree<'_>,
        existing: &ExistingInjection,
        wanted: Option<&Plan>,
        direction: Direction,
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
            Drift::Changed(kind) => {
                let wanted = wanted
                    .and_then(|plan| plan.component(kind))
                    .map(|new| &**new);
                if let Some(component) = existing.component(kind)
                    && let Some(description) = describe_change(tree, component, wanted, direction)
                {
                    return description;
                }
                format!(
                    "{} was modified after injection",
                    ComponentKinds::from(kind).subject()
                )
            }
        };
        DriftDescription {
            message,
            offset: existing.offset,
            pointer: format!("/metadata/annotations/{}", escape(Annotation::Record.key())),
            settings: Vec::new(),
            edits: NamedEdits::All,
        }
    }

    /// Returns true if the edited components are what the plan adds: an annotation or setting keeps the edit. The order of
    /// variables does not count: a user adds one anywhere.
    pub(crate) fn is_wanted(self, existing: &ExistingInjection, plan: &Plan) -> bool {
        let Drift::Changed(_) = self else {
            return false;
        };
        let mut components = existing.components.iter();
        components.all(|old| {
            !old.is_changed()
                || plan
                    .component(old.kind)
                    .is_some_and(|new| has_value(old, &new.canonical()))
        })
    }

    /// Returns the advice for an injection. `settings` are the names of those that the edited fields have their values from.
    pub(super) fn help_to_inject(self, settings: &[String]) -> String {
        if self == Drift::NewerRecord {
            return USE_NEWER.to_owned();
        }
        let overwrite = "undo the edit, or run `inject --force` on the file to overwrite it";
        match settings {
            [] => overwrite.to_owned(),
            [setting] => format!("{overwrite}; to keep the value, set {setting} to it first"),
            settings => format!(
                "{overwrite}; to keep the values, set {} to them first",
                settings.join(" and ")
            ),
        }
    }

    /// Returns the advice for a removal. `wanted` is the plan of today, if there is one.
    pub(super) fn help_to_uninject(
        self,
        existing: &ExistingInjection,
        wanted: Option<&Plan>,
    ) -> String {
        if self == Drift::NewerRecord {
            return USE_NEWER.to_owned();
        }
        if wanted.is_some_and(|plan| self.is_wanted(existing, plan)) {
            let first = "the configuration has the same value: run `inject` first to record the edit, then `uninject`";
            return format!("{first}; or run `uninject --force` on the file to remove the agent");
        }
        REMOVE_EDITED.to_owned()
    }
}

/// Returns true if a component has a value, apart from the order of lists with names.
fn has_value(component: &ExistingComponent, wanted: &Value) -> bool {
    component.value().is_some_and(|value| {
        differences(wanted, value).is_empty() && differences(value, wanted).is_empty()
    })
}

/// Describes the first part that is absent.
fn gone(existing: &ExistingInjection) -> Option<String> {
    let mut components = existing.components.iter();
    if let Some(component) = components.find(|component| component.container.is_none()) {
        let name = component.kind.container();
        return Some(format!(
            "the container `{name}` was removed, renamed or moved"
        ));
    }
    if let Some((volume, _)) = existing.volumes().find(|(_, volume)| volume.is_none()) {
        return Some(format!(
            "the volume `{}` was removed or renamed",
            volume.name()
        ));
    }
    let mut pull_secrets = existing.pull_secrets.iter();
    let (name, _) = pull_secrets.find(|(_, secret)| secret.is_none())?;
    Some(format!("the pull secret `{name}` was removed or renamed"))
}

/// Describes the fields of a component that were edited: those that differ from the recorded plan, or the one whose recorded value
/// is known. Else it describes the fields that differ from the plan of today, or the component as a whole.
fn describe_change(
    tree: &Tree<'_>,
    existing: &ExistingComponent,
    wanted: Option<&Component>,
    direction: Direction,
) -> Option<DriftDescription> {
    let mut fields = match wanted {
        Some(wanted) => EditedField::all(tree, existing, wanted),
        None => Vec::new(),
    };
    let mut edits = NamedEdits::Unknown;
    if wanted.is_some_and(|wanted| existing.is_recorded(wanted) || fields.is_empty()) {
        edits = NamedEdits::All;
    } else if let Some(only) = wanted.and_then(|wanted| only_edit(existing, wanted)) {
        fields.retain(|field| field.is_of(&only));
        edits = NamedEdits::All;
    } else if direction == Direction::Uninject {
        fields.clear();
    }
    // With another configuration, what is absent may be new in it: any other field is more likely an edit.
    let mut likely = fields
        .iter()
        .filter(|field| edits == NamedEdits::All || field.kind != DifferenceKind::Gone);
    let subject = ComponentKinds::from(existing.kind).subject();
    let Some(first) = likely.next().or(fields.first()) else {
        let container = existing.container.as_ref()?;
        return Some(DriftDescription {
            message: format!("{subject} was modified after injection"),
            offset: tree.place(container.node).start,
            pointer: format!("/spec/{}/{}", container.list.field(), container.index),
            settings: Vec::new(),
            edits,
        });
    };
    let message = if edits == NamedEdits::All {
        let others: Vec<&EditedField> = likely.collect();
        match names(&others) {
            Some(others) => format!("{}; also modified: {others}", first.sentence()),
            None => first.sentence(),
        }
    } else {
        let all: Vec<&EditedField> = fields.iter().collect();
        let all = names(&all).unwrap_or_default();
        format!(
            "{subject} was modified after injection, and differs from the configuration in {all}"
        )
    };
    Some(DriftDescription {
        message,
        offset: first.offset(tree),
        pointer: first.pointer(),
        settings: settings(&fields),
        edits,
    })
}

/// Returns the settings that the fields have their values from, each once.
fn settings(fields: &[EditedField]) -> Vec<EditedSetting> {
    let mut settings = Vec::new();
    for setting in fields.iter().filter_map(|field| field.setting.as_ref()) {
        if !settings.contains(setting) {
            settings.push(setting.clone());
        }
    }
    settings
}

/// Names the first fields, and how many more there are; none without fields.
fn names(fields: &[&EditedField]) -> Option<String> {
    let shown = fields.iter().take(MAX_FIELDS);
    let shown: Vec<String> = shown.map(|field| field.name()).collect();
    match fields.len() {
        0 => None,
        count if count > MAX_FIELDS => Some(format!(
            "{} and {} more",
            shown.join(", "),
            count - MAX_FIELDS
        )),
        _ => Some(shown.join(", ")),
    }
}
