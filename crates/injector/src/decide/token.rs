//! `token-automount-off`: the source of the token that the agent shows to the kubelet.

use crate::agent::shape::Token;
use crate::decide::Evaluation;
use config::Config;
use report::Reason;

impl Evaluation<'_, '_> {
    /// Chooses between the token of the pod and a separate one.
    pub(super) fn token(&mut self, config: &Config) -> Token {
        if !config.spec.kubelet_connection().needs_token() {
            return Token::Mounted;
        }
        if self.template.automount != Some(false) {
            return if config.spec.agent.token.is_always_mounted() {
                Token::Projected
            } else {
                Token::Mounted
            };
        }
        let message = "the pod disables the token of its ServiceAccount; the agent gets a separate projected token";
        let field = "automountServiceAccountToken";
        let finding = self.finding_in_spec(Reason::TokenAutomountOff, message, field);
        self.warnings.push(finding);
        Token::Projected
    }
}
