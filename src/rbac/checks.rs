//! `namespace-required`, `invalid-name`, `nodes-proxy`: permissions that the command `rbac` cannot print, or should not grant unseen.

use crate::agent::kubelet_access::{KubeletAccess, LESS, PERMITS, RbacSubject};
use crate::config::{Config, Namespace, ObjectName};
use crate::inject::outcome::Outcome;
use crate::report::{Finding, Reason};

/// Returns the namespace of an agent's pods.
///
/// # Errors
/// - if it is unknown
/// - if its name or that of the ServiceAccount is none that Kubernetes takes: the objects and their comments would contain it
pub(super) fn namespace<'s>(
    outcome: &Outcome,
    subject: &'s RbacSubject,
) -> Result<&'s str, Finding> {
    let Some(namespace) = subject.namespace.as_deref() else {
        let message = "cannot print the permissions: the resource has no namespace";
        let finding = Finding::new(Reason::NamespaceRequired, message, outcome.offset, "");
        return Err(finding);
    };
    let (field, offset) = subject.account.field.unwrap_or_default();
    let at_account = format!("{}/spec/{field}", outcome.template);
    for (checked, offset, pointer) in [
        (
            namespace.parse::<Namespace>().err(),
            subject.namespace_offset,
            "/metadata/namespace",
        ),
        (
            subject.account.name.parse::<ObjectName>().err(),
            offset,
            &*at_account,
        ),
    ] {
        if let Some(violation) = checked {
            let name = pointer.rsplit('/').next().unwrap_or_default();
            let message = format!("cannot print the permissions: `{name}` {}", violation.what);
            let finding = Finding::new(Reason::InvalidName, message, offset, pointer);
            return Err(finding
                .with_help("correct the name; if it is a placeholder, render the manifest first"));
        }
    }
    Ok(namespace)
}

/// Returns the warning about an agent that needs `nodes/proxy`.
pub(super) fn nodes_proxy(
    outcome: &Outcome,
    access: KubeletAccess,
    config: &Config,
) -> Option<Finding> {
    let version = config.spec.kubernetes_version;
    if !access.needs_proxy(version) {
        return None;
    }
    let mut need = "on EKS Fargate the agent needs `nodes/proxy`".to_owned();
    let mut help = None;
    if access != KubeletAccess::ApiServer {
        need = format!("on Kubernetes {version} the agent needs `nodes/proxy`");
        help = Some(LESS.to_owned());
    }
    let message = format!("{need}; {PERMITS}");
    Some(Finding {
        help,
        acknowledged: outcome.acknowledged.contains(Reason::NodesProxy),
        ..Finding::new(Reason::NodesProxy, message, outcome.offset, "")
    })
}
