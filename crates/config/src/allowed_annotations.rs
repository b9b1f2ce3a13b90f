//! `annotations`: the annotations that templates may use.

use crate::Config;
use crate::checked::texts;
use crate::violation::Violation;
use mackerel::annotations::{Annotation, PREFIX};
use report::closest;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The annotations that templates may use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct AnnotationSettings {
    /// The annotations that have an effect, as names without prefix, such as `roles`. `[]` allows none. Others count as absent, with the warning `annotation-not-allowed`. `inject`, `status`, `record` and `ignore-warnings` are always allowed. `env.*` stands for all of `env.NAME`. An alias counts as its annotation, and the names of `waitFor.annotations` as `wait-for`. A list, replaced as a whole. Default: none given, all annotations.
    pub allow: Option<Vec<AnnotationName>>,
}

/// The name of an annotation, without the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnnotationName(Annotation);

impl Config {
    /// Returns true if the annotation has an effect.
    pub fn allows(&self, annotation: Annotation) -> bool {
        use Annotation::{IgnoreWarnings, Inject, Record, Status};
        self.spec.annotations.allow.as_ref().is_none_or(|allowed| {
            matches!(annotation, Inject | Status | Record | IgnoreWarnings)
                || allowed.contains(&AnnotationName(annotation))
        })
    }

    /// Returns the annotation that a full key stands for, if it is not allowed.
    pub fn not_allowed(&self, key: &str) -> Option<Annotation> {
        self.spec.annotations.allow.as_ref()?;
        let wait_for = &self.spec.wait_for.annotations;
        let is_wait_for = || wait_for.iter().any(|name| **name == key);
        Annotation::of(key)
            .or_else(|| is_wait_for().then_some(Annotation::WaitFor))
            .filter(|annotation| !self.allows(*annotation))
    }
}

impl fmt::Display for AnnotationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.allowed_name())
    }
}

texts! {
    AnnotationName: "enum" = Vec::from_iter(Annotation::ALL.iter().map(|one| one.allowed_name()));
}

impl FromStr for AnnotationName {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        let name = text.strip_prefix(PREFIX).unwrap_or(text);
        let named = |name: &str| {
            Annotation::ALL.iter().find(|annotation| {
                annotation.allowed_name() == name || annotation.names().any(|of| of == name)
            })
        };
        let names = || Annotation::ALL.iter().flat_map(|it| it.names());
        let variable = || Annotation::variable(&[PREFIX, name].concat()).map(|_| &Annotation::Env);
        let meant = named(name)
            .or_else(variable)
            .or_else(|| named(closest(name, names())?));
        match meant {
            Some(annotation) if annotation.allowed_name() == text => {
                Ok(AnnotationName(*annotation))
            }
            meant => {
                let help = meant.map(|meant| format!("did you mean `{}`?", meant.allowed_name()));
                let violation = Violation::found("the name of an annotation", text);
                Err(Violation { help, ..violation })
            }
        }
    }
}
