//! The configuration of one pod template: its annotations override the configuration.

use crate::config::Config;
use crate::config::agent::AgentSettings;
use crate::config::cross_checks::template_conflicts;
use crate::config::origin::Origin;
use crate::config::read_context::{ReadContext, SourceKind};
use crate::config::rows::variables;
use crate::config::value::{ConfigValue, SpanMap};
use crate::config::violation::Violation;
use crate::mackerel::env::EnvOverride;
use crate::manifest::dotted_path::{is_at_or_below, parts};
use k8s_openapi::api::core::v1::EnvVar;
use std::collections::BTreeMap;

/// A [`Conflict`](super::violation::Conflict) in which at least one setting comes from an annotation.
pub(crate) struct AnnotationConflict {
    /// Full key, and byte offset of the value.
    pub(crate) first: (String, usize),
    pub(crate) others: Vec<(String, usize)>,
    pub(crate) violation: Violation,
}

/// An annotation `env.NAME`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VariableAnnotation<'a> {
    /// Full key.
    pub(crate) key: &'a str,
    pub(crate) value: &'a str,
    /// Byte offset of the value.
    pub(crate) offset: usize,
}

impl VariableAnnotation<'_> {
    fn variable(self, name: &str) -> EnvVar {
        EnvVar {
            name: name.to_owned(),
            value: Some(self.value.to_owned()),
            value_from: None,
        }
    }
}

impl Config {
    /// Removes the variables of `agent.env` that would replace the setting `dotted`, which an annotation sets.
    pub(crate) fn remove_variables_of(&mut self, dotted: &str) {
        for (setting, variable) in variables() {
            if variable.env_override == EnvOverride::IfUnset && is_at_or_below(dotted, setting.path)
            {
                let env = &mut self.spec.agent.env;
                env.retain(|given| given.name != variable.name);
            }
        }
    }

    /// Sets variables by annotations, over those of `agent.env`. Further ones are in the order of their names, since tools sort
    /// annotations.
    pub(crate) fn set_variables(&mut self, mut given: BTreeMap<&str, VariableAnnotation<'_>>) {
        let mut set = Vec::new();
        let env = &mut self.spec.agent.env;
        for (index, variable) in env.iter_mut().enumerate() {
            if let Some(given) = given.remove(&*variable.name) {
                set.push((index, given));
                *variable = given.variable(&variable.name);
            }
        }
        for (name, given) in given {
            set.push((env.len(), given));
            env.push(given.variable(name));
        }
        for (index, VariableAnnotation { key, offset, .. }) in set {
            let key = key.to_owned();
            let origin = Origin::Annotation { key, offset };
            self.origins
                .insert(AgentSettings::env().item(index), origin);
        }
    }

    /// Sets the setting `dotted` to the value of the annotation `key`.
    pub(crate) fn set_by_annotation(
        &mut self,
        dotted: &str,
        value: &str,
        key: &str,
        offset: usize,
    ) -> Vec<Violation> {
        let origins = std::mem::take(&mut self.origins);
        let mut context = ReadContext::new(SourceKind::Annotation { key }, origins);
        let value = ConfigValue::untyped(value, SpanMap::Within(offset..offset));
        self.set(&parts(dotted), value, &mut context);
        self.origins = context.origins;
        let errors = context.errors.into_iter();
        errors
            .map(|error| error.without_secret().violation)
            .collect()
    }
}

/// Returns the conflicts that the annotations of a template's configuration cause.
pub(crate) fn annotation_conflicts(config: &Config) -> Vec<AnnotationConflict> {
    let annotation = |path: &String| match config.origin(path) {
        Origin::Annotation { key, offset } => Some((key.clone(), *offset)),
        _ => None,
    };
    let placed = template_conflicts(config).into_iter().filter_map(|found| {
        let mut annotations = found.paths.iter().filter_map(annotation);
        let first = annotations.next()?;
        Some(AnnotationConflict {
            first,
            others: annotations.collect(),
            violation: found.violation,
        })
    });
    placed.collect()
}
