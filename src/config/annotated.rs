//! A configuration with the annotations of one template on top.

use crate::config::Config;
use crate::config::contradiction::contradictions_of_template;
use crate::config::origin::Origin;
use crate::config::path;
use crate::config::path::is_at_or_below;
use crate::config::reading::{Door, Reading};
use crate::config::setting::Setting as _;
use crate::config::spec::Spec;
use crate::config::suggestion::elsewhere;
use crate::config::value::{Places, Value};
use crate::config::violation::Violation;
use crate::mackerel::env::{InEnv, VARIABLES, Variable};

/// The configuration of one template, being made.
pub(crate) struct Annotated {
    config: Config,
}

/// Annotations that set what contradicts, each other or the configuration: full key, and byte offset of the value.
pub(crate) struct Contradicting {
    pub(crate) first: (String, usize),
    pub(crate) others: Vec<(String, usize)>,
    pub(crate) violation: Violation,
}

impl Annotated {
    pub(crate) fn new(config: &Config) -> Self {
        Annotated { config: config.clone() }
    }

    /// Takes a setting of the configuration back, so that an annotation can take its place.
    pub(crate) fn reset(&mut self, path: &str, reset: impl FnOnce(&mut Spec)) {
        reset(&mut self.config.spec);
        self.config.origins.retain(|set, _| !is_at_or_below(set, path));
    }

    /// Takes out of `agent.env` what would displace the setting `dotted`, so that an annotation can give it.
    pub(crate) fn take_variables_of(&mut self, dotted: &str) {
        let displaces =
            |variable: &&Variable| variable.in_env == InEnv::Instead && is_at_or_below(dotted, variable.setting);
        for variable in VARIABLES.iter().filter(displaces) {
            self.config.spec.agent.env.retain(|given| given.name != variable.name);
        }
    }

    /// Sets the setting `dotted` to the value of the annotation `key`.
    pub(crate) fn set(&mut self, dotted: &str, value: &str, key: &str, offset: usize) -> Vec<Violation> {
        let origins = std::mem::take(&mut self.config.origins);
        let mut reading = Reading::new(Door::Annotation { key }, origins, elsewhere);
        let value = Value::Text { text: value, places: Places::Within(offset..offset) };
        self.config.spec.set(&path::parts(dotted), &value, &mut reading);
        self.config.origins = reading.origins;
        reading.problems.into_iter().map(|problem| problem.violation).collect()
    }

    /// What contradicts each other since the annotations.
    pub(crate) fn contradictions(&self) -> Vec<Contradicting> {
        let annotation = |path: &String| match self.config.origin(path) {
            Origin::Annotation { key, offset } => Some((key.clone(), *offset)),
            _ => None,
        };
        let placed = contradictions_of_template(&self.config).into_iter().filter_map(|found| {
            let mut annotations = found.paths.iter().filter_map(annotation);
            let first = annotations.next()?;
            Some(Contradicting { first, others: annotations.collect(), violation: found.violation })
        });
        placed.collect()
    }

    pub(crate) fn finish(self) -> Config {
        self.config
    }
}
