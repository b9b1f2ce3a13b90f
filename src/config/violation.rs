//! Violations: values that a setting cannot have, alone or beside others.

/// A violation by a value. The text continues the setting's path, as in `agent.image` *must be a string*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) what: String,
    pub(crate) help: Option<String>,
}

impl Violation {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Violation {
            what: what.into(),
            help: None,
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A conflict between settings.
pub(crate) struct Conflict {
    /// Dotted paths of the settings, the one that is most likely wrong first.
    pub(crate) paths: Vec<String>,
    pub(crate) violation: Violation,
}

impl Conflict {
    /// A conflict whose violation continues the first path.
    pub(crate) fn about(paths: Vec<String>, violation: Violation) -> Self {
        let path = paths.first().map_or("", String::as_str);
        let what = format!("`{path}` {}", violation.what);
        let violation = Violation { what, ..violation };
        Conflict { paths, violation }
    }

    pub(crate) fn of(paths: &[&str], what: impl Into<String>, help: impl Into<String>) -> Self {
        Conflict {
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            violation: Violation::new(what).with_help(help),
        }
    }
}

/// Lists names for a message: `a`, `b`.
pub(crate) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
