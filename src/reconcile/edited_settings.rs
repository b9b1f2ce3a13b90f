//! The settings of edited fields, for the advice on a hand edit.

use crate::agent::difference::{Difference, DifferenceKind};
use crate::annotations::Annotation;
use crate::config::{Config, of_variable};
use crate::mackerel::names::API_KEY;
use crate::manifest::dotted_path;
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
            ["emptyDir", "sizeLimit"] => Some(Self::Path("agent.tmp.sizeLimit".to_owned())),
            ["imagePullPolicy" | "resources" | "securityContext", ..] => {
                let mut path = "agent".to_owned();
                // A list is set as a whole.
                for token in tokens
                    .iter()
                    .take_while(|token| token.parse::<usize>().is_err())
                {
                    path += ".";
                    path += &dotted_path::escape(&unescape(token));
                }
                Some(Self::Path(path))
            }
            _ => None,
        }
    }

    fn of_variable(variable: &Value) -> Option<Self> {
        let name = variable.get("name")?.as_str()?;
        if name == API_KEY {
            // The advice never names the key itself.
            variable.pointer("/valueFrom/secretKeyRef/key")?;
            return Some(Self::Path("apiKey.secretKeyRef.key".to_owned()));
        }
        Some(match of_variable(name) {
            Some((row, _)) if row.path == "agent.config" => {
                Self::Path("agent.config.location".to_owned())
            }
            Some((row, _)) if variable.get("value").is_some() => Self::Path(row.path.to_owned()),
            _ => Self::Variable(name.to_owned()),
        })
    }

    /// Names the annotation that sets it, or its place in the configuration. An annotation that the template has under another
    /// name keeps that: two names with two values are refused.
    pub(crate) fn name(&self, template: &PodTemplate, config: &Config) -> String {
        let path = match self {
            Self::Path(path) => path,
            Self::Variable(name) => return format!("{name} in `agent.env` of the configuration"),
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
