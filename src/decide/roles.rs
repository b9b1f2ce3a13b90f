//! `roles-missing`: the roles that refer to labels of the pod.

use crate::config::{Config, Role, listed};
use crate::decide::Evaluation;
use crate::report::Reason;

impl Evaluation<'_, '_> {
    /// Returns the roles whose labels the pod has, with values that Mackerel takes. With another role, Mackerel would refuse the
    /// host, and the pod would not be ready.
    pub(super) fn roles(&mut self, config: &Config) -> Vec<Role> {
        let roles = &config.spec.agent.roles;
        let mut left = roles.clone();
        left.retain(|role| role.labels().all(|key| self.is_role_label(key)));
        if left.is_empty() && !roles.is_empty() {
            let mut missing = Vec::new();
            for key in roles.iter().flat_map(Role::labels) {
                if !self.is_role_label(key) && !missing.contains(&key) {
                    missing.push(key);
                }
            }
            let message = format!(
                "the agent gets no role: the pod lacks these labels, or Mackerel does not take their values: {}",
                listed(&missing)
            );
            let help = "add a label, or a role without labels to `agent.roles`; Mackerel takes 2 to 63 letters, digits, `-` and `_`";
            let finding = self.finding(Reason::RolesMissing, message);
            self.warnings.push(finding.with_help(help));
        }
        left
    }

    fn is_role_label(&self, key: &str) -> bool {
        let mut labels = self.template.labels.iter();
        let label = labels.find(|(known, _)| known == key);
        label.is_some_and(|(_, value)| Role::is_name(value))
    }
}
