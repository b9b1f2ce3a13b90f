//! `host-network`, `pod-resources`, `share-process-namespace`, `short-termination`, `insecure-tls`: warnings about pods in which the
//! agent works, but not as expected.

use crate::decide::Evaluation;
use config::{Config, KubeletConnection, Origin};
use mackerel::annotations::Annotation;
use mackerel::names::Sidecar;
use report::{Finding, Reason};
use serde_json::json;
use yaml_json_patch::{NodeId, ScalarValue, scalar_value};

/// Seconds that the agent takes at worst to retire its host: three tries, three seconds apart.
const RETIREMENT: u64 = 10;

/// Returns the seconds that a hook sleeps, by `sleep` or a command: `{sleep: {seconds: 5}}`, `[sh, -c, "sleep 5"]`
fn sleep(hook: &str) -> u64 {
    let between = |c: char| !c.is_ascii_alphanumeric() || "seconds".contains(c);
    hook.split("sleep")
        .skip(1)
        .filter_map(|rest| {
            rest.trim_start_matches(between)
                .split(|c: char| !c.is_ascii_digit())
                .next()?
                .parse::<u32>()
                .ok()
        })
        .map(u64::from)
        .sum()
}

impl Evaluation<'_, '_> {
    /// Warns about fields of the pod.
    pub(super) fn warn_of_pod(&mut self, config: &Config, sidecar: Sidecar) {
        self.warn_of_host_network();
        self.warn_of_shared_processes();
        self.warn_of_short_termination(config, sidecar);
    }

    fn warn_of_host_network(&mut self) {
        if self.template.host_network {
            let message = "the pod uses the host network, so the agent reports the network interfaces of the node";
            let finding = self.finding_in_spec(Reason::HostNetwork, message, "hostNetwork");
            self.warnings.push(finding);
        }
    }

    /// Notes that the injected containers have no amounts of the configuration. Those that a LimitRange adds may be above what the
    /// containers of the pod leave of its own.
    pub(super) fn note_pod_resources(&mut self) {
        if self.template.pod_resources {
            let message = "the pod has `spec.resources`, so no requests and limits of the configuration were added; if a LimitRange has defaults for containers, the API server may still reject the pod";
            let help = "leave room for such defaults in `spec.resources`";
            let finding = self
                .finding_in_spec(Reason::PodResources, message, "resources")
                .with_help(help);
            self.warnings.push(finding);
        }
    }

    /// Warns about a field that lets other containers read `/proc/PID/environ` of the agent.
    fn warn_of_shared_processes(&mut self) {
        let field = "shareProcessNamespace";
        let Some(value) = self.spec_field(field) else {
            return;
        };
        let value = scalar_value(self.tree, self.tree.alias_target(value));
        if value == Ok(ScalarValue::Bool(true)) {
            let message = "the containers of the pod share their processes: those that run as root or as the user of the agent can read its environment, which has the API key";
            let help = "remove `shareProcessNamespace`; if you trust the containers, add `share-process-namespace` to the annotation `ignore-warnings`";
            let finding = self
                .finding_in_spec(Reason::ShareProcessNamespace, message, field)
                .with_help(help);
            self.warnings.push(finding);
        }
    }

    /// Warns about a pod that leaves the agent less time than it needs. The `preStop` hooks take a part of it: its own, and before a native
    /// agent those of the other containers.
    fn warn_of_short_termination(&mut self, config: &Config, sidecar: Sidecar) {
        let field = "terminationGracePeriodSeconds";
        let seconds: u64 = self
            .template
            .spec
            .and_then(|spec| self.tree.member_text(spec, field)?.parse().ok())
            .unwrap_or(30);
        let mut taken = sleep(&json!(config.spec.agent.lifecycle)["preStop"].to_string());
        if sidecar == Sidecar::Native {
            taken += self
                .template
                .containers
                .iter()
                .filter_map(|one| self.tree.member_at(one.node, ["lifecycle", "preStop"]))
                .map(|hook| sleep(self.tree.raw(hook)))
                .max()
                .unwrap_or(0);
        }
        if seconds < taken + RETIREMENT {
            let hooks = if taken > 0 {
                " with its `preStop` hooks"
            } else {
                ""
            };
            let message = format!(
                "the pod is killed after {seconds} s{hooks}, but the agent may need {RETIREMENT} s to retire its host; the host would stay in Mackerel and cause alerts"
            );
            let help = format!(
                "set it to at least {}; the default is 30",
                taken + RETIREMENT
            );
            let finding = self
                .finding_in_spec(Reason::ShortTermination, message, field)
                .with_help(help);
            self.warnings.push(finding);
        }
    }

    pub(super) fn warn_of_insecure_tls(&mut self, config: &Config) {
        let connection = config.spec.kubelet_connection();
        if !matches!(connection, KubeletConnection::Tls { insecure: true, .. }) {
            return;
        }
        let message = "the agent does not verify the certificate of the kubelet, so an impostor could get the token of the agent";
        let help = "use kubelet certificates that the cluster CA has signed (`serverTLSBootstrap`), and remove `insecureTLS`";
        // The author of the configuration knows of a setting for all templates.
        let is_configured = !matches!(
            config.origin("kubelet.insecureTLS"),
            Origin::Annotation { .. }
        );
        let finding = self
            .finding(Reason::InsecureTls, message)
            .with_help(help)
            .acknowledged_if(is_configured);
        self.warnings
            .push(self.at_request(finding, Annotation::KubeletInsecureTls));
    }

    fn spec_field(&self, field: &str) -> Option<NodeId> {
        self.tree.member(self.template.spec?, field)
    }

    /// Returns a finding about a field of the PodSpec.
    pub(super) fn finding_in_spec(
        &self,
        reason: Reason,
        message: impl Into<String>,
        field: &str,
    ) -> Finding {
        let node = self
            .spec_field(field)
            .or(self.template.spec)
            .unwrap_or(self.template.node);
        self.finding_at(reason, message, node, &format!("/spec/{field}"))
    }
}
