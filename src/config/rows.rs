//! The rows of all settings, in the order of the reference.

use crate::config::setting::SettingRow;
use crate::config::spec::Spec;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::env::Variable;
use std::sync::LazyLock;

/// Returns the row of each setting and group below `spec`, groups before their members.
pub(crate) fn rows() -> &'static [&'static SettingRow] {
    static ROWS: LazyLock<Vec<&'static SettingRow>> = LazyLock::new(|| {
        let mut rows = Vec::new();
        collect(Spec::ROWS, &mut rows);
        rows
    });
    &ROWS
}

fn collect(of: &[&'static SettingRow], rows: &mut Vec<&'static SettingRow>) {
    for row in of {
        rows.push(row);
        collect(row.members(), rows);
    }
}

/// Returns each setting that gives the agent a variable, with that variable.
pub(crate) fn variables() -> impl Iterator<Item = (&'static SettingRow, Variable)> {
    rows().iter().filter_map(|row| Some((*row, row.variable?)))
}

/// Returns the setting that gives the agent's variable of this name.
pub(crate) fn of_variable(name: &str) -> Option<(&'static SettingRow, Variable)> {
    variables().find(|(_, variable)| variable.name == name)
}

impl Annotation {
    /// Returns the setting that it overrides, as a dotted path below `spec`.
    #[must_use]
    pub fn setting(self) -> Option<&'static str> {
        let mut overridden = rows().iter().flat_map(|row| row.annotations);
        let (_, path) = overridden.find(|(annotation, _)| *annotation == self)?;
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_paths(rows: &[&'static SettingRow], inside: &str) {
        for row in rows {
            let path = format!("{inside}{}", row.name);
            assert_eq!(row.path, path);
            assert_paths(row.members(), &format!("{path}."));
        }
    }

    #[test]
    fn each_row_has_the_path_of_its_place() {
        assert_paths(Spec::ROWS, "");
    }
}
