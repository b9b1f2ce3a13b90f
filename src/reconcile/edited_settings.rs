//! The settings that give edited fields, and the advice to set them.

use crate::agent::difference::{Difference, DifferenceKind};
use crate::annotations::Annotation;
use crate::config::{Config, of_variable, role_list};
use crate::mackerel::names::API_KEY;
use crate::manifest::dotted_path;
use crate::manifest::pod_template::{PodAnnotation, PodTemplate};
use serde_json::Value;
use yaml_json_patch::pointer::unescape;

/// The setting that gives further variables.
const ENV: &str = "agent.env";

const INSECURE_TLS: &str = "kubelet.insecureTLS";

/// A setting with the value that gives an edited field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EditedSetting {
    /// Its dotted path below `spec`.
    path: String,
    /// The field's value; for `agent.env`, the variable.
    value: Value,
    /// False if it gives a value that the agent reads as the same.
    is_exact: bool,
}

/// Returns the settings of the edited fields, and the number of fields that no setting gives exactly. `parts` are the container and
/// its volumes as they are.
pub(crate) fn edited_settings(
    differences: &[Difference],
    parts: &[Value],
) -> (Vec<EditedSetting>, usize) {
    let mut settings: Vec<EditedSetting> = Vec::new();
    let mut others = 0;
    for difference in differences {
        let setting = EditedSetting::of(difference, parts);
        others += usize::from(!setting.as_ref().is_some_and(|setting| setting.is_exact));
        settings.extend(setting.filter(|setting| !settings.contains(setting)));
    }
    (settings, others)
}

impl EditedSetting {
    fn of(difference: &Difference, parts: &[Value]) -> Option<Self> {
        let tokens: Vec<&str> = difference.new.split('/').skip(1).collect();
        let (item, tokens) = tokens.split_first()?;
        let part = parts.get(item.parse::<usize>().ok()?)?;
        if let ["env", variable, ..] = tokens {
            return Self::of_variable(part.get("env")?.get(variable.parse::<usize>().ok()?)?);
        }
        // A list is set as a whole.
        let fields: Vec<&str> = tokens
            .iter()
            .copied()
            .take_while(|token| token.parse::<usize>().is_err())
            .collect();
        let path = match fields[..] {
            // What is gone has no value to set.
            _ if difference.kind == DifferenceKind::Gone => return None,
            ["emptyDir", "sizeLimit"] => "agent.tmp.sizeLimit".to_owned(),
            ["imagePullPolicy" | "resources" | "securityContext", ..] => {
                fields.iter().fold("agent".to_owned(), |path, field| {
                    path + "." + &dotted_path::escape(&unescape(field))
                })
            }
            _ => return None,
        };
        let value = part.pointer(
            &fields
                .iter()
                .map(|field| format!("/{field}"))
                .collect::<String>(),
        )?;
        Some(Self {
            path,
            value: value.clone(),
            is_exact: true,
        })
    }

    fn of_variable(variable: &Value) -> Option<Self> {
        let name = variable.get("name")?.as_str()?;
        let known = of_variable(name).map(|(setting, _)| setting.path);
        let (path, value) = match (known, variable.get("value")) {
            // Never the key itself.
            (Some(_), _) if name == API_KEY => (
                "apiKey.secretKeyRef.key",
                variable.pointer("/valueFrom/secretKeyRef/key")?,
            ),
            // Any value means true to the agent.
            (Some(setting @ INSECURE_TLS), Some(value)) if value != "true" => {
                return Some(Self {
                    path: setting.to_owned(),
                    value: true.into(),
                    is_exact: false,
                });
            }
            (Some("agent.config"), Some(value)) => ("agent.config.location", value),
            (Some(setting), Some(value)) => (setting, value),
            _ => (ENV, variable),
        };
        Some(Self {
            path: path.to_owned(),
            value: value.clone(),
            is_exact: true,
        })
    }

    fn annotation(&self, config: &Config) -> Option<Annotation> {
        let is_it = |annotation: &Annotation| {
            annotation.setting() == Some(&self.path) && config.allows(*annotation)
        };
        Annotation::ALL.iter().copied().find(is_it)
    }

    /// Returns the value as an annotation or `--set` has it.
    fn text(&self) -> String {
        self.value
            .as_str()
            .map_or_else(|| self.value.to_string(), str::to_owned)
    }

    /// Sets it as the advice says: by an annotation of the template, or in the configuration. Returns none if the configuration is
    /// then invalid.
    pub(crate) fn set(&self, template: &mut PodTemplate, config: Config) -> Option<Config> {
        if let Some(annotation) = self.annotation(&config) {
            template
                .annotations
                .retain(|given| Annotation::of(&given.key) != Some(annotation));
            template.annotations.push(PodAnnotation {
                key: annotation.key().to_owned(),
                value: Some(self.text()),
                node: None,
                offset: 0,
                value_offset: 0,
            });
            return Some(config);
        }
        if self.path != ENV {
            let text = self.text();
            return config.with(
                &self.path,
                &if self.path == "agent.roles" {
                    role_list(&text)
                } else {
                    text
                },
            );
        }
        let Some(Value::Array(mut variables)) = config.value(ENV) else {
            return None;
        };
        match variables
            .iter_mut()
            .find(|other| other.get("name") == self.value.get("name"))
        {
            Some(other) => *other = self.value.clone(),
            None => variables.push(self.value.clone()),
        }
        config.with(ENV, &Value::Array(variables).to_string())
    }

    /// Returns the advice. An annotation that the template has under another name keeps it: two names with two values are refused.
    pub(crate) fn advice(&self, template: &PodTemplate, config: &Config) -> String {
        let what = match (
            self.annotation(config),
            self.value.get("name").and_then(Value::as_str),
        ) {
            (Some(annotation), _) => {
                let given = template
                    .annotations
                    .iter()
                    .find(|given| Annotation::of(&given.key) == Some(annotation));
                format!(
                    "annotation `{}`",
                    given.map_or(annotation.key(), |given| &given.key)
                )
            }
            (None, Some(variable)) if self.path == ENV => {
                format!("{variable} in `{ENV}` of the configuration")
            }
            (None, _) => format!("`{}` in the configuration", self.path),
        };
        match self.is_exact {
            true => format!("set {what} to the same value"),
            false => format!("set {what} to `{}`", self.text()),
        }
    }
}
