//! Sets one setting of a configuration, or all of them.

use crate::config::Config;
use crate::config::read_context::ReadContext;
use crate::config::read_value;
use crate::config::setting::{SettingRow, Shaped as _};
use crate::config::spec::Spec;
use crate::config::value::ConfigValue;
use crate::config::violation::Violation;
use crate::manifest::dotted_path;
use serde_json::{Value as Json, json};

impl Config {
    /// Reads a value into the setting at `path`, or into all settings if that is empty.
    pub(crate) fn set(
        &mut self,
        path: &[String],
        value: ConfigValue<'_>,
        context: &mut ReadContext<'_>,
    ) {
        let span = value.span.clone();
        // Most templates set a few settings by annotation: the others need not become JSON for that.
        let assigned = match single(path) {
            Some((row, rest)) => {
                let mut setting = self.spec.get(&row.names());
                context.enter_groups_of(row);
                read_value::set_row(row, &mut setting, rest, value, context);
                context.leave_all();
                self.assign(row, setting)
            }
            None => {
                let mut values = json!(self.spec);
                read_value::set_members(Spec::ROWS, &mut values, path, value, context);
                self.spec.put(&[], values)
            }
        };
        if let Err(error) = assigned {
            context.error(span, Violation::new(format!("is not accepted: {error}")));
        }
    }

    /// Gives a setting its default.
    pub(crate) fn reset(&mut self, setting: &SettingRow) {
        // A default is of its type.
        let _ = self.assign(setting, (setting.default)());
        self.origins
            .retain(|set, _| !dotted_path::is_at_or_below(set, setting.path));
    }

    fn assign(&mut self, setting: &SettingRow, value: Json) -> serde_json::Result<()> {
        self.spec.put(&setting.names(), value)
    }
}

/// Returns the single setting at a path or above it, and the rest of the path; none for a group.
fn single(path: &[String]) -> Option<(&'static SettingRow, &[String])> {
    let mut rows = Spec::ROWS;
    let mut rest = path;
    loop {
        let (name, below) = rest.split_first()?;
        let row = rows.iter().find(|row| row.name == name)?;
        if row.members().is_empty() {
            return Some((row, below));
        }
        (rows, rest) = (row.members(), below);
    }
}
