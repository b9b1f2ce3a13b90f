//! `invalid-name`, `nodes-proxy`: permissions that the command `rbac` leaves out, or should not grant unseen.

use crate::agent::kubelet_access::{KubeletAccess, LESS, PERMITS, RbacSubject};
use crate::config::{Config, Namespace, ObjectName};
use crate::inject::outcome::Outcome;
use crate::report::{Finding, Reason};

/// Returns the warning about a namespace or ServiceAccount with a name that Kubernetes does not take: the objects and their comments would
/// contain it.
pub(super) fn invalid_name(
    outcome: &Outcome,
    subject: &RbacSubject,
    namespace: &str,
) -> Option<Finding> {
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
            let message = format!("left out of the permissions: `{name}` {}", violation.what);
            let help = "correct the name; if it is a placeholder, render the manifest first";
            return Some(Finding {
                acknowledged: outcome.acknowledged.contains(Reason::InvalidName),
                ..Finding::new(Reason::InvalidName, message, offset, pointer).with_help(help)
            });
        }
    }
    None
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
