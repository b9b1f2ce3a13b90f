//! The fields of an injected component that differ from the plan of today: what a message about a hand edit says of them, and which
//! settings would keep them.

use crate::agent::difference::{Difference, DifferenceKind, differences};
use crate::agent::existing::ExistingComponent;
use crate::agent::{Component, ComponentKind};
use crate::annotations::Annotation;
use crate::config::{
    AgentConfig, AgentSettings, Config, SecretKeyRef, SettingRow, Tmp, of_variable,
};
use crate::mackerel::env::VariableForm;
use crate::mackerel::names::{API_KEY, Volume};
use crate::manifest::field_path::field_path;
use crate::manifest::pod_template::{PodTemplate, PodVolume};
use serde_json::Value;
use yaml_json_patch::pointer::unescape;
use yaml_json_patch::{NodeId, Tree, to_json};

/// Characters of a value in a message.
const MAX_VALUE_CHARS: usize = 80;

/// A field that differs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EditedField {
    pub(super) kind: DifferenceKind,
    /// `mackerel-container-agent.resources.limits.memory`
    path: String,
    /// JSON Pointer from the container or volume.
    field: String,
    /// None if the plan has none.
    wanted: Option<Value>,
    /// None if it is gone.
    current: Option<Value>,
    /// The setting that it has its value from.
    pub(super) setting: Option<EditedSetting>,
    /// The container or volume that has it.
    part: Part,
    /// JSON Pointer from there to its place.
    below: String,
    /// The difference that the field was found by.
    difference: Difference,
}

/// The container or a volume of an existing component.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    node: NodeId,
    /// JSON Pointer from the template.
    pointer: String,
}

impl EditedField {
    /// Returns every field of an existing component that differs from the new one.
    pub(super) fn all(
        tree: &Tree<'_>,
        existing: &ExistingComponent,
        wanted: &Component,
    ) -> Vec<Self> {
        let Some(canonical) = existing.value() else {
            return Vec::new();
        };
        let parts = parts(existing);
        // Like the canonical forms, but as they are written: the container, then the volumes.
        let nodes = parts.iter().map(|part| to_json(tree, part.node));
        let current: Value = nodes.map(Result::unwrap_or_default).collect();
        let mut wanted_values = vec![Value::clone(&wanted.container)];
        wanted_values.extend(wanted.volume_values());
        let wanted_values = Value::Array(wanted_values);
        let mut fields = Vec::new();
        for difference in differences(&wanted.canonical(), canonical) {
            fields.extend(Self::of(&difference, &parts, &wanted_values, &current));
        }
        // The init container has settings of its own.
        if wanted.kind == ComponentKind::WaitFor {
            for field in &mut fields {
                field.setting = None;
            }
        }
        fields
    }

    fn of(
        difference: &Difference,
        parts: &[Part],
        wanted: &Value,
        current: &Value,
    ) -> Option<Self> {
        let Difference { kind, old, new } = difference;
        let wanted_value = wanted.pointer(old).cloned();
        let current_value = current.pointer(new).cloned();
        let mut kind = *kind;
        // The canonical form leaves out a default such as `readOnly: false`, which is a change. It leaves out null, `""`, `{}` and `[]`
        // as well: such a field is gone, since no setting keeps it.
        if kind == DifferenceKind::Gone && current_value.as_ref().is_some_and(is_nonempty_scalar) {
            kind = DifferenceKind::Changed;
        }
        // A field that is gone has no value, and is named by its place in the plan.
        let (wanted_value, current_value, values, pointer) = match kind {
            DifferenceKind::Gone => (wanted_value, None, wanted, old),
            DifferenceKind::New => (None, current_value, current, new),
            DifferenceKind::Changed => (wanted_value, current_value, current, new),
        };
        let (number, field) = split(pointer)?;
        let name = values.get(number)?.get("name")?.as_str()?;
        // A volume that is gone has no place: the container has mounted it.
        let (part, below) = match split(new) {
            Some((number, _)) => (number, field),
            None => (0, ""),
        };
        let setting = match kind {
            DifferenceKind::Gone => None,
            _ => EditedSetting::of_field(current.get(part)?, field),
        };
        Some(Self {
            kind,
            path: field_path(&format!("/{name}{field}")),
            field: field.to_owned(),
            wanted: wanted_value,
            current: current_value,
            setting,
            part: parts.get(part)?.clone(),
            below: below.to_owned(),
            difference: difference.clone(),
        })
    }

    /// Returns true if the field was found by this difference.
    pub(super) fn is_of(&self, difference: &Difference) -> bool {
        self.difference == *difference
    }

    /// Returns the JSON Pointer from the template.
    pub(super) fn pointer(&self) -> String {
        format!("{}{}", self.part.pointer, self.below)
    }

    /// Returns the byte offset of the field, or of the nearest node above it that exists.
    pub(super) fn offset(&self, tree: &Tree<'_>) -> usize {
        let mut nearest = self.part.node;
        for token in self.below.split('/').skip(1) {
            match tree.child(nearest, token) {
                Some(child) => nearest = child,
                None => break,
            }
        }
        tree.place(nearest).start
    }

    /// Returns the path in backticks; that of a variable with its name.
    pub(super) fn name(&self) -> String {
        let path = &self.path;
        let value = self.current.as_ref().or(self.wanted.as_ref());
        match self.field.strip_prefix("/env/") {
            Some(index) if !index.contains('/') => match value.and_then(variable_name) {
                Some(variable) => format!("`{path}: {variable}`"),
                None => format!("`{path}`"),
            },
            _ => format!("`{path}`"),
        }
    }

    /// Describes the edit with the old and the new value.
    pub(super) fn sentence(&self) -> String {
        let path = &self.path;
        let wanted = self.wanted.as_ref().and_then(|value| self.shown(value));
        let current = self.current.as_ref().and_then(|value| self.shown(value));
        match (current, wanted) {
            (Some(new), Some(old)) => {
                format!("`{path}` was changed from `{old}` to `{new}` after injection")
            }
            (Some(new), None) => format!("`{path}: {new}` was added after injection"),
            (None, Some(old)) => format!("`{path}: {old}` was removed after injection"),
            (None, None) => format!("`{path}` was modified after injection"),
        }
    }

    /// Returns a value for a message, which may end in a log: none for that of a variable, which may be secret.
    fn shown(&self, value: &Value) -> Option<String> {
        let Some(inner) = self.field.strip_prefix("/env") else {
            return Some(brief(value));
        };
        let inner = inner.trim_start_matches('/');
        if inner.is_empty() || inner.ends_with("/value") {
            None
        } else if inner.contains('/') {
            Some(brief(value))
        } else {
            variable_name(value)
        }
    }
}

/// Returns true for a scalar that is neither null nor empty.
fn is_nonempty_scalar(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Returns the name of a variable.
fn variable_name(variable: &Value) -> Option<String> {
    variable.get("name").map(brief)
}

/// Returns the container and the volumes of a component that is complete.
fn parts(existing: &ExistingComponent) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(container) = &existing.container {
        let (node, list, index) = (container.node, container.list.field(), container.index);
        let pointer = format!("/spec/{list}/{index}");
        parts.push(Part { node, pointer });
    }
    for (_, volume) in &existing.volumes {
        if let Some(PodVolume { node, index, .. }) = volume {
            let pointer = format!("/spec/volumes/{index}");
            parts.push(Part {
                node: *node,
                pointer,
            });
        }
    }
    parts
}

/// Splits the pointer of a difference into the number of its part and the pointer from there.
pub(super) fn split(pointer: &str) -> Option<(usize, &str)> {
    let path = pointer.strip_prefix('/')?;
    let (part, field) = path.split_at(path.find('/').unwrap_or(path.len()));
    Some((part.parse().ok()?, field))
}

/// Shortens a value for a message.
fn brief(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// A setting that an edited field has its value from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditedSetting {
    /// Its dotted path below `spec`.
    Path(String),
    /// The name of a variable of `agent.env`.
    Variable(String),
}

impl EditedSetting {
    /// Returns the setting of a field of the agent's container or of a volume.
    pub(super) fn of_field(part: &Value, field: &str) -> Option<Self> {
        let tokens: Vec<&str> = field.split('/').skip(1).collect();
        match tokens[..] {
            ["env", index, ..] => Self::of_variable(part.pointer(&format!("/env/{index}"))?),
            ["volumeMounts", index, ..] => {
                let name = part.pointer(&format!("/volumeMounts/{index}/name"))?;
                let mut injected = Volume::ALL.iter();
                let is_injected = injected.any(|volume| name == volume.name());
                (!is_injected).then(|| Self::of_row(AgentSettings::volume_mounts()))
            }
            ["emptyDir", field] => {
                let mut rows = Tmp::ROWS.iter();
                rows.find(|row| row.name == field)
                    .map(|row| Self::of_row(row))
            }
            [field, ..] => {
                let setting = AgentSettings::of_field(field)?;
                // A list is set as a whole.
                let names = tokens.iter().skip(1);
                let names = names.take_while(|token| token.parse::<usize>().is_err());
                let names: Vec<_> = names.map(|token| unescape(token)).collect();
                let names: Vec<&str> = names.iter().map(|name| &**name).collect();
                Some(Self::Path(setting.part(&names)))
            }
            [] => None,
        }
    }

    fn of_row(row: &SettingRow) -> Self {
        Self::Path(row.path.to_owned())
    }

    fn of_variable(variable: &Value) -> Option<Self> {
        let name = variable.get("name")?.as_str()?;
        if name == API_KEY {
            // The advice never names the key itself.
            variable.pointer("/valueFrom/secretKeyRef/key")?;
            return Some(Self::of_row(SecretKeyRef::key()));
        }
        Some(match of_variable(name) {
            Some((_, variable)) if variable.form == VariableForm::ConfigFile => {
                Self::of_row(AgentConfig::location())
            }
            // Its value is more than the setting: that would not keep it.
            Some((_, variable)) if variable.form == VariableForm::IgnorePattern => return None,
            Some((row, _)) if variable.get("value").is_some() => Self::of_row(row),
            _ => Self::Variable(name.to_owned()),
        })
    }

    /// Names the annotation that sets it, or its place in the configuration. An annotation that the template has under another
    /// name keeps that: two names with two values are refused.
    pub(super) fn name(&self, template: &PodTemplate, config: &Config) -> String {
        let path = match self {
            Self::Path(path) => path,
            Self::Variable(name) => {
                let mut given = template.annotations.iter();
                let given = given.find(|given| Annotation::variable(&given.key) == Some(name));
                return match given.filter(|_| config.allows(Annotation::Env)) {
                    Some(given) => format!("annotation `{}`", given.key),
                    None => format!("{name} in `{}` of the configuration", AgentSettings::env()),
                };
            }
        };
        let mut annotations = Annotation::ALL.iter().copied();
        let annotation = annotations
            .find(|annotation| annotation.setting() == Some(path) && config.allows(*annotation));
        let Some(annotation) = annotation else {
            return format!("`{path}` in the configuration");
        };
        let mut given = template.annotations.iter();
        let given = given.find(|given| Annotation::of(&given.key) == Some(annotation));
        let key = given.map_or(annotation.key(), |given| &given.key);
        format!("annotation `{key}`")
    }
}
