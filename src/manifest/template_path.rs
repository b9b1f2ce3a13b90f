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

/// The remaining steps of a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PathRest<'c> {
    /// A JSON Pointer of the table of known kinds, with `*` as in a [`TemplatePath`].
    BuiltIn(&'static str),
    /// Steps of a [`TemplatePath`].
    Configured(&'c [Step]),
}

/// The next step of a [`PathRest`], as in [`Step`].
pub(crate) enum NextStep<'c> {
    Key(&'c str),
    Each,
}

impl<'c> PathRest<'c> {
    /// Returns the next step and the rest behind it; none at the end of the path.
    pub(crate) fn split_first(self) -> Option<(NextStep<'c>, Self)> {
        match self {
            PathRest::BuiltIn(pointer) => {
                let pointer = pointer.strip_prefix('/')?;
                let (token, rest) = pointer.split_at(pointer.find('/').unwrap_or(pointer.len()));
                let step = match token {
                    "*" => NextStep::Each,
                    key => NextStep::Key(key),
                };
                Some((step, PathRest::BuiltIn(rest)))
            }
            PathRest::Configured(steps) => {
                let (step, rest) = steps.split_first()?;
                let step = match step {
                    Step::Key(key) => NextStep::Key(key),
                    Step::Each => NextStep::Each,
                };
                Some((step, PathRest::Configured(rest)))
            }
        }
    }
}
