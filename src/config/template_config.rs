//! The configuration of one pod template: its annotations override the configuration.

use crate::config::Config;
use crate::config::cross_checks::template_conflicts;
use crate::config::origin::Origin;
use crate::config::read_context::{ReadContext, SourceKind};
use crate::config::rows::variables;
use crate::config::setting::Setting as _;
use crate::config::spec::Spec;
use crate::config::value::{ConfigValue, SpanMap};
use crate::config::violation::Violation;
use crate::mackerel::env::EnvOverride;
use crate::manifest::dotted_path::{is_at_or_below, parts};

/// Builder of the configuration of one template.
pub(crate) struct TemplateConfig {
    config: Config,
}

/// A [`Conflict`](super::cross_checks::Conflict) in which at least one setting comes from an annotation.
pub(crate) struct AnnotationConflict {
    /// Full key, and byte offset of the value.
    pub(crate) first: (String, usize),
    pub(crate) others: Vec<(String, usize)>,
    pub(crate) violation: Violation,
}

impl TemplateConfig {
    pub(crate) fn new(config: &Config) -> Self {
        TemplateConfig {
            config: config.clone(),
        }
    }

    /// Removes a setting of the configuration that an annotation overrides.
    pub(crate) fn reset(&mut self, path: &str, reset: impl FnOnce(&mut Spec)) {
        reset(&mut self.config.spec);
        self.config
            .origins
            .retain(|set, _| !is_at_or_below(set, path));
    }

    /// Removes the variables of `agent.env` that would replace the setting `dotted`, which an annotation sets.
    pub(crate) fn remove_variables_of(&mut self, dotted: &str) {
        for (setting, variable) in variables() {
            if variable.env_override == EnvOverride::Forbidden
                || !is_at_or_below(dotted, setting.path)
            {
                continue;
            }
            self.config
                .spec
                .agent
                .env
                .retain(|given| given.name != variable.name);
        }
    }

    /// Sets the setting `dotted` to the value of the annotation `key`.
    pub(crate) fn set(
        &mut self,
        dotted: &str,
        value: &str,
        key: &str,
        offset: usize,
    ) -> Vec<Violation> {
        let origins = std::mem::take(&mut self.config.origins);
        let mut context = ReadContext::new(SourceKind::Annotation { key }, origins);
        let value = ConfigValue::Text {
            text: value,
            spans: SpanMap::Within(offset..offset),
        };
        self.config.spec.set(&parts(dotted), &value, &mut context);
        self.config.origins = context.origins;
        context
            .errors
            .into_iter()
            .map(|error| error.violation)
            .collect()
    }

    /// Returns the conflicts that the annotations cause.
    pub(crate) fn conflicts(&self) -> Vec<AnnotationConflict> {
        let annotation = |path: &String| match self.config.origin(path) {
            Origin::Annotation { key, offset } => Some((key.clone(), *offset)),
            _ => None,
        };
        let placed = template_conflicts(&self.config)
            .into_iter()
            .filter_map(|found| {
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

    pub(crate) fn finish(self) -> Config {
        self.config
    }
}
