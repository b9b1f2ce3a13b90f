//! The settings behind an update: the names of those whose values differ between an existing injection and the plan. A value is
//! never shown, since a variable or URL may hold a secret.

use crate::agent::difference::{Difference, DifferenceKind, differences};
use crate::agent::existing::{ExistingComponent, ExistingInjection};
use crate::agent::plan::Plan;
use crate::agent::{Component, ComponentKind};
use crate::config::{AgentSettings, Spec, WaitForSettings};
use crate::manifest::field_path::field_path;
use crate::reconcile::edited_fields::{EditedSetting, split};
use serde_json::Value;
use std::collections::HashSet;

/// The most settings that a message names.
const MAX_SETTINGS: usize = 5;

/// Returns `` `agent.image`, `agent.roles` and 2 more``; none where no difference is known.
pub(crate) fn changed_settings(existing: &ExistingInjection, plan: &Plan) -> Option<String> {
    let mut changed = ChangedSettings::default();
    for new in &plan.components {
        if let Some(old) = existing.component(new.kind) {
            changed.add_component(old, new);
        }
    }
    if let Ok(record) = &existing.record {
        let recorded = record.pull_secrets.iter().flat_map(|added| &added.names);
        if !recorded.eq(plan.pull_secrets()) {
            changed.add(AgentSettings::image_pull_secrets().to_string());
        }
    }
    changed.listed()
}

/// The names of changed settings, each once, in the order of the container's fields.
#[derive(Default)]
struct ChangedSettings {
    names: Vec<String>,
    known: HashSet<String>,
    /// The first field that no setting gives; named where no setting has changed.
    field: Option<String>,
}

impl ChangedSettings {
    fn add(&mut self, name: String) {
        if self.known.insert(name.clone()) {
            self.names.push(name);
        }
    }

    fn add_component(&mut self, old: &ExistingComponent, new: &Component) {
        for (name, value) in &new.names {
            if old.names().get(name).is_some_and(|old| old != value) {
                let setting = match new.kind {
                    ComponentKind::Agent => name.setting(),
                    ComponentKind::WaitFor => WaitForSettings::image(),
                };
                self.add(setting.to_string());
            }
        }
        let Some(old) = old.value() else { return };
        let new_value = new.canonical();
        for difference in differences(old, &new_value) {
            let Some(field) = ChangedField::of(&difference, old, &new_value) else {
                continue;
            };
            let setting = match new.kind {
                ComponentKind::Agent => field.setting(),
                ComponentKind::WaitFor => None,
            };
            match setting {
                Some(setting) => self.add(setting),
                None if self.field.is_none() => self.field = field.path(),
                None => {}
            }
        }
    }

    fn listed(mut self) -> Option<String> {
        if self.names.is_empty() {
            self.names.extend(self.field);
        }
        let others = self.names.len().saturating_sub(MAX_SETTINGS);
        self.names.truncate(MAX_SETTINGS);
        if self.names.is_empty() {
            return None;
        }
        let names = format!("`{}`", self.names.join("`, `"));
        Some(match others {
            0 => names,
            others => format!("{names} and {others} more"),
        })
    }
}

/// A field that differs, in the value that has it.
struct ChangedField<'v> {
    /// The container or volume.
    part: &'v Value,
    /// JSON Pointer from there.
    pointer: &'v str,
}

impl<'v> ChangedField<'v> {
    fn of(difference: &'v Difference, old: &'v Value, new: &'v Value) -> Option<Self> {
        let (value, pointer) = match difference.kind {
            DifferenceKind::Gone => (old, &difference.old),
            DifferenceKind::New | DifferenceKind::Changed => (new, &difference.new),
        };
        let (part, pointer) = split(pointer)?;
        let part = value.get(part)?;
        Some(Self { part, pointer })
    }

    /// Returns the setting that the agent has the field from.
    fn setting(&self) -> Option<String> {
        // The fields that make a container a native sidecar, which may start without its references.
        if self.pointer == "/restartPolicy" {
            return Some(Spec::sidecar().to_string());
        }
        if self.pointer.ends_with("/optional") {
            return None;
        }
        Some(match EditedSetting::of_field(self.part, self.pointer)? {
            EditedSetting::Path(path) => path,
            EditedSetting::Variable(name) => format!("{}.{name}", AgentSettings::env()),
        })
    }

    /// Returns its path with the name of the container or volume, such as `mackerel-wait-for.args[4]`.
    fn path(&self) -> Option<String> {
        let name = self.part.get("name")?.as_str()?;
        Some(field_path(&format!("/{name}{}", self.pointer)))
    }
}
