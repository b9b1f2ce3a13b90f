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
use crate::manifest::pod_template::{Container, PodTemplate};
use crate::options::Direction;
use crate::reconcile::edited_settings::{EditedSetting, edited_settings};
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
    /// The settings that give all edited fields; none if they are not known.
    pub(crate) settings: Vec<EditedSetting>,
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
            Some(value) => (Digest::of(&value.to_string()) != recorded).then_some(Drift::Changed(part)),
        };
        let agent = record.components.agent();
        let agent = agent.and_then(|agent| differs(Components::Agent(()), agent.value, existing.value.as_ref()));
        let wait_for = record.components.wait_for().and_then(|wait_for| {
            let value = existing.wait_for_value.as_ref().map(|(value, _)| value);
            differs(Components::WaitFor(()), wait_for.value, value)
        });
        let is_complete = existing.pull_secrets.iter().all(|(_, secret)| secret.is_some());
        // First: a change may be what the configuration wants, and must not hide that something is absent.
        let is_gone = !is_complete || [agent, wait_for].contains(&Some(Drift::Gone));
        is_gone.then_some(Drift::Gone).or(agent).or(wait_for)
    }

    /// Describes the drift. If `wanted`, the plan of today, is the recorded one, the message has the field and both values.
    pub(crate) fn describe(
        self,
        tree: &Tree<'_>,
        existing: &ExistingInjection,
        wanted: Option<&Plan>,
    ) -> DriftDescription {
        let at_record = |message: String| DriftDescription {
            message,
            offset: existing.offset,
            pointer: format!("/metadata/annotations/{}", escape(Annotation::Record.key())),
            settings: Vec::new(),
        };
        match self {
            Drift::NewerRecord => {
                at_record("the agent was injected by a newer version of mackerel-agent-injector".to_owned())
            }
            Drift::BrokenRecord => at_record("the `record` annotation cannot be read".to_owned()),
            Drift::Gone => at_record(match gone(existing) {
                Some(part) => format!("{part}, but the `record` annotation still lists it"),
                None => "the `record` annotation lists something that cannot be read".to_owned(),
            }),
            Drift::Changed(part) => changed(tree, existing, part, wanted).unwrap_or_else(|| {
                let message = format!("{} was modified after injection", part.subject());
                match part.agent().and(existing.agent.as_ref()).or(existing.wait_for.as_ref()) {
                    Some(container) => DriftDescription {
                        message,
                        offset: tree.span(container.node).start,
                        pointer: format!("/spec/{}/{}", container.list.field(), container.index),
                        settings: Vec::new(),
                    },
                    None => at_record(message),
                }
            }),
        }
    }

    /// Returns true if the edited components are what the plan adds: an annotation or setting keeps the edit. The order of
    /// variables does not count: a user adds one anywhere.
    pub(crate) fn is_wanted(self, existing: &ExistingInjection, plan: &Plan) -> bool {
        let (Drift::Changed(_), Ok(record)) = (self, &existing.record) else { return false };
        let is_one_of = |value: Option<&Value>, recorded: Option<Digest>, wanted: Option<Value>| {
            let is_same = |value: &Value, wanted: &Value| {
                differences(wanted, value).is_empty() && differences(value, wanted).is_empty()
            };
            value.is_none_or(|value| {
                recorded == Some(Digest::of(&value.to_string())) || wanted.is_some_and(|wanted| is_same(value, &wanted))
            })
        };
        let (agent, wait_for) = (record.components.agent(), record.components.wait_for());
        is_one_of(existing.value.as_ref(), agent.map(|agent| agent.value), plan.agent().map(|agent| agent.canonical()))
            && is_one_of(
                existing.wait_for_value.as_ref().map(|(value, _)| value),
                wait_for.map(|wait_for| wait_for.value),
                plan.wait_for().map(|wait_for| wait_for.canonical()),
            )
    }

    /// Returns the advice. `settings` keep the edit, if there are any.
    pub(crate) fn help(self, direction: Direction, template: &PodTemplate, settings: &[EditedSetting]) -> String {
        match (self, direction, settings) {
            (Drift::NewerRecord, ..) => "use that version or a newer one".to_owned(),
            (_, Direction::Uninject, _) => {
                "undo the edit, or run `uninject --force` on the file to remove the agent".to_owned()
            }
            (_, Direction::Inject, []) => {
                "undo the edit, or run `inject --force` on the file to overwrite it".to_owned()
            }
            (_, Direction::Inject, settings) => {
                let keep: Vec<String> = settings.iter().map(|setting| setting.advice(template)).collect();
                let keep = keep.join(", and ");
                format!("to keep the edit, {keep}; otherwise, undo it or run `inject --force` on the file")
            }
        }
    }
}

/// Describes the first component that is absent.
fn gone(existing: &ExistingInjection) -> Option<String> {
    let components = existing.component_set();
    let containers = [
        (components.agent().is_some(), &existing.agent, CONTAINER),
        (components.wait_for().is_some(), &existing.wait_for, wait_for::CONTAINER),
    ];
    if let Some((.., name)) = containers.into_iter().find(|(is_named, found, _)| *is_named && found.is_none()) {
        return Some(format!("the container `{name}` was removed, renamed or moved"));
    }
    if let Some((volume, _)) = existing.volumes.iter().find(|(_, volume)| volume.is_none()) {
        return Some(format!("the volume `{}` was removed or renamed", volume.name()));
    }
    let (name, _) = existing.pull_secrets.iter().find(|(_, secret)| secret.is_none())?;
    Some(format!("the pull secret `{name}` was removed or renamed"))
}

/// A container or volume as it is, and as it was injected.
struct Compared<'a> {
    name: &'a str,
    list: &'static str,
    index: usize,
    node: NodeId,
    was: &'a Value,
}

impl<'a> Compared<'a> {
    fn container(name: &'a str, is: &Container, was: &'a Value) -> Self {
        Self { name, list: is.list.field(), index: is.index, node: is.node, was }
    }
}

/// Describes the first field that differs: known only while the configuration is the one of the injection.
fn changed(
    tree: &Tree<'_>,
    existing: &ExistingInjection,
    part: ComponentSet,
    wanted: Option<&Plan>,
) -> Option<DriftDescription> {
    let (record, wanted) = (&existing.record.as_ref().ok()?.components, wanted?);
    let (same_plan, canonical, is) = if part.agent().is_some() {
        let agent = wanted.agent()?;
        (record.agent()?.plan == agent.record().plan, agent.canonical(), existing.value.as_ref()?)
    } else {
        let wait_for = wanted.wait_for()?;
        (record.wait_for()?.plan == wait_for.record().plan, wait_for.canonical(), &existing.wait_for_value.as_ref()?.0)
    };
    let differences = differences(&canonical, Some(is).filter(|_| same_plan)?);
    let Difference { kind, old, new } = differences.first()?;
    // Item 0 is the container, the others are volumes.
    let split = |pointer: &str| -> Option<(usize, String)> {
        let path = pointer.strip_prefix('/')?;
        let (item, field) = path.split_at(path.find('/').unwrap_or(path.len()));
        Some((item.parse().ok()?, field.to_owned()))
    };
    let ((item, injected), (_, there)) = (split(old)?, split(new)?);
    let Compared { name, list, index, node, was } = match item.checked_sub(1) {
        None if part.agent().is_some() => {
            Compared::container(CONTAINER, existing.agent.as_ref()?, &wanted.agent()?.container)
        }
        None => Compared::container(wait_for::CONTAINER, existing.wait_for.as_ref()?, &wanted.wait_for()?.container),
        Some(number) => {
            let (volume, there) = existing.volumes.get(number)?;
            let there = there.as_ref()?;
            let was = &wanted.agent()?.volumes.get(number)?.1;
            Compared { name: volume.name(), list: "volumes", index: there.index, node: there.node, was }
        }
    };
    let field = if *kind == DifferenceKind::Gone { &injected } else { &there };
    let shown = field_path(&format!("/{name}{field}"));
    let (is, nearest) = find(tree, node, field);
    let is = is.filter(|_| *kind != DifferenceKind::Gone);
    let was = was.pointer(&injected).filter(|_| *kind != DifferenceKind::New);
    // A variable's value may be secret, and messages end in logs.
    let printed = |value: &Value| match field.strip_prefix("/env").map(|inner| inner.trim_start_matches('/')) {
        Some(inner) if inner.is_empty() || inner.ends_with("/value") => None,
        Some(inner) if !inner.contains('/') => value.get("name").map(brief),
        _ => Some(brief(value)),
    };
    let message = match (is.as_ref().and_then(printed), was.and_then(printed)) {
        (Some(is), Some(was)) => format!("`{shown}` was changed from `{was}` to `{is}` after injection"),
        (Some(is), None) => format!("`{shown}: {is}` was added after injection"),
        (None, Some(was)) => format!("`{shown}: {was}` was removed after injection"),
        (None, None) => format!("`{shown}` was modified after injection"),
    };
    // The init container has settings of its own.
    let volumes = existing.volumes.iter().filter_map(|(_, volume)| Some(volume.as_ref()?.node));
    let parts = part.agent().and(existing.agent.as_ref()).map(|agent| std::iter::once(agent.node).chain(volumes));
    let parts: Vec<Value> = parts.into_iter().flatten().filter_map(|node| to_json(tree, node).ok()).collect();
    Some(DriftDescription {
        message,
        offset: tree.span(nearest).start,
        pointer: format!("/spec/{list}/{index}{field}"),
        settings: edited_settings(&differences, &parts).unwrap_or_default(),
    })
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
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.chars().count() <= MAX_VALUE_CHARS {
        text
    } else {
        text.chars().take(MAX_VALUE_CHARS).chain(['…']).collect()
    }
}

const MAX_VALUE_CHARS: usize = 80;
