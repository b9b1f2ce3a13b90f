//! `roles-missing`: the roles that refer to the namespace and labels of the pod.

use crate::config::{Config, Role, RolePart, listed};
use crate::decide::Evaluation;
use crate::report::Reason;

impl Evaluation<'_, '_> {
    /// Returns the roles for which the pod has a namespace and labels that Mackerel takes. With another role, Mackerel would refuse
    /// the host, and the pod would not be ready.
    pub(super) fn roles(&mut self, config: &Config) -> Vec<Role> {
        let roles = &config.spec.agent.roles;
        let mut left = roles.clone();
        left.retain(|role| role.parts().into_iter().all(|part| self.is_name(part)));
        if left.is_empty() && !roles.is_empty() {
            let mut missing = Vec::new();
            for part in roles.iter().flat_map(Role::parts) {
                let reference = part.to_string();
                if !self.is_name(part) && !missing.contains(&reference) {
                    missing.push(reference);
                }
            }
            let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
            let message = format!(
                "the agent gets no role: the pod has no value that Mackerel takes for {}",
                listed(&missing)
            );
            let help = "add a label, or a role without it to `agent.roles`; Mackerel takes 2 to 63 letters, digits, `-` and `_`";
            let finding = self.finding(Reason::RolesMissing, message);
            self.warnings.push(finding.with_help(help));
        }
        left
    }

    /// Returns true for a part whose value Mackerel takes, and for a namespace that is not known yet.
    fn is_name(&self, part: &RolePart) -> bool {
        match part {
            RolePart::Name(_) => true,
            RolePart::Namespace => self.namespace().is_none_or(|name| Role::is_name(&name)),
            RolePart::Label(key) => {
                let mut labels = self.template.labels.iter();
                let label = labels.find(|(known, _)| known == key.as_str());
                label.is_some_and(|(_, value)| Role::is_name(value))
            }
        }
    }
}
