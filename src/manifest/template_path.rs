//! The path from a resource to its pod templates.

use crate::manifest::dotted_path::escape;
use std::fmt;

/// A dotted path or JSON Pointer in which `*` stands for every item of a list and every member of a map.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TemplatePath {
    /// From the resource to the pod template; never empty once read.
    pub(crate) steps: Vec<Step>,
}

/// One step of a [`TemplatePath`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Into the value of this key.
    Key(String),
    /// Into every item of the list, or member of the map.
    Each,
}

impl fmt::Display for TemplatePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            match step {
                // Unescaped, a slash in the first key would make it a JSON Pointer.
                Step::Key(key) if index == 0 => f.write_str(&escape(key).replace('/', "\\/"))?,
                Step::Key(key) => write!(f, "{dot}{}", escape(key))?,
                Step::Each => write!(f, "{dot}*")?,
            }
        }
        Ok(())
    }
}
