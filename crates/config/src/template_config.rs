//! The configuration of one pod template: its annotations override the configuration.

use crate::Config;
use crate::cross_checks::template_conflicts;
use crate::origin::Origin;
use crate::secret;
use crate::table::Setting;
use crate::violation::Violation;
use k8s_openapi::api::core::v1::EnvVar;
use mackerel::env::EnvOverride;
use manifest::dotted_path::is_at_or_below;
use std::collections::BTreeMap;

/// A [`Conflict`](super::violation::Conflict) in which at least one setting comes from an annotation.
pub struct AnnotationConflict {
    /// Full key, and byte offset of the value.
    pub first: (String, usize),
    pub others: Vec<(String, usize)>,
    pub violation: Violation,
}

/// An annotation that sets a setting or a variable.
#[derive(Debug, Clone, Copy)]
pub struct AnnotationValue<'a> {
    /// Full key.
    pub key: &'a str,
    pub value: &'a str,
    /// Byte offset of the value.
    pub offset: usize,
}

impl AnnotationValue<'_> {
    fn variable(self, name: &str) -> EnvVar {
        EnvVar {
            name: name.to_owned(),
            value: Some(self.value.to_owned()),
            value_from: None,
        }
    }

    fn origin(self) -> Origin {
        Origin::Annotation {
            key: self.key.to_owned(),
            offset: self.offset,
        }
    }
}

impl Config {
    /// Removes the variables of `agent.env` that would replace the setting `dotted`, which an annotation sets.
    pub(crate) fn remove_variables_of(&mut self, dotted: &str) {
        for (setting, variable) in Setting::with_variables() {
            if variable.env_override == EnvOverride::IfUnset && is_at_or_below(dotted, setting.path)
            {
                self.spec
                    .agent
                    .env
                    .retain(|given| given.name != variable.name);
            }
        }
    }

    /// Sets variables by annotations, over those of `agent.env`. Further ones are in the order of their names, since tools sort
    /// annotations.
    pub(crate) fn set_variables(&mut self, mut given: BTreeMap<&str, AnnotationValue<'_>>) {
        let env = &mut self.spec.agent.env;
        let mut set_origin = |index: usize, given: AnnotationValue<'_>| {
            self.origins
                .insert(format!("agent.env[{index}]"), given.origin());
        };
        for (index, variable) in env.iter_mut().enumerate() {
            if let Some(given) = given.remove(&*variable.name) {
                set_origin(index, given);
                *variable = given.variable(&variable.name);
            }
        }
        for (name, given) in given {
            set_origin(env.len(), given);
            env.push(given.variable(name));
        }
    }

    /// Sets a setting to the value of an annotation.
    pub(crate) fn set_by_annotation(
        &mut self,
        setting: &Setting,
        given: AnnotationValue<'_>,
    ) -> Result<(), Violation> {
        setting
            .set(&mut self.spec, given.value)
            .map_err(|violation| secret::hidden(setting.path, setting.path, violation))?;
        self.forget(setting.path);
        self.origins.insert(setting.path.to_owned(), given.origin());
        Ok(())
    }

    /// Forgets that a setting is set.
    pub fn forget(&mut self, path: &str) {
        self.origins.retain(|set, _| !is_at_or_below(set, path));
    }
}

/// Returns the conflicts that the annotations of a template's configuration cause.
pub fn annotation_conflicts(config: &Config) -> Vec<AnnotationConflict> {
    let annotation = |path: &String| match config.origin(path) {
        Origin::Annotation { key, offset } => Some((key.clone(), *offset)),
        _ => None,
    };
    template_conflicts(config)
        .into_iter()
        .filter_map(|found| {
            let mut annotations = found.paths.iter().filter_map(annotation);
            Some(AnnotationConflict {
                first: annotations.next()?,
                others: annotations.collect(),
                violation: found.violation,
            })
        })
        .collect()
}
