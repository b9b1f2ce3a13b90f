//! `pull-secrets`: pull secrets are added only to a pod that names some. A pod without any gets those of its ServiceAccount,
//! which added ones would displace.

use crate::decide::Evaluation;
use config::Config;
use report::Reason;

impl Evaluation<'_, '_> {
    /// Returns the configured pull secrets that the pod lacks, without duplicates.
    pub(super) fn pull_secrets(&mut self, config: &Config) -> Vec<String> {
        let wanted = &config.spec.agent.image_pull_secrets;
        if !wanted.is_empty() && self.template.pull_secrets.is_empty() {
            let message = "`agent.imagePullSecrets` was not added: the pod has no pull secrets and uses those of its ServiceAccount";
            let help = "add the pull secrets to the ServiceAccount or to the pod";
            self.warnings
                .push(self.finding(Reason::PullSecrets, message).with_help(help));
            return Vec::new();
        }
        let mut missing: Vec<String> = Vec::new();
        for name in wanted.iter().map(|name| &**name) {
            let exists = self
                .template
                .pull_secrets
                .iter()
                .any(|secret| secret.name.as_ref() == Some(name));
            if !exists && !missing.contains(name) {
                missing.push(name.clone());
            }
        }
        missing
    }
}
