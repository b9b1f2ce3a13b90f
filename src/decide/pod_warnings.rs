//! `host-network`, `share-process-namespace`, `short-termination`, `insecure-tls`: warnings about pods in which the agent works, but
//! not as expected.

use crate::config::{Config, Kubelet, KubeletConnection, Origin};
use crate::decide::Evaluation;
use crate::mackerel::annotations::Annotation;
use crate::report::{Finding, Reason};
use yaml_json_patch::{ScalarValue, scalar_value};

/// Seconds that the agent takes at worst to retire its host: three tries, three seconds apart.
const RETIREMENT: u64 = 10;

impl Evaluation<'_, '_> {
    pub(super) fn warn_of_host_network(&mut self) {
        if self.template.host_network {
            let message = "the pod uses the host network, so the agent reports the network interfaces of the node";
            self.warn_at("hostNetwork", Reason::HostNetwork, message, None);
        }
    }

    /// Warns about a field that lets other containers read `/proc/PID/environ` of the agent.
    pub(super) fn warn_of_shared_processes(&mut self) {
        let field = "shareProcessNamespace";
        let value = self
            .template
            .spec
            .and_then(|spec| self.tree.member(spec, field));
        if value.is_some_and(|value| {
            scalar_value(self.tree, self.tree.alias_target(value)) == Ok(ScalarValue::Bool(true))
        }) {
            let message = "the containers of the pod share their processes: those that run as root or as the user of the agent can read its environment, which has the API key";
            let help = "remove `shareProcessNamespace`; if you trust the containers, add `share-process-namespace` to the annotation `ignore-warnings`";
            self.warn_at(
                field,
                Reason::ShareProcessNamespace,
                message,
                Some(help.to_owned()),
            );
        }
    }

    pub(super) fn warn_of_short_termination(&mut self) {
        let field = "terminationGracePeriodSeconds";
        let seconds = self
            .template
            .spec
            .and_then(|spec| self.tree.member_text(spec, field)?.parse::<u64>().ok());
        if let Some(seconds) = seconds.filter(|seconds| *seconds < RETIREMENT) {
            let message = format!(
                "the pod is killed after {seconds} s, but the agent may need {RETIREMENT} s to retire its host; the host would stay in Mackerel and cause alerts"
            );
            let help = format!("set it to at least {RETIREMENT}; the default is 30");
            self.warn_at(field, Reason::ShortTermination, &message, Some(help));
        }
    }

    pub(super) fn warn_of_insecure_tls(&mut self, config: &Config) {
        if !matches!(
            config.spec.kubelet_connection(),
            KubeletConnection::Tls { insecure: true, .. }
        ) {
            return;
        }
        let message = "the agent does not verify the certificate of the kubelet, so an impostor could get the token of the agent";
        let finding = self.at_request(
            self.finding(Reason::InsecureTls, message),
            Annotation::KubeletInsecureTls,
        );
        let help = "use kubelet certificates that the cluster CA has signed (`serverTLSBootstrap`), and remove `insecureTLS`";
        // What the configuration turns off for all templates is known to its author.
        let is_configured = !matches!(
            config.origin(Kubelet::insecure_tls().path),
            Origin::Annotation { .. }
        );
        self.warnings
            .push(finding.with_help(help).acknowledged_if(is_configured));
    }

    /// Warns about a field of the PodSpec, at its offset.
    pub(super) fn warn_at(
        &mut self,
        field: &str,
        reason: Reason,
        message: &str,
        help: Option<String>,
    ) {
        let node = self
            .template
            .spec
            .and_then(|spec| self.tree.member(spec, field));
        let start = self.tree.place(node.unwrap_or(self.template.node)).start;
        let pointer = format!("{}/spec/{field}", self.at);
        self.warnings.push(Finding {
            help,
            ..Finding::new(reason, message, start, &pointer)
        });
    }
}
