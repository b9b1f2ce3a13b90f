//! Violations: values that a setting cannot have, alone or beside others.

use std::fmt::Display;

/// A violation by a value. The text continues the setting's path, as in `agent.image` *must be a string*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub what: String,
    pub help: Option<String>,
}

impl Violation {
    pub fn new(what: impl Into<String>) -> Self {
        Violation {
            what: what.into(),
            help: None,
        }
    }

    /// `must be a port, found `many``
    pub fn found(must_be: &str, text: &str) -> Self {
        if text.is_empty() {
            return Self::new("must not be empty");
        }
        Self::new(format!("must be {must_be}, found `{}`", shown(text)))
    }

    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns it as the message of an error of serde; [`of_message`](Self::of_message) reads it again.
    pub fn message(self) -> String {
        // The value, which the sentence quotes, may have the separator.
        let what = self.what.replace('\0', "␀");
        match self.help {
            Some(help) => format!("{what}\0{help}"),
            None => what,
        }
    }

    pub(crate) fn of_message(message: &str) -> Self {
        match message.split_once('\0') {
            Some((what, help)) => Self::new(what).with_help(help),
            None => Self::new(message),
        }
    }
}

/// A conflict between settings.
pub struct Conflict {
    /// Dotted paths of the settings, the one that is most likely wrong first.
    pub paths: Vec<String>,
    pub violation: Violation,
}

impl Conflict {
    /// A conflict whose violation continues the first path.
    pub fn about(paths: Vec<String>, violation: Violation) -> Self {
        let path = paths.first().map_or("", String::as_str);
        let what = format!("`{path}` {}", violation.what);
        let violation = Violation { what, ..violation };
        Conflict { paths, violation }
    }

    pub fn of(paths: &[&str], what: impl Into<String>, help: impl Into<String>) -> Self {
        Conflict {
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            violation: Violation::new(what).with_help(help),
        }
    }
}

/// Shortens a value for a message.
pub fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Lists names for a message: `a`, `b`.
pub fn listed<T: Display>(names: &[T]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
