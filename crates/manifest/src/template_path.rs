//! The path from a resource to its pod templates.

/// One step of a path of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Into the value of this key.
    Key(String),
    /// Into every item of the list, or member of the map.
    Each,
}

/// The remaining steps of a path.
#[derive(Debug, Clone, Copy)]
pub enum PathRest<'c> {
    /// A JSON Pointer of the table of known kinds, with `*` as in a path of a configuration.
    BuiltIn(&'static str),
    /// Steps of a path of a configuration.
    Configured(&'c [Step]),
}

/// The next step of a [`PathRest`], as in [`Step`].
pub enum NextStep<'c> {
    Key(&'c str),
    Each,
}

impl<'c> PathRest<'c> {
    /// Returns the next step and the rest behind it; none at the end of the path.
    pub fn split_first(self) -> Option<(NextStep<'c>, Self)> {
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
