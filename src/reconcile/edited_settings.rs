//! The settings of edited fields, for the advice on a hand edit.

use crate::agent::difference::{Difference, DifferenceKind};
use crate::annotations::Annotation;
use crate::config::{
    AgentConfig, AgentSettings, Config, SecretKeyRef, SettingRow, Tmp, of_variable,
};
use crate::mackerel::env::VariableForm;
use crate::mackerel::names::API_KEY;
use crate::manifest::pod_template::PodTemplate;
use serde_json::Value;
use yaml_json_patch::pointer::unescape;

/// A setting that an edited field has its value from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditedSetting {
    /// Its dotted path below `spec`.
    Path(String),
    /// The name of a variable of `agent.env`.
    Variable(String),
}

impl EditedSetting {
    /// Returns the setting of a field that differs. `parts` are the container and its volumes as they are.
    pub(crate) fn of(difference: &Difference, parts: &[Value]) -> Option<Self> {
        // A field that is gone has no value to keep.
        if difference.kind == DifferenceKind::Gone {
            return None;
        }
        let mut tokens = difference.new.split('/').skip(1);
        let part = parts.get(tokens.next()?.parse::<usize>().ok()?)?;
        let tokens: Vec<&str> = tokens.collect();
        match tokens[..] {
            ["env", index, ..] => {
                let variable = part.get("env")?.get(index.parse::<usize>().ok()?)?;
                Self::of_variable(variable)
            }
            ["emptyDir", "sizeLimit"] => Some(Self::of_row(Tmp::size_limit())),
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
            Some((row, _)) if variable.get("value").is_some() => Self::of_row(row),
            _ => Self::Variable(name.to_owned()),
        })
    }

    /// Names the annotation that sets it, or its place in the configuration. An annotation that the template has under another
    /// name keeps that: two names with two values are refused.
    pub(crate) fn name(&self, template: &PodTemplate, config: &Config) -> String {
        let path = match self {
            Self::Path(path) => path,
            Self::Variable(name) => {
                return format!("{name} in `{}` of the configuration", AgentSettings::env());
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
