//! `namespace-required`, `nodes-proxy-refused`, `nodes-proxy`: permissions that `rbac.generate` cannot or should not grant.
//! Without them the agent posts nothing although its pod is ready.

use crate::agent::kubelet_access::{KubeletAccess, LESS, PERMITS};
use crate::config::{Config, Rbac, Spec};
use crate::decide::Evaluation;
use crate::mackerel::annotations::Annotation;
use crate::report::{Finding, Reason};

impl Evaluation<'_, '_> {
    /// Checks `rbac.generate` against the permissions that this template's agent needs.
    pub(super) fn permissions(&mut self, config: &Config) -> Result<(), Finding> {
        let (rbac, version) = (&config.spec.rbac, config.spec.kubernetes_version);
        let access = KubeletAccess::of(&config.spec);
        if !rbac.generate || access.resources(version).is_empty() {
            return Ok(());
        }
        if self.namespace().is_none() {
            let message = "cannot generate RBAC objects: the resource has no namespace";
            let finding = self.finding(Reason::NamespaceRequired, message);
            return Err(finding.with_help("set `--namespace` or `spec.namespace`; in a kustomize Component, move the transformer to the overlay that sets `namespace`"));
        }
        if !access.needs_proxy(version) {
            return Ok(());
        }
        let (why, alternative) = match access {
            KubeletAccess::ApiServer => (
                "on EKS Fargate the agent needs `nodes/proxy`".to_owned(),
                None,
            ),
            KubeletAccess::Kubelet | KubeletAccess::ReadOnlyPort => {
                let is_default = !config.is_explicit(Spec::kubernetes_version().path);
                let default = if is_default {
                    " (the default of `kubernetesVersion`)"
                } else {
                    ""
                };
                (
                    format!("on Kubernetes {version}{default} the agent needs `nodes/proxy`"),
                    Some(LESS),
                )
            }
        };
        let finding = |reason| {
            let finding = self.finding(reason, format!("{why}; {PERMITS}"));
            self.at_request(finding, Annotation::Platform)
        };
        if !rbac.allow_nodes_proxy {
            let otherwise = if alternative.is_some() {
                "; otherwise, "
            } else {
                ""
            };
            let help = format!(
                "{}{otherwise}set `{}: true`",
                alternative.unwrap_or_default(),
                Rbac::allow_nodes_proxy()
            );
            return Err(finding(Reason::NodesProxyRefused).with_help(help));
        }
        // The command `rbac` prints them whatever the configuration allows.
        let warning = Finding {
            help: alternative.map(str::to_owned),
            acknowledged: config.is_explicit(Rbac::allow_nodes_proxy().path),
            ..finding(Reason::NodesProxy)
        };
        self.warnings.push(warning);
        Ok(())
    }
}
