//! `native-unsupported`, `native-refused`, `never-completes`: Jobs and other pods that complete get a native sidecar.

use crate::config::{Config, KubernetesVersion, SidecarKind};
use crate::decide::{Decision, Evaluation};
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::Sidecar;
use crate::report::Reason;

impl Evaluation<'_, '_> {
    /// Chooses the kind of sidecar. `auto` follows the restart policy that the pod will have, so that every front end and a webhook
    /// agree.
    pub(super) fn native_sidecar(&mut self, config: &Config) -> Result<Sidecar, Decision> {
        let completes = self.template.completes;
        let old = config.spec.kubernetes_version < KubernetesVersion::NATIVE_SIDECARS;
        let version = config.spec.kubernetes_version;
        match config.spec.sidecar {
            SidecarKind::Container if completes => {
                let finding = self.finding(
                    Reason::NeverCompletes,
                    "the pod is to complete, but waits for its agent, an ordinary container",
                );
                self.warnings
                    .push(finding.with_help("`sidecar: auto` makes it a native sidecar, which ends with the others"));
                Ok(Sidecar::Container)
            }
            SidecarKind::Container => Ok(Sidecar::Container),
            SidecarKind::Auto if !completes => Ok(Sidecar::Container),
            SidecarKind::Auto | SidecarKind::Native if !old => Ok(Sidecar::Native),
            SidecarKind::Auto => {
                let message =
                    format!("the pod is to complete, which needs a native sidecar; Kubernetes {version} has none");
                Err(Decision::Skip(self.finding(Reason::NativeUnsupported, message)))
            }
            SidecarKind::Native => {
                let message = format!("a native sidecar is asked for, which Kubernetes {version} does not have");
                let finding = self.at_request(self.finding(Reason::NativeRefused, message), Annotation::Sidecar);
                Err(Decision::Refuse(finding.with_help("raise `kubernetesVersion`, or ask for `auto` or `container`")))
            }
        }
    }
}
