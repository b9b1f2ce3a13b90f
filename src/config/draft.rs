//! A configuration while it is read: the values of all settings as JSON, and their origins.

use crate::config::Config;
use crate::config::origin::Origin;
use crate::config::read_context::ReadContext;
use crate::config::read_value;
use crate::config::setting::{SettingRow, Shape};
use crate::config::spec::Spec;
use crate::config::value::ConfigValue;
use crate::config::violation::Violation;
use crate::manifest::dotted_path;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// The values of all settings and their origins.
pub(crate) struct ConfigDraft {
    /// `metadata.name` of the configuration object.
    pub(crate) name: String,
    pub(crate) values: Json,
    pub(crate) origins: BTreeMap<String, Origin>,
}

impl ConfigDraft {
    pub(crate) fn new(config: &Config) -> Self {
        ConfigDraft {
            name: config.name.clone(),
            values: json!(config.spec),
            origins: config.origins.clone(),
        }
    }

    /// Reads a value of the setting at `path`; of all settings if that is empty.
    pub(crate) fn set(
        &mut self,
        path: &[String],
        value: &ConfigValue<'_>,
        context: &mut ReadContext<'_>,
    ) {
        read_value::set(
            Shape::Group(Spec::ROWS),
            &mut self.values,
            path,
            value,
            context,
        );
    }

    /// Returns the value of a setting.
    pub(crate) fn value_mut(&mut self, setting: &SettingRow) -> Option<&mut Json> {
        self.values.pointer_mut(&setting.pointer())
    }

    /// Gives a setting its default.
    pub(crate) fn reset(&mut self, setting: &SettingRow) {
        if let Some(value) = self.value_mut(setting) {
            *value = (setting.default)();
        }
        self.origins
            .retain(|set, _| !dotted_path::is_at_or_below(set, setting.path));
    }

    /// Returns the configuration.
    ///
    /// # Errors
    /// If a value is not of its type, although it has been read.
    pub(crate) fn finish(self) -> Result<Config, Violation> {
        let refused = |error| Violation::new(format!("the configuration is not accepted: {error}"));
        Ok(Config {
            name: self.name,
            spec: serde_json::from_value(self.values).map_err(refused)?,
            origins: self.origins,
        })
    }
}
