//! `namespace-required`, `invalid-name`, `nodes-proxy-refused`, `nodes-proxy`: permissions that `rbac.generate` cannot or should not grant.
//! Without them the agent posts nothing although its pod is ready.

use crate::agent::kubelet_access::{KubeletAccess, LESS, PERMITS, PodServiceAccount};
use crate::config::{Config, Constraint, Rbac, Spec};
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
        let Some(namespace) = self.namespace() else {
            let message = "cannot generate RBAC objects: the resource has no namespace";
            let finding = self.finding(Reason::NamespaceRequired, message);
            return Err(finding.with_help("set `--namespace` or `spec.namespace`; in a kustomize Component, move the transformer to the overlay that sets `namespace`"));
        };
        self.valid_names(&namespace)?;
        if !access.needs_proxy(version) {
            return Ok(());
        }
        let mut help = format!("set `{}: true`", Rbac::allow_nodes_proxy());
        let mut alternative = None;
        let mut need = "on EKS Fargate the agent needs `nodes/proxy`".to_owned();
        if access != KubeletAccess::ApiServer {
            let default = match config.is_explicit(Spec::kubernetes_version().path) {
                true => "",
                false => " (the default of `kubernetesVersion`)",
            };
            need = format!("on Kubernetes {version}{default} the agent needs `nodes/proxy`");
            help = format!("{LESS}; otherwise, {help}");
            alternative = Some(LESS.to_owned());
        }
        let reason = match rbac.allow_nodes_proxy {
            true => Reason::NodesProxy,
            false => Reason::NodesProxyRefused,
        };
        let finding = self.finding(reason, format!("{need}; {PERMITS}"));
        let finding = self.at_request(finding, Annotation::Platform);
        if !rbac.allow_nodes_proxy {
            return Err(finding.with_help(help));
        }
        // The command `rbac` prints them whatever the configuration allows.
        self.warnings.push(Finding {
            help: alternative,
            acknowledged: config.is_explicit(Rbac::allow_nodes_proxy().path),
            ..finding
        });
        Ok(())
    }

    /// Refuses names that Kubernetes does not take: RBAC objects and their comments would contain them.
    fn valid_names(&self, namespace: &str) -> Result<(), Finding> {
        let (tree, resource) = (self.tree, self.resource.node);
        let account = PodServiceAccount::of(tree, self.template.spec);
        let (field, offset) = account.field.unwrap_or_default();
        let at_account = format!("{}/spec/{field}", self.at);
        let node = tree.member_at(resource, ["metadata", "namespace"]);
        let at_namespace = tree.place(node.unwrap_or(resource)).start;
        for (checked, offset, pointer) in [
            (
                Constraint::Namespace.check(namespace),
                at_namespace,
                "/metadata/namespace",
            ),
            (
                Constraint::ObjectName.check(&account.name),
                offset,
                &*at_account,
            ),
        ] {
            if let Err(violation) = checked {
                let name = pointer.rsplit('/').next().unwrap_or_default();
                let message = format!("cannot generate RBAC objects: `{name}` {}", violation.what);
                let finding = Finding::new(Reason::InvalidName, message, offset, pointer);
                return Err(finding.with_help(
                    "correct the name; if it is a placeholder, render the manifest first",
                ));
            }
        }
        Ok(())
    }
}
