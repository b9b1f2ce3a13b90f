//! `roles-missing`, `label-missing`: the namespace and the labels of the pod to which settings refer.

use crate::decide::Evaluation;
use config::{Config, Namespace, Role, Setting, labels, listed};
use mackerel::annotations::Annotation;
use report::Reason;

/// The ends of the keys of labels that controllers add to their pods.
const OF_CONTROLLERS: [&str; 4] = ["-hash", "job-name", "pod-name", "pod-index"];

impl Evaluation<'_, '_> {
    /// Returns the roles whose labels the pod has, with values that Mackerel takes, as it must the namespace. With another role,
    /// Mackerel would refuse the host, and the pod would not be ready.
    pub(super) fn roles(&mut self, config: &Config) -> Vec<Role> {
        let roles = &config.spec.agent.roles;
        let is_refused = self
            .namespace()
            // `${NAMESPACE}` is none yet.
            .filter(|name| name.parse::<Namespace>().is_ok())
            .is_some_and(|name| !Role::is_name(&name));
        let left: Vec<Role> = roles
            .iter()
            .filter(|role| {
                !(is_refused && role.names_namespace())
                    && self.lacking(role.labels(), Role::is_name).is_empty()
            })
            .cloned()
            .collect();
        if left.is_empty() && !roles.is_empty() {
            let message = format!(
                "the agent gets no role: the pod lacks a label, or Mackerel does not take a value, of {}",
                listed(roles)
            );
            let help = "add a label, or a role without references to `agent.roles`; Mackerel takes 2 to 63 letters, digits, `-` and `_`";
            self.warnings
                .push(self.finding(Reason::RolesMissing, message).with_help(help));
        }
        left
    }

    /// Warns about texts with a gap in place of a label.
    pub(super) fn warn_of_missing_labels(&mut self, config: &Config) {
        let agent = &config.spec.agent;
        for (text, annotation) in [
            (&agent.display_name, Annotation::DisplayName),
            (&agent.memo, Annotation::Memo),
        ] {
            let labels = labels(text.as_ref().map_or("", |text| text));
            let mut missing = self.lacking(labels, |value| !value.is_empty());
            missing.retain(|key| !OF_CONTROLLERS.iter().any(|end| key.ends_with(end)));
            if !missing.is_empty() {
                let message = format!(
                    "`{}` refers to labels that the pod lacks: {}",
                    Setting::path_of(annotation).unwrap_or_default(),
                    listed(&missing)
                );
                let finding = self
                    .finding(Reason::LabelMissing, message)
                    .with_help("add the label to the pod template");
                self.warnings.push(self.at_request(finding, annotation));
            }
        }
    }

    /// Returns the labels that the pod lacks, or has with a value that is not taken.
    fn lacking(&self, keys: impl Iterator<Item = String>, takes: fn(&str) -> bool) -> Vec<String> {
        let mut lacking = Vec::new();
        for key in keys {
            let label = self.template.labels.iter().find(|(known, _)| *known == key);
            if !label.is_some_and(|(_, value)| takes(value)) && !lacking.contains(&key) {
                lacking.push(key);
            }
        }
        lacking
    }
}
