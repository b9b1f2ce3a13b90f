//! Where further kinds keep their pod templates.

use super::setting::settings;
use std::fmt;

settings! {
    /// A kind with pod templates.
    pub struct PodTemplatePath {
        /// The API group, without version; `""` is the core group.
        "group" group: String = String::new();
        /// The kind.
        "kind" kind: String = String::new();
        /// JSON Pointer from the resource to the pod template, such as `/spec/template`; `*` stands for every item of a list.
        "path" path: TemplatePath = TemplatePath::default();
    }
}

/// A JSON Pointer in which `*` stands for every item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TemplatePath {
    /// From the resource to the pod template; never empty once read.
    pub steps: Vec<Step>,
}

/// One step of a [`TemplatePath`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Into the value of this key.
    Key(String),
    /// Into every item of the list.
    Each,
}

impl fmt::Display for TemplatePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            match step {
                Step::Key(key) => write!(f, "/{}", key.replace('~', "~0").replace('/', "~1"))?,
                Step::Each => f.write_str("/*")?,
            }
        }
        Ok(())
    }
}
