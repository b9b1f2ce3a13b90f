//! What the agent takes over from the pod that it goes into, and what its owner should know of the pod that results.

use crate::agent::container::{AgentResources, AgentShape, Token};
use crate::config::{Config, KubeletConnection, Qos};
use crate::decide::Evaluation;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::{API_KEY, Sidecar};
use crate::manifest::qos;
use crate::manifest::resource::text;
use crate::report::{Finding, Reason};
use k8s_openapi::api::core::v1::EnvVar;

/// Seconds.
const RETIREMENT: u64 = 10;

impl Evaluation<'_, '_> {
    /// What the agent takes over from the pod, and what to say of it.
    pub(super) fn shape(&mut self, config: &Config, sidecar: Sidecar) -> Result<AgentShape, Finding> {
        if self.template.host_network {
            let message = "the pod is on its node's network, and the interfaces that its agent reports are the node's";
            self.warn_at("hostNetwork", Reason::HostNetwork, message, None);
        }
        self.warn_of_short_termination();
        self.warn_of_plain_api_key(config);
        let token = self.token(config);
        self.warn_of_insecure_tls(config);
        let amounts = self.amounts(config)?;
        let pull_secrets = self.pull_secrets(config);
        Ok(AgentShape { sidecar, token, amounts, pull_secrets })
    }

    fn token(&mut self, config: &Config) -> Token {
        if !config.spec.kubelet_connection().needs_token() {
            return Token::Mounted;
        }
        match self.template.automount {
            Some(true) | None => Token::Mounted,
            Some(false) => {
                let message = "the pod turns its ServiceAccount's token off; a volume gives one to the agent alone";
                self.warn_at("automountServiceAccountToken", Reason::TokenAutomountOff, message, None);
                Token::Projected
            }
        }
    }

    /// Retiring its host takes the agent three tries, three seconds apart, in the worst case.
    fn warn_of_short_termination(&mut self) {
        let field = "terminationGracePeriodSeconds";
        let seconds = self.template.spec.and_then(|spec| text(self.tree, spec, field)?.parse::<u64>().ok());
        if let Some(seconds) = seconds.filter(|seconds| *seconds < RETIREMENT) {
            let message = format!(
                "the pod is killed after {seconds} s, while its agent may need {RETIREMENT} to retire the host: it would stay in Mackerel, and alert"
            );
            let help = format!("set it to {RETIREMENT} at least; the default is 30");
            self.warn_at(field, Reason::ShortTermination, &message, Some(help));
        }
    }

    fn warn_of_plain_api_key(&mut self, config: &Config) {
        let is_key = |variable: &&EnvVar| variable.name == API_KEY;
        let plain = config.spec.agent.env.iter().find(is_key).and_then(|variable| variable.value.as_ref());
        if plain.is_some_and(|value| !value.is_empty()) {
            let message = "`agent.env` writes the API key into every pod, for all to read";
            let help = "take it away: the agent gets its key from the Secret that `apiKey` names";
            let finding = self.finding(Reason::PlainApiKey, message).with_help(help);
            self.warnings.push(finding);
        }
    }

    fn warn_of_insecure_tls(&mut self, config: &Config) {
        if !matches!(config.spec.kubelet_connection(), KubeletConnection::Tls { insecure: true, .. }) {
            return;
        }
        let message =
            "the agent does not verify the kubelet's certificate: who answers in the kubelet's place gets its token";
        let finding = self.finding(Reason::InsecureTls, message);
        let finding = self.at_request(finding, Annotation::KubeletInsecureTls);
        let help = "have the kubelets use certificates of the cluster's CA (`serverTLSBootstrap`), and take `insecureTLS` away";
        self.warnings.push(finding.with_help(help));
    }

    /// Requests and limits. A pod with a budget of its own has its class from that, whatever its containers say.
    fn amounts(&mut self, config: &Config) -> Result<AgentResources, Finding> {
        if self.template.pod_resources {
            return Ok(AgentResources::Explicit);
        }
        if qos::keeps_guaranteed(&config.spec.agent.resources) || !qos::is_guaranteed(self.tree, self.template) {
            return Ok(AgentResources::Configured);
        }
        let help = "`qos: keep` raises the agent's requests to its limits";
        match config.spec.qos {
            Qos::Keep => Ok(AgentResources::Guaranteed),
            Qos::Warn => {
                let message = "the pod is Guaranteed, and with this agent Burstable: it is evicted sooner, and shares its processors";
                let finding = self.finding(Reason::QosChanged, message).with_help(help);
                self.warnings.push(finding);
                Ok(AgentResources::Configured)
            }
            Qos::Refuse => {
                let message = "the pod is Guaranteed, and with this agent it would be Burstable";
                Err(self.finding(Reason::QosRefused, message).with_help(help))
            }
        }
    }

    /// Those that the pod lacks. A pod that names none gets those of its ServiceAccount, which ours would displace.
    pub(super) fn pull_secrets(&mut self, config: &Config) -> Vec<String> {
        let wanted = &config.spec.agent.image_pull_secrets;
        if wanted.is_empty() {
            return Vec::new();
        }
        if self.template.pull_secrets.is_empty() {
            let message = "`agent.imagePullSecrets` was not added: the pod names no pull secrets, so that it gets those of its ServiceAccount";
            let help = "add them to the ServiceAccount, or name one in the pod";
            let finding = self.finding(Reason::PullSecrets, message).with_help(help);
            self.warnings.push(finding);
            return Vec::new();
        }
        let mut lacking: Vec<String> = Vec::new();
        for name in wanted {
            let is_there = self.template.pull_secrets.iter().any(|secret| secret.name.as_ref() == Some(name));
            if !is_there && !lacking.contains(name) {
                lacking.push(name.clone());
            }
        }
        lacking
    }

    /// Warns of a field of the PodSpec, where it stands.
    #[cold]
    fn warn_at(&mut self, field: &str, reason: Reason, message: &str, help: Option<String>) {
        let node = self.template.spec.and_then(|spec| self.tree.member(spec, field));
        let start = self.tree.span(node.unwrap_or(self.template.node)).start;
        let pointer = format!("{}/spec/{field}", self.at);
        self.warnings.push(Finding { help, ..Finding::new(reason, message, start, &pointer) });
    }
}
