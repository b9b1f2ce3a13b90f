//! Violations: values that a setting cannot have.

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

/// Lists names for a message: `a`, `b`.
pub(crate) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
