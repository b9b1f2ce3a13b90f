//! `host-network`, `short-termination`, `insecure-tls`: warnings about pods in which the agent works, but not as expected.

use crate::config::{Config, KubeletConnection, Origin};
use crate::decide::Evaluation;
use crate::mackerel::annotations::Annotation;
use crate::manifest::resource::text;
use crate::report::{Finding, Reason};

/// Seconds that the agent takes at worst to retire its host: three tries, three seconds apart.
const RETIREMENT: u64 = 10;

impl Evaluation<'_, '_> {
    pub(super) fn warn_of_host_network(&mut self) {
        if self.template.host_network {
            let message = "the pod is on its node's network, and the interfaces that its agent reports are the node's";
            self.warn_at("hostNetwork", Reason::HostNetwork, message, None);
        }
    }

    pub(super) fn warn_of_short_termination(&mut self) {
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

    pub(super) fn warn_of_insecure_tls(&mut self, config: &Config) {
        if !matches!(config.spec.kubelet_connection(), KubeletConnection::Tls { insecure: true, .. }) {
            return;
        }
        let message =
            "the agent does not verify the kubelet's certificate: who answers in the kubelet's place gets its token";
        let finding = self.at_request(self.finding(Reason::InsecureTls, message), Annotation::KubeletInsecureTls);
        let help = "have the kubelets use certificates of the cluster's CA (`serverTLSBootstrap`), and take `insecureTLS` away";
        // What the configuration turns off for all templates is known to its author.
        let is_configured = !matches!(config.origin("kubelet.insecureTLS"), Origin::Annotation { .. });
        self.warnings.push(finding.with_help(help).acknowledged_if(is_configured));
    }

    /// Warns about a field of the PodSpec, at its offset.
    #[cold]
    pub(super) fn warn_at(&mut self, field: &str, reason: Reason, message: &str, help: Option<String>) {
        let node = self.template.spec.and_then(|spec| self.tree.member(spec, field));
        let start = self.tree.span(node.unwrap_or(self.template.node)).start;
        let pointer = format!("{}/spec/{field}", self.at);
        self.warnings.push(Finding { help, ..Finding::new(reason, message, start, &pointer) });
    }
}
