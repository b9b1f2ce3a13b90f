//! Detects manual changes to injected containers and volumes. Image, Secret and ConfigMap names are exempt.

use crate::agent::canonical::Digest;
use crate::agent::components::{ComponentSet, Components};
use crate::agent::difference::{Difference, DifferenceKind, differences};
use crate::agent::existing::ExistingInjection;
use crate::agent::plan::Plan;
use crate::agent::record::RecordError;
use crate::agent::wait_for;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::CONTAINER;
use crate::manifest::field_path::field_path;
use crate::manifest::pod_template::Container;
use crate::options::Direction;
use crate::reconcile::edited_settings::EditedSetting;
use serde_json::Value;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{NodeId, Tree, to_json};

/// The kind of difference between an existing injection and its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drift {
    /// A later version of this program wrote the record; its additions are never touched, even with `--force`.
    NewerRecord,
    /// The record cannot be parsed.
    BrokenRecord,
    /// Something that the record names is absent, whether or not the rest has changed.
    Gone,
    /// All is present, but the agent or the init container has changed.
    Changed(ComponentSet),
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
    pub(crate) settings: Vec<EditedSetting>,
}

impl DriftDescription {
    fn new(message: String, offset: usize, pointer: String) -> Self {
        Self {
            message,
            offset,
            pointer,
            settings: Vec::new(),
        }
    }
}

impl Drift {
    /// Compares an existing injection with its record.
    pub(crate) fn of(existing: &ExistingInjection) -> Option<Self> {
        let record = match &existing.record {
            Err(RecordError::Newer) => return Some(Drift::NewerRecord),
            Err(RecordError::Broken) => return Some(Drift::BrokenRecord),
            Ok(record) => record,
        };
        let differs = |part: ComponentSet, recorded: Digest, value: Option<&Value>| match value {
            None => Some(Drift::Gone),
            Some(value) => {
                (Digest::of(&value.to_string()) != recorded).then_some(Drift::Changed(part))
            }
        };
        let agent = record.components.agent();
        let agent = agent
            .and_then(|agent| differs(Components::Agent(()), agent.value, existing.value.as_ref()));
        let wait_for = record.components.wait_for().and_then(|wait_for| {
            let value = existing.wait_for_value.as_ref().map(|(value, _)| value);
            differs(Components::WaitFor(()), wait_for.value, value)
        });
        let is_complete = existing
            .pull_secrets
            .iter()
            .all(|(_, secret)| secret.is_some());
        // First: a change may be what the configuration wants, and must not hide that something is absent.
        let is_gone = !is_complete || [agent, wait_for].contains(&Some(Drift::Gone));
        is_gone.then_some(Drift::Gone).or(agent).or(wait_for)
    }

    /// Describes the drift. The message names the fields that differ from `wanted`, the plan of today; if that is the recorded one, also
    /// both values.
    pub(crate) fn describe(
        self,
        tree: &Tree<'_>,
        existing: &ExistingInjection,
        wanted: Option<&Plan>,
    ) -> DriftDescription {
        let at_record = |message: String| {
            let pointer = format!("/metadata/annotations/{}", escape(Annotation::Record.key()));
            DriftDescription::new(message, existing.offset, pointer)
        };
        match self {
            Drift::NewerRecord => at_record(
                "the agent was injected by a newer version of mackerel-agent-injector".to_owned(),
            ),
            Drift::BrokenRecord => at_record("the `record` annotation cannot be read".to_owned()),
            Drift::Gone => at_record(match gone(existing) {
                Some(part) => format!("{part}, but the `record` annotation still lists it"),
                None => "the `record` annotation lists something that cannot be read".to_owned(),
            }),
            Drift::Changed(part) => changed(tree, existing, part, wanted).unwrap_or_else(|| {
                let message = format!("{} was modified after injection", part.subject());
                match part
                    .agent()
                    .and(existing.agent.as_ref())
                    .or(existing.wait_for.as_ref())
                {
                    Some(container) => {
                        let pointer =
                            format!("/spec/{}/{}", container.list.field(), container.index);
                        DriftDescription::new(message, tree.place(container.node).start, pointer)
                    }
                    None => at_record(message),
                }
            }),
        }
    }

    /// Returns true if the edited components are what the plan adds: an annotation or setting keeps the edit. The order of
    /// variables does not count: a user adds one anywhere.
    pub(crate) fn is_wanted(self, existing: &ExistingInjection, plan: &Plan) -> bool {
        let (Drift::Changed(_), Ok(record)) = (self, &existing.record) else {
            return false;
        };
        let is_one_of = |value: Option<&Value>, recorded: Option<Digest>, wanted: Option<Value>| {
            let is_same = |value: &Value, wanted: &Value| {
                differences(wanted, value).is_empty() && differences(value, wanted).is_empty()
            };
            value.is_none_or(|value| {
                recorded == Some(Digest::of(&value.to_string()))
                    || wanted.is_some_and(|wanted| is_same(value, &wanted))
            })
        };
        let (agent, wait_for) = (record.components.agent(), record.components.wait_for());
        is_one_of(
            existing.value.as_ref(),
            agent.map(|agent| agent.value),
            plan.agent().map(|agent| agent.canonical()),
        ) && is_one_of(
            existing.wait_for_value.as_ref().map(|(value, _)| value),
            wait_for.map(|wait_for| wait_for.value),
            plan.wait_for().map(|wait_for| wait_for.canonical()),
        )
    }

    /// Returns the advice. `settings` are the names of those that the edited fields have their values from.
    pub(crate) fn help(self, direction: Direction, settings: &[String]) -> String {
        let overwrite = "undo the edit, or run `inject --force` on the file to overwrite it";
        match (self, direction, settings) {
            (Drift::NewerRecord, ..) => "use that version or a newer one".to_owned(),
            (_, Direction::Uninject, _) => {
                "undo the edit, or run `uninject --force` on the file to remove the agent"
                    .to_owned()
            }
            (_, Direction::Inject, []) => overwrite.to_owned(),
            (_, Direction::Inject, [setting]) => {
                format!("{overwrite}; to keep the value, set {setting} to it first")
            }
            (_, Direction::Inject, settings) => format!(
                "{overwrite}; to keep the values, set {} to them first",
                settings.join(" and ")
            ),
        }
    }
}

/// Describes the first component that is absent.
fn gone(existing: &ExistingInjection) -> Option<String> {
    let components = existing.component_set();
    let containers = [
        (components.agent().is_some(), &existing.agent, CONTAINER),
        (
            components.wait_for().is_some(),
            &existing.wait_for,
            wait_for::CONTAINER,
        ),
    ];
    if let Some((.., name)) = containers
        .into_iter()
        .find(|(is_named, found, _)| *is_named && found.is_none())
    {
        return Some(format!(
            "the container `{name}` was removed, renamed or moved"
        ));
    }
    if let Some((volume, _)) = existing.volumes.iter().find(|(_, volume)| volume.is_none()) {
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

/// A container or volume of an existing injection.
struct Part<'a> {
    name: &'a str,
    list: &'static str,
    index: usize,
    node: NodeId,
}

impl<'a> Part<'a> {
    /// Returns the container or, from 1 on, a volume.
    fn of(existing: &'a ExistingInjection, edited: ComponentSet, number: usize) -> Option<Self> {
        let container = |name, it: &Container| Self {
            name,
            list: it.list.field(),
            index: it.index,
            node: it.node,
        };
        match (number.checked_sub(1), edited.agent()) {
            (None, Some(())) => Some(container(CONTAINER, existing.agent.as_ref()?)),
            (None, None) => Some(container(wait_for::CONTAINER, existing.wait_for.as_ref()?)),
            (Some(volume), _) => {
                let (volume, there) = existing.volumes.get(volume)?;
                let there = there.as_ref()?;
                Some(Self {
                    name: volume.name(),
                    list: "volumes",
                    index: there.index,
                    node: there.node,
                })
            }
        }
    }
}

/// The components of an edited injection, and those that the plan of today gives.
#[derive(Clone, Copy)]
struct Comparison<'a> {
    existing: &'a ExistingInjection,
    wanted: &'a Plan,
    edited: ComponentSet,
}

impl<'a> Comparison<'a> {
    /// Returns the name and the value of the container or, from 1 on, of a volume of the plan.
    fn wanted_part(self, number: usize) -> Option<(&'a str, &'a Value)> {
        match (number.checked_sub(1), self.edited.agent()) {
            (None, Some(())) => Some((CONTAINER, &self.wanted.agent()?.container)),
            (None, None) => Some((wait_for::CONTAINER, &self.wanted.wait_for()?.container)),
            (Some(volume), _) => self
                .wanted
                .agent()?
                .volumes
                .get(volume)
                .map(|(volume, it)| (volume.name(), &**it)),
        }
    }

    /// Returns the path of the field that differs.
    fn field(self, Difference { kind, old, new }: &Difference) -> Option<String> {
        let (name, field) = match kind {
            DifferenceKind::Gone => {
                split(old).and_then(|(number, field)| Some((self.wanted_part(number)?.0, field)))?
            }
            _ => split(new).and_then(|(number, field)| {
                Some((Part::of(self.existing, self.edited, number)?.name, field))
            })?,
        };
        Some(field_path(&format!("/{name}{field}")))
    }

    /// Returns the same in backticks; a variable with its name.
    fn named_field(self, tree: &Tree<'_>, difference: &Difference) -> Option<String> {
        let name = |value: &Value| value.get("name").map(brief);
        let is_variable = |field: &str| {
            field
                .strip_prefix("/env/")
                .is_some_and(|index| !index.contains('/'))
        };
        let variable = match difference.kind {
            DifferenceKind::Gone => split(&difference.old)
                .filter(|(_, field)| is_variable(field))
                .and_then(|(number, field)| name(self.wanted_part(number)?.1.pointer(field)?)),
            _ => split(&difference.new)
                .filter(|(_, field)| is_variable(field))
                .and_then(|(number, field)| {
                    name(
                        &find(
                            tree,
                            Part::of(self.existing, self.edited, number)?.node,
                            field,
                        )
                        .0?,
                    )
                }),
        };
        let field = self.field(difference)?;
        Some(variable.map_or_else(
            || format!("`{field}`"),
            |variable| format!("`{field}: {variable}`"),
        ))
    }
}

/// Splits the pointer of a difference into the number of its part and the pointer from there.
fn split(pointer: &str) -> Option<(usize, &str)> {
    let path = pointer.strip_prefix('/')?;
    let (part, field) = path.split_at(path.find('/').unwrap_or(path.len()));
    Some((part.parse().ok()?, field))
}

/// Describes the fields that differ from the plan of today.
fn changed(
    tree: &Tree<'_>,
    existing: &ExistingInjection,
    edited: ComponentSet,
    wanted: Option<&Plan>,
) -> Option<DriftDescription> {
    let (record, wanted) = (&existing.record.as_ref().ok()?.components, wanted?);
    let (recorded, canonical) = match edited.agent() {
        Some(()) => (record.agent()?.value, wanted.agent()?.canonical()),
        None => (record.wait_for()?.value, wanted.wait_for()?.canonical()),
    };
    let is_same_plan = recorded == Digest::of(&canonical.to_string());
    let comparison = Comparison {
        existing,
        wanted,
        edited,
    };
    let current = match edited.agent() {
        Some(()) => existing.value.as_ref()?,
        None => &existing.wait_for_value.as_ref()?.0,
    };
    let differences = differences(&canonical, current);
    // With another configuration, what is absent may be new in it: any other field is more likely an edit.
    let is_edit =
        |difference: &&Difference| is_same_plan || difference.kind != DifferenceKind::Gone;
    let first = differences.iter().find(is_edit).or(differences.first())?;
    let was = split(&first.old);
    // The init container has settings of its own.
    let parts = edited
        .agent()
        .into_iter()
        .flat_map(|()| (0..).map_while(|number| Part::of(existing, edited, number)));
    let parts: Vec<Value> = parts
        .filter_map(|part| to_json(tree, part.node).ok())
        .collect();
    let mut settings: Vec<EditedSetting> = Vec::new();
    for setting in differences
        .iter()
        .filter_map(|difference| EditedSetting::of(difference, &parts))
    {
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    // A volume that is not there has no place: the container has mounted it.
    let (number, there) = split(&first.new).unwrap_or_default();
    let field = was
        .filter(|_| first.kind == DifferenceKind::Gone && !first.new.is_empty())
        .map_or(there, |(_, field)| field);
    let part = Part::of(existing, edited, number)?;
    let (is, nearest) = find(tree, part.node, field);
    let fields: Vec<String> = differences
        .iter()
        .skip(usize::from(is_same_plan))
        .filter_map(|difference| comparison.named_field(tree, difference))
        .collect();
    let mut fields_shown = fields
        .iter()
        .take(MAX_FIELDS)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if let Some(more) = fields
        .len()
        .checked_sub(MAX_FIELDS)
        .filter(|more| *more > 0)
    {
        fields_shown += &format!(" and {more} more");
    }
    let message = if is_same_plan {
        let was = was.and_then(|(number, field)| comparison.wanted_part(number)?.1.pointer(field));
        let is = is.as_ref().filter(|_| first.kind != DifferenceKind::Gone);
        let was = was.filter(|_| first.kind != DifferenceKind::New);
        let edit = describe_edit(&comparison.field(first)?, field, is, was);
        if fields.is_empty() {
            edit
        } else {
            format!("{edit}; also modified: {fields_shown}")
        }
    } else {
        let subject = edited.subject();
        format!(
            "{subject} was modified after injection, and differs from the configuration in {fields_shown}"
        )
    };
    Some(DriftDescription {
        message,
        offset: tree.place(nearest).start,
        pointer: format!("/spec/{}/{}{field}", part.list, part.index),
        settings,
    })
}

/// Describes the edit of one field with its old and new values.
fn describe_edit(shown: &str, field: &str, is: Option<&Value>, was: Option<&Value>) -> String {
    // A variable's value may be secret, and messages end in logs.
    let printed = |value: &Value| match field
        .strip_prefix("/env")
        .map(|inner| inner.trim_start_matches('/'))
    {
        Some(inner) if inner.is_empty() || inner.ends_with("/value") => None,
        Some(inner) if !inner.contains('/') => value.get("name").map(brief),
        _ => Some(brief(value)),
    };
    match (is.and_then(printed), was.and_then(printed)) {
        (Some(is), Some(was)) => {
            format!("`{shown}` was changed from `{was}` to `{is}` after injection")
        }
        (Some(is), None) => format!("`{shown}: {is}` was added after injection"),
        (None, Some(was)) => format!("`{shown}: {was}` was removed after injection"),
        (None, None) => format!("`{shown}` was modified after injection"),
    }
}

/// Returns the value at a pointer with its node, or the nearest node above.
fn find(tree: &Tree<'_>, node: NodeId, pointer: &str) -> (Option<Value>, NodeId) {
    let mut nearest = node;
    for token in pointer.split('/').skip(1) {
        match tree.child(nearest, token) {
            Some(child) => nearest = child,
            None => return (None, nearest),
        }
    }
    (to_json(tree, tree.alias_target(nearest)).ok(), nearest)
}

/// Shortens a value for a message.
fn brief(value: &Value) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    if text.chars().count() <= MAX_VALUE_CHARS {
        text
    } else {
        text.chars().take(MAX_VALUE_CHARS).chain(['…']).collect()
    }
}

const MAX_VALUE_CHARS: usize = 80;

/// Further fields in a message.
const MAX_FIELDS: usize = 5;
